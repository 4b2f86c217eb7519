"""`frazil.query`: the tables from Python."""

from __future__ import annotations

import subprocess
import sys
import threading
from decimal import Decimal
from pathlib import Path

import psutil
import pytest

import frazil
from frazil.errors import InvalidQuery, NothingSetUp, ProgramMissing, SparkNeeded
from frazil.queries.library import _CATALOGS


@pytest.fixture(scope="module")
def home(orders_home: Path):
    yield orders_home
    _CATALOGS.end()


def test_rows_are_had_as_whatever_is_wanted(home: Path):
    def ask() -> frazil.Rows:
        return frazil.query("select 1.5::number(10, 2) as a, 'x' as b union all select null, 'y' order by b", home=home)

    assert ask().arrow().to_pylist() == [{"A": Decimal("1.50"), "B": "x"}, {"A": None, "B": "y"}]
    assert sum(batch.num_rows for batch in ask()) == 2
    assert ask().rows() == [(Decimal("1.50"), "x"), (None, "y")]
    assert ask().df()["A"].isna().tolist() == [False, True]
    assert ask().pl().rows() == [(Decimal("1.50"), "x"), (None, "y")]
    assert [column.head for column in ask().columns] == ["A", "B"]


def test_whole_numbers_beside_null_stay_whole_numbers_in_a_frame(home: Path):
    frame = frazil.query("select 9007199254740993::bigint as a union all select null order by a", home=home).df()

    assert frame["A"].tolist()[0] == 9007199254740993


def test_one_jvm_answers_the_threads_of_a_process(home: Path):
    _CATALOGS.end()
    before = javas()
    found: list[object] = []
    threads = [
        threading.Thread(target=lambda n=n: found.append(frazil.query(f"select {n} as n", home=home).rows()[0][0]))
        for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(found) == [0, 1, 2, 3]
    assert len(javas() - before) == 1


def javas() -> set[psutil.Process]:
    """The JVMs of this process: other tests may have left theirs."""
    return {each for each in psutil.Process().children() if "java" in each.name()}


def test_a_closed_answer_gives_no_more_and_others_go_on(home: Path):
    with frazil.query("select 1 as a", home=home) as rows:
        other = frazil.query("select 2 as a", home=home)

    assert other.rows() == [(2,)]
    rows.close()


def test_a_catalog_is_named_by_sparks_properties_or_by_a_worker_file(home: Path, tmp_path: Path):
    properties = {
        "spark.sql.catalog.frazil": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.frazil.type": "jdbc",
        "spark.sql.catalog.frazil.uri": f"jdbc:sqlite:{home / 'catalog.db'}",
        "spark.sql.catalog.frazil.jdbc.schema-version": "V1",
        "spark.sql.catalog.frazil.warehouse": f"file://{home / 'warehouse'}",
    }
    worker = tmp_path / "worker.properties"
    worker.write_text("".join(f"{key}={text}\n" for key, text in properties.items()))

    by_properties = frazil.query("select count(*) as n from public.orders", home=tmp_path, catalog=properties).rows()
    by_file = frazil.query("select count(*) as n from public.orders", home=tmp_path, catalog=worker).rows()

    assert by_properties == by_file


def test_what_cannot_be_asked_says_why(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(InvalidQuery, match="bread"):
        frazil.query("select * from bread", home=home)
    with pytest.raises(NothingSetUp, match=str(tmp_path)):
        frazil.query("select 1", home=tmp_path)
    with pytest.raises(SparkNeeded, match="SparkSessionCatalog"):
        frazil.query("select 1", home=home, catalog={"spark.sql.catalog.spark_catalog": "x.SparkSessionCatalog"})
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ProgramMissing, match="pip install polars"):
        frazil.query("select 1 as a", home=home).pl()


def test_no_jvm_outlives_the_process(home: Path):
    script = (
        f"import frazil, psutil; frazil.query('select 1 as a', home={str(home)!r}).rows(); "
        "print(*(each.pid for each in psutil.Process().children() if 'java' in each.name()))"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert not psutil.pid_exists(int(done.stdout))


def test_tables_and_pipes_are_defined_through_it_too_in_a_home_that_has_none_yet(tmp_path: Path):
    def say(text: str) -> list[tuple[object, ...]]:
        return frazil.query(text, home=tmp_path).rows()

    with pytest.raises(NothingSetUp):
        say("drop table shop")
    made = say("-- the shop\ncreate table shop (id int)")
    say("alter table shop add column name varchar default 'none'")
    say("create pipe shop as copy into shop from (select $1:id, $1:name from table(data_source(type => 'STREAMING')))")

    assert made == [("Table SHOP successfully created.",)]
    assert [row[:2] for row in say("describe table shop")] == [("ID", "NUMBER(10,0)"), ("NAME", "VARCHAR")]
    assert [row[0] for row in say("show pipes")] == ["SHOP"]
    assert say("select * from shop") == []
    with pytest.raises(InvalidQuery, match="frazil sql"):
        say("show channels")
    say("drop table shop")
    assert say("show tables") == []
    _CATALOGS.end()
