"""What connectors depend on is asked for before Spark starts: a wrong address shows within seconds."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from frazil.config import ConnectorSettings, converters
from frazil.errors import FrazilError, Transient
from frazil.records.connect.registry import registry
from frazil.sources import kinds

_AN_ANSWER: Final = 5.0
"""Seconds to wait for one answer."""

_BETWEEN: Final = 0.5
"""Seconds between two attempts."""

_AT_ONCE: Final = 16
"""Connectors that are looked at side by side."""


def unreachable(
    all_settings: Sequence[ConnectorSettings], patience: float, stopping: threading.Event
) -> Mapping[str, FrazilError]:
    """The connectors whose source or schema registry does not answer or refuses the client, with the reasons.

    Args:
        all_settings: the connectors'.
        patience: seconds for which what does not answer is asked again; 0 to ask once.
        stopping: ends the attempts.

    Returns:
        Errors by the connectors' keys.
    """
    deadline = time.monotonic() + patience
    with ThreadPoolExecutor(min(_AT_ONCE, len(all_settings)), "frazil-preflight") as pool:
        found = pool.map(lambda settings: _trouble(settings, deadline, stopping), all_settings)
        return {settings.key: error for settings, error in zip(all_settings, found, strict=True) if error is not None}


def _trouble(settings: ConnectorSettings, deadline: float, stopping: threading.Event) -> FrazilError | None:
    """Why a connector could not work now; what may pass by itself is asked for until the deadline."""
    while True:
        try:
            _ask(settings)
        except Transient as error:
            if time.monotonic() > deadline or stopping.wait(_BETWEEN):
                return error
        except FrazilError as error:
            return error
        else:
            return None


def _ask(settings: ConnectorSettings) -> None:
    kinds.require_reachable(settings.source.kind, settings.source.client, _AN_ANSWER)
    conversion = settings.conversion
    specs = (conversion.value_converter, conversion.key_converter, conversion.header_converter)
    for each in {str(spec.options): spec for spec in specs if converters.asks_registry(spec.kind)}.values():
        registry(each.options).require_reachable()
