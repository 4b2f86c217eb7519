"""`frazil run`: connectors in one Spark session, until they are stopped or have ended."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from threading import Event
from typing import Final

import structlog

from frazil.cli.console import people
from frazil.cli.loading import load_all
from frazil.cli.progress import Progress
from frazil.cli.session import start_spark
from frazil.config import ConnectorSettings
from frazil.connector import Connector, State, preflight
from frazil.connector.channels import left_out_of, waiting_outputs_of
from frazil.connector.fleet import Fleet
from frazil.connector.registered import HeldPartition, LeftOut, WaitingOutput
from frazil.connector.registry import Registry
from frazil.connector.states import ENDED
from frazil.errors import FrazilError
from frazil.tables.jvm.session import stop_session

TIMED_OUT: Final = 4
"""Exit code: the timeout came before all connectors were caught up."""

_PATIENCE: Final = 10.0
"""Seconds that a broker or schema registry may be away when a run until caught up starts."""

_LOOK_EVERY = 0.2
"""Seconds between two looks at whether something has ended."""

_log = structlog.get_logger(__name__)


def run_connectors(
    files: Sequence[Path],
    worker: Path | None,
    overrides: Mapping[str, str],
    master: str | None,
    stopping: Event,
    *,
    until_caught_up: bool,
    timeout: float | None = None,
) -> int:
    """Run the connectors of `files`.

    Args:
        files: the connectors' files.
        worker: the worker's file.
        overrides: keys and values that win over the files.
        master: Spark's master.
        stopping: set when the run is asked to stop; it may be at any time.
        until_caught_up: whether to end once everything that is in the topics now is in the tables.
        timeout: seconds after which to end although some of it is not; only with `until_caught_up`.

    Returns:
        0 when all stopped as asked, 1 when one failed or was fenced, 4 when the timeout ended one.

    Raises:
        InvalidConfiguration: with the problems of all files.
    """
    deadline = math.inf if timeout is None else time.monotonic() + timeout
    console = people()
    all_settings = load_all(files, worker, overrides)
    for settings in all_settings:
        _say_what_is_not_used(settings)
    first = all_settings[0]
    patience = min(_PATIENCE, deadline - time.monotonic()) if until_caught_up else 0.0
    unreachable = preflight.unreachable(all_settings, patience, stopping)
    if stopping.is_set():
        return 0
    _say_what_is_unreachable(unreachable, until_caught_up=until_caught_up)
    if until_caught_up and len(unreachable) == len(all_settings):
        return 1
    began = time.monotonic()
    session = start_spark(Path(first.home), master, first.spark, console)
    _log.info("Spark has started", seconds=round(time.monotonic() - began, 1))
    by_key = dict(zip((settings.key for settings in all_settings), files, strict=True))
    progress = Progress(console)
    fleet = Fleet(
        lambda settings: progress.watch(_recorded(Connector(settings, session), by_key[settings.key], worker))
    )
    try:
        for settings in all_settings:
            if stopping.is_set():
                break
            if not until_caught_up or settings.key not in unreachable:
                fleet.add(settings, until_caught_up=until_caught_up)
        with progress:
            while not stopping.wait(_LOOK_EVERY) and not fleet.wait(0.0) and time.monotonic() < deadline:
                progress.look()
        late = [] if stopping.is_set() else [each for each in fleet.connectors.values() if each.state not in ENDED]
    finally:
        fleet.stop()
        stop_session(session)
    ended = (connector.state for connector in fleet.connectors.values())
    if (until_caught_up and unreachable) or any(state in (State.FAILED, State.FENCED) for state in ended):
        return 1
    for connector in late:
        _log.error("the connector has not caught up in time", connector=connector.settings.name, timeout=timeout)
    return TIMED_OUT if late else 0


def _recorded(connector: Connector, file: Path, worker: Path | None) -> Connector:
    """The connector, whose states are written down from now on."""
    registry = Registry(Path(connector.settings.home))
    left_out, held = partial(_left_out, connector), partial(_held, connector)
    waiting = partial(_waiting_outputs, connector)
    connector.on_state(registry.recorder(connector.settings, file, worker, left_out, held, waiting))
    return connector


def _left_out(connector: Connector) -> tuple[LeftOut, ...]:
    return left_out_of(connector.failing)


def _waiting_outputs(connector: Connector) -> tuple[WaitingOutput, ...]:
    return waiting_outputs_of(connector.output_backlogs)


def _held(connector: Connector) -> tuple[HeldPartition, ...]:
    held = connector.held.items()
    return tuple(HeldPartition(each.topic, each.partition, why.reason, why.passes) for each, why in held)


def _say_what_is_unreachable(unreachable: Mapping[str, FrazilError], *, until_caught_up: bool) -> None:
    for key, error in unreachable.items():
        if until_caught_up:
            _log.error("the connector is not started", connector=key, cause=str(error))
        else:
            _log.warning("the connector starts, and cannot work yet", connector=key, cause=str(error))


def _say_what_is_not_used(settings: ConnectorSettings) -> None:
    if settings.not_needed:
        _log.info("account keys are not needed here", connector=settings.name, keys=", ".join(settings.not_needed))
    for key, reason in settings.no_effect:
        _log.info("a key has no effect", connector=settings.name, key=key, reason=reason)
