"""Files on S3 appear whole or not at all; what a store says is told, and what opens it is not."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from pyarrow import fs
from tests.support.lying import Lies, lying
from tests.support.s3 import BUCKET, Store

from frazil.errors import StorageNotSupported, StorageRefused, StorageUnavailable
from frazil.storage.file_systems import place
from frazil.storage.remote import RemoteLocation
from frazil.storage.storage import Storage

DIRECTORY = f"s3://{BUCKET}/a b/c%20d"
SECRET = "wJalrXUtnFEMI/K7MDENG"
STATIC = {"s3.access-key-id": "AKIA", "s3.secret-access-key": SECRET, "client.region": "eu-central-1"}


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with Store.running() as running:
        yield running


@pytest.fixture
def storage(store: Store) -> Storage:
    return Storage(store.owner.properties(store.endpoint))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "staged.parquet"
    path.write_bytes(b"rows" * 5_000_000)
    return path


@pytest.mark.parametrize("scheme", ["s3", "s3a", "s3n", "S3"])
def test_a_file_is_moved_found_and_deleted(store: Store, storage: Storage, source: Path, scheme: str) -> None:
    directory = DIRECTORY.replace("s3", scheme, 1)
    began = time.time()
    storage.move(source, f"{directory}/x.parquet")
    storage.move(_small(source), f"{directory}/deeper/y.parquet")

    (found,) = storage.files(directory, lambda name: name.endswith(".parquet"))
    there = store.read("a b/c%20d/x.parquet")
    for location in (found.location, f"{directory}/deeper/y.parquet", f"{directory}/never.parquet"):
        storage.delete(location)

    assert (found.name, found.size) == ("x.parquet", 20_000_000)
    assert found.modified == pytest.approx(began, abs=30)
    assert there == b"rows" * 5_000_000
    assert not source.exists()
    assert [key for key in store.names("a b") if not key.endswith("/")] == []
    assert list(storage.files(f"s3://{BUCKET}/nothing/here", lambda _: True)) == []


def test_a_file_that_cannot_be_read_to_its_end_leaves_nothing(store: Store, storage: Storage, tmp_path: Path) -> None:
    source = tmp_path / "directory"
    source.mkdir()

    with pytest.raises(StorageUnavailable, match="directory"):
        storage.move(source, f"{DIRECTORY}/half.parquet")

    assert not [key for key in store.names("a b") if "half" in key]
    assert store.uploads() == []


@pytest.fixture
def lies(store: Store) -> Iterator[Lies]:
    with lying(store.address) as found:
        yield found


def through(store: Store, lies: Lies) -> Storage:
    return Storage(store.owner.properties(f"http://{lies.address}"))


def test_a_file_that_a_store_only_says_it_has_was_not_moved(store: Store, lies: Lies, source: Path) -> None:
    small = _small(source)
    lies.loses = True

    with pytest.raises(StorageUnavailable, match=r"lost\.parquet: .* does not have it"):
        through(store, lies).move(small, f"{DIRECTORY}/lost.parquet")

    assert small.exists()
    lies.loses = False
    through(store, lies).move(small, f"{DIRECTORY}/lost.parquet")
    assert store.read("a b/c%20d/lost.parquet")
    through(store, lies).delete(f"{DIRECTORY}/lost.parquet")


class Cutting:
    """A file system that loses the end of each file."""

    def __init__(self) -> None:
        self._local = fs.LocalFileSystem()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._local, name)

    def get_file_info(self, path: str) -> fs.FileInfo:
        os.truncate(path, 3)
        return self._local.get_file_info(path)


def test_a_file_of_which_a_store_has_a_part_was_not_moved(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(b"rows")

    with pytest.raises(OSError, match="has 3 of its 4 bytes"):
        RemoteLocation(cast("fs.FileSystem", Cutting()), str(target), has_directories=False).receive(source)

    assert source.exists()
    assert not target.exists()


@pytest.mark.long
def test_a_file_whose_upload_is_answered_too_late_was_not_moved(
    store: Store, lies: Lies, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("frazil.storage.file_systems._ANSWER", 0.5)
    monkeypatch.setattr("frazil.storage.file_systems._ATTEMPTS", 1)
    small = _small(source)
    lies.late = "late.parquet"

    with pytest.raises(StorageUnavailable, match=r"late\.parquet"):
        through(store, lies).move(small, f"{DIRECTORY}/late.parquet")

    assert small.exists()
    assert not [key for key in store.names("a b") if "late" in key]


def test_the_clock_of_a_store_is_read_without_leaving_a_file(store: Store, storage: Storage) -> None:
    assert storage.now(DIRECTORY) == pytest.approx(time.time(), abs=30)
    assert [key for key in store.names("a b") if not key.endswith("/")] == []


def test_a_store_that_says_no_is_named_with_what_to_do(store: Store, source: Path) -> None:
    right = store.owner.properties(store.endpoint)
    for access, location, said in (
        ({**right, "s3.secret-access-key": SECRET}, f"{DIRECTORY}/x", "SIGNATURE"),
        ({**right, "s3.access-key-id": "AKIAUNKNOWN"}, f"{DIRECTORY}/x", "INVALID_ACCESS_KEY|InvalidAccessKey"),
        (right, "s3://no-such-bucket/x", "NO_SUCH_BUCKET"),
    ):
        with pytest.raises(StorageRefused, match=said) as refused:
            Storage(access).move(source, location)
        assert location in str(refused.value)
        assert SECRET not in str(refused.value)
    assert source.exists()


def test_passing_keys_that_are_refused_are_waited_for_as_the_catalog_gives_out_others(
    store: Store, source: Path
) -> None:
    keys = store.lent("elsewhere", "stranger")

    with pytest.raises(StorageUnavailable, match=r"ACCESS_DENIED|AccessDenied"):
        Storage(keys.properties(store.endpoint)).move(source, f"{DIRECTORY}/x")


def test_a_store_that_does_not_answer_is_an_outage(source: Path) -> None:
    access = {**STATIC, "s3.endpoint": "http://127.0.0.1:9", "s3.path-style-access": "true"}

    with pytest.raises(StorageUnavailable, match=r"127\.0\.0\.1") as down:
        Storage(access).move(source, f"{DIRECTORY}/x")
    assert SECRET not in str(down.value)


@pytest.mark.parametrize(
    ("location", "access"),
    [
        ("s3://b/x", {"s3.remote-signing-enabled": "true"}),
        ("s3://b/x", {**STATIC, "s3.sse.type": "kms"}),
        ("s3://b/x", {**STATIC, "s3.access-points.b": "arn:aws:s3::1:accesspoint/x"}),
        ("s3://b/x", {**STATIC, "client.factory": "com.example.Factory"}),
        ("s3://b/x", {"client.region": "x", "client.credentials-provider": "com.example.Provider"}),
        ("gs://b/x", {"gcs.encryption-key": "k"}),
        ("abfss://c@account.dfs.core.windows.net/x", {"adls.token": "t"}),
    ],
)
def test_what_tasks_cannot_do_as_asked_is_refused_by_name(location: str, access: dict[str, str]) -> None:
    asked = list(access)[-1]

    with pytest.raises(StorageNotSupported, match=asked):
        place(location, access)


@pytest.mark.parametrize("location", [f"{DIRECTORY}/a#b", f"{DIRECTORY}/a?b", f"s3://{BUCKET}/a//b"])
def test_keys_that_mean_something_else_to_others_are_refused(storage: Storage, source: Path, location: str) -> None:
    with pytest.raises(StorageNotSupported, match="s3://"):
        storage.move(source, location)


@pytest.mark.parametrize(
    ("location", "access", "kind", "path"),
    [
        ("s3a://lake/a b/x", STATIC, fs.S3FileSystem, "lake/a b/x"),
        ("s3://lake/x", {"client.assume-role.arn": "arn:aws:iam::1:role/r", "client.region": "r"}, fs.S3FileSystem, "lake/x"),
        ("gs://lake/x", {"gcs.oauth2.token": "t", "gcs.oauth2.token-expires-at": "1795299042000"}, fs.GcsFileSystem, "lake/x"),
        ("gs://lake/x", {"gcs.no-auth": "true", "gcs.service.host": "http://127.0.0.1:1"}, fs.GcsFileSystem, "lake/x"),
        ("abfss://c@account.dfs.core.windows.net/x/y", {"adls.sas-token.account": "?sig=s"}, fs.AzureFileSystem, "c/x/y"),
        (
            "wasbs://c@account.blob.core.windows.net/x",
            {"adls.auth.shared-key.account.name": "account", "adls.auth.shared-key.account.key": "aGk="},
            fs.AzureFileSystem,
            "c/x",
        ),
        ("abfs://c@account.dfs.core.windows.net/x", {"adls.connection-string.account.dfs.core.windows.net": "AccountKey=aGk="}, fs.AzureFileSystem, "c/x"),
    ],
)  # fmt: skip
def test_every_store_is_reached_by_its_own_file_system(
    location: str, access: dict[str, str], kind: type[fs.FileSystem], path: str
) -> None:
    found = place(location, access)

    assert isinstance(found.system, kind)
    assert found.path == path


def test_what_opens_the_same_is_kept_and_what_opens_another_is_not() -> None:
    first = place("s3://lake/x", STATIC)

    assert place("s3://lake/y", dict(reversed(STATIC.items()))).system is first.system
    assert place("s3://lake/x", {**STATIC, "s3.access-key-id": "other"}).system is not first.system


def test_hdfs_without_hadoops_library_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HADOOP_HOME", "ARROW_LIBHDFS_DIR"):
        monkeypatch.delenv(name, raising=False)

    with pytest.raises(StorageNotSupported, match="CLASSPATH"):
        place("hdfs://namenode:8020/x", {})


def test_where_a_file_is_seen_before_it_is_whole_it_is_written_under_another_name(tmp_path: Path, source: Path) -> None:
    target = RemoteLocation(fs.LocalFileSystem(), f"{tmp_path}/table/data/x.parquet", has_directories=True)
    blocked = RemoteLocation(fs.LocalFileSystem(), f"{tmp_path}/table/data/y.parquet", has_directories=True)
    (tmp_path / "table" / "data" / "y.parquet" / "z").mkdir(parents=True)

    target.receive(source)
    with pytest.raises(OSError, match=r"y\.parquet"):
        blocked.receive(_small(source))

    assert sorted(each.name for each in (tmp_path / "table" / "data").iterdir()) == ["x.parquet", "y.parquet"]
    assert (tmp_path / "table" / "data" / "x.parquet").stat().st_size == 20_000_000


def test_addresses_in_what_a_store_says_are_told_without_their_signatures() -> None:
    storage = Storage({"adls.sas-token.account": "sig=abc%2F", "adls.auth.shared-key.account.name": "account"})

    told = storage._error(
        "abfss://c@account/x", "PUT https://account/c/x?sv=1&sig=abc%2F&se=2 failed, account: sig=abc%2F"
    )

    assert "abc" not in str(told)
    assert "https://account/c/x?sv=1" in str(told)


def _small(beside: Path) -> Path:
    path = beside.with_name("small.parquet")
    path.write_bytes(b"few")
    return path
