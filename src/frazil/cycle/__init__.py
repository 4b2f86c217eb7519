"""plan → stage → commit: the protocol that makes ingestion exactly once. `protocol` is the page to read first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from frazil.cycle.protocol import Ingestion
    from frazil.cycle.report import CycleReport

__all__ = ["CycleReport", "Ingestion"]


def __getattr__(name: str) -> Any:
    # Commands use the pure rules in this package; they must not pay for Spark's imports.
    if name == "Ingestion":
        from frazil.cycle.protocol import Ingestion

        return Ingestion
    if name == "CycleReport":
        from frazil.cycle.report import CycleReport

        return CycleReport
    raise AttributeError(f"module 'frazil.cycle' has no attribute {name!r}")
