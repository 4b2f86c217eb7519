"""Orphans of one table on this disk: what goes, and what a look through it never stumbles over."""

from __future__ import annotations

import os
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.cycle.memory import settings

from frazil.cycle import orphan_cleanup
from frazil.cycle.orphan_cleanup import OrphanCleanup, sweep
from frazil.model import TableName
from frazil.tables import outbox
from frazil.tables.rules import orphans
from frazil.tables.rules.orphans import Note
from frazil.tables.rules.stages import Stage
from frazil.tables.rules.state import MemorySnapshot, MemoryState
from frazil.tables.rules.tokens import Tokens, encode, key_of
from frazil.testing.topics import wait_until

DAY = 86_400.0


@dataclass
class Table:
    """A table on this disk, as far as sweeping goes, whose tokens name `newest`."""

    root: Path
    newest: str | None = None
    commit: str = field(default_factory=lambda: str(uuid.uuid4()))
    name: TableName = field(default_factory=lambda: TableName(("public",), "ORDERS"))
    uuid: str = "the-table"
    confined: bool = False
    used: set[str] = field(default_factory=set)
    reads: int = 0
    seconds_a_read: float = 0.0

    @property
    def location(self) -> str:
        return str(self.root / "ORDERS")

    @property
    def data(self) -> Path:
        return self.root / "ORDERS" / "data"

    def new_data_path(self, name: str) -> str:
        return str(self.data / name)

    def access(self, _: str) -> dict[str, str]:
        return {}

    def refresh(self) -> None:
        pass

    def state(self) -> MemoryState:
        text = encode(Tokens("shop", self.commit, "me", 1, snapshot_seq=1, rejects=self.newest))
        snapshot = MemorySnapshot(1, None, 1, {key_of("SHOP"): text})
        return MemoryState("the-table", 1, {1: snapshot}, {key_of("SHOP"): text})

    def referred_to(self, names: set[str], _: float) -> set[str]:
        return self.used & names

    def write_file(self, path: str, content: bytes) -> None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(content)

    def read_file(self, path: str) -> bytes:
        self.reads += 1
        time.sleep(self.seconds_a_read)
        return Path(path).read_bytes()

    def file(self, stage: Stage, attempt: str) -> Path:
        """A data file, two days old, that an attempt at the stage's first task has written."""
        return old(self.data / stage.data_file(1).format(f"{attempt}00000"))

    def rejected(self, stage: Stage, attempt: str) -> Path:
        return old(Path(outbox.directory(self)) / stage.reject_file(1).format(f"{attempt}00000"))  # type: ignore[arg-type]


def old(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"rows")
    os.utime(path, (time.time() - 2 * DAY,) * 2)
    return path


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path)


def stage(base: str | None = None) -> Stage:
    return Stage("SHOP", base or str(uuid.uuid4()), str(uuid.uuid4()))


def test_attempts_that_lost_go_and_the_files_that_their_stage_committed_stay(table: Table) -> None:
    committed = stage()
    won, lost, late = (table.file(committed, attempt) for attempt in ("000000000001", "000000000002", "000000000003"))
    rejected, rejected_again = (table.rejected(committed, each) for each in ("000000000001", "000000000002"))
    orphans.note(table, "SHOP", Note(committed={committed.id: frozenset({won.name, rejected.name})}))  # type: ignore[arg-type]

    sweep(table, "SHOP", None, DAY)  # type: ignore[arg-type]

    assert (won.exists(), lost.exists(), late.exists()) == (True, False, False)
    assert (rejected.exists(), rejected_again.exists()) == (True, False)


def test_a_stage_of_which_no_note_speaks_keeps_all_its_files(table: Table) -> None:
    files = [table.file(stage(), "000000000001"), table.rejected(stage(), "000000000002")]

    sweep(table, "SHOP", None, DAY)  # type: ignore[arg-type]

    assert all(file.exists() for file in files)


def test_a_chain_of_reject_lists_that_takes_too_long_to_read_does_not_keep_orphans(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(orphan_cleanup, "_LISTS", 0.2)
    base = table.commit
    for _ in range(200):
        made = stage(base)
        path = str(Path(outbox.directory(table)) / made.reject_file(1).format("1"))  # type: ignore[arg-type]
        listed = outbox.new_path(table, made.reject_list)  # type: ignore[arg-type]
        table.newest = outbox.write_list(table, listed, made, [path], table.newest).path  # type: ignore[arg-type]
        base = made.id
    table.commit, table.seconds_a_read = base, 0.01
    lost = stage(base)
    files = [table.file(lost, "000000000001"), table.rejected(lost, "000000000001")]

    sweep(table, "SHOP", base, DAY)  # type: ignore[arg-type]

    assert not any(file.exists() for file in files)
    assert table.reads < 100


def test_an_open_table_is_looked_through_again_every_hour(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Catalog:
        def open(self, *_: object) -> Table:
            return table

    sweeper = OrphanCleanup(settings(frazil__home=str(tmp_path)), Catalog())  # type: ignore[arg-type]
    lost = stage()
    orphan = table.file(lost, "000000000001")
    orphans.note(table, "SHOP", Note(abandoned=frozenset({lost.id})))  # type: ignore[arg-type]

    sweeper.look([table])  # type: ignore[list-item]
    assert sweeper._thread is None
    monkeypatch.setattr(orphan_cleanup, "_EVERY", 0.0)
    sweeper.look([table])  # type: ignore[list-item]

    wait_until(lambda: not orphan.exists(), "the orphan to go", 30)
