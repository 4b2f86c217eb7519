"""Roles that are assumed to read streams, from a token service that knows who may, by driver and tasks."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from botocore.exceptions import ClientError
from moto.sts.models import STSBackend, sts_backends
from tests.support.processes import frazil, write_properties
from tests.support.s3 import ACCOUNT, REGION, Keys, Store

from frazil.cli import log
from frazil.dev.ports import LOOPBACK, free_port
from frazil.errors import StreamCredentialsMissing, StreamRefused, StreamUnavailable
from frazil.model import Range, SourcePartition
from frazil.sources.base import ReadFailed
from frazil.sources.kinesis import client as clients
from frazil.sources.kinesis import faults
from frazil.sources.kinesis.fan_out.subscription import Subscriber
from frazil.sources.kinesis.positions import BEGINNING, Hints, now
from frazil.sources.kinesis.reader import open_reader
from frazil.sources.kinesis.source import KinesisSource, Reading
from frazil.testing import iceberg
from frazil.testing.stream_oracle import verify_stream

STREAM = "orders"
SHARD = SourcePartition(STREAM, "shardId-000000000000")
OTHER = f"arn:aws:iam::{ACCOUNT}:role/other"
KEY = "k"


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    """A service with a stream of a shard and three records."""
    with Store.running() as running:
        kinesis = running.client("kinesis", running.owner)
        kinesis.create_stream(StreamName=STREAM, ShardCount=1)
        for number in range(3):
            kinesis.put_record(StreamName=STREAM, Data=b'{"key":"k","number":%d}' % number, PartitionKey=KEY)
        yield running


@pytest.fixture(scope="module")
def role(store: Store) -> str:
    """The ARN of the one who may read it."""
    return store.role("reader", {"Effect": "Allow", "Action": "kinesis:*", "Resource": "*"})


@pytest.fixture(scope="module")
def somebody(store: Store, role: str) -> Keys:
    """Who may assume that role, and nothing else."""
    return store.user("somebody", {"Effect": "Allow", "Action": "sts:AssumeRole", "Resource": role})


@pytest.fixture(autouse=True)
def _service(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """No credentials but those that are given, and the token service in the place of AWS's."""
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, "/nowhere")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", store.endpoint)


