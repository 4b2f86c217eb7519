from __future__ import annotations

from tests.pipes.default.conftest import make_table, worker

__all__ = ["make_table", "worker"]
