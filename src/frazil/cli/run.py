"""`frazil run`: connectors in one Spark session, until they are stopped or have ended."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import structlog

from frazil.cli.console import people
from frazil.cli.loading import load_all
from frazil.cli.progress import Progress
from frazil.cli.session import start_spark
from frazil.config import ConnectorSettings
from frazil.connector import Connector, State
from frazil.connector.channels import left_out_of
from frazil.connector.fleet import Fleet
from frazil.connector.registered import HeldPartition, LeftOut
from frazil.connector.registry import Registry
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
        by_key = dict(zip((settings.key for settings in all_settings), files, strict=True))
        progress = Progress(console)
        fleet = Fleet(
            lambda settings: progress.watch(_recorded(Connector(settings, session), by_key[settings.key], worker))
        )
        try:
            for settings in all_settings:
                fleet.add(settings, until_caught_up=until_caught_up)
            with progress:
                while not stopping.wait(_LOOK_EVERY) and not fleet.wait(0.0):
                    progress.look()
        finally:
            fleet.stop()
            if answers(session):
                session.stop()
    ended = (connector.state for connector in fleet.connectors.values())
    return 1 if any(state in (State.FAILED, State.FENCED) for state in ended) else 0


def _recorded(connector: Connector, file: Path, worker: Path | None) -> Connector:
    """The connector, whose states are written down from now on."""
    registry = Registry(Path(connector.settings.home))
    left_out, held = partial(_left_out, connector), partial(_held, connector)
    connector.on_state(registry.recorder(connector.settings, file, worker, left_out, held))
    return connector


def _left_out(connector: Connector) -> tuple[LeftOut, ...]:
    return left_out_of(connector.failing)


def _held(connector: Connector) -> tuple[HeldPartition, ...]:
    held = connector.held.items()
    return tuple(HeldPartition(each.topic, each.partition, why.reason, why.passes) for each, why in held)


def _say_what_is_not_used(settings: ConnectorSettings) -> None:
    if settings.not_needed:
        _log.info("account keys are not needed here", connector=settings.name, keys=", ".join(settings.not_needed))
    for key, reason in settings.no_effect:
        _log.info("a key has no effect", connector=settings.name, key=key, reason=reason)
