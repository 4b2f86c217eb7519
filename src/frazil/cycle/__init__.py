"""plan → stage → commit: the protocol that makes ingestion exactly once. `protocol` is the page to read first."""

from __future__ import annotations

from frazil.cycle.protocol import Ingestion
from frazil.cycle.report import CycleReport

__all__ = ["CycleReport", "Ingestion"]
