"""A connector's life: start, pause, resume, stop, status; one thread each, one Spark session for all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil.connector.states import State

if TYPE_CHECKING:
    from frazil.connector.lifecycle import Connector
    from frazil.connector.subscription import Subscription

__all__ = ["Connector", "State", "Subscription"]


def __getattr__(name: str) -> Any:
    # Commands look at tokens and registries through this package; they must not pay for Spark's imports.
    if name == "Connector":
        from frazil.connector.lifecycle import Connector

        return Connector
    if name == "Subscription":
        from frazil.connector.subscription import Subscription

        return Subscription
    raise AttributeError(f"module 'frazil.connector' has no attribute {name!r}")
