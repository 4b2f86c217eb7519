"""Shards of a local stream, read as a task reads them."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from frazil.dev.kinesis import LocalKinesis
from frazil.model import Range, SourcePartition, StagedRange
from frazil.sources.kinesis.positions import (
    BEGINNING,
    END,
    Hints,
    KinesisPosition,
    after,
    at,
    at_record,
    before,
    bounds,
    now,
)
from frazil.sources.kinesis.pulling import Answer, Puller
from frazil.sources.kinesis.reader import open_reader
from frazil.testing.aggregation import aggregate

FAR = 2**50
SHARD = "shardId-000000000000"


@pytest.fixture(scope="module")
def local() -> Iterator[LocalKinesis]:
    with LocalKinesis(quotas=False) as found:
        yield found


@pytest.fixture
def stream(local: LocalKinesis, request: pytest.FixtureRequest) -> Iterator[str]:
    name = re.sub("[^a-z0-9_]", "_", request.node.name)[:100]
    local.provide(name, 1)
    yield name
    local.faults.clear()


def client_of(local: LocalKinesis, **options: str) -> dict[str, str]:
    found = {
        "region": local.region,
        "endpoint": local.endpoint,
        "access_key_id": "key",
        "secret_access_key": "secret",
        "application": "tests",
        "read_window_ms": "2000",
    }
    return {**found, **options}


def put(local: LocalKinesis, stream: str, *values: bytes, key: str = "k") -> list[str]:
    """Put records; their sequence numbers."""
    client = local.client("kinesis")
    return [client.put_record(StreamName=stream, Data=value, PartitionKey=key)["SequenceNumber"] for value in values]


def read(
    local: LocalKinesis,
    stream: str,
    start: KinesisPosition = BEGINNING,
    end: KinesisPosition | None = None,
    shard: str = SHARD,
    **options: str,
) -> tuple[list[dict], StagedRange]:
    """The records of a range, and how far it was read."""
    wanted = Range(SourcePartition(stream, shard), start, end or now(FAR, None, Hints()))
    reader = open_reader(client_of(local, **options), [wanted], 2**30)
    rows = [row for batch in reader.batches() for row in batch.to_pylist()]
    (found,) = reader.ranges
    return rows, found


def values(rows: Sequence[dict]) -> list[bytes]:
    return [row["value"] for row in rows]


def test_records_have_their_shard_sequence_number_key_and_arrival(local: LocalKinesis, stream: str) -> None:
    before_, (sequence,) = time.time(), put(local, stream, b"one", key="schlüssel")

    (row,), found = read(local, stream)

    assert (row["topic"], row["partition"], row["offset"]) == (stream, SHARD, sequence)
    assert (row["key"], row["value"], row["headers"]) == ("schlüssel".encode(), b"one", None)
    assert before_ * 1000 - 1 <= row["timestamp"] <= time.time() * 1000
    assert found.covered == after(int(sequence))
    assert (found.parsed, found.bytes, found.held) == (1, 3, None)


def test_a_reader_that_found_nothing_more_says_by_when(local: LocalKinesis, stream: str) -> None:
    began = time.time()

    rows, found = read(local, stream)

    assert rows == []
    assert found.covered == BEGINNING
    assert bounds(Range(found.partition, found.start, found.covered))[1].is_quiet
    assert found.read_through is not None
    assert began * 1000 - 1000 <= found.read_through <= time.time() * 1000


def test_it_goes_on_behind_a_token(local: LocalKinesis, stream: str) -> None:
    first, *_ = put(local, stream, b"one", b"two", b"three")

    assert values(read(local, stream, at(first))[0]) == [b"two", b"three"]
    assert values(read(local, stream, at_record(int(first)))[0]) == [b"one", b"two", b"three"]


def test_a_known_end_is_exact(local: LocalKinesis, stream: str) -> None:
    one, two, three = put(local, stream, b"one", b"two", b"three")

    rows, found = read(local, stream, end=after(int(two)))
    assert (values(rows), found.covered) == ([b"one", b"two"], after(int(two)))

    rows, found = read(local, stream, at(one), before(three))
    assert (values(rows), found.covered) == ([b"two"], before(three))


def test_what_comes_after_a_known_end_is_read_next_though_an_answer_had_it_already(
    local: LocalKinesis, stream: str
) -> None:
    _, two, _ = put(local, stream, b"one", b"two", b"three")
    _, found = read(local, stream, end=after(int(two)))
    covered = bounds(Range(found.partition, found.start, found.covered))[1]

    rows, _ = read(local, stream, covered, now(FAR, None, covered.hints or Hints()))

    assert values(rows) == [b"three"]


def test_a_known_end_that_is_not_come_to_for_trouble_is_not_said_to_be_covered(
    local: LocalKinesis, stream: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("frazil.sources.kinesis.polling._PATIENCE", 1.0)
    one, two, _ = put(local, stream, b"one", b"two", b"three")
    wanted = Range(SourcePartition(stream, SHARD), BEGINNING, after(int(two)))
    reader = open_reader(client_of(local, max_records="1", read_window_ms="600"), [wanted], 2**30)

    found = []
    for batch in reader.batches():
        local.faults.fail(stream=stream)
        found += batch.column("value").to_pylist()

    assert found in ([b"one"], [b"one", b"two"])
    assert reader.ranges[0].covered == after(int([one, two][len(found) - 1]))


def test_what_came_after_a_known_end_is_not_said_to_be_read(local: LocalKinesis, stream: str) -> None:
    _, two = put(local, stream, b"one", b"two")
    time.sleep(1.1)
    began = time.time()
    put(local, stream, b"three")

    _, found = read(local, stream, end=after(int(two)))

    assert found.read_through is None or found.read_through < began * 1000


def test_a_known_end_that_no_record_has_is_come_to_by_the_count_of_records(local: LocalKinesis, stream: str) -> None:
    *_, last = put(local, stream, b"one", b"two")
    end = replace(after(int(last) + 10), pulled=2)

    rows, found = read(local, stream, end=end)
    nothing, at_once = read(local, stream, start=after(int(last)), end=replace(end, pulled=0))

    assert (values(rows), found.covered) == ([b"one", b"two"], end)
    assert (values(nothing), at_once.covered) == ([], end)


def test_a_second_reading_believes_no_answer_without_records(
    local: LocalKinesis, stream: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(local, stream, b"one", b"two", b"three")
    _, first = read(local, stream)
    pull, answers = Puller.pull, itertools.count()

    def empty_now_and_then(puller: Puller, iterator: str, arn: str | None) -> Answer:
        if next(answers) % 2 == 0:
            return replace(pull(puller, iterator, arn), records=[], iterator=iterator, behind=0)
        return pull(puller, iterator, arn)

    monkeypatch.setattr(Puller, "pull", empty_now_and_then)
    assert isinstance(first.covered, KinesisPosition)
    rows, again = read(local, stream, end=first.covered)

    assert (values(rows), again.covered) == ([b"one", b"two", b"three"], first.covered)


def test_the_end_of_a_shard_is_only_what_the_service_says_when_all_is_read(local: LocalKinesis, stream: str) -> None:
    put(local, stream, b"one", b"two")
    local.client("kinesis").split_shard(StreamName=stream, ShardToSplit=SHARD, NewStartingHashKey=str(2**127))
    while (
        local.client("kinesis").describe_stream_summary(StreamName=stream)["StreamDescriptionSummary"]["StreamStatus"]
        != "ACTIVE"
    ):
        pass
    put(local, stream, b"child's")

    rows, found = read(local, stream)

    assert (values(rows), found.covered) == ([b"one", b"two"], END)
    children = [read(local, stream, shard=f"shardId-00000000000{n}") for n in (1, 2)]
    assert [value for rows, _ in children for value in values(rows)] == [b"child's"]


def test_user_records_of_an_aggregated_record_are_records(local: LocalKinesis, stream: str) -> None:
    (plain,) = put(local, stream, b"plain")
    (whole,) = put(local, stream, aggregate([("a", None, b"1"), ("b", None, b"2"), ("a", None, b"3")]))

    rows, found = read(local, stream)

    assert values(rows) == [b"plain", b"1", b"2", b"3"]
    assert [row["offset"] for row in rows] == [plain, f"{whole}:0", f"{whole}:1", f"{whole}:2"]
    assert [row["key"] for row in rows] == [b"k", b"a", b"b", b"a"]
    assert (found.parsed, found.covered) == (4, after(int(whole)))


def test_a_token_within_an_aggregated_record_leaves_out_what_it_covers(local: LocalKinesis, stream: str) -> None:
    (whole,) = put(local, stream, aggregate([("a", None, b"%d" % n) for n in range(5)]))

    rows, found = read(local, stream, at(f"{whole}:2"))
    assert (values(rows), found.covered) == ([b"3", b"4"], after(int(whole)))

    rows, found = read(local, stream, end=before(f"{whole}:3"))
    assert (values(rows), found.covered) == ([b"0", b"1", b"2"], after(int(whole), 2))

    rows, _ = read(local, stream, at(f"{whole}:0"), before(f"{whole}:2"))
    assert values(rows) == [b"1"]


@pytest.mark.parametrize("hinted", [True, False])
def test_an_aggregated_record_that_is_not_the_shards_is_left_out_whole(
    local: LocalKinesis, stream: str, *, hinted: bool
) -> None:
    client = local.client("kinesis")
    client.split_shard(StreamName=stream, ShardToSplit=SHARD, NewStartingHashKey=str(2**127))
    while client.describe_stream_summary(StreamName=stream)["StreamDescriptionSummary"]["StreamStatus"] != "ACTIVE":
        pass
    stale = aggregate([("in", 5, b"of this shard"), ("out", 2**127 + 5, b"of the other one")])
    good = aggregate([("in", 7, b"good")])
    for data in (stale, good):
        client.put_record(StreamName=stream, Data=data, PartitionKey="x", ExplicitHashKey="0")
    hash_keys = (0, 2**127 - 1) if hinted else None

    rows, found = read(local, stream, end=now(FAR, None, Hints(hash_keys)), shard="shardId-000000000001")

    assert values(rows) == [b"good"]
    assert found.parsed == 1


def test_what_only_looks_aggregated_is_a_plain_record(local: LocalKinesis, stream: str) -> None:
    real = aggregate([("a", None, b"1")])
    broken = real[:-1] + bytes([real[-1] ^ 1])
    put(local, stream, broken)

    assert values(read(local, stream)[0]) == [broken]


def test_throttling_is_waited_out(local: LocalKinesis, stream: str) -> None:
    put(local, stream, b"one")
    local.faults.throttle("GetRecords", stream=stream, times=3)

    assert values(read(local, stream, read_window_ms="10000")[0]) == [b"one"]


def test_throttling_that_lasts_leaves_the_shard_to_the_next_cycle(local: LocalKinesis, stream: str) -> None:
    put(local, stream, b"one")
    local.faults.throttle("GetRecords", stream=stream)

    rows, found = read(local, stream, read_window_ms="600")

    assert (rows, found.covered, found.held) == ([], BEGINNING, None)


def test_an_iterator_that_expired_is_replaced(local: LocalKinesis, stream: str) -> None:
    put(local, stream, b"one", b"two")
    local.faults.expire(stream=stream, times=2)

    assert values(read(local, stream, read_window_ms="10000")[0]) == [b"one", b"two"]


def test_trouble_of_the_service_is_waited_out(local: LocalKinesis, stream: str) -> None:
    put(local, stream, b"one")
    local.faults.fail(stream=stream, times=2)
    local.faults.reset(stream=stream, times=1)

    assert values(read(local, stream, read_window_ms="10000")[0]) == [b"one"]


def test_a_service_that_gives_nothing_at_all_is_trouble(local: LocalKinesis, stream: str) -> None:
    put(local, stream, b"one")
    local.faults.fail(stream=stream)

    rows, found = read(local, stream, read_window_ms="600")

    assert (rows, found.covered, found.read_through) == ([], BEGINNING, None)
    assert (found.trouble or "").startswith("InternalFailure")


def test_a_service_that_fails_after_an_answer_is_no_trouble(local: LocalKinesis, stream: str) -> None:
    sequences = put(local, stream, b"one", b"two")
    wanted = Range(SourcePartition(stream, SHARD), BEGINNING, now(FAR, None, Hints()))
    reader = open_reader(client_of(local, max_records="1", read_window_ms="1000"), [wanted], 2**30)

    found = []
    for batch in reader.batches():
        local.faults.fail("GetRecords", stream=stream)
        found += batch.column("value").to_pylist()

    (staged,) = reader.ranges
    assert found in ([b"one"], [b"one", b"two"])
    assert (staged.covered, staged.trouble) == (after(int(sequences[len(found) - 1])), None)


def test_a_stream_that_is_deleted_is_trouble_that_the_next_plan_sees_to(local: LocalKinesis, stream: str) -> None:
    local.faults.kms("ResourceNotFoundException", stream=stream)

    rows, found = read(local, stream, read_window_ms="10000")

    assert (rows, found.covered) == ([], BEGINNING)
    assert "ResourceNotFoundException" in (found.trouble or "")


def test_a_key_that_cannot_be_used_holds_up_its_shard(local: LocalKinesis, stream: str) -> None:
    put(local, stream, b"one")
    local.faults.kms("KMSAccessDeniedException", stream=stream)

    rows, found = read(local, stream)

    assert (rows, found.covered, found.held) == ([], BEGINNING, "KMSAccessDeniedException")


def test_a_position_that_retention_has_passed_goes_on_with_what_is_left(local: LocalKinesis, stream: str) -> None:
    """Services may refuse a number that is gone: then the oldest record that is left comes next, and none twice."""
    first, *_ = put(local, stream, b"one", b"two")
    local.faults.kms("InvalidArgumentException", "GetShardIterator", stream=stream, times=1)

    assert values(read(local, stream, at(first), read_window_ms="10000")[0]) == [b"two"]


def test_answers_without_records_are_no_end(local: LocalKinesis, stream: str) -> None:
    put(local, stream, b"one")
    local.faults.empty(stream=stream, times=3)

    assert values(read(local, stream, read_window_ms="10000")[0]) == [b"one"]


def test_large_records_come_whole(local: LocalKinesis, stream: str) -> None:
    client = local.client("kinesis")
    arn = client.describe_stream_summary(StreamName=stream)["StreamDescriptionSummary"]["StreamARN"]
    client.update_max_record_size(StreamARN=arn, MaxRecordSizeInKiB=10240)
    large = b"x" * (10 * 1024 * 1024 - 10)
    put(local, stream, large, b"small")

    rows, _ = read(local, stream, read_window_ms="60000", read_rate=str(10**9))

    assert values(rows) == [large, b"small"]


def test_a_task_reads_many_shards_each_in_its_order(local: LocalKinesis, request: pytest.FixtureRequest) -> None:
    stream = request.node.name
    local.provide(stream, 24)
    written = {f"key {n}": [b"%d" % number for number in range(5)] for n in range(100)}
    for key, numbers in written.items():
        put(local, stream, *numbers, key=key)
    ranges = [
        Range(SourcePartition(stream, f"shardId-{n:012d}"), BEGINNING, now(FAR, None, Hints())) for n in range(24)
    ]

    reader = open_reader(client_of(local), ranges, 2**30)
    rows = [row for batch in reader.batches() for row in batch.to_pylist()]

    assert {key: [row["value"] for row in rows if row["key"] == key.encode()] for key in written} == written
    assert sum(each.parsed for each in reader.ranges) == 500


def test_whoever_stops_early_leaves_no_threads(local: LocalKinesis, stream: str) -> None:
    put(local, stream, *(b"%d" % n for n in range(50)))
    wanted = Range(SourcePartition(stream, SHARD), BEGINNING, now(FAR, None, Hints()))
    reader = open_reader(client_of(local, max_records="1", read_window_ms="60000"), [wanted], 2**30)

    batches = reader.batches()
    next(batches)
    batches.close()

    (found,) = reader.ranges
    assert found.parsed == 1


def test_records_of_streams_that_need_no_key_may_have_none(local: LocalKinesis, request: pytest.FixtureRequest) -> None:
    stream, client = request.node.name, local.client("kinesis")
    client.create_stream(
        StreamName=stream, StreamModeDetails={"StreamMode": "ON_DEMAND"}, RecordDistributionStrategy="AUTO"
    )
    settled(local, stream)
    client.put_record(StreamName=stream, Data=b"one")
    shards = client.list_shards(StreamName=stream)["Shards"]

    rows = [row for each in shards for row in read(local, stream, shard=each["ShardId"])[0]]

    assert [(row["key"], row["value"]) for row in rows] == [(None, b"one")]


def settled(local: LocalKinesis, stream: str) -> None:
    client = local.client("kinesis")
    while client.describe_stream_summary(StreamName=stream)["StreamDescriptionSummary"]["StreamStatus"] != "ACTIVE":
        pass


def test_a_position_that_is_refused_in_the_midst_of_a_range_brings_no_record_twice(
    local: LocalKinesis, stream: str
) -> None:
    put(local, stream, *(b"%d" % number for number in range(50)))
    wanted = Range(SourcePartition(stream, SHARD), BEGINNING, now(FAR, None, Hints()))
    reader = open_reader(client_of(local, max_records="1", read_window_ms="60000"), [wanted], 2**30)

    found = []
    for batch in reader.batches():
        if not found:
            local.faults.expire(stream=stream, times=1)
            local.faults.kms("InvalidArgumentException", "GetShardIterator", stream=stream, times=1)
        found += [int(value) for value in batch.column("value").to_pylist()]

    assert found == [*range(50)]


def test_a_time_that_is_refused_is_not_taken_for_the_beginning(local: LocalKinesis, stream: str) -> None:
    put(local, stream, b"old")
    moment = int(time.time() * 1000) + 5
    local.faults.kms("InvalidArgumentException", "GetShardIterator", stream=stream, times=1)

    rows, _ = read(local, stream, at(f"AT_TIMESTAMP:{moment}"), read_window_ms="10000")

    assert rows == []
