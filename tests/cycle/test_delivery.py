"""Rejects go to the dead-letter topic beside the cycles, each list once, and are struck off when they are there."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cycle.memory import settings
from tests.memory.catalog import MemoryCatalog
from tests.pipes.default.chunks import batch

from frazil.cycle import delivery
from frazil.cycle.delivery import Delivery
from frazil.cycle.open_tables import OpenTable
from frazil.errors import BrokerUnavailable
from frazil.model import Column, Primitive, Reject, TableName
from frazil.records.rejects import RejectReason, rejects_of
from frazil.tables import outbox
from frazil.tables.rules.stages import Stage
from frazil.tables.rules.tokens import Tokens

ORDERS = TableName(("public",), "ORDERS")
_numbers = itertools.count()


class SlowTopic:
    """A dead-letter topic that takes nothing until the test lets it."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.sent: list[bytes | None] = []
        self.fails = False

    def send(self, rejects: Iterable[Reject], connector: str, table: TableName) -> None:  # noqa: ARG002
        found = [each.value for each in rejects]
        self.open.wait(30)
        if self.fails:
            raise BrokerUnavailable("nowhere", "take records", "nobody answers")
        self.sent += found


class Scene:
    """A table whose records are rejected, and the delivery of its connector."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(directory)
        monkeypatch.setattr(delivery, "_PATIENCE", 0.01)
        self.monkeypatch = monkeypatch
        self.topic = SlowTopic()
        catalog = MemoryCatalog()
        catalog.create(ORDERS, [Column(1, "n", Primitive("long"))], {})
        table = catalog.open(ORDERS, None, None)  # type: ignore[arg-type]
        self.opened = OpenTable(table, table.uuid, Tokens("shop", "commit", "owner", 1), 1)
        source = SimpleNamespace(dead_letters=lambda: self.topic)
        self.delivery = Delivery(settings(errors__tolerance="all"), catalog, source)  # type: ignore[arg-type]

    def reject(self, value: str) -> None:
        """A commit has a rejected record; what is delivered by then is struck off."""
        before = self.delivery.struck_off(self.opened)
        path = Path(f"rejects-{next(_numbers)}.parquet").absolute()
        (found,) = rejects_of(pa.Table.from_batches([batch([value])]), "project", {0: RejectReason("no", "n")}).tables
        pq.write_table(found, path)
        stage = Stage.begin("SHOP", before.commit)
        listed = outbox.write_list(
            self.opened.table, outbox.new_path(self.opened.table, stage.reject_list), stage, [str(path)], before.rejects
        )
        self.opened.tokens = Tokens("shop", stage.id, "owner", 1, rejects=listed.path)

    def deliver(self) -> None:
        self.delivery.deliver(self.opened)


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    return Scene(tmp_path, monkeypatch)


def test_a_topic_that_takes_nothing_holds_up_no_cycle_and_nothing_is_struck_off(scene: Scene) -> None:
    scene.reject("a")

    for _ in range(3):
        scene.deliver()

    assert not scene.delivery.owes(scene.opened)
    scene.topic.open.set()
    scene.delivery.finish()
    assert scene.delivery.owes(scene.opened)
    assert scene.delivery.struck_off(scene.opened).rejects is None
    assert scene.topic.sent == [b"a"]


def test_what_was_rejected_while_others_were_on_their_way_follows_them_and_nothing_comes_twice(scene: Scene) -> None:
    scene.reject("a")
    scene.deliver()
    scene.reject("b")
    scene.deliver()
    scene.topic.open.set()
    scene.delivery.finish()
    assert not scene.delivery.owes(scene.opened)

    scene.deliver()
    scene.delivery.finish()

    assert scene.topic.sent == [b"a", b"b"]
    assert scene.delivery.owes(scene.opened)


def test_what_did_not_come_through_is_sent_again(scene: Scene) -> None:
    scene.topic.open.set()
    scene.topic.fails = True
    scene.reject("a")
    scene.deliver()
    scene.delivery.finish()
    assert not scene.delivery.owes(scene.opened)
    scene.topic.fails = False
    scene.monkeypatch.setattr(delivery, "_AGAIN", 0.0)

    scene.deliver()
    scene.delivery.finish()

    assert (scene.topic.sent, scene.delivery.owes(scene.opened)) == ([b"a"], True)
