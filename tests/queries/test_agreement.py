"""The same SELECTs over the same tables give the same rows through the engine and through Spark.

`FRAZIL_AGREEMENT` says how many tables are made up; the suite has few.
"""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.queries.tables import Tables

from frazil.snowflake.compiled import Filter

TABLES = int(os.environ.get("FRAZIL_AGREEMENT", "4"))

COLUMNS = {
    "k": ("INT", ["NULL", "0", "1", "7", "-2147483648", "2147483647"]),
    "l": ("BIGINT", ["NULL", "0", "9223372036854775807", "-1"]),
    "f": ("FLOAT", ["NULL", "float(0.1)", "float('NaN')", "float(1.5)"]),
    "x": ("DOUBLE", ["NULL", "1e300", "double('-Infinity')", "0.1d"]),
    "d": ("DECIMAL(9,2)", ["NULL", "1.25", "-9999999.99", "0"]),
    "s": ("STRING", ["NULL", "''", "'a'", "'Ä😀'", "repeat('long', 50)", "'it''s'"]),
    "b": ("BOOLEAN", ["NULL", "true", "false"]),
    "day": ("DATE", ["NULL", "date'2020-02-29'", "date'1969-12-31'", "date'9999-12-31'"]),
    "ts": ("TIMESTAMP", ["NULL", "timestamp'2020-01-01 12:00:00.123456Z'", "timestamp'1900-01-01 00:00:00Z'"]),
    "n": ("TIMESTAMP_NTZ", ["NULL", "timestamp_ntz'2020-01-01 12:00:00.5'", "timestamp_ntz'1582-10-15 00:00:00'"]),
    "bin": ("BINARY", ["NULL", "X''", "X'00FF'"]),
    "st": (
        "STRUCT<a: INT, b: STRING>",
        ["NULL", "named_struct('a', 1, 'b', 'x')", "named_struct('a', NULL, 'b', NULL)"],
    ),
    "li": ("ARRAY<STRING>", ["NULL", "array()", "array('x', NULL, 'y')"]),
    "ls": ("ARRAY<STRUCT<p: INT>>", ["NULL", "array(named_struct('p', 1), NULL)"]),
}
PARTITIONS = ["", "PARTITIONED BY (s)", "PARTITIONED BY (bucket(3, k))", "PARTITIONED BY (truncate(2, s), b)", "PARTITIONED BY (months(day))", "PARTITIONED BY (d)"]  # fmt: skip
RENAMED = "ALTER TABLE {t} RENAME COLUMN st.a TO c"
AGAIN = "ALTER TABLE {t} ADD COLUMN st.a STRING FIRST"
CHANGES = [
    "ALTER TABLE {t} ALTER COLUMN k TYPE BIGINT",
    "ALTER TABLE {t} ALTER COLUMN f TYPE DOUBLE",
    "ALTER TABLE {t} ALTER COLUMN d TYPE DECIMAL(20,2)",
    "ALTER TABLE {t} RENAME COLUMN l TO l2",
    RENAMED,
    AGAIN,
    "ALTER TABLE {t} ALTER COLUMN ls.element.p TYPE BIGINT",
    "ALTER TABLE {t} ADD COLUMN ls.element.q STRING FIRST",
    "ALTER TABLE {t} ALTER COLUMN x FIRST",
    "ALTER TABLE {t} ADD PARTITION FIELD bucket(2, k)",
    "DELETE FROM {t} WHERE k = 1",
    "DELETE FROM {t} WHERE s = 'a' AND x IS NULL",
    "UPDATE {t} SET d = 0 WHERE b",
    "INSERT INTO {t} (k, s) VALUES (3, 'short')",
]  # fmt: skip
QUERIES: list[tuple[str, int, list[Filter]]] = [
    ("SELECT k, d, s FROM t WHERE k > 0", 3, [Filter(("k",), ">", ("0",))]),
    ("SELECT k, s FROM t WHERE s = 'a' OR s IS NULL", 2, []),
    ("SELECT s FROM t WHERE s LIKE 'lo%'", 1, [Filter(("s",), "starts with", ("lo",))]),
    ("SELECT k FROM t WHERE day >= DATE '1970-01-01'", 1, [Filter(("day",), ">=", ("1970-01-01",))]),
    ("SELECT k, d FROM t WHERE d IN (1.25, 0)", 2, [Filter(("d",), "in", ("1.25", "0"))]),
    # Spark loses rows with NaN to `f > 1` alone: it holds NaN for the greatest number, and Iceberg leaves out its file.
    ("SELECT k FROM t WHERE f > 1 AND f < 2", 1, [Filter(("f",), ">", ("1",)), Filter(("f",), "<", ("2",))]),
    ("SELECT k FROM t WHERE x <= 0", 1, [Filter(("x",), "<=", ("0",))]),
    ("SELECT k FROM t WHERE NOT b", 1, [Filter(("b",), "=", ("false",))]),
    ("SELECT st.b, count(*) FROM t GROUP BY st.b", 2, []),
    ("SELECT b, count(*), min(k), max(d), min(day), max(s) FROM t GROUP BY b", 6, []),
    ("SELECT count(*), count(k), count(DISTINCT s) FROM t", 3, []),
    ("SELECT a.k, b.d FROM t a JOIN t b ON a.k = b.k AND a.s = b.s", 2, []),
    ("SELECT DISTINCT n, ts FROM t", 2, []),
]  # fmt: skip


