"""Remove files of accepted records that nobody sends on any more: their process ended before it could delete them.

A file goes if its name says that this connector wrote it to be sent on, the tokens lead to no list that names it, and
it has reached `frazil.orphans.min.age` by the clock of its file system: then no commit is under way that may name it.
"""

from __future__ import annotations

from typing import Final

import structlog

from frazil.storage.storage import Storage
from frazil.tables import outbox
from frazil.tables.base import WritableTable
from frazil.tables.rules.stages import connector_in_names, stage_of_output, whole
from frazil.tables.rules.tokens import read

_MOST: Final = 10_000
"""Files removed at one look."""

_log = structlog.get_logger(__name__)


def sweep_output(table: WritableTable, connector: str, min_age: float) -> None:
    """Remove those files of a table that are `min_age` seconds old.

    Raises:
        FrazilError: nothing is certain any more; what was not removed by then stays.
    """
    directory = outbox.directory(table)
    storage = Storage(table.access(directory))
    ours = connector_in_names(connector)

    def is_ours(name: str) -> bool:
        stage = stage_of_output(name)
        return stage is not None and stage.connector == ours

    found = [*storage.files(directory, is_ours)]
    if not found:
        return
    before = storage.now(directory) - min_age
    old = [file for file in found if file.modified <= before][:_MOST]
    # Read after the files were found, and whole: what was named since is younger.
    table.refresh()
    tokens = read(table.state(), str(table.name), connector)
    named = set[str]()
    if tokens is not None:
        waiting = outbox.waiting(table, tokens.output, {tokens.output_sent or ""})
        aside = any(stage_of_output(path.rpartition("/")[2]) for path in tokens.set_aside)
        if aside or any(each.damage for each in waiting):
            # A damaged list does not tell what it named: all of it stays until the list is dealt with.
            _log.debug("files of accepted records stay: a list of them is damaged", table=str(table.name))
            return
        for listed in waiting:
            named.update(path.rpartition("/")[2] for path in (listed.path, *listed.files))
    gone = [file for file in old if whole(file.name) not in named]
    for file in gone:
        storage.delete(file.location)
    if gone:
        _log.info(
            "removed files of accepted records that were sent on, or never committed",
            connector=connector,
            table=str(table.name),
            files=len(gone),
            bytes=sum(file.size for file in gone),
        )
