"""Several connectors in one process: each may be added, replaced, paused, restarted and removed while others run."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from frazil.config import ConnectorSettings, refuse_conflicts
from frazil.connector.lifecycle import Connector
from frazil.connector.states import ENDED
from frazil.errors import ConnectorExists, ConnectorUnknown, FleetEnded

_LOOK_EVERY = 0.2
"""Seconds between two looks at whether all have ended."""


class Fleet:
    """Connectors by their keys. Any thread may ask for anything; what is asked of one connector is done in turn.

    A connector that fails or does not end in time does not touch the others.
    """

    def __init__(self, make: Callable[[ConnectorSettings], Connector]) -> None:
        """Hold none yet; `make` makes those that are added."""
        self._make = make
        self._changing = threading.Lock()
        self._connectors: Mapping[str, Connector] = {}
        self._ended = False
        self._turns: dict[str, threading.RLock] = {}
        """What holds back those who ask something of a connector while somebody else's wish is done."""

    @property
    def connectors(self) -> Mapping[str, Connector]:
        """The connectors there are now, in the order in which they were added."""
        return self._connectors

    def add(self, settings: ConnectorSettings, *, until_caught_up: bool = False) -> Connector:
        """Start one more connector.

        Raises:
            ConnectorExists: there is one whose name gives the same key.
            InvalidConfiguration: records would go round for ever between it and others.
            FleetEnded: all connectors were stopped.
        """
        with self._turn(settings.key):
            known = self._connectors.get(settings.key)
            if known is not None:
                raise ConnectorExists(settings.name, known.settings.name)
            connector = self._make(settings)
            self._put(settings.key, connector)
            connector.start(until_caught_up=until_caught_up)
            return connector

    def replace(self, settings: ConnectorSettings) -> Connector:
        """Stop a connector and start it with other settings; it goes on from its tokens.

        Raises:
            ConnectorUnknown: there is none of that name.
            FleetEnded: all connectors were stopped.
            FrazilError: it cannot be made with these settings; then the old one runs on.
        """
        with self._turn(settings.key):
            old = self.connector(settings.key)
            new = self._make(settings)
            self._refuse_conflicts(settings)
            old.stop()
            if old.paused:
                new.pause()
            self._put(settings.key, new)
            new.start()
            return new

    def remove(self, name: str) -> None:
        """Stop a connector and forget it; its tables keep its tokens.

        Raises:
            ConnectorUnknown: there is none of that name or key.
        """
        key = self._key(name)
        with self._turn(key):
            self.connector(key).stop()
            self._put(key, None)

    def pause(self, name: str) -> None:
        """Have a connector finish its cycle and begin no other; raises `ConnectorUnknown`."""
        with self._turn(self._key(name)):
            self.connector(name).pause()

    def resume(self, name: str) -> None:
        """Have a connector go on after `pause`; raises `ConnectorUnknown`."""
        with self._turn(self._key(name)):
            self.connector(name).resume()

    def restart(self, name: str) -> None:
        """Stop a connector, if it runs, and start it again: also one that has failed or was fenced.

        Raises:
            ConnectorUnknown: there is none of that name or key.
            StillStopping: it does not end within seconds.
            FleetEnded: all connectors were stopped.
        """
        key = self._key(name)
        with self._turn(key):
            connector = self.connector(key)
            connector.stop()
            if self._ended:
                raise FleetEnded(connector.settings.name)
            connector.start()

    def connector(self, name: str) -> Connector:
        """A connector, by its name or key.

        Raises:
            ConnectorUnknown: there is none.
        """
        connectors = self._connectors
        return connectors[_key_of(name, connectors)]

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until all connectors have ended, those that are added meanwhile included; whether they have."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while any(each.state not in ENDED for each in self._connectors.values()):
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return False
            running = next((each for each in self._connectors.values() if each.state not in ENDED), None)
            if running is not None:
                running.wait(_LOOK_EVERY if left is None else min(_LOOK_EVERY, left))
        return True

    def stop(self) -> None:
        """Stop all connectors side by side, for each may need seconds for its running cycle; none starts any more."""
        with self._changing:
            self._ended = True
            keys = [*self._connectors]
        if keys:
            with ThreadPoolExecutor(len(keys), "frazil-stop") as pool:
                list(pool.map(self._stop, keys))

    def _stop(self, key: str) -> None:
        with self._turn(key):
            # Another one may have taken its place while its turn was waited for.
            if (connector := self._connectors.get(key)) is not None:
                connector.stop()

    def _put(self, key: str, connector: Connector | None) -> None:
        """Have another connector of that key, or none; whoever looks sees the old ones or the new."""
        with self._changing:
            if connector and self._ended:
                raise FleetEnded(connector.settings.name)
            if connector:
                self._refuse_conflicts(connector.settings)
            others = {each: found for each, found in self._connectors.items() if connector or each != key}
            self._connectors = {**others, key: connector} if connector else others

    def _refuse_conflicts(self, settings: ConnectorSettings) -> None:
        others = (each.settings for key, each in self._connectors.items() if key != settings.key)
        refuse_conflicts([*others, settings])

    def _key(self, name: str) -> str:
        return _key_of(name, self._connectors)

    def _turn(self, key: str) -> threading.RLock:
        with self._changing:
            return self._turns.setdefault(key, threading.RLock())


def _key_of(name: str, connectors: Mapping[str, Connector]) -> str:
    if name in connectors:
        return name
    found = next((key for key, each in connectors.items() if each.settings.name == name), None)
    if found is None:
        raise ConnectorUnknown(name, [each.settings.name for each in connectors.values()])
    return found
