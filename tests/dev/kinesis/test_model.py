"""Every operation answers what botocore's model of the API says, and refuses what breaks its constraints."""

from __future__ import annotations

import re
import time
from typing import Any

import httpx2
import orjson
import pytest
from botocore.model import OperationModel, Shape
from tests.dev.kinesis.support import shard_id

from frazil.dev.kinesis import LocalKinesis
from frazil.dev.kinesis.operations import OPERATIONS
from frazil.dev.kinesis.shapes import model

MIDDLE = str(2**127)

STREAM = {"StreamName": "orders"}
KEY = {**STREAM, "EncryptionType": "KMS", "KeyId": "alias/aws/kinesis"}

# In this order they need no more than what those before them left.
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("CreateStream", {**STREAM, "ShardCount": 2, "Tags": {"a": "b"}}),
    ("CreateStream", {"StreamName": "any", "StreamModeDetails": {"StreamMode": "ON_DEMAND"}}),
    ("DescribeStream", STREAM),
    ("DescribeStreamSummary", STREAM),
    ("ListStreams", {}),
    ("ListStreams", {"Limit": 1}),
    ("DescribeLimits", {}),
    ("DescribeAccountSettings", {}),
    ("UpdateAccountSettings", {"MinimumThroughputBillingCommitment": {"Status": "DISABLED"}}),
    ("PutRecord", {**STREAM, "Data": "eA==", "PartitionKey": "k", "ExplicitHashKey": "0"}),
    ("PutRecords", {**STREAM, "Records": [{"Data": "eA==", "PartitionKey": "k"}]}),
    ("StartStreamEncryption", KEY),
    ("PutRecord", {**STREAM, "Data": "eA==", "PartitionKey": "k", "ExplicitHashKey": "0"}),
    ("PutRecords", {**STREAM, "Records": [{"Data": "eA==", "PartitionKey": "k"}]}),
    ("DescribeStream", STREAM),
    ("StopStreamEncryption", KEY),
    ("GetShardIterator", {**STREAM, "ShardId": shard_id(0), "ShardIteratorType": "TRIM_HORIZON"}),
    ("GetRecords", {"ShardIterator": "<iterator>"}),
    ("ListShards", {**STREAM, "MaxResults": 1}),
    ("ListShards", {**STREAM, "ShardFilter": {"Type": "AT_LATEST"}}),
    ("SplitShard", {**STREAM, "ShardToSplit": shard_id(0), "NewStartingHashKey": "7"}),
    ("MergeShards", {**STREAM, "ShardToMerge": shard_id(3), "AdjacentShardToMerge": shard_id(1)}),
    ("UpdateShardCount", {**STREAM, "TargetShardCount": 3, "ScalingType": "UNIFORM_SCALING"}),
    ("GetRecords", {"ShardIterator": "<iterator>"}),
    ("DescribeStream", {**STREAM, "Limit": 2}),
    ("IncreaseStreamRetentionPeriod", {**STREAM, "RetentionPeriodHours": 48}),
    ("DecreaseStreamRetentionPeriod", {**STREAM, "RetentionPeriodHours": 24}),
    ("UpdateMaxRecordSize", {"StreamARN": "<arn>", "MaxRecordSizeInKiB": 10240}),
    ("EnableEnhancedMonitoring", {**STREAM, "ShardLevelMetrics": ["ALL"]}),
    ("DescribeStreamSummary", STREAM),
    ("DisableEnhancedMonitoring", {**STREAM, "ShardLevelMetrics": ["IncomingBytes"]}),
    ("AddTagsToStream", {**STREAM, "Tags": {"c": "d"}}),
    ("ListTagsForStream", {**STREAM, "Limit": 1}),
    ("RemoveTagsFromStream", {**STREAM, "TagKeys": ["c"]}),
    ("TagResource", {"ResourceARN": "<arn>", "Tags": {"e": "f"}}),
    ("ListTagsForResource", {"ResourceARN": "<arn>"}),
    ("UntagResource", {"ResourceARN": "<arn>", "TagKeys": ["e"]}),
    ("PutResourcePolicy", {"ResourceARN": "<arn>", "Policy": "{}"}),
    ("GetResourcePolicy", {"ResourceARN": "<arn>"}),
    ("DeleteResourcePolicy", {"ResourceARN": "<arn>"}),
    ("RegisterStreamConsumer", {"StreamARN": "<arn>", "ConsumerName": "reader", "Tags": {"g": "h"}}),
    ("TagResource", {"ResourceARN": "<consumer>", "Tags": {"e": "f"}}),
    ("ListTagsForResource", {"ResourceARN": "<consumer>"}),
    ("DescribeStreamConsumer", {"ConsumerARN": "<consumer>"}),
    ("DescribeStreamConsumer", {"StreamARN": "<arn>", "ConsumerName": "reader"}),
    ("ListStreamConsumers", {"StreamARN": "<arn>", "MaxResults": 1}),
    ("DeregisterStreamConsumer", {"ConsumerARN": "<consumer>"}),
    (
        "UpdateStreamRecordDistributionStrategy",
        {"StreamARN": "<any>", "RecordDistributionStrategy": "AUTO"},
    ),
    ("PutRecord", {"StreamName": "any", "Data": "eA=="}),
    ("UpdateStreamWarmThroughput", {"StreamName": "any", "WarmThroughputMiBps": 1}),
    ("DescribeStreamSummary", {"StreamName": "any"}),
    (
        "UpdateStreamMode",
        {"StreamARN": "<any>", "StreamModeDetails": {"StreamMode": "PROVISIONED"}},
    ),
    ("DeleteStream", STREAM),
]


