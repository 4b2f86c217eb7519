"""What leases of the KCL and rows of Openflow's mean for where a shard is gone on with."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.errors import CheckpointUnreadable
from frazil.model import PartitionId
from frazil.sources.base import PartitionFacts
from frazil.sources.kinesis.checkpointed import CheckpointedRecord
from frazil.sources.kinesis.checkpoints import Checkpoint, finished, of_kcl, of_openflow, position

SHARD = "shardId-000000000003"
NUMBER = "49590338271490256608559692538361571095921575989136588898"
NOW = 1_785_326_400_000


def lease(key: str = SHARD, checkpoint: str = NUMBER, **others: object) -> dict[str, object]:
    return {"leaseKey": key, "checkpoint": checkpoint, "leaseOwner": "worker-1", "leaseCounter": Decimal(7), **others}


def token(checkpoint: Checkpoint, initial: int | None = None, record: CheckpointedRecord | None = None) -> str | None:
    found = position(checkpoint, record, NOW, initial)
    return None if found is None else found.last


@pytest.mark.parametrize(
    ("row", "written", "expected"),
    [
        (lease(checkpointSubSequenceNumber=Decimal(0)), f"{NUMBER}:0", f"{NUMBER}:0"),
        (lease(checkpointSubSequenceNumber=Decimal(41)), f"{NUMBER}:41", f"{NUMBER}:41"),
        (lease(), NUMBER, NUMBER),
        (lease(checkpoint="TRIM_HORIZON", checkpointSubSequenceNumber=Decimal(0)), "TRIM_HORIZON", "TRIM_HORIZON"),
        (lease(checkpoint="SHARD_END", checkpointSubSequenceNumber=Decimal(0)), "SHARD_END", "SHARD_END"),
        (lease(checkpoint="LATEST"), "LATEST", "AT_TIMESTAMP:1785326340000"),
        (lease(pendingCheckpoint="SHARD_END"), NUMBER, NUMBER),
        (lease(entityType="LEASE", throughputKBps=Decimal(1)), NUMBER, NUMBER),
    ],
)
def test_a_lease_says_where_to_go_on(row: dict[str, object], written: str, expected: str) -> None:
    (found,) = of_kcl([row])

    assert (found.shard, found.stream, found.written) == (SHARD, None, written)
    assert token(found) == expected


@pytest.mark.parametrize(
    ("sub", "user_records", "expected"),
    [(0, None, NUMBER), (0, 3, f"{NUMBER}:0"), (1, 3, f"{NUMBER}:1"), (2, 3, NUMBER), (0, 1, NUMBER)],
)
def test_of_a_record_that_is_there_it_is_known_whether_all_of_it_was_read(
    sub: int, user_records: int | None, expected: str
) -> None:
    assert token(Checkpoint(SHARD, NUMBER, sub), record=CheckpointedRecord(NOW, user_records)) == expected


def test_a_lease_of_several_streams_says_which_stream_made_when_in_which_account() -> None:
    (found,) = of_kcl([lease(f"123456789012:orders.eu:1785326400:{SHARD}")])

    assert found == Checkpoint(SHARD, NUMBER, None, "orders.eu", "123456789012", 1_785_326_400)


def test_other_things_that_the_kcl_keeps_in_its_table_are_no_leases() -> None:
    kinds = ("STREAM", "LEADER", "CLIENT_VERSION_MIGRATION", "TABLE_MIGRATION", "WORKER_METRIC_STATS")

    assert [*of_kcl([*(lease(kind, entityType=kind) for kind in kinds), {"wid": "worker-1"}])] == []


def test_the_time_of_those_who_began_at_one_is_the_connectors() -> None:
    (found,) = of_kcl([lease(checkpoint="AT_TIMESTAMP")])

    assert token(found, initial=1_785_000_000_000) == "AT_TIMESTAMP:1785000000000"
    with pytest.raises(CheckpointUnreadable, match=r"frazil\.kinesis\.initial\.timestamp"):
        token(found)


def test_a_checkpoint_that_is_no_place_is_refused() -> None:
    (found,) = of_kcl([lease(checkpoint="yesterday")])

    with pytest.raises(CheckpointUnreadable, match=f"{SHARD} is 'yesterday'"):
        token(found)
    with pytest.raises(CheckpointUnreadable, match="the lease 'orders/3'"):
        list(of_kcl([lease("orders/3")]))


def test_rows_of_openflow_are_by_stream_and_shard_beside_those_about_nodes() -> None:
    rows = [
        {"streamName": "orders", "shardId": SHARD, "sequenceNumber": NUMBER, "leaseOwner": "n", "leaseExpiry": "1"},
        {"streamName": "orders", "shardId": "shardId-000000000004", "leaseOwner": "n"},
        {"streamName": "orders", "shardId": "__node__#7", "lastUpdateTimestamp": "1"},
        {"streamName": "__migration__", "shardId": "orders"},
        lease(),
    ]

    found = [*of_openflow(rows)]

    assert [(each.stream, each.shard, token(each)) for each in found] == [
        ("orders", SHARD, NUMBER),
        ("orders", "shardId-000000000004", None),
    ]


def test_shards_without_a_lease_were_finished_if_shards_with_one_descend_from_them() -> None:
    shards = [
        PartitionFacts("0", (), closed=True),
        PartitionFacts("1", (), closed=True),
        PartitionFacts("2", ("0",), closed=True),
        PartitionFacts("3", ("0",)),
        PartitionFacts("4", ("2", "1")),
        PartitionFacts("5", ()),
        PartitionFacts("6", ("gone",)),
    ]

    assert finished(shards, ["4"]) == {"0", "1", "2"}
    assert finished(shards, ["2", "1", "6"]) == {"0"}
    assert finished(shards, ["3", "0"]) == set()
    assert finished(shards, []) == set()


@given(st.data())
def test_finished_are_exactly_those_without_a_lease_from_which_some_with_one_descend(data: st.DataObject) -> None:
    shards: list[PartitionFacts] = []
    for number in range(data.draw(st.integers(0, 12))):
        parents = data.draw(st.lists(st.sampled_from(range(number)), max_size=2, unique=True)) if number else []
        shards.append(PartitionFacts(str(number), tuple(map(str, parents))))
    known = data.draw(st.sets(st.sampled_from([each.id for each in shards]))) if shards else set()

    expected = {each.id for each in shards if each.id not in known and known & descendants(str(each.id), shards)}

    assert finished(shards, known) == expected


def descendants(shard: str, shards: list[PartitionFacts]) -> set[PartitionId]:
    children = {each.id for each in shards if shard in each.parents}
    return children.union(*(descendants(str(each), shards) for each in children))
