"""Rejects that wait in tables that no connector opens are shown, delivered once, or dropped by a person."""

from __future__ import annotations

import itertools
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.memory.catalog import MemoryCatalog, MemoryTarget
from tests.pipes.default.chunks import batch

from frazil.connector.rejected.waiting import AUDIT, WaitingRejects
from frazil.errors import CommitUnknown, ReplayRefused
from frazil.model import Column, Primitive, TableName
from frazil.records.rejects import RejectReason, rejects_of
from frazil.tables import outbox
from frazil.tables.rules.stages import Stage
from frazil.tables.rules.tokens import Tokens, encode, key_of, mirrored

ORDERS = TableName(("public",), "ORDERS")
ERRORS = TableName(("public",), "ORDERS_ERRORS")
_numbers = itertools.count()


class Lake(MemoryCatalog):
    """A catalog with a table whose connector is gone."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = Tokens("shop", "commit", "owner", 1)
        self.create(ORDERS, [Column(1, "n", Primitive("long"))], {})

    def namespaces(self) -> list[tuple[str, ...]]:
        return [("public",)]

    def table(self, name: TableName) -> MemoryTarget:
        return self.open(name, None, None)  # type: ignore[arg-type]

    def reject(self, *values: str) -> Path:
        """Records of one commit are rejected; the path of their file comes back."""
        stage = Stage.begin("SHOP", "00000000-0000-0000-0000-000000000000")
        path = Path(stage.reject_file(next(_numbers)).format("00000")).absolute()
        why = {row: RejectReason("no", "n") for row in range(len(values))}
        (found,) = rejects_of(pa.Table.from_batches([batch(values)]), "project", why).tables
        pq.write_table(found, path)
        table = self.table(ORDERS)
        listed = outbox.new_path(table, stage.reject_list)
        outbox.write_list(table, listed, stage, [str(path)], self.tokens.rejects)
        self.say(Tokens("shop", stage.id, "owner", 1, rejects=listed))
        return path

    def say(self, tokens: Tokens) -> None:
        """Have the table say something."""
        self.tokens = tokens
        target = self.tables[ORDERS]
        target.state.properties[key_of("SHOP")] = encode(tokens)  # type: ignore[index]

    def now(self) -> Tokens:
        found = mirrored(self.tables[ORDERS].state, "ORDERS", "SHOP")
        assert found is not None
        return found

    def audit(self) -> dict:
        current = self.tables[ORDERS].state.current
        assert current is not None
        return orjson.loads(current.summary(AUDIT) or "")  # type: ignore[no-any-return]

    def rows(self) -> list[str]:
        table = self.tables.get(ERRORS)
        files = table.history[table.state.current_id].files if table and table.state.current_id else ()
        return [value.decode() for path in files for value in pq.read_table(path).column("value").to_pylist()]


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lake:
    monkeypatch.chdir(tmp_path)
    return Lake()


def waiting(lake: Lake) -> WaitingRejects:
    return WaitingRejects(lake, {})  # type: ignore[arg-type]


def test_what_waits_is_shown_and_a_dry_run_changes_nothing(lake: Lake) -> None:
    lake.reject("a")
    lake.reject("b")

    (found,) = waiting(lake).all()
    (dry,) = waiting(lake).deliver("orders", None, dry=True, force=False)
    (dropped,) = waiting(lake).drop("public.ORDERS", None, dry=True, force=False)

    assert (found.table, found.connector, found.lists, found.since is None) == ("public.ORDERS", "SHOP", 2, False)
    assert (dry.waiting, dropped, lake.rows(), lake.now()) == (found, found, [], lake.tokens)


def test_what_waits_is_delivered_once_with_an_audit(lake: Lake) -> None:
    lake.reject("a", "b")
    lake.reject("c")

    (done,) = waiting(lake).deliver("ORDERS", "moved house", dry=False, force=False)

    assert (done.rows, done.damaged, lake.rows()) == (3, [], ["a", "b", "c"])
    assert (lake.now().rejects, waiting(lake).all()) == (None, [])
    assert {name: lake.audit()[name] for name in ("command", "reason", "rows")} == {
        "command": "frazil dlq deliver", "reason": "moved house", "rows": 3,
    }  # fmt: skip


def test_a_delivery_that_ended_before_its_tokens_were_committed_is_repeated(lake: Lake) -> None:
    lake.reject("a", "b")
    lake.outcomes.extend(["told", "never"])
    with pytest.raises(CommitUnknown):
        waiting(lake).deliver("ORDERS", None, dry=False, force=False)

    (done,) = waiting(lake).deliver("ORDERS", None, dry=False, force=False)

    assert (done.rows, lake.rows(), lake.now().rejects) == (0, ["a", "b"], None)


def test_what_waits_is_dropped_with_an_audit_and_its_files_stay(lake: Lake) -> None:
    path = lake.reject("a")
    lake.say(
        Tokens("shop", "c", "owner", 1, rejects=lake.tokens.rejects, set_aside=("x.json",), refused={"dead letters": 2})
    )

    waiting(lake).drop("ORDERS", "told them", dry=False, force=False)

    now = lake.now()
    assert (now.rejects, now.set_aside, now.refused, lake.rows(), path.exists()) == (None, (), {}, [], True)
    assert (lake.audit()["reason"], len(lake.audit()["lists"])) == ("told them", 2)


def test_a_list_and_a_file_that_were_restored_are_delivered_each_once(lake: Lake) -> None:
    lake.reject("a")
    older = lake.tokens.rejects or ""
    lake.say(Tokens("shop", "c", "owner", 1))
    file, other = lake.reject("b"), lake.reject("c")
    whole, damaged = file.read_bytes(), lake.files.small[older]
    file.write_bytes(b"")
    lake.files.small[older] = b"{"
    lake.say(Tokens("shop", "c", "owner", 1, rejects=lake.tokens.rejects, set_aside=(older,)))

    (first,) = waiting(lake).deliver("ORDERS", None, dry=False, force=False)
    assert (lake.rows(), {*first.damaged}) == (["c"], {older, str(file)})
    assert {*lake.now().set_aside} == {older, str(file)}
    file.write_bytes(whole)
    lake.files.small[older] = damaged
    (second,) = waiting(lake).deliver("ORDERS", None, dry=False, force=False)

    assert (second.rows, second.damaged, lake.now().set_aside) == (2, [], ())
    assert sorted(lake.rows()) == ["a", "b", "c"]
    assert other.exists()
    times = [
        each for path in Path("memory").rglob("*.parquet") for each in pq.read_table(path).column("commit").to_pylist()
    ]
    assert {len(each) for each in times} == {36}


def test_nothing_waits_where_no_token_names_a_list(lake: Lake) -> None:
    with pytest.raises(ReplayRefused, match="no rejected records wait in a table ORDERS"):
        waiting(lake).deliver("ORDERS", None, dry=False, force=False)
