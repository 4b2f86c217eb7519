"""The operations of the API by name: each takes the engine and what a request says, and gives the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from frazil.dev.kinesis.engine import Engine
from frazil.dev.kinesis.failures import Refused
from frazil.dev.kinesis.operations import account, consumers, records, settings, shards, streams, tags

Operation = Callable[[Engine, dict[str, Any]], dict[str, Any] | None]

OPERATIONS: Final[Mapping[str, Operation]] = {
    **streams.OPERATIONS,
    **shards.OPERATIONS,
    **records.OPERATIONS,
    **settings.OPERATIONS,
    **consumers.OPERATIONS,
    **tags.OPERATIONS,
    **account.OPERATIONS,
}
"""All but SubscribeToShard, whose answer is a stream of events."""


def carry_out(engine: Engine, operation: str, given: dict[str, Any]) -> dict[str, Any] | None:
    """Do what a request asks for.

    Raises:
        Refused: it cannot be done.
    """
    if operation not in OPERATIONS:
        raise Refused("UnknownOperationException", f"The local stream does not have {operation}.")
    with engine.lock:
        engine.quotas.call(operation, engine.clock())
        return OPERATIONS[operation](engine, given)
