"""What a connector went through, state by state."""

from __future__ import annotations

import time
from dataclasses import dataclass

from frazil import Connector
from frazil.errors import FrazilError
from frazil.testing.topics import wait_until


@dataclass(frozen=True, slots=True)
class Moment:
    """A connector entered a state."""

    state: str
    at: float
    error: FrazilError | None
    next_attempt: float | None


class Watch:
    """Notes every state that a connector enters from now on."""

    def __init__(self, connector: Connector) -> None:
        self._connector = connector
        self.moments: list[Moment] = []
        connector.on_state(self._note)

    @property
    def states(self) -> list[str]:
        """The states, in order."""
        return [each.state for each in self.moments]

    @property
    def errors(self) -> list[FrazilError]:
        """What was waited out."""
        return [each.error for each in self.moments if each.state == "RETRYING" and each.error]

    def until_retrying(self, seconds: float = 60.0) -> FrazilError:
        """Wait until the connector waits something out; tells what."""
        wait_until(lambda: "RETRYING" in self.states or self._connector.state == "FAILED", "RETRYING", seconds)
        assert "RETRYING" in self.states, f"{self._connector.state}: {self._connector.error}"
        moment = next(each for each in self.moments if each.state == "RETRYING")
        assert moment.error is not None
        assert moment.next_attempt is not None
        assert moment.at - 1 <= moment.next_attempt <= moment.at + 60
        return moment.error

    def until_retrying_again(self, seconds: float = 60.0) -> None:
        """Wait until another attempt has failed."""
        failed = self._connector.next_attempt
        wait_until(
            lambda: self._connector.next_attempt != failed or self._connector.state == "FAILED", "a failure", seconds
        )

    def only_waited(self) -> bool:
        """Whether nothing but waiting and running happened."""
        return set(self.states) <= {"RETRYING", "RUNNING"}

    def _note(self, state: str) -> None:
        self.moments.append(Moment(str(state), time.time(), self._connector.error, self._connector.next_attempt))
