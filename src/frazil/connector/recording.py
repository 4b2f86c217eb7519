"""Keep a connector's state file: a note of what it is doing, which is renewed as long as it does that."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

import orjson
import structlog

from frazil.connector.registered import HeldPartition, LeftOut, Registered, WaitingOutput
from frazil.connector.states import ENDED

BEAT: Final = 5.0
"""Seconds after which a note is written again."""

_log = structlog.get_logger(__name__)


class Recorder:
    """Writes the state file of one connector, whose cycles it never disturbs: a full disk is logged and waited out."""

    def __init__(
        self,
        path: Path,
        entry: Registered,
        left_out: Callable[[], tuple[LeftOut, ...]],
        held: Callable[[], tuple[HeldPartition, ...]],
        waiting_outputs: Callable[[], tuple[WaitingOutput, ...]],
    ) -> None:
        """Keep the file at `path` with what `entry` says, and what is left out, is held and waits by then."""
        self._path = path
        self._entry = entry
        self._left_out = left_out
        self._held = held
        self._waiting_outputs = waiting_outputs
        self._lock = threading.Lock()
        self._failed = False
        self._renewing = False
        self._ended = threading.Event()

    def __call__(self, state: str) -> None:
        """Note that the connector is in another state."""
        with self._lock:
            self._entry = replace(self._entry, state=str(state))
            self._write()
            if self._is_noted():
                self._ended.set()
                return
            self._ended.clear()
            if self._renewing:
                return
            self._renewing = True
        threading.Thread(target=self._renew, name=f"frazil-note-{self._entry.key}", daemon=True).start()

    def _renew(self) -> None:
        """Write the note again and again, until it is one that stays true."""
        while True:
            self._ended.wait(BEAT)
            with self._lock:
                if self._is_noted():
                    self._renewing = False
                    return
                self._write()

    def _is_noted(self) -> bool:
        """Whether the file says all there is to say, for ever."""
        return self._entry.state in ENDED and not self._failed

    def _write(self) -> None:
        self._entry = entry = replace(
            self._entry,
            heard=time.time(),
            left_out=self._left_out(),
            held=self._held(),
            waiting_outputs=self._waiting_outputs(),
        )
        # Other machines may have processes of the same id, and the same home.
        partial = self._path.with_name(f".{entry.key}.{entry.host}.{entry.space}.{entry.pid}")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            partial.write_bytes(orjson.dumps(asdict(entry), option=orjson.OPT_INDENT_2))
            partial.replace(self._path)
        except OSError as error:
            if not self._failed:
                _log.warning(
                    "the connector's state cannot be written, so that commands do not know it; it goes on",
                    connector=entry.name,
                    file=str(self._path),
                    cause=str(error),
                )
            self._failed = True
            return
        if self._failed:
            _log.info("the connector's state is written again", connector=entry.name, file=str(self._path))
        self._failed = False
