"""A worker's connection reaches its scratch directory and nothing else, whatever SQL it is given."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from frazil.staging import worker

IN_A_MODULE = pa.table({"a": [1]})
"""What a replacement scan would find among the names of a module."""


@pytest.fixture
def area(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A scratch directory and all that is around it: a sibling, a secret, links that lead there, an account's home."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    (tmp_path / "scratch2").mkdir()
    for place in (tmp_path, tmp_path / "scratch2"):
        (place / "secret.csv").write_text("a\n1\n")
    (scratch / "file_link").symlink_to(tmp_path / "secret.csv")
    (scratch / "directory_link").symlink_to(tmp_path)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    return tmp_path


@pytest.fixture
def locked(area: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with worker.locked_down(area / "scratch") as connection:
        yield connection


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """A listening socket that every request for the network would come to."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.2)
        address = f"http://user:password@127.0.0.1:{listening.getsockname()[1]}"
        for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"):
            monkeypatch.setenv(name, address)
        yield listening


def everything_in(directory: Path) -> list[tuple[str, int]]:
    """All there is below a directory but not in the scratch directory, with sizes."""
    found = (path for path in directory.rglob("*") if not path.is_relative_to(directory / "scratch"))
    return sorted((str(path), path.lstat().st_size) for path in found)


SECRETS = [
    "/etc/passwd",
    "/proc/self/environ",
    "/dev/stdin",
    "{area}/secret.csv",
    "{area}/scratch2/secret.csv",
    "{area}/scratch/../secret.csv",
    "{area}/scratch//..//secret.csv",
    "{area}/scratch/./../secret.csv",
    "{area}/scratch/nothing/../../secret.csv",
    "{area}/scratch/*/secret.csv",
    "{area}/scratch/../*.csv",
    "{area}/scratch/file_link",
    "{area}/scratch/directory_link/secret.csv",
    "file:{area}/secret.csv",
    "file://{area}/secret.csv",
    "~/../secret.csv",
]


@pytest.mark.parametrize(
    "read",
    [
        "FROM '{path}'",
        "FROM read_csv('{path}')",
        "FROM read_csv(['{path}'])",
        "FROM sniff_csv('{path}')",
        "FROM read_text('{path}')",
        "FROM read_blob('{path}')",
        "FROM read_json('{path}')",
        "FROM read_ndjson_objects('{path}')",
        "FROM read_parquet('{path}')",
        "FROM parquet_metadata('{path}')",
        "FROM read_duckdb('{path}')",
        "FROM query('FROM read_text(''{path}'')')",
        "FROM json_execute_serialized_sql(json_serialize_sql('FROM read_text(''{path}'')'))",
        "CREATE TABLE stolen AS FROM read_text('{path}')",
        "ATTACH '{path}' AS stolen (READ_ONLY)",
        "IMPORT DATABASE '{path}'",
    ],
)
def test_no_file_outside_is_read(locked: duckdb.DuckDBPyConnection, area: Path, read: str) -> None:
    for path in SECRETS:
        with pytest.raises(duckdb.Error):
            locked.execute(read.format(path=path.format(area=area))).fetchall()


@pytest.mark.parametrize(
    "pattern", ["/*", "/etc/*", "~/*", "{area}/*", "{area}/scratch/../*", "{area}/scratch/directory_link/*"]
)
def test_no_directory_outside_is_listed(locked: duckdb.DuckDBPyConnection, area: Path, pattern: str) -> None:
    with pytest.raises(duckdb.PermissionException):
        locked.execute(f"FROM glob('{pattern.format(area=area)}')").fetchall()


