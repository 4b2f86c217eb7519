"""The `frazil` command."""

from __future__ import annotations

from frazil.cli.app import main

__all__ = ["main"]