class Caller:
    """Asks without a client, which would hide what the server says from the test."""

    def __init__(self, local: LocalKinesis) -> None:
        self.local = local
        self.known = {"<arn>": "", "<any>": "", "<consumer>": "", "<iterator>": ""}

    def __call__(self, operation: str, given: Any, **headers: str) -> httpx2.Response:
        sent = {"X-Amz-Target": f"Kinesis_20131202.{operation}", "Content-Type": "application/x-amz-json-1.1"}
        body = given if isinstance(given, bytes) else orjson.dumps(self.filled(given))
        return httpx2.post(self.local.endpoint, headers=sent | headers, content=body)

    def filled(self, given: dict[str, Any]) -> dict[str, Any]:
        return {name: self.known.get(value, value) if type(value) is str else value for name, value in given.items()}

    def learn(self, answered: dict[str, Any]) -> None:
        summary = answered.get("StreamDescriptionSummary", {})
        if summary:
            self.known["<arn>"] = summary["StreamARN"].replace("/any", "/orders")
            self.known["<any>"] = summary["StreamARN"].replace("/orders", "/any")
        self.known["<iterator>"] = answered.get("ShardIterator", self.known["<iterator>"])
        self.known["<consumer>"] = answered.get("Consumer", {}).get("ConsumerARN", self.known["<consumer>"])


def differences(shape: Shape | None, value: Any, path: str) -> list[str]:
    """Where a value in JSON is not what its shape says; nothing, where it is."""
    if shape is None:
        return [] if value == {} else [f"{path} is answered though the model has no answer"]
    match shape.type_name:
        case "structure":
            unknown = [f"{path}.{name} is not in the model" for name in value.keys() - shape.members.keys()]
            missing = [f"{path}.{name} is missing" for name in set(shape.required_members) - value.keys()]
            below = [
                differences(shape.members[name], value[name], f"{path}.{name}")
                for name in value
                if name in shape.members
            ]
            return unknown + missing + [each for found in below for each in found]
        case "list":
            return [each for item in value for each in differences(shape.member, item, f"{path}[]")]
        case "string":
            allowed = shape.metadata.get("enum")
            fits = type(value) is str and (not allowed or value in allowed) and matches(shape, value)
        case "blob":
            fits = type(value) is str
        case "timestamp":
            fits = type(value) in (int, float)
        case "integer" | "long":
            # The model demands a FailedRecordCount of 1 at least, the service gives 0.
            fits = type(value) is int and (value >= shape.metadata.get("min", 0) or path.endswith(".FailedRecordCount"))
        case "boolean":
            fits = type(value) is bool
        case _:
            fits = False
    return [] if fits else [f"{path} is {value!r}"]


def matches(shape: Shape, value: str) -> bool:
    length = shape.metadata.get("min", 0) <= len(value) <= shape.metadata.get("max", len(value))
    return length and ("pattern" not in shape.metadata or re.fullmatch(shape.metadata["pattern"], value) is not None)


def test_every_operation_answers_as_the_model_says(local: LocalKinesis) -> None:
    local.engine.settles_within = 0.0
    call = Caller(local)

    for operation, given in CALLS:
        answered = call(operation, given)

        assert answered.status_code == 200, (operation, answered.text)
        document = orjson.loads(answered.content or b"{}")
        call.learn(document)
        output = model().operation_model(operation).output_shape
        assert differences(output, document, operation) == []
    assert {operation for operation, _ in CALLS} == OPERATIONS.keys()


def test_every_operation_of_the_model_is_there_but_those_on_queues_and_channels() -> None:
    absent = set(model().operation_names) - OPERATIONS.keys() - {"SubscribeToShard"}

    assert all("Queue" in name or "Channel" in name for name in absent)


