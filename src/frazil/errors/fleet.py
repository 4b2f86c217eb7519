"""Errors of asking for connectors by name."""

from __future__ import annotations

from collections.abc import Sequence

from frazil.errors.tree import Terminal


class ConnectorExists(Terminal):
    """A connector is to be added, and there is one of that name."""

    code = "connector_exists"

    def __init__(self, name: str, known: str) -> None:
        super().__init__(
            f"the connector {name} cannot be added: the connector {known} runs in this process and has the same key. "
            "Replace it, or choose another name."
        )


class ConnectorUnknown(Terminal):
    """There is no connector of that name in this process."""

    code = "connector_unknown"

    def __init__(self, name: str, known: Sequence[str]) -> None:
        there = f"there are {', '.join(sorted(known))}" if known else "there is none at all"
        super().__init__(f"no connector {name} runs in this process: {there}. Add it first, or check its name.")


class FleetEnded(Terminal):
    """A connector was to be started while the process stops all of them."""

    code = "fleet_ended"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the connector {name} was not started: this process is stopping all its connectors. Start it in the next "
            "process."
        )
