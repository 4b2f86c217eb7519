from __future__ import annotations

from frazil.cycle.accounting import advances, consistent, error_of, first_reject, last_error, moved
from frazil.model import Reject, RejectSummary, Shape, SourcePartition, Staged, StagedRange, TableName
from frazil.sources.base import TopicFacts
from frazil.tables.tokens import Channel, Tokens

SHAPE = Shape(TableName(("public",), "ORDERS"), "u", 0, 0, 0, (), has_rows=True, evolves=False)


def orders(partition: int) -> SourcePartition:
    return SourcePartition("orders", partition)


def piece(partition: int, start: int, covered: int, errors: int = 0, epoch: int | None = None) -> StagedRange:
    count = covered - start
    return StagedRange(orders(partition), start, covered, count, count - errors, errors, count * 10, epoch)


def task(*ranges: StagedRange, rejects: RejectSummary | None = None) -> Staged:
    return Staged(SHAPE, ranges, rejects=rejects)


def reject(partition: int, offset: int) -> Reject:
    return Reject(orders(partition), offset, None, None, b'{"a": secret}', (), "project", "5015", "does not fit", "a")


def rejected(partition: int, offset: int) -> RejectSummary:
    return RejectSummary(1, reject(partition, offset), "file:/r", {"does not fit": 1})


def test_pieces_of_a_partition_join_whichever_task_read_them() -> None:
    progress = advances([task(piece(0, 50, 80, errors=2, epoch=4)), task(piece(0, 0, 50, epoch=3), piece(1, 7, 9))])

    first = progress[orders(0)]
    assert (first.start, first.covered, first.length, first.leader_epoch) == (0, 80, 80, 4)
    assert (first.parsed, first.inserted, first.errors, first.bytes) == (80, 78, 2, 800)
    assert progress[orders(1)].covered == 9


def test_a_hole_ends_the_advance() -> None:
    progress = advances([task(piece(0, 0, 40)), task(piece(0, 50, 80))])

    assert (progress[orders(0)].covered, progress[orders(0)].parsed) == (40, 40)


def test_tasks_without_a_hole_are_committed_together() -> None:
    staged = [task(piece(0, 0, 50)), task(piece(0, 50, 80), piece(1, 0, 3)), task()]

    assert consistent(staged) == staged


def test_what_lies_behind_a_bad_record_is_read_again() -> None:
    stopped, behind, other = task(piece(0, 0, 40)), task(piece(0, 50, 80)), task(piece(1, 0, 9))

    assert consistent([stopped, behind, other]) == [stopped, other]


def test_leaving_a_task_out_leaves_out_what_builds_on_its_other_ranges() -> None:
    stopped = task(piece(0, 0, 40))
    behind = task(piece(0, 50, 80), piece(1, 0, 30))
    further = task(piece(1, 30, 60), piece(2, 0, 5))
    furthest = task(piece(2, 5, 9))

    assert consistent([furthest, further, behind, stopped]) == [stopped]


def test_the_second_piece_never_passes_for_the_first_when_the_first_is_left_out() -> None:
    """Task one holds the start of partition 0 and the end of partition 1, task two the other halves."""
    one = task(piece(0, 0, 50), piece(1, 50, 80))
    two = task(piece(0, 50, 80), piece(1, 0, 40))  # partition 1 stopped at a bad record

    kept = consistent([one, two])

    assert kept == []


def test_a_task_that_got_nowhere_is_kept_and_holds_what_follows_back() -> None:
    nowhere, behind = task(piece(0, 10, 10)), task(piece(0, 50, 80))

    assert consistent([nowhere, behind]) == [nowhere]
    assert advances([nowhere])[orders(0)].covered == 10


def test_tokens_move_to_the_last_offset_covered_and_counts_add_up() -> None:
    tokens = Tokens("n", "c", "me", 1)
    tokens = tokens.with_channel(orders(0), Channel("9", 3, 8, 10, 2, 111), "old", "id")
    tokens = tokens.with_channel(orders(1), Channel("4", 2, 5, 5, 0, 111), "old", "id")
    facts = {"orders": TopicFacts("orders", "cluster", "id", 2)}

    after = moved(tokens, advances([task(piece(0, 10, 20, errors=1))]), facts, now=222)

    assert after.channel(orders(0)) == Channel("19", 3, 17, 20, 3, 222)
    assert after.channel(orders(1)) == tokens.channel(orders(1))
    assert (after.topics["orders"].cluster, after.topics["orders"].id) == ("cluster", "id")


def test_the_first_reject_of_a_cycle_is_named_without_its_bytes() -> None:
    staged = [task(rejects=rejected(1, 2)), task(), task(rejects=rejected(0, 7))]

    first = first_reject(staged)

    assert first
    assert (first.partition, first.offset) == (orders(0), 7)
    assert "topic orders, partition 0, offset 7, column a" in str(error_of(first))
    assert last_error(first) == {
        "topic": "orders",
        "partition": 0,
        "offset": 7,
        "column": "a",
        "code": "5015",
        "reason": "does not fit",
    }
    assert first_reject([task()]) is None