@pytest.fixture
def options(store: Store, somebody: Keys, role: str) -> Iterator[dict[str, str]]:
    """What the settings give as the configuration of a client."""
    keys = {"access_key_id": somebody.id, "secret_access_key": somebody.secret, "role_external_id": "hush"}
    found = {"region": REGION, "endpoint": store.endpoint, "application": "tests", "role_arn": role, **keys}
    yield found
    clients.evict(found)


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the token service gives expires in five minutes."""
    given = STSBackend.assume_role
    monkeypatch.setattr(STSBackend, "assume_role", lambda self, **asked: given(self, **{**asked, "duration": 300}))


def withdraw() -> None:
    """Have all credentials that roles gave open nothing any more."""
    sts_backends[ACCOUNT]["aws"].assumed_roles.clear()


def without(options: Mapping[str, str], *names: str) -> dict[str, str]:
    return {name: value for name, value in options.items() if name not in names}


def source(options: Mapping[str, str]) -> KinesisSource:
    return KinesisSource(options, Reading((STREAM,)))


def read(options: Mapping[str, str]) -> list[bytes]:
    """The values of the shard, as a task reads them with what the driver gives it."""
    spec = source(options).reader()
    reader = open_reader(spec.client, [Range(SHARD, BEGINNING, now(2**50, None, Hints()))], 2**30)
    return [value for batch in reader.batches() for value in batch.column("value").to_pylist()]


def test_driver_and_tasks_sign_with_what_the_role_gives(options: dict[str, str]) -> None:
    assert list(source(options).discover()) == [STREAM]
    assert len(read(options)) == 3

    with pytest.raises(StreamRefused):
        source(without(options, "role_arn")).discover()


def test_credentials_that_expire_soon_are_renewed_before_they_do(options: dict[str, str], soon: None) -> None:
    driver = source(options)
    driver.discover()
    read(options)

    withdraw()

    assert list(driver.facts([STREAM])) == [STREAM]
    assert len(read(options)) == 3


def test_credentials_that_last_are_kept(options: dict[str, str]) -> None:
    driver = source(options)
    driver.discover()

    withdraw()

    with pytest.raises(StreamRefused):
        driver.facts([STREAM])


def test_subscriptions_are_signed_with_what_the_role_gives_and_renewed(options: dict[str, str], soon: None) -> None:
    subscriber = Subscriber(options, "arn:aws:kinesis:eu-central-1:123456789012:stream/orders/consumer/a:1")

    first, second = subscriber._signed(b"{}"), subscriber._signed(b"{}")

    given = [each for each in sts_backends[ACCOUNT]["aws"].assumed_roles if each.session_name == "frazil"][-2:]
    assert [each["X-Amz-Security-Token"] for each in (first, second)] == [each.session_token for each in given]
    for signed, each in zip((first, second), given, strict=True):
        assert f"Credential={each.access_key_id}/" in signed["Authorization"]


def test_a_role_that_may_not_be_assumed_is_named_and_no_secret_with_it(
    options: dict[str, str], somebody: Keys, caplog: pytest.LogCaptureFixture
) -> None:
    wrong = {**options, "role_arn": OTHER}

    with pytest.raises(StreamRefused) as driver:
        source(wrong).discover()
    with pytest.raises(ReadFailed) as task:
        read(wrong)

    assert task.value.failure.error == "stream_refused"
    for said in (str(driver.value), task.value.failure.message):
        assert f"AccessDenied: the role {OTHER} cannot be assumed: " in said
        assert not any(secret in said + caplog.text for secret in (somebody.id, somebody.secret, "hush"))


def test_a_command_says_once_that_a_role_may_not_be_assumed_and_shows_no_traceback(
    options: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "botocore.credentials")  # and set back afterwards
    log.configure()

    with pytest.raises(StreamRefused):
        source({**options, "role_arn": OTHER}).discover()

    assert not caplog.records


def test_a_role_that_there_are_no_credentials_to_assume_with_says_so(options: dict[str, str], role: str) -> None:
    nothing = without(options, "access_key_id", "secret_access_key")

    with pytest.raises(StreamCredentialsMissing, match=f"there are none to assume the role {role} with"):
        source(nothing).discover()
    with pytest.raises(ReadFailed) as task:
        read(nothing)

    assert f"the role {role}" in task.value.failure.message


def test_a_profile_that_there_is_not_is_refused_by_driver_and_tasks(options: dict[str, str]) -> None:
    strange = {**without(options, "access_key_id", "secret_access_key"), "profile": "nobody"}
    wanted = [Range(SHARD, BEGINNING, now(2**50, None, Hints()))]

    with pytest.raises(StreamRefused, match="nobody"):
        source(strange)
    with pytest.raises(ReadFailed) as task:
        open_reader(strange, wanted, 2**30)

    assert (task.value.failure.error, task.value.failure.partition) == ("stream_refused", SHARD)
    assert "nobody" in task.value.failure.message


def test_a_program_that_gives_no_credentials_just_now_is_waited_for_by_driver_and_tasks(
    options: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"Version": 1, "AccessKeyId": options["access_key_id"], "SecretAccessKey": options["secret_access_key"]}
    answer, config = tmp_path / "answer", tmp_path / "config"
    config.write_text(f"[profile asked]\ncredential_process = cat {answer}\nregion = {REGION}\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    asking = {**without(options, "access_key_id", "secret_access_key"), "profile": "asked"}
    wanted = [Range(SHARD, BEGINNING, now(2**50, None, Hints()))]

    with pytest.raises(StreamUnavailable, match="credentials"):
        source(asking).discover()
    with pytest.raises(ReadFailed) as task:
        open_reader(asking, wanted, 2**30)
    answer.write_text(json.dumps(given))

    assert task.value.failure.error == "stream_unavailable"
    assert list(source(asking).discover()) == [STREAM]
    assert len(read(asking)) == 3


def test_what_a_profile_says_of_the_service_holds_for_its_role_as_well(
    options: dict[str, str], somebody: Keys, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config"
    keys = f"aws_access_key_id = {somebody.id}\naws_secret_access_key = {somebody.secret}\n"
    file.write_text(f"[profile borrower]\nendpoint_url = {store.endpoint}\nregion = {REGION}\n{keys}")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(file))
    profile = {**without(options, "access_key_id", "secret_access_key", "endpoint", "region"), "profile": "borrower"}

    client = clients.connect(profile)

    assert (client.meta.endpoint_url, client.meta.region_name) == (store.endpoint, REGION)
    assert client.list_streams()["StreamNames"] == [STREAM]


def test_a_token_service_that_does_not_answer_is_an_outage(
    options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", f"http://{LOOPBACK}:{free_port()}")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")

    with pytest.raises(StreamUnavailable, match="Could not connect"):
        source(options).discover()


def test_a_token_service_that_is_asked_too_often_is_no_refusal() -> None:
    busy = ClientError({"Error": {"Code": "Throttling", "Message": "Rate exceeded"}}, "AssumeRole")

    assert isinstance(faults.translate(busy, "here", "describe it"), StreamUnavailable)


@pytest.mark.slow
def test_a_connector_whose_keys_open_nothing_but_a_role_lands_the_stream(
    store: Store, somebody: Keys, role: str, tmp_path: Path
) -> None:
    """In a process of its own, whose workers have nothing of the session but what travels in their tasks."""
    keys = {"frazil.kinesis.access.key.id": somebody.id, "frazil.kinesis.secret.access.key": somebody.secret}
    where = {"frazil.kinesis.region": REGION, "frazil.kinesis.endpoint": store.endpoint}
    file = write_properties(
        tmp_path / "orders.properties",
        name="borrower",
        **{"connector.class": "frazil.KinesisConnector", "frazil.kinesis.streams": STREAM},
        **where,
        **keys,
        frazil__kinesis__role__arn=role,
        frazil__home=str(tmp_path / "home"),
    )

    done = frazil("run", "--until-caught-up", file)

    assert done.returncode == 0, done.stderr
    metadata = iceberg.current_metadata(tmp_path / "home" / "catalog.db", "public", STREAM.upper())
    report = verify_stream(metadata, STREAM, {KEY: 3})
    assert report.clean, report
    assert not any(secret in done.stdout + done.stderr for secret in (somebody.id, somebody.secret))
