"""Accepted records go on beside the cycles, list by list, and are struck off when they are there."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable
from concurrent.futures import wait
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from uuid import uuid4

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import settings as settings_of_hypothesis
from hypothesis import strategies as st
from structlog.testing import capture_logs

from frazil.config.source import OutputLimits
from frazil.cycle import sending
from frazil.cycle.open_tables import OpenTable
from frazil.cycle.output_cleanup import sweep_output
from frazil.cycle.republishing import Republishing
from frazil.cycle.sending import Backlog
from frazil.errors import StreamUnavailable
from frazil.model import OutputRecord, TableName
from frazil.tables import outbox
from frazil.tables.rules.stages import Stage
from frazil.tables.rules.state import MemorySnapshot, MemoryState
from frazil.tables.rules.tokens import Tokens, encode, key_of
from frazil.testing.topics import wait_until

_numbers = itertools.count()


NO_LIMITS = OutputLimits()


class SlowOutput:
    """An output that takes as many lists as the test lets it."""

    def __init__(self) -> None:
        self.open = threading.Semaphore(0)
        self.begun = 0
        self.sent: list[bytes | None] = []
        self.fails = False

    def let(self, lists: int = 1000) -> None:
        self.open.release(lists)

    def send(self, records: Iterable[OutputRecord], connector: str, table: TableName) -> int:  # noqa: ARG002
        self.begun += 1
        assert self.open.acquire(timeout=30)
        if self.fails:
            raise StreamUnavailable("nowhere", "take records", "nobody answers")
        self.sent += [each.value for each in records]
        return 0


class DiskTable:
    """A table on this disk, as far as its outbox goes."""

    def __init__(self, root: Path) -> None:
        self.name = TableName(("public",), "ORDERS")
        self.uuid = "the-table"
        self.location = str(root / "ORDERS")
        self.confined = False
        self.tokens = Tokens("shop", str(uuid4()), "owner", 1)
        self.files = Path(outbox.directory(self))  # type: ignore[arg-type]
        self.files.mkdir(parents=True)

    def access(self, _: str) -> dict[str, str]:
        return {}

    def write_file(self, path: str, content: bytes) -> None:
        Path(path).write_bytes(content)

    def read_file(self, path: str) -> bytes:
        return Path(path).read_bytes()

    def refresh(self) -> None:
        pass

    def state(self) -> MemoryState:
        text = encode(self.tokens)
        return MemoryState(
            self.uuid, 1, {1: MemorySnapshot(1, None, 1, {key_of("SHOP"): text})}, {key_of("SHOP"): text}
        )


class Scene:
    """A table whose records are accepted, and what sends them on; the table has what was committed last."""

    def __init__(self, directory: Path, limits: OutputLimits = NO_LIMITS) -> None:
        self.output = SlowOutput()
        self.limits = limits
        self.table = DiskTable(directory)
        self.restart()

    def restart(self) -> None:
        """Another process goes on from what the table says."""
        self.opened = OpenTable(self.table, self.table.uuid, self.table.tokens, 1)  # type: ignore[arg-type]
        source = SimpleNamespace(output=lambda: self.output)
        limited = SimpleNamespace(key="SHOP", name="shop", source=SimpleNamespace(output_limits=self.limits))
        self.republishing = Republishing(limited, source)  # type: ignore[arg-type]

    def crash(self) -> None:
        """End the process, and start another one."""
        self.republishing.close()
        # A process that has ended sends nothing any more.
        assert self.republishing.sender is not None
        wait([each.sending for each in self.republishing.sender._progress.values() if each.sending])
        self.restart()

    def accept(self, *values: str, committed: bool = True) -> None:
        """Commit accepted records; what is sent by then is struck off."""
        stage = Stage.begin("SHOP", self.opened.tokens.commit)
        tokens = self.republishing.struck_off(self.opened, self.opened.tokens)
        if values:
            path = self.table.files / stage.output_file(1).format(f"{next(_numbers):05d}")
            rows = [
                {"topic": "orders", "partition": "s", "offset": "1", "key": b"k", "value": each.encode()}
                for each in values
            ]
            pq.write_table(pa.Table.from_pylist(rows), path)
            listed = outbox.new_path(self.opened.table, stage.output_list)
            outbox.write_list(self.opened.table, listed, stage, [str(path)], tokens.output)
            tokens = Tokens(
                "shop", stage.id, "owner", 1, output=listed, output_sent=tokens.output_sent if tokens.output else None
            )
        if committed:
            self.opened.tokens = self.table.tokens = tokens
            self.republishing.committed(self.opened, 1 if values else 0)

    def send(self) -> None:
        self.republishing.send(self.opened)

    def until_sent(self, *values: str) -> None:
        wait_until(lambda: self.output.sent == [each.encode() for each in values], f"{values}, not {self.output.sent}")

    def finish(self) -> None:
        sending.finish(self.republishing.work([self.opened]), lambda: True)

    def left(self) -> list[str]:
        """The names of the files that are there."""
        return sorted(each.name for each in self.table.files.iterdir())


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_an_output_that_takes_nothing_holds_up_no_cycle_and_nothing_is_struck_off(scene: Scene) -> None:
    for value in "abc":
        scene.accept(value)
        scene.send()

    assert not scene.republishing.owes(scene.opened)
    assert len(scene.left()) == 6
    scene.output.let()
    scene.finish()
    assert scene.output.sent == [b"a", b"b", b"c"]


def test_what_is_there_is_struck_off_and_deleted_though_more_is_on_its_way(scene: Scene) -> None:
    for value in "abc":
        scene.accept(value)
    scene.send()
    scene.output.let(2)
    scene.until_sent("a", "b")

    scene.accept("d")

    newest, before = outbox.undelivered(
        scene.opened.table, scene.table.tokens.output, {scene.table.tokens.output_sent or ""}
    )
    assert newest.previous == before.path
    scene.output.let()
    scene.finish()
    scene.accept()
    assert (scene.table.tokens.output, scene.table.tokens.output_sent) == (None, None)
    assert scene.output.sent == [b"a", b"b", b"c", b"d"]
    wait_until(lambda: scene.left() == [], "nothing to be left")


def test_after_a_crash_what_was_not_struck_off_is_sent_again_and_nothing_is_missing(scene: Scene) -> None:
    for value in "abc":
        scene.accept(value)
    scene.send()
    scene.output.let(1)
    scene.until_sent("a")
    scene.accept("d")
    scene.output.let(1)
    scene.until_sent("a", "b")
    scene.output.fails = True
    scene.output.let(1000)
    scene.output = SlowOutput()
    scene.output.let()

    scene.restart()
    scene.finish()

    assert scene.output.sent == [b"b", b"c", b"d"]


def test_a_commit_that_came_to_nothing_strikes_nothing_off(scene: Scene) -> None:
    scene.output.let()
    scene.accept("a")
    scene.finish()
    before = scene.left()

    scene.accept("b", committed=False)

    assert len(before) == 2
    assert set(before) <= set(scene.left())
    scene.accept("c")
    scene.finish()
    assert scene.output.sent == [b"a", b"c"]


def test_what_fails_is_tried_again_and_whoever_waits_for_the_end_does_not_wait_for_that(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.output.let()
    scene.output.fails = True
    scene.accept("a")
    scene.finish()
    assert (scene.output.begun, scene.republishing.owes(scene.opened)) == (1, False)
    scene.send()
    assert scene.output.begun == 1
    scene.output.fails = False
    monkeypatch.setattr(sending, "_AGAIN", 0.0)

    scene.finish()

    assert scene.output.sent == [b"a"]


def test_what_waits_is_known_from_its_commit_until_it_is_sent(scene: Scene) -> None:
    assert scene.republishing.backlog(scene.opened) == Backlog()
    for value in "abc":
        scene.accept(value)
        scene.send()
    assert scene.republishing.backlog(scene.opened).files == 3

    scene.output.let(1)
    scene.until_sent("a")
    wait_until(lambda: scene.republishing.backlog(scene.opened).files == 2, "the first list to wait no more")
    scene.output.let()
    scene.finish()

    assert scene.republishing.backlog(scene.opened) == Backlog()


def test_what_waited_before_a_restart_is_known_with_its_age_once_the_output_is_sent_to(scene: Scene) -> None:
    for value in "abc":
        scene.accept(value)
    listed = Path(scene.opened.tokens.output or "")
    document = orjson.loads(listed.read_bytes())
    listed.write_bytes(orjson.dumps({**document, "at": document["at"] - 7_200_000}))
    scene.restart()

    scene.send()

    wait_until(lambda: scene.republishing.backlog(scene.opened).files == 3, "what waits to be known")
    assert 7_200 <= scene.republishing.backlog(scene.opened).seconds < 7_300


@pytest.mark.parametrize("limits", [OutputLimits(files=2), OutputLimits(seconds=0.05)])
def test_a_table_is_full_while_too_much_waits_or_for_too_long_and_says_so_once(
    tmp_path: Path, limits: OutputLimits
) -> None:
    scene = Scene(tmp_path, limits)
    with capture_logs() as said:
        assert scene.republishing.fullness(scene.opened) is None
        scene.accept("a")
        scene.accept("b")
        wait_until(lambda: scene.republishing.fullness(scene.opened) is not None, "the table to be full")
        reason = scene.republishing.fullness(scene.opened)
        scene.output.let()
        scene.finish()
        assert scene.republishing.fullness(scene.opened) is None

    assert reason is not None
    assert reason.startswith("2 files of accepted records wait for the output stream")
    assert [each["event"] for each in said if each["log_level"] == "warning"] == [
        "too many accepted records wait to be sent on: no more are read until the output has taken enough",
        "the output has taken enough accepted records: reading goes on",
    ]


def test_a_damaged_list_is_set_aside_and_what_came_before_and_after_is_sent(scene: Scene) -> None:
    scene.output.let()
    scene.accept("a")
    damaged = Path(scene.opened.tokens.output or "")
    damaged.write_bytes(b"{")
    scene.accept("b")
    with capture_logs() as said:
        scene.finish()
    scene.accept()

    assert scene.output.sent == [b"b"]
    assert (scene.table.tokens.output, scene.table.tokens.set_aside) == (None, (str(damaged),))
    assert [each["file"] for each in said if each["log_level"] == "warning"] == [str(damaged)]
    wait_until(lambda: len(scene.left()) == 2, "the damaged list and its file to be left alone")
    sweep_output(scene.table, "SHOP", -1.0)  # type: ignore[arg-type]
    assert len(scene.left()) == 2
    scene.crash()
    scene.accept("c")
    scene.finish()
    assert scene.output.sent == [b"b", b"c"]


def test_a_damaged_file_is_set_aside_and_all_others_of_its_list_are_sent(scene: Scene) -> None:
    scene.output.let()
    scene.accept("a")
    (damaged,) = scene.table.files.glob("*.parquet")
    damaged.write_bytes(damaged.read_bytes()[:60])
    scene.accept("b")
    scene.finish()
    scene.accept()

    assert scene.output.sent == [b"b"]
    assert (scene.table.tokens.output, scene.table.tokens.set_aside) == (None, (str(damaged),))
    wait_until(lambda: scene.left() == [damaged.name], "all but the damaged file to be deleted")


def test_who_is_asked_to_stop_waits_for_a_moment_only(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "_AT_THE_END", 0.1)
    scene.accept("a")

    sending.finish(scene.republishing.work([scene.opened]), lambda: False)

    assert scene.output.begun == 1
    assert scene.output.sent == []
    scene.output.let()
    scene.until_sent("a")


def test_a_table_that_is_another_one_by_now_is_not_waited_for(scene: Scene) -> None:
    scene.output.let()
    scene.accept("a")
    scene.send()
    scene.until_sent("a")
    work = scene.republishing.work([])
    waiting = threading.Thread(target=sending.finish, args=(work, lambda: True), daemon=True)

    waiting.start()
    waiting.join(10)

    assert not waiting.is_alive()


def test_a_table_that_was_set_back_names_lists_that_are_gone_and_goes_on(scene: Scene) -> None:
    scene.output.let()
    scene.accept("a")
    before = scene.table.tokens
    scene.finish()
    scene.accept()
    wait_until(lambda: scene.left() == [], "nothing to be left")

    scene.table.tokens = before
    scene.restart()
    scene.accept("a again")
    scene.finish()

    assert scene.output.sent == [b"a", b"a again"]


def test_old_files_that_no_token_leads_to_are_removed_and_those_that_wait_are_not(scene: Scene) -> None:
    scene.accept("lost", committed=False)
    lost = scene.left()
    scene.accept("waits")
    others = scene.table.files / "rejects-SHOP-other.parquet"
    others.touch()

    sweep_output(scene.table, "SHOP", 3600.0)  # type: ignore[arg-type]
    assert set(lost) <= set(scene.left())
    sweep_output(scene.table, "SHOP", -1.0)  # type: ignore[arg-type]

    assert set(lost).isdisjoint(scene.left())
    assert len(scene.left()) == 3
    scene.output.let()
    scene.finish()
    assert scene.output.sent == [b"waits"]


def test_looking_for_old_files_where_there_never_was_one_is_no_error(tmp_path: Path) -> None:
    table = DiskTable(tmp_path)
    table.files.rmdir()

    sweep_output(table, "SHOP", 0.0)  # type: ignore[arg-type]

    assert not table.files.exists()


class Whims:
    """An output that takes records or does not, and may break off in the midst of a list."""

    def __init__(self) -> None:
        self.takes: int | None = None
        """How many records it takes before it fails; None: all of them."""

        self.sent: list[str] = []

    def send(self, records: Iterable[OutputRecord], connector: str, table: TableName) -> int:  # noqa: ARG002
        for number, each in enumerate(records):
            if number == self.takes:
                raise StreamUnavailable("nowhere", "take records", "nobody answers")
            self.sent.append((each.value or b"").decode())
        return 0


STEPS = ("accept", "accept", "accept and lose the commit", "send", "commit nothing", "crash", "fail", "work")


@settings_of_hypothesis(max_examples=60)
@given(st.lists(st.sampled_from(STEPS), max_size=25))
def test_whatever_happens_all_that_is_committed_is_sent_in_order_and_nothing_else(steps: list[str]) -> None:
    with TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(sending, "_AGAIN", 0.0)
        scene, output = Scene(Path(directory)), Whims()
        scene.output = output  # type: ignore[assignment]
        scene.restart()
        committed: list[str] = []
        for number, step in enumerate(steps):
            values = [f"{number}a", f"{number}b"]
            match step:
                case "accept":
                    scene.accept(*values)
                    committed += values
                case "accept and lose the commit":
                    scene.accept(*values, committed=False)
                case "send":
                    scene.send()
                case "commit nothing":
                    scene.accept()
                case "crash":
                    scene.crash()
                case _:
                    output.takes = 1 if step == "fail" else None
        output.takes = None
        scene.crash()
        scene.finish()

        assert set(output.sent) == set(committed)
        # What is sent again begins with what was not struck off: each is there a last time in its order.
        last = {value: place for place, value in enumerate(output.sent)}
        assert sorted(committed, key=last.__getitem__) == committed
