"""Rejects come to error tables and dead-letter topics beside the cycles, and neither place waits for the other."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import wait
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import settings as settings_of_hypothesis
from hypothesis import strategies as st
from structlog.testing import capture_logs
from tests.cycle.memory import settings
from tests.memory.catalog import MemoryCatalog
from tests.pipes.default.chunks import batch

from frazil.cycle import sending
from frazil.cycle.delivery import Delivery
from frazil.cycle.open_tables import OpenTable
from frazil.cycle.sending import Sender
from frazil.errors import BrokerUnavailable, CatalogUnavailable
from frazil.model import Column, Primitive, Reject, TableName
from frazil.records.odd_times import HEADER
from frazil.records.rejects import RejectReason, rejects_of
from frazil.tables import outbox
from frazil.tables.rules.stages import Stage
from frazil.tables.rules.tokens import Tokens, decode, encode
from frazil.testing.topics import wait_until

ORDERS = TableName(("public",), "ORDERS")
ERRORS = TableName(("public",), "ORDERS_ERRORS")
NOW = 1_790_000_000_000
_numbers = itertools.count()


class Topic:
    """A dead-letter topic."""

    def __init__(self) -> None:
        self.open = threading.Event()
        """Until it is set, nothing is taken."""

        self.open.set()
        self.sent: list[str] = []
        self.fails_after: int | None = None
        """How many records it takes before nobody answers; None: all."""

        self.refuses: set[str] = set()

    def send(self, rejects: Iterable[Reject], connector: str, table: TableName) -> int:  # noqa: ARG002
        refused = 0
        for number, each in enumerate(rejects):
            self.open.wait(30)
            if number == self.fails_after:
                raise BrokerUnavailable("nowhere", "take records", "nobody answers")
            value = (each.value or b"").decode()
            if value in self.refuses:
                refused += 1
            else:
                self.sent.append(value)
        if self.fails_after == 0:
            raise BrokerUnavailable("nowhere", "take records", "nobody answers")
        return refused


def wait_for_what_is_sent(*senders: Sender) -> None:
    """A process that has ended sends nothing any more."""
    wait([each.sending for sender in senders for each in sender._progress.values() if each.sending])


class Scene:
    """A table whose records are rejected, what delivers them, and what the table says."""

    def __init__(self, *, error_table: bool = True, topic: bool = True) -> None:
        self.topic = Topic()
        self._asked = {"errors__tolerance": "all", "frazil__errors__table": str(error_table).lower()}
        self._has_topic = topic
        self.catalog = MemoryCatalog()
        self.catalog.create(ORDERS, [Column(1, "n", Primitive("long"))], {})
        self.tokens = Tokens("shop", "commit", "owner", 1)
        """What the table says."""

        self.broken = False
        """Whether nothing can be asked of the error table."""

        self.catalog.on_table_request = self._answer
        self.restart()

    def _answer(self, request: str, name: TableName) -> None:
        if self.broken and name == ERRORS:
            raise CatalogUnavailable(request, "it is broken")

    def restart(self) -> None:
        """Another process goes on from what the table says."""
        table = self.catalog.open(ORDERS, None, None)  # type: ignore[arg-type]
        self.opened = OpenTable(table, table.uuid, self.tokens, 1)
        source = SimpleNamespace(dead_letters=lambda: self.topic if self._has_topic else None)
        self.delivery = Delivery(settings(**self._asked), self.catalog, source)  # type: ignore[arg-type]

    def crash(self) -> None:
        """End the process, and start another one."""
        self.delivery.close()
        wait_for_what_is_sent(*self.delivery._senders())
        self.restart()

    def reject(self, *values: str, at: int = NOW, committed: bool = True) -> str | None:
        """Commit rejected records; what is delivered by then is struck off. The path of the reject file comes back."""
        stage = Stage.begin("SHOP", self.opened.tokens.commit)
        tokens = self.delivery.struck_off(self.opened)
        path = None
        if values:
            path = str(Path(f"rejects-{next(_numbers)}.parquet").absolute())
            read = batch(values)
            times = pa.array([at] * len(values), pa.int64())
            read = read.set_column(read.schema.get_field_index("timestamp"), "timestamp", times)
            why = {row: RejectReason("no", "n") for row in range(len(values))}
            (found,) = rejects_of(pa.Table.from_batches([read]), "project", why).tables
            pq.write_table(found, path)
            listed = outbox.new_path(self.opened.table, stage.reject_list)
            outbox.write_list(self.opened.table, listed, stage, [path], tokens.rejects)
            tokens = Tokens(
                "shop",
                stage.id,
                "owner",
                1,
                rejects=listed,
                reached=tokens.reached,
                set_aside=tokens.set_aside,
                refused=tokens.refused,
            )
        if committed:
            self.opened.tokens = self.tokens = decode(encode(tokens))
            self.delivery.committed(self.opened)
        return path

    def deliver(self) -> None:
        self.delivery.deliver(self.opened)

    def finish(self) -> None:
        until = time.monotonic() + 20
        sending.finish(self.delivery.work([self.opened]), lambda: time.monotonic() < until)

    def until(self, has_come: Callable[[], bool]) -> None:
        """Cycles go by until something has come."""

        def look() -> bool:
            self.deliver()
            return has_come()

        wait_until(look, "what was rejected to come")

    def damage(self, path: str | None = None, content: bytes = b"") -> str:
        """Damage a reject file, or the newest list; which comes back."""
        if path is not None:
            Path(path).write_bytes(content)
            return path
        listed = self.tokens.rejects or ""
        self.catalog.files.small[listed] = content
        return listed

    def rows(self) -> list[dict[str, object]]:
        """What is in the error table, by a reader that goes by the files of its newest version."""
        table = self.catalog.tables.get(ERRORS)
        if table is None or not table.state.current_id:
            return []
        return [row for path in table.history[table.state.current_id].files for row in pq.read_table(path).to_pylist()]

    def values(self) -> list[str]:
        return [str(bytes(row["value"]), "utf-8") for row in self.rows()]  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _patience(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sending, "_AGAIN", 0.0)


def test_a_topic_that_takes_nothing_holds_up_no_cycle_and_nothing_is_struck_off() -> None:
    scene = Scene(error_table=False)
    scene.topic.open.clear()
    scene.reject("a")

    for _ in range(3):
        scene.deliver()

    assert not scene.delivery.owes(scene.opened)
    scene.topic.open.set()
    scene.finish()
    assert scene.delivery.owes(scene.opened)
    assert scene.delivery.struck_off(scene.opened).rejects is None
    assert scene.topic.sent == ["a"]


def test_what_was_rejected_while_others_were_on_their_way_follows_and_comes_once() -> None:
    scene = Scene(error_table=False)
    scene.topic.open.clear()
    scene.reject("a")
    scene.deliver()
    scene.reject("b")
    scene.deliver()
    scene.topic.open.set()

    scene.finish()

    assert scene.topic.sent == ["a", "b"]
    assert scene.delivery.struck_off(scene.opened).rejects is None


def test_an_error_table_that_is_broken_keeps_nothing_out_of_the_topic() -> None:
    scene = Scene()
    scene.catalog.create(ERRORS, [Column(1, "mine", Primitive("long"))], {})
    for value in "abc":
        scene.reject(value)
        scene.until(lambda value=value: value in scene.topic.sent)  # type: ignore[misc]

    scene.crash()
    scene.reject("d")
    scene.until(lambda: "d" in scene.topic.sent)

    assert scene.topic.sent == ["a", "b", "c", "c", "d"]  # what was not noted before the crash came again
    scene.catalog.drop(ERRORS)
    scene.finish()
    scene.reject()
    assert scene.values() == ["a", "b", "c", "d"]
    assert (scene.tokens.rejects, scene.tokens.reached) == (None, {})


def test_a_topic_that_takes_nothing_keeps_nothing_out_of_the_error_table() -> None:
    scene = Scene()
    scene.topic.fails_after = 0
    for value in "abc":
        scene.reject(value)
        scene.until(lambda value=value: value in scene.values())  # type: ignore[misc]
    scene.until(lambda: scene.delivery.struck_off(scene.opened).reached == {"error table": scene.tokens.rejects})
    scene.reject()
    assert scene.tokens.reached == {"error table": scene.tokens.rejects}

    scene.crash()
    scene.topic.fails_after = None
    scene.finish()
    scene.reject()

    assert (scene.topic.sent, scene.values()) == (["a", "b", "c"], ["a", "b", "c"])
    assert (scene.tokens.rejects, scene.tokens.reached) == (None, {})


@pytest.mark.parametrize("at", [NOW * 1_000_000, 2**63 - 1, -(2**63), 253_402_300_800_000, -62_135_596_800_001])
def test_a_record_of_a_time_no_calendar_has_is_appended_and_the_time_is_in_a_header(at: int) -> None:
    scene = Scene(topic=False)
    scene.reject("odd", at=at)
    scene.reject("later")

    scene.finish()

    odd, later = scene.rows()
    assert (odd["value"], odd["timestamp"], odd["headers"]) == (
        b"odd",
        None,
        [{"name": HEADER, "value": str(at).encode()}],
    )
    assert (later["value"], later["timestamp"] is None, later["headers"]) == (b"later", False, None)


@pytest.mark.parametrize(
    "content", [b"", b'{"v":1,"commit":"c","fil', b"[]", b'{"v":1}', b'{"commit":1,"files":[],"previous":null}']
)
def test_a_damaged_list_is_named_set_aside_and_keeps_nothing_back(content: bytes) -> None:
    scene = Scene()
    scene.reject("lost")
    damaged = scene.damage(content=content)
    scene.reject("b")

    with capture_logs() as said:
        scene.finish()
    scene.reject("c")
    scene.finish()
    scene.reject()

    assert (scene.values(), scene.topic.sent) == (["b", "c"], ["b", "c"])
    assert (scene.tokens.rejects, scene.tokens.set_aside) == (None, (damaged,))
    assert {each["file"] for each in said if each["log_level"] == "warning"} == {damaged}
    scene.crash()
    scene.reject("d")
    scene.finish()
    assert scene.tokens.set_aside == (damaged,)


def test_a_list_that_leads_back_to_itself_is_read_once() -> None:
    scene = Scene(topic=False)
    scene.reject("a")
    listed = scene.tokens.rejects or ""
    content = scene.catalog.files.small[listed]
    scene.catalog.files.small[listed] = content.replace(b'"previous":null', f'"previous":"{listed}"'.encode())

    scene.finish()

    assert scene.values() == ["a"]


def test_a_list_that_is_gone_is_warned_of_and_keeps_nothing_back() -> None:
    scene = Scene()
    scene.reject("lost")
    gone = scene.tokens.rejects or ""
    scene.reject("b")
    del scene.catalog.files.small[gone]

    with capture_logs() as said:
        scene.finish()
    scene.reject()

    assert (scene.values(), scene.topic.sent, scene.tokens.rejects) == (["b"], ["b"], None)
    assert gone in {each.get("list") for each in said if each["log_level"] == "warning"}


@pytest.mark.parametrize("content", [b"", b"PAR1 no parquet", None])
def test_a_damaged_reject_file_is_set_aside_and_all_others_are_delivered(content: bytes | None) -> None:
    scene = Scene()
    scene.reject("a")
    path = scene.reject("lost", "lost too")
    assert path is not None
    whole = Path(path).read_bytes()
    # The footer of a file whose pages are zeroed reads well.
    zeroed = whole[:4] + bytes(len(whole) // 3) + whole[4 + len(whole) // 3 :]
    damaged = scene.damage(path, zeroed if content is None else content)
    scene.reject("b")

    scene.finish()
    scene.reject()

    assert (scene.values(), scene.topic.sent) == (["a", "b"], ["a", "b"])
    assert (scene.tokens.rejects, scene.tokens.set_aside) == (None, (damaged,))


def test_records_that_the_topic_takes_in_no_form_are_counted() -> None:
    scene = Scene()
    scene.topic.refuses = {"b", "d"}
    scene.reject("a", "b")
    scene.finish()
    scene.reject("c", "d")
    scene.finish()
    scene.reject()

    assert (scene.topic.sent, scene.values()) == (["a", "c"], ["a", "b", "c", "d"])
    assert (scene.tokens.rejects, scene.tokens.refused) == (None, {"dead letters": 2})


def test_hundreds_of_lists_that_wait_are_appended_in_one_swap_beside_the_cycles() -> None:
    scene = Scene(topic=False)
    scene.broken = True
    for number in range(300):
        scene.reject(str(number))
    scene.broken = False

    scene.deliver()
    before = scene.values()
    scene.finish()

    assert before == []
    assert scene.values() == [str(number) for number in range(300)]
    assert len(scene.catalog.tables[ERRORS].history) == 1


STEPS = (
    "reject",
    "reject",
    "reject and lose the commit",
    "deliver",
    "finish",
    "commit nothing",
    "crash",
    "break the error table",
    "mend the error table",
    "the topic fails",
    "the topic works",
    "an append that nobody knows of",
    "a list is damaged",
)


@settings_of_hypothesis(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from(STEPS), max_size=30))
def test_each_reject_is_in_the_error_table_once_and_in_the_topic_at_least_once(steps: list[str]) -> None:
    with TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.chdir(directory)
        scene = Scene()
        committed: list[str] = []
        damaged: set[str] = set()
        for number, step in enumerate(steps):
            values = [f"{number}a", f"{number}b"]
            match step:
                case "reject":
                    scene.reject(*values)
                    committed += values
                case "reject and lose the commit":
                    scene.reject(*values, committed=False)
                case "deliver":
                    scene.deliver()
                case "finish" if not scene.broken and scene.topic.fails_after is None:
                    scene.finish()
                case "commit nothing":
                    scene.reject()
                case "crash":
                    scene.crash()
                case "break the error table" | "mend the error table":
                    scene.broken = step.startswith("break")
                case "an append that nobody knows of":
                    scene.catalog.outcomes.append("lost")
                case "a list is damaged":
                    scene.reject("never read")
                    damaged.add(scene.damage(content=b"{"))
                    # What was before it, nobody can tell once it is damaged: all of that has come by then or is lost.
                    committed.clear()
                case "the topic fails" | "the topic works":
                    scene.topic.fails_after = 1 if step.endswith("fails") else None
        scene.broken, scene.topic.fails_after = False, None
        scene.catalog.outcomes.clear()
        scene.crash()
        scene.finish()
        scene.reject()

        found = scene.values()
        assert len(found) == len(set(found))
        assert set(committed) <= set(found)
        assert set(committed) <= set(scene.topic.sent)
        assert (scene.tokens.rejects, scene.tokens.reached) == (None, {})
        assert set(scene.tokens.set_aside) <= damaged
