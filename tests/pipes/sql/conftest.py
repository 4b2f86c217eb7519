from __future__ import annotations

from tests.pipes.default.conftest import worker

__all__ = ["worker"]
