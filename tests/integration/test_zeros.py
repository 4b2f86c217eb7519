"""Both zeros are one value to Spark: predicates find them in whatever file they are."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.support.waiting import caught_up

from frazil.dev.kafka import KafkaBroker
from frazil.testing.records import produce

OTHERS = [("FLOAT", "false"), ("DOUBLE", "true"), ("DOUBLE", "false")]

FILES = [
    ["-0.0"],
    ["0.0"],
    ["-0.0"] * 50,
    ["-1.5", "-0.0"],
    ["0.0", "1.5"],
    ["-0.0", "null"],
    ["-1.5", "-0.0", "1.5"] * 20,
    ["-1.5"],
    ["1.5"],
]
"""The values of each file: bounds that are either zero, alone and beside others; often enough for a dictionary."""

LITERALS = ["0.0", "-0.0", "1.5", "-1.5"]
CONDITIONS = [
    *(f"{{x}} {sign} {literal}" for sign, literal in itertools.product(["=", "<=>", "<", "<=", ">", ">="], LITERALS)),
    *(f"{{x}} {sign} {zero}" for sign, zero in itertools.product(["!=", "IN", "NOT IN"], ["(0.0)", "(-0.0)"])),
    "{x} IN (-0.0, 1.5)",
    "{x} IN (0.0, -1.5)",
    "{x} BETWEEN 0.0 AND 1.0",
    "{x} BETWEEN -1.0 AND -0.0",
    "NOT ({x} < 0.0)",
    "NOT ({x} > -0.0)",
]


@pytest.mark.parametrize(
    ("kind", "vectorised"),
    [("FLOAT", "true"), *(pytest.param(*each, marks=pytest.mark.long) for each in OTHERS)],
)
def test_what_a_predicate_finds_does_not_hang_on_which_files_are_pruned(
    connect, topic, spark: SparkSession, broker: KafkaBroker, kind: str, vectorised: str
):
    table = f"frazil.public.{topic.upper()}"
    spark.sql("CREATE NAMESPACE IF NOT EXISTS frazil.public")
    spark.sql(
        f"CREATE TABLE {table} (x {kind}, n INT) USING iceberg "
        f"TBLPROPERTIES ('read.parquet.vectorization.enabled'='{vectorised}')"
    )
    connector, numbers = connect(topic), itertools.count()
    for values in FILES:
        produce(broker.bootstrap_servers, topic, [f'{{"x": {value}, "n": {next(numbers)}}}' for value in values])
        caught_up(connector)
    connector.stop()
    assert spark.sql(f"SELECT 1 FROM {table}.data_files").count() == len(FILES)
    rows = spark.table(table).select("x", "n").collect()
    spark.createDataFrame(rows, f"x {kind.lower()}, n int").createOrReplaceTempView("unpruned")

    cast = "D" if kind == "DOUBLE" else "F"
    conditions = [_typed(each, cast) for each in CONDITIONS]
    found = {each: numbers_where(spark, table, each) for each in conditions}

    assert found == {each: numbers_where(spark, "unpruned", each) for each in conditions}


def _typed(condition: str, suffix: str) -> str:
    """The condition with literals of the column's own type, for a decimal one would be compared after a cast."""
    for literal in ("1.5", "1.0", "0.0"):
        condition = condition.replace(literal, f"{literal}{suffix}")
    return condition.format(x="x")


def numbers_where(spark: SparkSession, table: str, condition: str) -> list[Any]:
    return sorted(row.n for row in spark.sql(f"SELECT n FROM {table} WHERE {condition}").collect())
