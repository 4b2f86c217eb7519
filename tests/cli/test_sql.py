"""`frazil sql` from the shell, in processes of its own: one small JVM, and no Spark in it."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
from pathlib import Path

import psutil
import pytest
from pyarrow import parquet
from tests.support.processes import FRAZIL
from tests.support.sessions import Seen

from frazil.testing.topics import wait_until

_DIGITS = f"with d as (select column1 as d from values {', '.join(f'({n})' for n in range(10))})"
_MANY = "d a, d b, d c, d e, d f, d g"
MILLION = f"{_DIGITS} select a.d as n, 'x' || b.d as t from {_MANY}"
ENDLESS = f"{_DIGITS} select sum(sqrt(a.d * b.d + x.d)) as s from {_MANY}, d h, d i, d j, d k, d l, d x"


@pytest.fixture
def home(orders_home: Path) -> Path:
    return orders_home


def sql(home: Path, *arguments: str | Path, given: str = "") -> subprocess.CompletedProcess[str]:
    """Run `frazil sql` with something on its standard input."""
    command = [FRAZIL, "sql", "--home", str(home), *map(str, arguments)]
    return subprocess.run(command, input=given, capture_output=True, text=True, timeout=120, check=False)


def test_statements_of_an_argument_a_file_and_a_pipe_are_run_in_order(home: Path, tmp_path: Path):
    text = "select 1 as a; -- one;\nselect ';' as b;\nselect count(*) as c from orders"
    file = tmp_path / "statements.sql"
    file.write_text(text)

    answers = [
        sql(home, text, "--format", "jsonl"),
        sql(home, "-f", file, "--format", "jsonl"),
        sql(home, "--format", "jsonl", given=text),
    ]

    for each in answers:
        assert each.returncode == 0, each.stderr
        assert [json.loads(line) for line in each.stdout.splitlines()] == [{"A": 1}, {"B": ";"}, {"C": 0}]
        assert each.stderr == ""


def test_what_was_answered_before_a_mistake_is_printed_and_the_rest_is_not_run(home: Path):
    done = sql(home, "select 1 as a; select * from bread; select 2 as a", "--format", "jsonl")

    assert done.returncode == 1
    assert done.stdout == '{"A":1}\n'
    assert "BREAD" in done.stderr.upper()
    assert "Traceback" not in done.stderr


def test_a_file_of_definitions_makes_the_catalog_of_a_new_home_and_the_line_that_fails_is_named(tmp_path: Path):
    file = tmp_path / "shop.sql"
    file.write_text(
        "-- the shop\n"
        "CREATE TABLE shop (id INT, total NUMBER(10,2) DEFAULT 0) CLUSTER BY (id);\n\n"
        "ALTER TABLE shop ADD COLUMN note VARCHAR;\n"
        "  /* this\n is wrong */ ALTER TABLE shop DROP COLUMN nothing;\n"
        "DROP TABLE shop;"
    )

    done = sql(tmp_path / "home", "-f", file, "--format", "jsonl")

    assert done.returncode == 1
    assert [json.loads(line)["status"] for line in done.stdout.splitlines()] == [
        "Table SHOP successfully created.",
        "Statement executed successfully.",
    ]
    said = "The statement at line 6 failed: 2 statements before it were carried out; 1 statement after it was not run."
    assert said in done.stderr
    assert "no column NOTHING" in done.stderr
    assert "line 6, column 43" in done.stderr
    left = sql(tmp_path / "home", "DESCRIBE TABLE shop; SHOW CHANNELS", "--format", "jsonl")
    assert [json.loads(line)["name"] for line in left.stdout.splitlines()] == ["ID", "TOTAL", "NOTE"]


def test_a_new_home_is_made_by_nothing_but_create(tmp_path: Path):
    done = sql(tmp_path / "typo", "ALTER TABLE shop ADD COLUMN note VARCHAR")

    assert done.returncode == 1
    assert "nothing_set_up" in done.stderr
    assert not (tmp_path / "typo" / "catalog.db").exists()


def test_no_spark_is_started(home: Path):
    seen = Seen()
    with subprocess.Popen([FRAZIL, "sql", "--home", str(home), "select * from orders"], stdout=subprocess.PIPE) as one:
        process = psutil.Process(one.pid)
        while one.poll() is None:
            seen.look(process.children(recursive=True))

    assert one.returncode == 0
    assert any("py4j.GatewayServer" in each for each in seen.commands)
    assert not any("SparkSubmit" in each for each in seen.commands)
    assert not (home / "logs" / "spark.log").exists()


def test_rows_go_to_a_file_which_is_whole_or_as_it_was(home: Path, tmp_path: Path):
    sheet, table = tmp_path / "rows.csv", tmp_path / "rows.parquet"
    query = "select 1 as a, null::varchar as b, '' as c"

    done = [
        sql(home, query, "--format", "csv", "--output", sheet),
        sql(home, query, "--format", "parquet", "--output", table),
    ]
    failed = sql(home, f"{query}; select * from bread", "--format", "csv", "--output", sheet)

    assert [each.returncode for each in (*done, failed)] == [0, 0, 1]
    assert sheet.read_text() == '"A","B","C"\n1,,""\n'
    assert parquet.read_table(table).to_pylist() == [{"A": 1, "B": None, "C": ""}]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["rows.csv", "rows.parquet"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["select 1", "--format", "parquet"], "--output"),
        (["select 1; select 2", "--format", "parquet", "--output", "x.parquet"], "exactly one"),
        (["select 1", "-f", "x.sql"], "one of the two"),
        (["-f", "nowhere.sql"], "nowhere.sql"),
        (["select 1", "--output", "nowhere/x.csv"], "nowhere/x.csv"),
    ],
)
def test_options_that_make_no_sense_are_refused_with_exit_code_2(
    home: Path, tmp_path: Path, arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)

    done = sql(home, *arguments)

    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_whoever_has_read_enough_ends_it_without_a_complaint(home: Path):
    done = subprocess.run(
        f'{FRAZIL} sql --home {home} --format csv "{MILLION}" | head -2',
        shell=True, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip

    assert next(csv.reader(io.StringIO(done.stdout))) == ["N", "T"]
    assert done.stderr == ""


def test_ctrl_c_ends_the_query_its_jvm_and_nothing_is_left(home: Path, tmp_path: Path):
    rows = tmp_path / "rows.csv"
    command = [FRAZIL, "sql", "--home", str(home), "--format", "csv", "--output", str(rows), ENDLESS]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        process = psutil.Process(running.pid)
        wait_until(lambda: any("java" in each.name() for each in process.children()), "a JVM")
        (java,) = [each for each in process.children() if "java" in each.name()]
        # DuckDB works on all cores once it has begun, Java has hardly anything to do.
        wait_until(lambda: process.cpu_times().user > java.cpu_times().user + 2, "the query to run", 60)

        os.kill(running.pid, signal.SIGINT)

        assert running.wait(30) == 130
        assert running.stderr is not None
        assert running.stderr.read() == ""
    assert not java.is_running()
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    "module", ["frazil.cli.channels", "frazil.cli.sql", "frazil.cli.prompt", "frazil.queries.library"]
)
def test_commands_without_spark_import_none_of_it(module: str):
    script = f"import sys, frazil.cli.app, {module}, frazil.queries.engine; print([*map(str, sys.modules)])"

    done = subprocess.run([frazil_python(), "-c", script], capture_output=True, text=True, check=True)

    assert "'pyspark'" not in done.stdout
    assert "'pandas'" not in done.stdout


def test_frazil_is_imported_at_once():
    script = "import sys, frazil; print([*map(str, sys.modules)])"

    done = subprocess.run([frazil_python(), "-c", script], capture_output=True, text=True, check=True)

    assert not {"pyspark", "pyarrow", "duckdb", "pydantic"} & set(
        done.stdout.replace("'", " ").replace(",", " ").split()
    )


def frazil_python() -> str:
    return str(Path(FRAZIL).with_name("python"))
