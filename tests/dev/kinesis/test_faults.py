"""Faults happen where and as often as was asked for."""

from __future__ import annotations

import random
from typing import Any

import httpx2 as httpx
import pytest
from botocore.exceptions import ConnectionClosedError, HTTPClientError
from tests.dev.kinesis.support import answers, data, iterator, make, put, records, refuses, shard_id

from frazil.dev.kinesis import LocalKinesis
from frazil.dev.kinesis.control import PATH
from frazil.dev.kinesis.faults import Fault


def test_a_fault_happens_as_often_as_it_was_asked_for(local: LocalKinesis) -> None:
    kinesis = make(local)
    fault = local.faults.throttle("PutRecord", times=2)

    for _ in range(2):
        with refuses("ProvisionedThroughputExceededException"):
            put(kinesis, b"x")
    put(kinesis, b"y")

    assert data(records(kinesis)) == [b"y"]
    assert fault.happened == 2


@pytest.mark.parametrize("code", ["KMSThrottlingException", "KMSAccessDeniedException", "KMSDisabledException"])
def test_errors_of_the_key_service_are_answered_by_name(local: LocalKinesis, code: str) -> None:
    kinesis = make(local)
    local.faults.kms(code, "GetRecords", times=1)

    with refuses(code):
        records(kinesis)
    assert records(kinesis) == []


def test_a_failure_of_the_service_has_status_500(local: LocalKinesis) -> None:
    kinesis = make(local)
    local.faults.fail("ListShards", times=1)

    with refuses("InternalFailure") as refused:
        kinesis.list_shards(StreamName="orders")

    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 500


def test_a_failure_has_the_status_that_was_asked_for(local: LocalKinesis) -> None:
    kinesis = make(local)
    local.faults.fail("ListShards", times=1, status=502)

    with refuses("InternalFailure") as refused:
        kinesis.list_shards(StreamName="orders")

    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 502


def test_an_iterator_expires_on_demand(local: LocalKinesis) -> None:
    kinesis = make(local)
    local.faults.expire(times=1)

    with refuses("ExpiredIteratorException"):
        records(kinesis)


def test_a_fault_meets_only_its_stream_and_shard(local: LocalKinesis) -> None:
    kinesis = make(local, shards=2)
    make(local, "others", shards=2)
    local.faults.throttle("GetRecords", stream="orders", shard=shard_id(1))

    assert records(kinesis, 0) == []
    assert records(kinesis, 1, name="others") == []
    with refuses("ProvisionedThroughputExceededException"):
        records(kinesis, 1)


def test_records_fail_one_by_one_and_the_answer_says_which(local: LocalKinesis) -> None:
    kinesis = make(local)
    local.faults.fail("PutRecords", each_record=True, times=2)
    many = [{"Data": b"%d" % n, "PartitionKey": "k"} for n in range(4)]

    answered = kinesis.put_records(StreamName="orders", Records=many)

    assert answered["FailedRecordCount"] == 2
    assert ["ErrorCode" in each for each in answered["Records"]] == [True, True, False, False]
    assert data(records(kinesis)) == [b"2", b"3"]


@pytest.mark.parametrize(("after", "there"), [(False, []), (True, [b"x"])])
def test_a_connection_is_reset_before_or_after_the_request_was_carried_out(
    local: LocalKinesis, after: bool, there: list[bytes]
) -> None:
    kinesis = make(local)
    local.faults.reset("PutRecord", times=1, after=after)

    with pytest.raises((ConnectionClosedError, HTTPClientError)):
        put(kinesis, b"x")

    assert data(records(kinesis)) == there


def test_an_answer_is_lost_though_the_request_was_carried_out(local: LocalKinesis) -> None:
    kinesis = make(local)
    local.faults.fail("PutRecord", times=1, after=True)

    with refuses("InternalFailure"):
        put(kinesis, b"x")

    assert data(records(kinesis)) == [b"x"]


def test_a_slow_answer_comes(local: LocalKinesis) -> None:
    kinesis = make(local)
    local.faults.slow(0.05, "GetRecords", times=1)

    assert records(kinesis) == []
    assert local.faults.all() == []


def test_an_answer_without_records_is_no_end_and_nothing_is_passed_over(local: LocalKinesis) -> None:
    kinesis = make(local)
    put(kinesis, b"1", b"2")
    local.faults.empty(times=2)

    counts = [(len(answer["Records"]), answer["MillisBehindLatest"]) for answer in answers(kinesis, iterator(kinesis))]

    assert counts == [(0, 1), (0, 1), (2, 0)]


def test_a_fraction_of_requests_meets_the_fault(local: LocalKinesis) -> None:
    kinesis = make(local)
    local.faults.chance = random.Random(7)
    fault = local.faults.fail("PutRecords", each_record=True, fraction=0.25)
    many = [{"Data": b"x", "PartitionKey": "k"}] * 400

    failed = kinesis.put_records(StreamName="orders", Records=many)["FailedRecordCount"]

    assert 60 < failed < 140
    assert fault.happened == failed


def test_a_fault_lasts_as_long_as_its_block(local: LocalKinesis) -> None:
    kinesis = make(local)

    fault = Fault("AccessDeniedException", operations=("GetShardIterator",))
    with local.faults.during(fault), refuses("AccessDeniedException"):
        iterator(kinesis)

    iterator(kinesis)


@pytest.mark.parametrize("wrong", [{"operations": ["GetRecord"]}, {"times": 0}, {"fraction": 7.0}, {"seconds": -1.0}])
def test_a_fault_that_could_never_happen_is_refused(local: LocalKinesis, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="happen"):
        Fault(**wrong)

    assert httpx.post(local.endpoint + PATH, json=wrong).status_code == 400
    assert local.faults.all() == []


def test_faults_are_set_over_http_as_well(local: LocalKinesis) -> None:
    kinesis = make(local)
    url = f"{local.endpoint}/_frazil/faults"

    fault = httpx.post(url, json={"error": "KMSDisabledException", "operations": ["PutRecord"]}).json()
    with refuses("KMSDisabledException"):
        put(kinesis, b"x")
    assert [each["happened"] for each in httpx.get(url).json()] == [1]

    assert httpx.delete(f"{url}/{fault['number']}").json() == []
    put(kinesis, b"x")
    assert httpx.post(url, json={"eror": "x"}).status_code == 400
    assert httpx.post(url, json={"operations": "PutRecord"}).status_code == 400
    assert httpx.post(url, content=b"{").status_code == 400
