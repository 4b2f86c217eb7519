"""`frazil run`: connectors in one Spark session, until they are stopped or have ended."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import structlog
from rich.console import Console

from frazil.cli.console import people
from frazil.cli.loading import load_all
from frazil.cli.progress import Progress
from frazil.cli.session import start_spark
from frazil.config import ConnectorSettings
from frazil.connector import Connector, State
from frazil.connector.channels import left_out_of
from frazil.connector.registered import LeftOut
from frazil.connector.registry import Registry
from frazil.connector.states import ENDED
from frazil.dev.command import stop_signals
from frazil.tables.jvm.session import answers

_LOOK_EVERY = 0.2
"""Seconds between two looks at whether something has ended."""

_log = structlog.get_logger(__name__)


def run_connectors(
    files: Sequence[Path],
    worker: Path | None,
    overrides: Mapping[str, str],
    master: str | None,
    *,
    until_caught_up: bool,
) -> int:
    """Run the connectors of `files`.

    Returns:
        0 when all stopped as asked, 1 when one failed or was fenced.

    Raises:
        InvalidConfiguration: with the problems of all files.
    """
    console = people()
    all_settings = load_all(files, worker, overrides)
    for settings in all_settings:
        _say_what_is_not_used(settings)
    first = all_settings[0]
    with stop_signals() as stopping:
        began = time.monotonic()
        session = start_spark(Path(first.home), master, first.spark, console)
        _log.info("Spark has started", seconds=round(time.monotonic() - began, 1))
        connectors = [Connector(settings, session) for settings in all_settings]
        for connector, file in zip(connectors, files, strict=True):
            recorder = Registry(Path(connector.settings.home)).recorder(
                connector.settings, file, worker, partial(_left_out, connector)
            )
            connector.on_state(recorder)
        try:
            _ingest(connectors, stopping, console, until_caught_up=until_caught_up)
        finally:
            _stop_all(connectors)
            if answers(session):
                session.stop()
    return 1 if any(connector.state in (State.FAILED, State.FENCED) for connector in connectors) else 0


def _left_out(connector: Connector) -> tuple[LeftOut, ...]:
    return left_out_of(connector.failing)


def _ingest(
    connectors: Sequence[Connector], stopping: threading.Event, console: Console, *, until_caught_up: bool
) -> None:
    progress = Progress(console, connectors)
    for connector in connectors:
        connector.start(until_caught_up=until_caught_up)
    with progress:
        while not stopping.wait(_LOOK_EVERY) and any(connector.state not in ENDED for connector in connectors):
            progress.look()


def _stop_all(connectors: Sequence[Connector]) -> None:
    """Stop them side by side: each may need seconds for its running cycle."""
    threads = [threading.Thread(target=connector.stop) for connector in connectors]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _say_what_is_not_used(settings: ConnectorSettings) -> None:
    if settings.not_needed:
        _log.info("account keys are not needed here", connector=settings.name, keys=", ".join(settings.not_needed))
    for key, reason in settings.no_effect:
        _log.info("a key has no effect", connector=settings.name, key=key, reason=reason)
