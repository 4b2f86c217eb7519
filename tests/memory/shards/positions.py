"""Positions in shards, as the source of that kind has them."""

from __future__ import annotations

from frazil.sources.kinesis.positions import BEGINNING, at, before

__all__ = ["BEGINNING", "at", "before"]
