from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.channels import at, offsets, topic, with_channel

from frazil.cycle.accounting import (
    Advance,
    advances,
    average_sizes,
    beyond_first_reject,
    error_of,
    first_reject,
    last_error,
    mixed,
    moved,
    parts,
)
from frazil.errors import InvalidRecord, UnfitValue
from frazil.model import (
    Range,
    Reject,
    RejectKind,
    RejectSummary,
    SourcePartition,
    Staged,
    StagedRange,
    StagedTable,
    TableName,
    WriteShape,
)
from frazil.sources.kinds import KAFKA
from frazil.tables.rules.channels import Channel
from frazil.tables.rules.tokens import Tokens

SHAPE = WriteShape(TableName(("public",), "ORDERS"), "u", 0, 0, 0, (), has_rows=True, evolves=False)


def orders(partition: int) -> SourcePartition:
    return SourcePartition("orders", partition)


def piece(partition: int, start: int, covered: int, errors: int = 0, epoch: int | None = None) -> StagedRange:
    count = covered - start
    return StagedRange(
        orders(partition),
        at(start),
        at(covered, epoch),
        parsed=count,
        inserted=count - errors,
        errors=errors,
        bytes=count * 10,
    )


def task(*ranges: StagedRange, rejects: RejectSummary | None = None) -> Staged:
    return Staged(ranges, (StagedTable(SHAPE, ranges, rejects=rejects),))


def reject(partition: int, offset: int, code: str = "5030", column: str | None = "a") -> Reject:
    return Reject(orders(partition), offset, None, None, b'{"a": secret}', (), "project", code, "does not fit", column)


def rejected(partition: int, offset: int) -> RejectSummary:
    first = reject(partition, offset)
    return RejectSummary(1, first, "file:/r", (RejectKind("5030", "a", "does not fit", 1, first),))


def whole(partition: int, start: int, end: int) -> Range:
    return offsets(orders(partition), start, end)


def test_pieces_of_a_partition_join_whichever_task_read_them() -> None:
    progress = advances([task(piece(0, 50, 80, errors=2, epoch=4)), task(piece(0, 0, 50, epoch=3), piece(1, 7, 9))])

    first = progress[orders(0)]
    assert (first.start, first.covered, first.covered.leader_epoch) == (at(0), at(80), 4)
    assert (first.parsed, first.inserted, first.errors) == (80, 78, 2)
    assert progress[orders(1)].covered == at(9)


def test_what_no_leader_epoch_is_known_of_makes_the_channels_unknown() -> None:
    def epoch_after(last: StagedRange) -> int | None:
        return advances([task(piece(0, 0, 50, epoch=3), last)])[orders(0)].covered.leader_epoch

    assert epoch_after(piece(0, 50, 60, epoch=4)) == 4
    assert epoch_after(piece(0, 50, 60)) is None
    assert epoch_after(piece(0, 50, 50)) == 3


def test_pieces_of_which_a_later_one_is_of_an_earlier_leader_are_of_two_logs() -> None:
    def read(start: int, record_epoch: int | None) -> StagedRange:
        return replace(piece(0, start, start + 10), record_epoch=record_epoch)

    assert mixed([task(read(10, 4)), task(read(0, 3)), task(read(20, None)), task(read(30, 4))]) is None
    assert mixed([task(read(10, 3)), task(read(0, 4))]) == orders(0)


def test_a_hole_ends_the_advance() -> None:
    progress = advances([task(piece(0, 0, 40)), task(piece(0, 50, 80))])

    assert (progress[orders(0)].covered, progress[orders(0)].parsed) == (at(40), 40)


def test_tasks_without_a_hole_are_committed_as_they_are() -> None:
    staged = [task(piece(0, 0, 50)), task(piece(0, 50, 80), piece(1, 0, 3)), task()]

    assert beyond_first_reject(staged, [whole(0, 0, 80), whole(1, 0, 3)]) == []


def test_what_lies_behind_a_bad_record_is_read_again_in_its_turn() -> None:
    stopped, behind, other = task(piece(0, 0, 40)), task(piece(0, 50, 80)), task(piece(1, 0, 9))

    assert beyond_first_reject([stopped, behind, other], [whole(0, 0, 80), whole(1, 0, 9)]) == [(behind, [])]


def test_rows_that_shared_a_task_with_those_behind_a_bad_record_are_staged_without_them() -> None:
    stopped = task(piece(0, 0, 40))
    behind = task(piece(0, 50, 80), piece(1, 0, 30))
    further = task(piece(1, 30, 60), piece(2, 0, 5))

    found = beyond_first_reject([further, behind, stopped], [whole(0, 0, 80), whole(1, 0, 60), whole(2, 0, 5)])

    assert found == [(behind, [whole(1, 0, 30)])]


def test_of_two_tasks_that_hold_halves_of_two_partitions_both_keep_what_is_good() -> None:
    one = task(piece(0, 0, 50), piece(1, 50, 80))
    two = task(piece(0, 50, 80), piece(1, 0, 40))  # partition 1 stopped at a bad record

    assert beyond_first_reject([one, two], [whole(0, 0, 80), whole(1, 0, 80)]) == [(one, [whole(0, 0, 50)])]


