"""What the names of staged files tell, and when a stage was certainly never committed."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frazil.errors import FrazilError
from frazil.model import TableName
from frazil.tables.rules import orphans
from frazil.tables.rules.checks import Expectation, check
from frazil.tables.rules.orphans import Note, last_commit
from frazil.tables.rules.stages import Stage, connector_in_names, stage_of_data, stage_of_rejects, whole
from frazil.tables.rules.state import MemoryState
from frazil.tables.rules.tokens import mirrored, read

from .histories import CONNECTOR, TABLE, History

BASE = "3e72bfef-1527-4156-aa6c-47d912d1de3e"
STAGE = Stage("ORDERS", BASE, "9c74b48b-3933-47e1-a3b0-aae78cfc3df5")

keys = st.text("ABCXYZ019_$", min_size=1, max_size=400)


@given(keys, st.uuids(), st.integers(1), st.integers(0))
def test_the_stage_is_read_from_the_names_of_its_files(key: str, base: uuid.UUID, task: int, chunk: int) -> None:
    stage = Stage.begin(key, str(base))
    data, rejects = (name.replace("{}", f"{chunk:05d}") for name in (stage.data_file(task), stage.reject_file(task)))

    for name in (data, f".{data}.partial"):
        assert (stage_of_data(name), stage_of_rejects(name)) == (stage, None)
    for name in (rejects, f".{rejects}.partial", stage.reject_list, f".{stage.reject_list}.crc"):
        assert (stage_of_data(name), stage_of_rejects(name)) == (None, stage)
    assert stage.connector == connector_in_names(key)


@given(keys, keys)
def test_connectors_are_told_apart_in_names_that_a_file_system_takes(one: str, other: str) -> None:
    name = Stage.begin(one, BASE).data_file(99999).replace("{}", "9" * 17)

    assert len(f".{name}.partial") < 255
    assert (connector_in_names(one) == connector_in_names(other)) == (one == other)


@pytest.mark.parametrize(
    "name",
    [
        f"{BASE}-00000.parquet",
        "00000-0-7d70cbc2-cf26-47b0-8b31-02587b83c1b8-0-00001.parquet",
        f"frazil-ORDERS-{BASE}-1-00000.parquet",
        f"frazil-{STAGE}-1-00000.parquet.crc",
        f".frazil-{STAGE}-1-00000.parquet",
        f".frazil-{STAGE}-1-00000.parquet.tmp",
        f"..frazil-{STAGE}-1-00000.parquet.partial.partial",
        f"frazil-{STAGE}-1-00000.orc",
        f"frazil-{STAGE}-1.parquet",
        f"frazil-{STAGE}-1-00000.parquet\n",
        f"frazil-{STAGE}-1-١.parquet",
        f"frazil-orders-{BASE}-{BASE}-1-00000.parquet",
        f"Frazil-{STAGE}-1-00000.parquet",
        f"frazil-{STAGE}".upper() + "-1-00000.parquet",
        f"my-frazil-{STAGE}-1-00000.parquet",
        f"rejects-{BASE}.parquet",
        f"list-{BASE}.json",
        f"list-{STAGE}-1.json",
        f"abandoned-ORDERS-{BASE}.json",
    ],
)
def test_a_file_of_another_form_belongs_to_no_stage(name: str) -> None:
    assert (stage_of_data(name), stage_of_rejects(name)) == (None, None)


@given(st.text())
def test_no_name_is_too_strange_to_look_at(name: str) -> None:
    assert stage_of_data(name) is None or "frazil-" in whole(name)
    assert orphans.whose_note(name) is None or name.startswith("abandoned-")


def test_the_last_commit_is_known_where_the_tokens_are_those_of_the_mirror() -> None:
    history = History()
    assert last(history) is None

    history.ours(5)
    mine = history.ours(9)
    history.foreign(operation="replace")
    history.expire(1, 2)

    assert last(history) == mine.commit


def test_after_a_rollback_nobody_knows_what_was_committed_from_the_tokens_that_hold() -> None:
    history = History()
    history.ours(5)
    history.ours(9)

    history.roll_back(1)
    assert last(history) is None

    again = history.ours(7)
    assert last(history) == again.commit


@pytest.mark.parametrize("mirror", [{}, {f"frazil.tokens.{CONNECTOR}": "garbled"}])
def test_without_a_mirror_that_can_be_read_nothing_is_certain(mirror: Mapping[str, str]) -> None:
    history = History()
    history.ours(5)
    history.properties = dict(mirror)

    assert last(history) is None


@dataclass
class World:
    """A table, and openers of one connector that stage and commit as `frazil.tables.rules.checks` lets them."""

    history: History = field(default_factory=History)
    openers: list[tuple[str, int]] = field(default_factory=list)
    """Owner and owner epoch, oldest first."""

    staged: list[tuple[str, int, str]] = field(default_factory=list)
    """Owner, epoch, and the commit staged from."""

    committed_from: list[str] = field(default_factory=list)
    """The commits that others with rows were committed on, of all times."""

    replaced: list[str] = field(default_factory=list)
    """The commits from which nothing can be committed any more, as openings said."""

    def open(self) -> None:
        state = self.history.state
        known = read(state, TABLE, CONNECTOR)
        epoch = known.epoch + 1 if known else 1
        certain = last_commit(state, known, CONNECTOR)
        owner = f"opener-{len(self.openers)}"
        self.history.ours(0, owner=owner, epoch=epoch)
        self.openers.append((owner, epoch))
        if certain:
            self.replaced.append(certain)

    def stage(self, which: int) -> None:
        tokens = read(self.history.state, TABLE, CONNECTOR)
        if self.openers and tokens:
            owner, epoch = self.openers[which % len(self.openers)]
            self.staged.append((owner, epoch, tokens.commit))

    def commit(self, which: int) -> None:
        if not self.staged:
            return
        owner, epoch, base = self.staged[which % len(self.staged)]
        try:
            check(self.history.state, TABLE, Expectation(CONNECTOR, owner, epoch, base, (), self.history.uuid))
        except FrazilError:
            return
        self.history.ours(0, owner=owner, epoch=epoch)
        self.committed_from.append(base)

    def roll_back(self, which: int) -> None:
        """To a snapshot of the time since the newest opening."""
        since = [n for n, each in self.history.snapshots.items() if self._is_of_newest(each.values)]
        if since:
            self.history.roll_back(since[which % len(since)])

    def _is_of_newest(self, values: Mapping[str, str]) -> bool:
        tokens = mirrored(self._only(values), TABLE, CONNECTOR)
        return tokens is not None and bool(self.openers) and tokens.owner == self.openers[-1][0]

    def _only(self, values: Mapping[str, str]) -> MemoryState:
        return MemoryState("the-table", None, {}, values)


steps = st.lists(
    st.tuples(st.sampled_from(["open", "stage", "commit", "roll_back", "foreign"]), st.integers(0, 3)),
    min_size=5,
    max_size=20,
)


@settings(max_examples=500)
@given(steps)
def test_nothing_is_ever_committed_from_a_commit_that_an_opening_replaced(script: list[tuple[str, int]]) -> None:
    """Whoever stages and commits whenever; what an opening says holds for all times before and after it."""
    world = World()
    for step, which in script:
        match step:
            case "open":
                world.open()
            case "foreign":
                world.history.foreign(operation="replace")
            case _:
                getattr(world, step)(which)

    assert set(world.replaced).isdisjoint(world.committed_from)


@dataclass
class Files:
    """The small files of a table, in memory."""

    name: TableName = field(default_factory=lambda: TableName(("public",), "ORDERS"))
    uuid: str = "the-table"
    location: str = "/lake/public/ORDERS"
    confined: bool = False
    small: dict[str, bytes] = field(default_factory=dict)

    def write_file(self, path: str, content: bytes) -> None:
        self.small[path] = content

    def read_file(self, path: str) -> bytes:
        return self.small[path]


def test_a_note_is_read_as_it_was_written_and_belongs_to_its_connector() -> None:
    table = Files()

    orphans.note(table, "ORDERS", Note(frozenset({"b", "a"}), {"c": frozenset({"x.parquet"})}))

    (path,) = table.small
    assert path.startswith("/lake/public/_frazil/ORDERS-the-table/")
    assert orphans.whose_note(path.rpartition("/")[2]) == "ORDERS"
    assert orphans.noted(table, path) == Note(frozenset({"a", "b"}), {"c": frozenset({"x.parquet"})})


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b'{"v": 2, "stages": []}', b'{"v": 1}', b'{"v": 1, "stages": 7}']
)
def test_a_note_that_is_none_says_so(content: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        orphans.noted(Files(small={"x": content}), "x")


def test_the_form_of_a_note_is_json() -> None:
    table = Files()
    orphans.note(table, "ORDERS", Note(frozenset({"a"})))

    (content,) = table.small.values()
    assert orjson.loads(content) == {"v": 1, "stages": ["a"]}


def last(history: History) -> str | None:
    state = history.state
    return last_commit(state, read(state, TABLE, CONNECTOR), CONNECTOR)
