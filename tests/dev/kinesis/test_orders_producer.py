from collections import defaultdict
from collections.abc import Iterator

import orjson
import pytest

from frazil.dev.kinesis import LocalKinesis
from frazil.dev.kinesis.orders_producer import OrdersToStream
from frazil.dev.kinesis.reshaping import Reshaper
from frazil.sources.kinesis.streams import listed
from frazil.testing.topics import wait_until


@pytest.fixture
def local() -> Iterator[LocalKinesis]:
    with LocalKinesis(quotas=False) as server:
        server.provide("orders", shards=2)
        yield server


def in_stream(local: LocalKinesis) -> dict[str, list[tuple[int, str, int]]]:
    """Sequence numbers, shards and order numbers of each customer."""
    kinesis = local.client()
    found = defaultdict(list)
    for shard in listed(kinesis, {"StreamName": "orders"}):
        place = {"StreamName": "orders", "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        iterator = kinesis.get_shard_iterator(**place)["ShardIterator"]
        for record in kinesis.get_records(ShardIterator=iterator)["Records"]:
            order = orjson.loads(record["Data"])
            assert order["customer_id"] == record["PartitionKey"]
            place = int(record["SequenceNumber"]), shard["ShardId"], order["customer_order"]
            found[order["customer_id"]].append(place)
    return found


def test_each_customers_orders_are_in_the_stream_in_their_order_though_some_are_refused(local):
    client = local.client(retries={"total_max_attempts": 1})
    local.faults.throttle("PutRecords", fraction=0.3, each_record=True)
    shards = Reshaper(local.client(), "orders")
    producer = OrdersToStream(client, "orders", rate=4000, run="7").start()
    wait_until(lambda: producer.records > 2_000, "half of the orders")
    shards.split()
    wait_until(lambda: producer.records > 4_000, "the orders")
    acknowledged = producer.stop()

    found = in_stream(local)
    told = sorted((int(each.sequence), each.shard, each.number) for each in acknowledged)
    assert sorted(place for places in found.values() for place in places) == told
    for places in found.values():
        assert [number for _, _, number in sorted(places)] == list(range(len(places)))


def test_what_the_stream_refuses_for_good_is_raised_at_the_end(local):
    producer = OrdersToStream(local.client(), "no-such-stream", rate=100, run="7").start()
    wait_until(lambda: not producer.is_running, "its end")
    with pytest.raises(Exception, match="no-such-stream"):
        producer.stop()


def test_the_widest_shard_is_split_and_the_narrowest_neighbours_are_merged(local):
    shards = Reshaper(local.client(), "orders")
    shards.split()
    shards.merge()
    assert list(map(str, shards.changes)) == [
        "shardId-000000000000 split into shardId-000000000002 and shardId-000000000003",
        "shardId-000000000002 and shardId-000000000003 merged into shardId-000000000004",
    ]
