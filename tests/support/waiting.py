"""What tests wait for in a connector, and what they read off it."""

from __future__ import annotations

from collections.abc import Mapping

from frazil import Connector
from frazil.testing.topics import wait_until


def tokens(connector: Connector) -> Mapping[int, str | None]:
    """The offset tokens a connector shows, by partition."""
    return {status.partition: status.offset_token for status in connector.status()}


def caught_up(connector: Connector, seconds: float = 60.0) -> None:
    """Wait until the connector has landed what is in its topics; fail if it does not."""
    assert connector.wait_until_caught_up(seconds), f"{connector.state}: {connector.error}"


def until_state(connector: Connector, *states: str, seconds: float = 60.0) -> None:
    """Wait until the connector is in one of the states."""
    wait_until(
        lambda: str(connector.state) in states, f"{connector.settings.name} to be {' or '.join(states)}", seconds
    )
