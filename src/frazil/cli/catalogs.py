"""The catalog that commands work on: without Spark, unless it needs Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Final

import structlog

from frazil.errors import FrazilError
from frazil.tables.jvm.asked import Asked, asked
from frazil.tables.jvm.catalog_settings import NeedsSpark
from frazil.tables.jvm.opening import begin, begin_prepared, opened

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from rich.console import Console

    from frazil.tables.iceberg.catalog import Catalog
    from frazil.tables.jvm.sessionless import Sessionless

_begun: Final[ContextVar[Sessionless | None]] = ContextVar("frazil_begun", default=None)

_log = structlog.get_logger(__name__)


@contextmanager
def opening_ahead(home: Path, worker: Path | None) -> Iterator[None]:
    """Have the catalog opened while the command is still imported, for `open_catalog` within this block.

    What takes long, fails or needs Spark is left to `open_catalog`, which says so.
    """
    try:
        begun = begin(asked(home, worker))
    except (NeedsSpark, FrazilError):
        begun = None
    reset = _begun.set(begun)
    try:
        yield
    finally:
        _begun.reset(reset)
        if begun is not None:
            begun.end()


class Desk:
    """A catalog that is open, and the Spark session of a command that needs one."""

    def __init__(self, wanted: Asked, console: Console, stack: ExitStack) -> None:
        """Open nothing yet; what is opened ends with `stack`."""
        self._wanted = wanted
        self._console = console
        self._stack = stack
        self._session: tuple[SparkSession, Catalog] | None = None

    def catalog(self, *, to_write: bool) -> Catalog:
        """The catalog, opened; see `open_catalog`."""
        try:
            opening = _begun.get() or self._opening()
            with self._console.status("Opening the catalog …"):
                return opened(opening, to_write=to_write)
        except NeedsSpark as reason:
            _log.info("Spark is started, which takes longer", cause=str(reason))
            return self._in_spark()[1]

    def spark(self) -> SparkSession:
        """A Spark session that has the catalog, started when it is first asked for."""
        return self._in_spark()[0]

    def _in_spark(self) -> tuple[SparkSession, Catalog]:
        if self._session is None:
            from frazil.cli.session import open_session_catalog

            self._session = self._stack.enter_context(open_session_catalog(self._wanted, self._console))
        return self._session

    def _opening(self) -> Sessionless:
        with self._console.status("Preparing Java for commands (the first time it fetches Iceberg's jars) …"):
            opening = begin_prepared(self._wanted)
        self._stack.callback(opening.end)
        return opening


@contextmanager
def open_desk(wanted: Asked, console: Console) -> Iterator[Desk]:
    """A desk; what was opened at it ends with the block."""
    with ExitStack() as stack:
        yield Desk(wanted, console, stack)


@contextmanager
def open_catalog(home: Path, worker: Path | None, console: Console, *, to_write: bool = True) -> Iterator[Catalog]:
    """The catalog, open.

    Raises:
        NothingSetUp: there is no embedded catalog in `home` and no worker file names another.
        InvalidConfiguration: the worker file cannot be read.
        CatalogUnavailable: it does not answer.
        CatalogNotIceberg: there is no such catalog, or it is not Iceberg's.
        ProgramMissing: the JVM did not start; the message names the log.
    """
    with open_desk(asked(home, worker), console) as desk:
        yield desk.catalog(to_write=to_write)
