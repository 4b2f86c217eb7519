"""How long to wait for a broker: what Java's `request.timeout.ms` says where it was given, else what is usual."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_USUAL: Final = 15.0
"""Seconds."""


def for_an_answer(client: Mapping[str, Any]) -> float:
    """Seconds to wait for an answer, by a client's configuration in librdkafka's keys."""
    given = client.get("socket.timeout.ms")
    return _USUAL if given is None else int(given) / 1000


def for_a_record(client: Mapping[str, Any]) -> float:
    """Seconds without any record after which a task gives up: a connection may break once and be made again."""
    return 2 * for_an_answer(client)
