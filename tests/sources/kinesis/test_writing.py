"""Records are put into a stream until all are there, whatever the service says in between."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.dev.kinesis import LocalKinesis
from frazil.dev.kinesis.faults import Fault
from frazil.errors import StreamRefused, StreamUnavailable
from frazil.sources.kinesis.writing import MOST_BYTES, MOST_RECORDS, Letter, StreamWriter, Waiting
from frazil.testing.topics import wait_until

THROTTLED = "ProvisionedThroughputExceededException"


@pytest.fixture(scope="module")
def local() -> Iterator[LocalKinesis]:
    with LocalKinesis(quotas=False) as found:
        yield found


@pytest.fixture
def stream(local: LocalKinesis, request: pytest.FixtureRequest) -> Iterator[str]:
    name = re.sub("[^a-z0-9_]", "_", request.node.name)[:100]
    local.provide(name, 2)
    yield name
    local.faults.clear()


def writer(local: LocalKinesis, stream: str, patience: float = 30.0) -> StreamWriter:
    return StreamWriter(local.client(retries={"total_max_attempts": 1}), local.endpoint, stream, patience)


def numbered(count: int) -> list[Letter]:
    return [Letter(f"key {n % 7}", str(n).encode()) for n in range(count)]


def found_in(local: LocalKinesis, stream: str) -> list[Letter]:
    """What is in a stream, shard by shard."""
    client = local.client()
    found = []
    for shard in client.list_shards(StreamName=stream)["Shards"]:
        asked = {"StreamName": stream, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        iterator = client.get_shard_iterator(**asked)["ShardIterator"]
        while records := (answer := client.get_records(ShardIterator=iterator))["Records"]:
            found += [Letter(each["PartitionKey"], each["Data"]) for each in records]
            iterator = answer["NextShardIterator"]
    return found


LINES = [None, "a", "b", "c"]


def refused(request: Mapping[int, Letter], choose: Callable[[int], bool]) -> set[int]:
    """The numbers of a request's records that a stream refuses."""
    return {number for number in request if choose(number)}


@given(
    st.lists(st.tuples(st.sampled_from([0, 1, 1 << 19, 1 << 20, MOST_BYTES - 1]), st.sampled_from(LINES)), max_size=300)
)
def test_requests_have_all_records_once_and_never_more_than_one_takes(given_: list[tuple[int, str | None]]) -> None:
    data = {size: bytes(size) for size, _ in given_}
    letters = [Letter("k", data[size], line) for size, line in given_]
    waiting, sent = Waiting(letters), []

    while request := waiting.request():
        assert len(request) <= MOST_RECORDS
        assert sum(letter.size for letter in request.values()) <= MOST_BYTES
        sent += [*request.items()]
        waiting.remove(request.keys())

    assert sorted(sent) == [*enumerate(letters)]
    assert [number for number, letter in sent if letter.line is None] == [
        number for number, letter in enumerate(letters) if letter.line is None
    ]


@given(st.lists(st.sampled_from(LINES), max_size=200), st.randoms(use_true_random=False))
def test_records_of_a_line_come_in_their_order_whatever_is_refused(lines: list[str | None], chance: Random) -> None:
    letters = [Letter("k", b"%d" % number, line) for number, line in enumerate(lines)]
    waiting = Waiting(letters)
    stream: list[Letter] = []

    while request := waiting.request():
        missing = refused(request, lambda _: chance.random() < 0.4)
        stream += [letter for number, letter in request.items() if number not in missing]
        waiting.remove(request.keys() - missing)

    assert sorted(stream, key=lambda each: int(each.data)) == letters
    for line in set(lines) - {None}:
        assert [each for each in stream if each.line == line] == [each for each in letters if each.line == line]


def test_few_records_are_taken_before_they_are_needed() -> None:
    taken = []

    def endless() -> Iterator[Letter]:
        while True:
            taken.append(1)
            yield Letter("k", b"", "k")

    assert len(Waiting(endless()).request()) == 1
    assert len(taken) <= 10 * MOST_RECORDS


def test_the_bytes_of_a_key_count_not_its_characters() -> None:
    assert Letter("schlüssel", b"12").size == 12


def test_records_that_fail_for_themselves_are_put_again_and_only_those(local: LocalKinesis, stream: str) -> None:
    failing = Fault(THROTTLED, operations=("PutRecords",), stream=stream, each_record=True, times=40)
    with local.faults.during(failing):
        writer(local, stream).put(numbered(100))

    assert failing.happened == 40
    assert sorted(found_in(local, stream), key=lambda each: int(each.data)) == numbered(100)


