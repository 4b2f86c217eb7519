"""What an engine does with a statement: answers as rows are found, stops, and says why it cannot."""

from __future__ import annotations

import threading
import time

import pytest
from tests.queries.tables import Tables

from frazil.errors import InvalidQuery, QueryCancelled
from frazil.queries.failures import readable
from frazil.snowflake.compiled import Compiled, ResultColumn, Scan


def test_heads_that_are_alike_get_numbers(tables: Tables) -> None:
    heads = tuple(ResultColumn(head) for head in ("ID", "ID", "ID_2", "ID", "N"))

    found = tables.engine.run(Compiled("SELECT 1, 2, 3, 4, 5", heads)).batches.read_all()

    assert found.column_names == ["ID", "ID_3", "ID_2", "ID_4", "N"]
    assert [each.as_py() for each in (column[0] for column in found.columns)] == [1, 2, 3, 4, 5]


def test_rows_arrive_while_others_are_still_looked_for(tables: Tables) -> None:
    text = "SELECT i, repeat('x', 1000) FROM range(1000000000) t(i)"

    answer = tables.engine.run(Compiled(text, (ResultColumn("I"), ResultColumn("X"))))
    batch = answer.batches.read_next_batch()

    assert batch.num_rows
    assert batch.column(0)[0].as_py() == 0
    answer.batches.close()


def test_a_statement_is_cancelled_from_another_thread(tables: Tables) -> None:
    text = "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range * b.range % 7 = 3"
    timer = threading.Timer(0.5, tables.engine.cancel)
    timer.start()
    begun = time.monotonic()

    with pytest.raises(QueryCancelled):
        tables.run(text, 1)

    assert time.monotonic() - begun < 10
    assert tables.run("SELECT 1", 1).num_rows == 1


def test_rows_that_are_being_read_are_cancelled_too(tables: Tables) -> None:
    answer = tables.engine.run(Compiled("SELECT i FROM range(100000000000) t(i)", (ResultColumn("I"),)))
    answer.batches.read_next_batch()
    tables.engine.cancel()

    with pytest.raises(QueryCancelled):
        for _ in answer.batches:
            pass


def test_a_message_has_no_more_of_a_value_than_is_needed(tables: Tables) -> None:
    with pytest.raises(InvalidQuery) as failed:
        tables.run("SELECT repeat('ab', 2500000)::INTEGER", 1)

    assert len(str(failed.value)) < 1000
    assert "'abab" in str(failed.value)
    assert "LINE" not in str(failed.value)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            "Conversion Error: Could not convert string 'x' to INT32\n\nLINE 1: SELECT",
            "Could not convert string 'x' to INT32",
        ),
        ("Not implemented Error: no such thing", "no such thing"),
        ("Invalid Input Error: it's so", "it's so"),
        (f"IO Error: '{'x' * 200}' and '{'y' * 200}'", f"'{'x' * 80}…' and '{'y' * 80}…'"),
    ],
)
def test_what_duckdb_says_is_told_without_its_own_text(said: str, expected: str) -> None:
    assert readable(said) == expected


def test_statements_about_tables(tables: Tables) -> None:
    name = tables.create("id INT NOT NULL, v VARIANT, d DECIMAL(9,2)")
    tables.sql(name, "INSERT INTO {t} VALUES (1, NULL, 1.5)")

    def rows(text: str) -> list[dict]:
        return tables.engine.answer(text).batches.read_all().to_pylist()

    assert [(row["name"], row["rows"]) for row in rows(f"show tables like '{name.name.lower()}' in public")] == [
        (name.name, 1)
    ]
    assert [(row["name"], row["type"], row["null?"]) for row in rows(f"describe table {name.name}")] == [
        ("id", "NUMBER(10,0)", "N"), ("v", "VARIANT", "Y"), ("d", "NUMBER(9,2)", "Y"),
    ]  # fmt: skip
    assert [row["column_name"] for row in rows(f"show columns in table public.{name.name}")] == ["id", "v", "d"]
    assert [row["name"] for row in rows("show schemas")] == ["public"]
    listed = rows(f"select column_name, data_type from information_schema.columns where table_name = '{name.name}'")
    assert [tuple(row.values()) for row in listed] == [("id", "NUMBER(10,0)"), ("v", "VARIANT"), ("d", "NUMBER(9,2)")]
    assert {"TABLE_NAME": name.name} in rows("select table_name from information_schema.tables")
    (told,) = rows(f"select * from information_schema.tables where table_name = '{name.name}'")
    assert (told["TABLE_SCHEMA"], told["ROW_COUNT"], told["BYTES"] > 0) == ("public", 1, True)
    assert told["CREATED"] <= told["LAST_ALTERED"]
    plan = [row["plan"] for row in rows(f"explain select * from {name.name} where id = 5")]
    assert plan[0].startswith(f"public.{name.name}: 0 files, 0 rows")
    assert plan[1] == '  files chosen by: {"type":"eq","term":"id","value":5}'


def test_a_table_may_change_between_statements(tables: Tables) -> None:
    name = tables.create("id INT")
    assert tables.read(name) == []

    tables.sql(name, "INSERT INTO {t} VALUES (1)", "ALTER TABLE {t} RENAME COLUMN id TO n")

    assert tables.engine.answer(f"select n from {name.name}").batches.read_all().to_pylist() == [{"N": 1}]


def test_compaction_between_plan_and_read_is_planned_again(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    name = tables.create("id INT")
    tables.sql(name, "INSERT INTO {t} VALUES (1)")
    java = tables.java(name)
    before = tables.files(name)
    scan = Scan("t", name)
    load = type(tables.catalog).load
    loaded = []

    def first_is_stale(catalog: object, table: object) -> object:
        loaded.append(table)
        return java if len(loaded) == 1 else load(catalog, table)

    java.currentSnapshot()
    tables.sql(name, "INSERT OVERWRITE {t} VALUES (2)")
    for file in before:
        file.unlink()
    monkeypatch.setattr(type(tables.catalog), "load", first_is_stale)

    assert tables.run("SELECT * FROM t", 1, scan).to_pylist() == [{"C0": 2}]
    assert len(loaded) == 2
