from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from tests.support.disks import require_told, unsynced

from frazil.errors import StorageNotSupported
from frazil.storage.local import local_path
from frazil.storage.storage import Storage


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ("/data/x.parquet", "/data/x.parquet"),
        ("file:/data/x.parquet", "/data/x.parquet"),
        ("file:///data/x.parquet", "/data/x.parquet"),
        ("file://localhost/data/x", "/data/x"),
        ("relative/x", "relative/x"),
        ("/with:colon/x", "/with:colon/x"),
        # Hadoop and Iceberg take a location's characters as they are, so must the files.
        ("file:///my data/a%20b/c#d/e?f", "/my data/a%20b/c#d/e?f"),
        ("/a%20b#c?d", "/a%20b#c?d"),
    ],
)
def test_a_local_location_is_a_path_character_by_character(location: str, path: str) -> None:
    assert local_path(location) == Path(path)


@pytest.mark.parametrize("location", ["ftp://host/x", "oss://bucket/x", "file://host/x", "abfs:x", "s3:x", "s3:///x"])
def test_other_schemes_are_refused_by_name(tmp_path: Path, location: str) -> None:
    source = tmp_path / "x"
    source.write_text("x")

    for attempt in (
        lambda: Storage().move(source, location),
        lambda: Storage().delete(location),
        lambda: list(Storage().files(location, lambda _: True)),
        lambda: Storage().now(location),
    ):
        with pytest.raises(StorageNotSupported, match=location):
            attempt()
    assert source.exists()


def test_a_file_appears_whole_under_its_own_name_only(tmp_path: Path) -> None:
    source, target = tmp_path / "staged", tmp_path / "my table" / "data" / "a%20b.parquet"
    source.write_bytes(b"rows")

    Storage().move(source, f"file://{target}")

    assert target.read_bytes() == b"rows"
    assert [each.name for each in target.parent.iterdir()] == [target.name]
    assert not source.exists()


def test_a_power_cut_takes_nothing_of_a_file_once_it_is_moved(tmp_path: Path) -> None:
    require_told(tmp_path)
    synced, plain = tmp_path / "synced", tmp_path / "plain"
    for target in (synced, plain):
        source = tmp_path / "staged"
        source.write_bytes(b"rows" * 50_000)
        Storage(synced=target is synced).move(source, f"file:{target}/data/x.parquet")

    assert not unsynced(synced / "data" / "x.parquet")
    assert unsynced(plain / "data" / "x.parquet")


def test_a_directory_has_its_entry_on_the_disk_before_a_file_in_it_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[set[str]] = []
    real = os.fsync

    def fsync(opened: int) -> None:
        path = Path(f"/proc/self/fd/{opened}").resolve()
        held.append({str(each) for each in path.iterdir()} if path.is_dir() else {str(path)})
        real(opened)

    monkeypatch.setattr("os.fsync", fsync)
    source, target = tmp_path / "staged", tmp_path / "table" / "data" / "x.parquet"
    source.write_bytes(b"rows")

    Storage().move(source, str(target))

    assert {str(target), str(target.parent), str(target.parent.parent)} <= set[str]().union(*held)


def test_deleting_is_safe_to_repeat(tmp_path: Path) -> None:
    target = tmp_path / "x"
    target.write_text("x")

    Storage().delete(str(target))
    Storage().delete(target.as_uri())

    assert not target.exists()


def test_files_of_a_directory_are_found_without_directories_links_and_what_lies_deeper(tmp_path: Path) -> None:
    directory = tmp_path / "a%20b"
    (directory / "deeper.parquet").mkdir(parents=True)
    (directory / "deeper.parquet" / "x.parquet").write_text("x")
    (directory / "x.parquet").write_text("rows")
    (directory / "other").write_text("x")
    (directory / "link.parquet").symlink_to(directory / "x.parquet")
    os.utime(directory / "x.parquet", (7, 7))

    (found,) = Storage().files(f"file://{directory}", lambda name: name.endswith(".parquet"))

    assert (found.name, found.size, found.modified) == ("x.parquet", 4, 7)
    assert found.location == f"file://{directory}/x.parquet"


def test_a_directory_that_does_not_exist_has_no_files(tmp_path: Path) -> None:
    assert list(Storage().files(str(tmp_path / "none"), lambda _: True)) == []


def test_the_clock_of_a_file_system_is_read_without_leaving_anything(tmp_path: Path) -> None:
    before = time.time()

    assert before - 1 <= Storage().now(f"file://{tmp_path}") <= time.time() + 1
    assert list(tmp_path.iterdir()) == []