def test_records_of_a_key_are_in_the_stream_in_their_order_though_it_refuses_some_of_them(
    local: LocalKinesis, stream: str
) -> None:
    letters = [Letter(f"key {n % 50}", str(n).encode(), f"key {n % 50}") for n in range(400)]
    local.faults.chance.seed(7)
    failing = Fault(THROTTLED, operations=("PutRecords",), stream=stream, each_record=True, fraction=0.2, times=60)
    with local.faults.during(failing):
        writer(local, stream).put(letters)

    assert failing.happened == 60
    by_key: dict[str, list[int]] = {}
    for each in found_in(local, stream):
        by_key.setdefault(each.key, []).append(int(each.data))
    assert sum(map(len, by_key.values())) == len(letters)
    assert all(numbers == sorted(numbers) for numbers in by_key.values())


@pytest.mark.parametrize("error", [THROTTLED, "InternalFailure", "ServiceUnavailable", "KMSThrottlingException"])
def test_requests_that_fail_in_the_middle_are_made_again(local: LocalKinesis, stream: str, error: str) -> None:
    letters = numbered(1200)

    def failing_from_the_second_on() -> Iterator[Letter]:
        for n, each in enumerate(letters):
            if n == MOST_RECORDS + 1:
                local.faults.add(Fault(error, operations=("PutRecords",), stream=stream, times=3))
            yield each

    writer(local, stream).put(failing_from_the_second_on())

    assert sorted(found_in(local, stream), key=lambda each: int(each.data)) == letters


def test_records_whose_answer_was_lost_are_there_twice_and_none_is_missing(local: LocalKinesis, stream: str) -> None:
    with local.faults.during(Fault("InternalFailure", operations=("PutRecords",), stream=stream, times=1, after=True)):
        writer(local, stream).put(numbered(3))

    assert sorted(each.data for each in found_in(local, stream)) == [b"0", b"0", b"1", b"1", b"2", b"2"]


def test_a_connection_that_is_reset_is_made_again(local: LocalKinesis, stream: str) -> None:
    with local.faults.during(Fault(reset=True, operations=("PutRecords",), stream=stream, times=2)) as reset:
        writer(local, stream).put(numbered(3))

    assert reset.happened == 2
    assert len(found_in(local, stream)) == 3


def test_a_stream_that_takes_nothing_is_given_up_after_a_while_with_its_own_words(
    local: LocalKinesis, stream: str
) -> None:
    local.faults.add(Fault(THROTTLED, operations=("PutRecords",), stream=stream, each_record=True))

    with pytest.raises(StreamUnavailable, match=f"put records into the stream {stream}: {THROTTLED}"):
        writer(local, stream, patience=0.2).put(numbered(3))

    assert found_in(local, stream) == []


def test_a_writer_that_is_closed_waits_for_nothing(local: LocalKinesis, stream: str) -> None:
    throttled = local.faults.add(Fault(THROTTLED, operations=("PutRecords",), stream=stream))
    closing, raised = writer(local, stream, patience=600.0), []

    def put() -> None:
        try:
            closing.put(numbered(1))
        except StreamUnavailable as error:
            raised.append(str(error))

    thread = threading.Thread(target=put)
    thread.start()
    wait_until(lambda: throttled.happened > 0, "a refusal")
    began = time.monotonic()
    closing.close()
    thread.join(30)

    assert "the connector stops" in raised[0]
    assert time.monotonic() - began < 10


def test_a_missing_stream_is_named_with_the_way_on(local: LocalKinesis) -> None:
    with pytest.raises(StreamRefused, match=r"stream nowhere: there is no such stream, or not yet; create it"):
        writer(local, "nowhere").largest()
    with pytest.raises(StreamRefused, match=r"stream nowhere: there is no such stream, or not yet; create it"):
        writer(local, "nowhere").put(numbered(1))


def test_a_service_that_does_not_answer_is_no_refusal() -> None:
    with LocalKinesis(quotas=False) as ended:
        gone = writer(ended, "any", patience=0.0)

    with pytest.raises(StreamUnavailable):
        gone.largest()
    with pytest.raises(StreamUnavailable):
        gone.put(numbered(1))


def test_the_largest_record_is_the_streams_own(local: LocalKinesis, stream: str) -> None:
    assert writer(local, stream).largest() == 1 << 20

    arn = local.client().describe_stream_summary(StreamName=stream)["StreamDescriptionSummary"]["StreamARN"]
    local.client().update_max_record_size(StreamARN=arn, MaxRecordSizeInKiB=10240)

    assert writer(local, stream).largest() == 10 << 20