@st.composite
def histories(draw: st.DrawFn) -> tuple[str, str, list[str]]:
    rows = st.tuples(*(st.sampled_from(values) for _, values in COLUMNS.values())).map(", ".join)
    changes = draw(st.lists(st.sampled_from(CHANGES), max_size=5, unique=True))
    if AGAIN in changes and RENAMED not in changes[: changes.index(AGAIN)]:
        changes.remove(AGAIN)  # there is one of that name
    inserted = [draw(st.lists(rows, min_size=1, max_size=5)) for _ in range(2)]
    inserts = [f"INSERT INTO {{t}} VALUES {', '.join(f'({row})' for row in each)}" for each in inserted]
    return draw(st.sampled_from(PARTITIONS)), draw(st.sampled_from("23")), [*inserts, *changes]


@pytest.mark.parametrize("mode", ["merge-on-read", "copy-on-write"])
def test_both_give_the_same_rows(tables: Tables, mode: str) -> None:
    @settings(
        max_examples=max(1, TABLES // 2),
        deadline=None,
        derandomize=TABLES <= 4,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.explicit, Phase.generate),
    )
    @given(history=histories())
    def agree(history: tuple[str, str, list[str]]) -> None:
        partition, version, statements = history
        name = tables.create(
            ", ".join(f"{column} {kind}" for column, (kind, _) in COLUMNS.items()), partition, format_version=version
        )
        kinds = ", ".join(f"'write.{what}.mode' = '{mode}'" for what in ("delete", "update", "merge"))
        tables.sql(name, f"ALTER TABLE {{t}} SET TBLPROPERTIES ({kinds})", *statements)
        tables.spark.sql("SET TIME ZONE 'UTC'")

        assert ordered(tables.read(name)) == ordered(tables.by_spark(name))
        for text, width, filters in QUERIES:
            found = tables.read(name, text, filters=filters, width=width)
            assert ordered(found) == ordered(tables.by_spark(name, text)), text

    agree()


def ordered(rows: list[tuple[Any, ...]]) -> list[str]:
    """Rows in an order, as texts: NaN is no value that equals itself, and a moment has a zone in one of them."""
    return sorted(str(tuple(map(shown, row))) for row in rows)


def shown(value: Any) -> Any:
    return value.replace(tzinfo=None) if hasattr(value, "tzinfo") else value