@pytest.mark.parametrize("operation", sorted(OPERATIONS))
def test_what_a_request_lacks_is_named(local: LocalKinesis, operation: str) -> None:
    described: OperationModel = model().operation_model(operation)
    required = described.input_shape.required_members if described.input_shape else []

    answered = Caller(local)(operation, {})

    if required:
        assert answered.status_code == 400
        assert answered.json()["__type"] == "ValidationException"
        assert all(f"'{name}'" in answered.json()["message"] for name in required)
    else:
        assert answered.status_code in (200, 400)


@pytest.mark.parametrize(
    ("operation", "given", "message"),
    [
        ("CreateStream", {"StreamName": "a b", "ShardCount": 1}, "regular expression pattern"),
        ("CreateStream", {"StreamName": "a" * 129, "ShardCount": 1}, "length less than or equal to 128"),
        ("CreateStream", {"StreamName": "a", "ShardCount": 0}, "value greater than or equal to 1"),
        ("GetRecords", {"ShardIterator": "a", "Limit": 10001}, "value less than or equal to 10000"),
        ("PutRecords", {"StreamName": "a", "Records": []}, "length greater than or equal to 1"),
        ("GetShardIterator", {"StreamName": "a", "ShardId": "b", "ShardIteratorType": "c"}, "enum value set"),
        ("PutRecord", {"StreamName": "a", "Data": "eA==", "PartitionKey": "k", "ExplicitHashKey": "01"}, "pattern"),
    ],
)
def test_a_broken_constraint_is_told_in_the_models_words(
    local: LocalKinesis, operation: str, given: dict[str, Any], message: str
) -> None:
    answered = Caller(local)(operation, given)

    assert (answered.status_code, answered.json()["__type"]) == (400, "ValidationException")
    assert message in answered.json()["message"]


@pytest.mark.parametrize(
    ("operation", "given"),
    [
        ("CreateStream", b"{"),
        ("CreateStream", b"[]"),
        ("CreateStream", {"StreamName": 7, "ShardCount": 1}),
        ("CreateStream", {"StreamName": "a", "ShardCount": "1"}),
        ("CreateStream", {"StreamName": "a", "ShardCount": 1, "Tags": []}),
        ("DeleteStream", {"StreamName": "a", "EnforceConsumerDeletion": 1}),
        ("PutRecord", {"StreamName": "a", "Data": "no base64!", "PartitionKey": "k"}),
        ("PutRecords", {"StreamName": "a", "Records": {}}),
        ("ListShards", {"StreamName": "a", "StreamCreationTimestamp": "yesterday"}),
    ],
)
def test_what_cannot_be_read_is_refused(local: LocalKinesis, operation: str, given: Any) -> None:
    answered = Caller(local)(operation, given)

    assert (answered.status_code, answered.json()["__type"]) == (400, "SerializationException")


def test_what_is_no_operation_here_is_unknown(local: LocalKinesis) -> None:
    call = Caller(local)

    for operation in ("Nothing", "CreateQueue"):
        given = {
            "QueueName": "q",
            "StreamConfigurationList": [{"StreamARN": "arn:aws:kinesis:r:000000000000:stream/a"}],
        }
        assert call(operation, given).json()["__type"] == "UnknownOperationException"
    assert call("ListStreams", {}, **{"Content-Type": "text/plain"}).status_code == 404
    assert httpx2.get(local.endpoint).status_code == 404


def test_a_client_that_speaks_cbor_is_told_how_to_speak_json(local: LocalKinesis) -> None:
    refused = Caller(local)("ListStreams", {}, **{"Content-Type": "application/x-amz-cbor-1.1"})

    assert (refused.status_code, "CBOR_ENABLED=false" in refused.json()["message"]) == (404, True)


def test_an_answer_has_the_date_of_the_clock_and_an_id_of_its_own(local: LocalKinesis, clock) -> None:
    call = Caller(local)

    first, second = call("ListStreams", {}), call("DescribeStream", STREAM)

    assert first.headers["date"] == time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(clock.now))
    assert first.headers["x-amzn-requestid"] != second.headers["x-amzn-requestid"]
    assert second.headers["x-amzn-errortype"] == "ResourceNotFoundException"


def test_a_rehearsal_says_that_it_would_succeed_and_does_nothing(local: LocalKinesis) -> None:
    local.provide("orders")
    call = Caller(local)
    rehearsed = {**STREAM, "Data": "eA==", "PartitionKey": "k", "DryRun": True}

    assert call("PutRecord", rehearsed).json()["__type"] == "DryRunOperationException"
    with local.engine.lock:
        assert local.engine.stream("orders").shards[0].count == 0