@pytest.mark.parametrize(
    "write",
    [
        "COPY (SELECT 1) TO '{area}/x.csv'",
        "COPY (SELECT 1) TO '{area}/secret.csv'",
        "COPY (SELECT 1) TO '{area}/scratch2/x.parquet' (FORMAT parquet)",
        "COPY (SELECT 1) TO '{area}/scratch/../x.json'",
        "COPY (SELECT 1) TO '{area}/scratch/file_link'",
        "COPY (SELECT 1) TO '{area}/scratch/directory_link/x.csv'",
        "COPY (SELECT 1) TO 'relative.csv'",
        "COPY (SELECT 1) TO '/dev/stdout'",
        "COPY (SELECT 1 a, 2 b) TO '{area}/scratch' (FORMAT csv, PARTITION_BY (b), FILENAME_PATTERN '../../../x{{i}}')",
        "COPY (SELECT 1 a, 2 b) TO '{area}/scratch/x' (FORMAT csv, PARTITION_BY (b), FILE_EXTENSION '/../../../../x')",
        "COPY (SELECT 1) TO '{area}/scratch/x' (FORMAT parquet, PER_THREAD_OUTPUT, FILENAME_PATTERN '../../x{{i}}')",
        "EXPORT DATABASE '{area}/all'",
        "ATTACH '{area}/x.db'",
        "SET temp_directory = '{area}/spilled'",
        "SET profiling_output = '{area}/profile.json'",
        "PRAGMA profiling_output = '{area}/profile.json'",
        "CALL enable_profiling(save_location = '{area}/profile.json')",
        "SET log_query_path = '{area}/queries.log'",
        "CALL enable_logging(storage = 'file', storage_config = {{'path': '{area}/log'}})",
        "CREATE PERSISTENT SECRET s (TYPE http, BEARER_TOKEN 'x')",
        "CREATE SECRET s (TYPE http, BEARER_TOKEN 'x')",
    ],
)
def test_nothing_outside_is_written(locked: duckdb.DuckDBPyConnection, area: Path, write: str) -> None:
    before = everything_in(area)

    with pytest.raises(duckdb.Error):
        locked.execute(write.format(area=area)).fetchall()

    assert everything_in(area) == before


def test_values_that_become_names_of_directories_stay_inside(locked: duckdb.DuckDBPyConnection, area: Path) -> None:
    before = everything_in(area)

    locked.execute(
        f"COPY (SELECT unnest(['../../x', '/x', '..', 'a/../../../x']) AS p, 1 AS v) "
        f"TO '{area}/scratch/parts' (FORMAT parquet, PARTITION_BY (p))"
    )

    assert everything_in(area) == before


@pytest.mark.parametrize(
    "statement",
    [
        "INSTALL httpfs",
        "FORCE INSTALL httpfs FROM community",
        "INSTALL spatial FROM 'http://127.0.0.1/x'",
        "UPDATE EXTENSIONS",
        "LOAD httpfs",
        "LOAD '{area}/scratch/x.duckdb_extension'",
        "FROM read_csv('http://127.0.0.1/x.csv')",
        "FROM read_parquet('https://127.0.0.1/x.parquet')",
        "FROM 's3://bucket/x.parquet'",
        "FROM 'hf://datasets/x.parquet'",
        "ATTACH 'https://127.0.0.1/x.db'",
        "ATTACH 'dbname=x' (TYPE postgres)",
        "COPY (SELECT 1) TO 's3://bucket/x.parquet' (FORMAT parquet)",
        # These would load the extension they are in, had it been installed.
        "SELECT ST_Point(1, 2)",
        "FROM sqlite_scan('x.db', 't')",
        "FROM 'x.xlsx'",
        "SELECT * FROM iceberg_scan('{area}/scratch')",
    ],
)
def test_no_statementleaves_and_no_extension_is_loaded(
    proxy: socket.socket, locked: duckdb.DuckDBPyConnection, area: Path, statement: str
) -> None:
    before = everything_in(area)

    with pytest.raises(duckdb.Error):
        locked.execute(statement.format(area=area)).fetchall()

    with pytest.raises(TimeoutError):
        proxy.accept()
    assert everything_in(area) == before


def test_no_variable_of_python_is_a_table(locked: duckdb.DuckDBPyConnection) -> None:
    in_a_function = IN_A_MODULE

    for name in ("in_a_function", "IN_A_MODULE", "pa", "locked", "worker"):
        with pytest.raises(duckdb.CatalogException):
            locked.execute(f"FROM {name}").fetchall()

    assert in_a_function.num_rows == 1


