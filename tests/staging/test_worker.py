"""A worker's connection reaches nothing but its scratch directory."""

from __future__ import annotations

import sys
import zipfile
import zipimport
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import duckdb
import pyarrow as pa
import pytest

from frazil.staging import worker


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    scratch = tmp_path / "it's scratch"
    scratch.mkdir()
    with worker.locked_down(scratch) as connection:
        yield connection


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM read_blob('/etc/hostname')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM glob('/etc/*')",
        "SELECT * FROM read_csv('{scratch}/../outside.csv')",
        "SELECT * FROM read_parquet('https://example.com/x.parquet')",
        "COPY (SELECT 1) TO '{outside}/x.parquet' (FORMAT parquet)",
        "COPY (SELECT 1) TO '{scratch}/../x.csv'",
        "EXPORT DATABASE '{outside}/all'",
        "ATTACH '{outside}/x.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET allowed_directories = ['/']",
        "SET lock_configuration = false",
        "SET memory_limit = '64GB'",
        "SET threads = 64",
        "RESET allowed_directories",
        "PRAGMA enable_external_access",
        "SELECT * FROM outside",
    ],
)
def test_nothing_outside_is_reached_and_no_setting_changes(
    locked: duckdb.DuckDBPyConnection, tmp_path: Path, statement: str
) -> None:
    (tmp_path / "outside.csv").write_text("a\n1\n")
    outside = pa.table({"a": [1]})  # a Python variable is no table either

    with pytest.raises(duckdb.Error):
        locked.execute(statement.format(scratch=str(tmp_path / "it''s scratch"), outside=tmp_path)).fetchall()
    assert outside.num_rows == 1
    assert sorted(each.name for each in tmp_path.iterdir()) == ["it's scratch", "outside.csv"]


def test_the_scratch_directory_is_written_and_read(locked: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    path = str(tmp_path / "it's scratch" / "x.parquet").replace("'", "''")

    locked.execute(f"COPY (SELECT 42 AS a) TO '{path}' (FORMAT parquet)")

    assert locked.execute(f"SELECT a FROM read_parquet('{path}')").fetchall() == [(42,)]
    assert locked.execute("SELECT current_setting('TimeZone'), current_setting('threads')").fetchall() == [("UTC", 1)]


def test_archives_nothing_is_imported_from_leave_the_path_and_a_users_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    useless = {"pyspark.zip": "a.py", "py4j-0.10.9.9-src.zip": "b.py", "spark-core_2.13-4.1.3.jar": "org/A.class"}
    kept = {"users_code.zip": "nothing.py", "users.jar": "package/nothing.py"}
    for name, member in {**useless, **kept}.items():
        with zipfile.ZipFile(tmp_path / name, "w") as file:
            file.writestr(member, "")
    archives = [str(tmp_path / name) for name in (*useless, *kept)]
    within = str(tmp_path / "pyspark.zip" / "pyspark")
    for package in ("pyspark", "py4j"):
        monkeypatch.setitem(sys.modules, package, ModuleType(package))
    monkeypatch.setattr(sys, "path", [*archives, str(tmp_path)])
    importers = {archive: zipimport.zipimporter(archive) for archive in archives}
    monkeypatch.setattr(sys, "path_importer_cache", {**importers, within: importers[archives[0]]})

    worker.drop_archive_importers()
    sys.path.insert(0, archives[2])  # as Spark does before every task
    worker.drop_archive_importers()

    assert sys.path == [*archives[3:], str(tmp_path)]
    assert {*importers, within} & set(sys.path_importer_cache) == set(archives[3:])


def test_pysparks_own_archives_stay_where_they_are_all_there_is_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pyspark.zip", "py4j-0.10.9.9-src.zip"):
        with zipfile.ZipFile(tmp_path / name, "w") as file:
            file.writestr("pyspark/__init__.py", "")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "pyspark.zip"), str(tmp_path / "py4j-0.10.9.9-src.zip")])
    for package in ("pyspark", "py4j"):
        monkeypatch.delitem(sys.modules, package, raising=False)

    worker.drop_archive_importers()

    assert len(sys.path) == 2


def test_a_worker_whose_scratch_directory_somebody_removed_gets_another_one_and_a_connection_to_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker, "_scratch", None)
    monkeypatch.setattr(worker, "_connection", None)
    before = worker.scratch()
    worker.connection()
    before.rmdir()

    connection = worker.connection()
    connection.execute(f"COPY (SELECT 1 AS n) TO '{worker.scratch()}/x.parquet' (FORMAT parquet)")

    assert worker.scratch() != before
    assert (worker.scratch() / "x.parquet").exists()
