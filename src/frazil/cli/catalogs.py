"""The catalog that `frazil channels` and the commands below it work on: without Spark, unless it needs Spark."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Final

import structlog

from frazil.cli.asked import Asked, asked
from frazil.errors import FrazilError
from frazil.tables import classes, given
from frazil.tables.choosing import catalogs, chosen
from frazil.tables.class_path import ClassPath, class_path
from frazil.tables.defaults import CATALOGS, EMBEDDED, embedded_catalog
from frazil.tables.jars import Packages
from frazil.tables.told import NeedsSpark, catalog_told

if TYPE_CHECKING:
    from rich.console import Console

    from frazil.tables.catalog import Catalog
    from frazil.tables.sessionless import Sessionless

_begun: Final[ContextVar[Sessionless | None]] = ContextVar("frazil_begun", default=None)

_log = structlog.get_logger(__name__)


@contextmanager
def opening_ahead(home: Path, worker: Path | None) -> Iterator[None]:
    """Have the catalog opened while the command is still imported, for `open_catalog` within this block.

    What takes long, fails or needs Spark is left to `open_catalog`, which says so.
    """
    try:
        begun = _begin(asked(home, worker))
    except (NeedsSpark, FrazilError):
        begun = None
    reset = _begun.set(begun)
    try:
        yield
    finally:
        _begun.reset(reset)
        if begun is not None:
            begun.end()


@contextmanager
def open_catalog(home: Path, worker: Path | None, console: Console) -> Iterator[Catalog]:
    """The catalog, open.

    Raises:
        NothingSetUp: there is no embedded catalog in `home` and no worker file names another.
        InvalidConfiguration: the worker file cannot be read.
        CatalogUnavailable: it does not answer.
        CatalogNotIceberg: there is no such catalog, or it is not Iceberg's.
        ProgramMissing: the JVM did not start; the message names the log.
    """
    with ExitStack() as stack:
        try:
            opening = _begun.get() or stack.enter_context(_opening(asked(home, worker), console))
            with console.status("Opening the catalog …"):
                catalog = _catalog(opening)
        except NeedsSpark as reason:
            _log.info("Spark is started, which takes longer", cause=str(reason))
            from frazil.cli.session import open_session_catalog

            _, catalog = stack.enter_context(open_session_catalog(home, worker, console))
        yield catalog


def _begin(wanted: Asked) -> Sessionless | None:
    """A catalog that is being opened; None where that is to be prepared first."""
    settings = _settings(wanted)
    jars = Packages(settings).jars()
    path = class_path(settings, jars) if jars is not None else None
    return _start(wanted, settings, path) if path and path.is_prepared else None


@contextmanager
def _opening(wanted: Asked, console: Console) -> Iterator[Sessionless]:
    from frazil.tables.preparing import prepare

    settings = _settings(wanted)
    with console.status("Preparing Java for commands (the first time it fetches Iceberg's jars) …"):
        path = prepare(settings, _log_of(wanted))
    opening = _start(wanted, settings, path)
    try:
        yield opening
    finally:
        opening.end()


def _settings(wanted: Asked) -> dict[str, str]:
    """What Spark would be told.

    Raises:
        NeedsSpark: it is told of something else than a plain session.
    """
    if given.is_submitted():
        raise NeedsSpark("spark-submit has started its JVM")
    others = [each for each in given.submitted().others if each != "pyspark-shell"]
    if others:
        raise NeedsSpark(f"{given.SUBMIT_ARGUMENTS} has more than settings: {others[0].partition('=')[0]}")
    # Spark trims what it reads from files.
    theirs = {**{key: text.strip() for key, text in given.settings().items()}, **wanted.spark}
    if given.means_connect(theirs):
        raise NeedsSpark("Spark is told to make a Spark Connect session")
    return {**({} if CATALOGS + EMBEDDED in theirs else embedded_catalog(wanted.home)), **theirs}


def _start(wanted: Asked, settings: Mapping[str, str], path: ClassPath) -> Sessionless:
    name = chosen(catalogs(settings), wanted.catalog, None, wanted.spark)
    told = catalog_told(settings, os.environ, name)
    from frazil.tables.plain_jvm import PlainJvm, jvm_options

    jvm = PlainJvm(path.entries, jvm_options(settings, classes.using(path.archive)), _log_of(wanted))
    # This takes a third of a second, in which the JVM starts.
    from frazil.tables.sessionless import Sessionless

    return Sessionless(told, jvm)


def _catalog(opening: Sessionless) -> Catalog:
    java, gateway = opening.catalog, opening.gateway
    from frazil.tables.catalog import Catalog
    from frazil.tables.syncing import syncing_by

    sync_below = syncing_by(gateway, opening.configuration, opening.told.warehouse)
    return Catalog(java, gateway, opening.told.name, sync_below=sync_below)


def _log_of(wanted: Asked) -> Path:
    return wanted.home / "logs" / "java.log"