def test_a_task_that_got_nowhere_is_kept_and_holds_what_follows_back() -> None:
    nowhere, behind = task(piece(0, 10, 10)), task(piece(0, 50, 80))

    assert beyond_first_reject([nowhere, behind], [whole(0, 10, 80)]) == [(behind, [])]
    assert advances([nowhere])[orders(0)].covered == at(10)


def test_a_piece_never_passes_for_the_first_when_the_first_is_missing() -> None:
    other, behind = task(piece(1, 0, 9)), task(piece(0, 50, 80))

    assert beyond_first_reject([other, behind], [whole(0, 0, 80), whole(1, 0, 9)]) == [(behind, [])]


def test_sizes_are_averages_over_offsets_by_topic() -> None:
    sparse = StagedRange(SourcePartition("rare", 0), at(0), at(10), parsed=0, bytes=0)

    assert average_sizes([task(piece(0, 0, 5)), task(piece(1, 0, 15), sparse), task(piece(2, 3, 3))]) == {
        "orders": 10.0,
        "rare": 1.0,
    }


def test_tokens_move_to_the_last_offset_covered_and_counts_add_up() -> None:
    tokens = Tokens("n", "c", "me", 1)
    tokens = with_channel(tokens, orders(0), Channel("9", 3, 8, 10, 2, 111), "old", "id")
    tokens = with_channel(tokens, orders(1), Channel("4", 2, 5, 5, 0, 111), "old", "id")
    facts = {"orders": topic("orders", "cluster", "id", 2)}

    after = moved(tokens, advances([task(piece(0, 10, 20, errors=1))]), facts, now=222)

    assert after.channel(orders(0)) == Channel("19", None, 17, 20, 3, 222)
    assert after.channel(orders(1)) == tokens.channel(orders(1))
    assert (after.topics["orders"].cluster, after.topics["orders"].id) == ("cluster", "id")


def test_a_cycle_does_not_forget_what_was_lost_before_it() -> None:
    tokens = with_channel(Tokens("n", "c", "o", 1), orders(0), Channel("9", lost=4), "cluster", "id")
    facts = {"orders": topic("orders", "cluster", "id", 1)}

    after = moved(tokens, advances([task(piece(0, 10, 20))]), facts, now=222)

    assert after.channel(orders(0)).lost == 4


def test_the_first_reject_of_a_cycle_is_named_without_its_bytes() -> None:
    staged = [task(rejects=rejected(1, 2)), task(), task(rejects=rejected(0, 7))]

    first = first_reject(parts(staged), KAFKA)

    assert first
    assert (first.partition, first.offset) == (orders(0), 7)
    assert "topic orders, partition 0, offset 7, column a" in str(error_of(first))
    assert last_error(first) == {
        "topic": "orders",
        "partition": 0,
        "offset": 7,
        "column": "a",
        "code": "5030",
        "reason": "does not fit",
    }
    assert first_reject(parts([task()]), KAFKA) is None


@pytest.mark.parametrize(("code", "column", "kind"), [("5015", None, InvalidRecord), ("5030", "a", UnfitValue)])
def test_the_error_is_that_of_the_rejects_code(code: str, column: str | None, kind: type[InvalidRecord]) -> None:
    error = error_of(reject(0, 7, code, column))

    assert (type(error), error.code) == (kind, code)
    assert ("column" in str(error)) == (column is not None)
    assert "does not fit" in str(error)
    assert """starts with '{"a": secret}'""" in str(error)


def test_whole_pieces_that_a_table_has_already_are_no_hole_and_move_nothing() -> None:
    tokens = with_channel(Tokens("n", "c", "o", 1), orders(0), Channel("59"), "cluster", "id")
    staged = [task(piece(0, 50, 50), piece(1, 0, 3)), task(piece(0, 60, 100))]

    progress = advances(parts(staged), tokens)

    assert (progress[orders(0)].start, progress[orders(0)].covered) == (at(60), at(100))
    assert (progress[orders(0)].parsed, progress[orders(1)].covered) == (40, at(3))
    assert advances(parts(staged[:1]), tokens)[orders(0)].covered == at(60)


def test_a_table_whose_first_piece_is_missing_does_not_move() -> None:
    tokens = with_channel(Tokens("n", "c", "o", 1), orders(0), Channel("59"), "cluster", "id")

    assert advances(parts([task(piece(0, 70, 100))]), tokens)[orders(0)].covered == at(60)


@pytest.mark.parametrize(
    ("parsed", "said", "watermark"), [(1, 500, 500), (0, 500, 900), (0, 1000, 1000), (1, 1000, 1000), (1, None, 900)]
)
def test_a_watermark_is_what_the_last_reader_of_a_record_said(parsed: int, said: int | None, watermark: int) -> None:
    tokens = with_channel(Tokens("shop", "c", "o", 1), orders(0), Channel("9", read_through=900), "", "")
    progress = {orders(0): Advance(at(10), at(20), parsed=parsed, read_through=said)}

    assert moved(tokens, progress, {"orders": topic("orders")}, now=1).channel(orders(0)).read_through == watermark
