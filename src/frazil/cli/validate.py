"""`frazil validate`: what is wrong with connector files, and with the tables they are for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import structlog

from frazil.cli.catalogs import open_desk
from frazil.cli.console import complain, people
from frazil.cli.loading import load_all
from frazil.cli.visible import visible
from frazil.config import ConnectorSettings
from frazil.cycle.foreseeing import obstacles
from frazil.errors import FrazilError, NothingSetUp, wording_of
from frazil.tables.jvm.asked import Asked

_log = structlog.get_logger(__name__)


def validate_files(
    files: Sequence[Path], worker: Path | None, overrides: Mapping[str, str], *, with_catalog: bool
) -> int:
    """Say of each file that it is valid; with the catalog, also what would stop its connector there.

    Returns:
        0 when nothing would stop them.

    Raises:
        InvalidConfiguration: with the problems of all files.
    """
    stopped = False
    for settings in load_all(files, worker, overrides):
        renamed = "" if settings.key == settings.name else f"; channels and tokens call it {settings.key}"
        print(f"{visible(settings.name)}: valid{renamed}", flush=True)
        for error in _found(settings) if with_catalog else ():
            complain(error)
            stopped = True
    return 1 if stopped else 0


def _found(settings: ConnectorSettings) -> list[FrazilError]:
    if settings.source.topics_regex:
        words = wording_of(settings.source.kind)
        _log.info(
            f"{words.service} knows which {words.topic}s the pattern means; their tables are not looked at",
            key=words.pattern,
        )
    if not settings.spark and not (Path(settings.home) / "catalog.db").exists():
        return _without_catalog(settings)
    console = people()
    wanted = Asked(Path(settings.home), settings.spark, settings.catalog, settings.database)
    try:
        with open_desk(wanted, console) as desk:
            catalog = desk.catalog(to_write=False)
            with console.status("Looking at the tables …"):
                return obstacles(settings, catalog)
    except FrazilError as error:  # the next connector may have another catalog
        return [error]


def _without_catalog(settings: ConnectorSettings) -> list[FrazilError]:
    """Opening the embedded catalog would make it."""
    if settings.autocreate == "none":
        remedy = "snowflake.autocreate.table.type=none forbids making tables; name the home that has them: --home."
        return [NothingSetUp(f"there is no catalog in {settings.home}", remedy)]
    _log.info("there is no catalog yet; frazil run makes it", home=settings.home)
    return []
