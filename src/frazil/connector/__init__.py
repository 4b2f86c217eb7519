"""A connector's life: start, pause, resume, stop, status; one thread each, one Spark session for all."""

from __future__ import annotations

from frazil.connector.lifecycle import Connector
from frazil.connector.states import State
from frazil.connector.subscription import Subscription

__all__ = ["Connector", "State", "Subscription"]