def test_no_address_of_memory_is_a_table(locked: duckdb.DuckDBPyConnection) -> None:
    for scan in ("arrow_scan(1, 2, 3)", "arrow_scan_dumb(1, 2, 3)", "pandas_scan(1)", "python_arrow_scan(1)"):
        with pytest.raises(duckdb.BinderException):
            locked.execute(f"FROM {scan}").fetchall()


def settings(connection: duckdb.DuckDBPyConnection) -> Sequence[str]:
    """The names of all settings of this DuckDB."""
    return [name for (name,) in connection.execute("SELECT name FROM duckdb_settings()").fetchall()]


def test_no_setting_can_be_changed(locked: duckdb.DuckDBPyConnection) -> None:
    # Where unqualified names are looked up is a session's own: it reaches nothing that was out of reach.
    for name in {*settings(locked)} - {"schema", "search_path"}:
        for change in (f"SET {name} = true", f"SET GLOBAL {name} = true", f"RESET {name}", f"PRAGMA {name} = true"):
            with pytest.raises(duckdb.Error):
                locked.execute(change)


def test_the_settings_are_those_of_the_design(
    proxy: socket.socket, locked: duckdb.DuckDBPyConnection, area: Path
) -> None:
    scratch = str(area / "scratch")
    expected = {
        "threads": 1,
        "memory_limit": "686.6 MiB",
        "temp_directory": scratch,
        "max_temp_directory_size": "3.7 GiB",
        "TimeZone": "UTC",
        "allowed_directories": [f"{scratch}/"],
        "allowed_paths": [],
        "allowed_configs": [],
        "enable_external_access": False,
        "python_enable_replacements": False,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_unsigned_extensions": False,
        "enable_logging": False,
        "http_proxy": "",
        "lock_configuration": True,
    }

    found = {name: locked.execute(f"SELECT current_setting('{name}')").fetchall()[0][0] for name in expected}

    assert found == expected


def test_nothing_is_told_of_the_environment(proxy: socket.socket, area: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "password")
    with worker.locked_down(area / "scratch") as locked:
        told = locked.execute("SELECT string_agg(value, ' ') FROM duckdb_settings()").fetchall()[0][0]
        with pytest.raises(duckdb.CatalogException):
            locked.execute("SELECT getenv('AWS_SECRET_ACCESS_KEY')")
        with pytest.raises(duckdb.Error):
            locked.execute("FROM duckdb_secrets()").fetchall()

    assert "password" not in told


def test_the_scratch_directory_is_the_workers_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(worker, "_scratch", None)

    assert stat.S_IMODE(worker.scratch().stat().st_mode) == 0o700
    assert worker.scratch() is worker.scratch()


def test_others_directories_neither_stop_a_worker_nor_vanish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process_id = ended_process()
    left = tmp_path / f"frazil-{process_id}-x"
    others = [
        tmp_path / f"frazil-{process}x"
        for process in ("", "-", "0-", "²-", "٣-", "-1-", "1e9-", f"{2**31}-", f"{2**64}-", "9" * 100 + "-", "notes-")
    ]
    for directory in (left, *others, tmp_path / "elsewhere"):
        directory.mkdir()
        (directory / "file").touch()
    (tmp_path / f"frazil-{process_id}-link").symlink_to(tmp_path / "elsewhere")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(worker, "_scratch", None)

    worker.scratch()

    assert not left.exists()
    assert all((directory / "file").exists() for directory in (*others, tmp_path / "elsewhere"))


def test_a_worker_that_lives_keeps_its_directory_also_where_its_process_cannot_be_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    script = "import sys; from frazil.staging import worker; print(worker.scratch(), flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=in_tmp(tmp_path)
    ) as other:
        theirs = Path(other.stdout.readline().strip())
        renamed = theirs.rename(tmp_path / f"frazil-{ended_process()}-x")  # as if from another container
        monkeypatch.setattr(worker, "_scratch", None)

        worker.scratch()

        assert theirs.parent == tmp_path
        assert renamed.is_dir()
        other.kill()
    monkeypatch.setattr(worker, "_scratch", None)
    worker.scratch()
    assert not renamed.exists()


def in_tmp(path: Path) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(path)}


def ended_process() -> int:
    """The id of a process that is no more."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    return ended.pid
