"""Break a local stream that runs in another process; one of this process has its `faults` at hand."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import httpx2

from frazil.dev.kinesis.control import PATH
from frazil.dev.kinesis.faults import Breaking, Fault


class FaultsAt(Breaking):
    """The faults of the server at `endpoint`.

    Args:
        endpoint: Its address, such as `http://127.0.0.1:4567`.
    """

    def __init__(self, endpoint: str) -> None:
        self._url = endpoint.rstrip("/") + PATH

    def add(self, fault: Fault) -> Fault:
        """Set a fault; what comes back has its number."""
        given = {name: value for name, value in asdict(fault).items() if name not in ("happened", "number")}
        return Fault(**self._ask("POST", "", given))

    def remove(self, number: int) -> None:
        """Take back the fault of that number, if it is still set."""
        self._ask("DELETE", f"/{number}")

    def clear(self) -> None:
        """Take back all faults."""
        self._ask("DELETE", "")

    def all(self) -> list[dict[str, Any]]:
        """What is set, and how often it has happened."""
        found: list[dict[str, Any]] = self._ask("GET", "")
        return found

    def _ask(self, method: str, path: str, given: dict[str, Any] | None = None) -> Any:
        return httpx2.request(method, self._url + path, json=given).raise_for_status().json()
