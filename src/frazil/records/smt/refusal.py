"""Why a record cannot be transformed."""

from __future__ import annotations


class CannotTransform(ValueError):
    """A record cannot be transformed; the message is a sentence's end, which quotes what it shows of the record."""
