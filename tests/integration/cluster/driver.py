"""A user's program for spark-submit: a session and a catalog of their own, modules and archives of their own.

    driver.py CONNECTOR.properties BARE_PYTHON

prints what it found, as JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import SparkSession

from frazil import Connector
from frazil.config import properties
from frazil.errors import FrazilError


def use(_: Iterator[int]) -> Iterator[list[str]]:
    """In a task: what a user shipped, what Spark brings, and which Python this is."""
    import importlib

    label = importlib.import_module("wares").LABEL
    pair = importlib.import_module("wares_alone").PAIR
    importlib.import_module("pyspark.sql.functions")
    importlib.import_module("py4j.java_gateway")
    yield [label, pair, Path("papers/paper.txt").read_text(), str(Path(sys.executable).relative_to(Path.cwd()))]


def ended_by(connector: Connector) -> str | None:
    """What a connector ends with."""
    connector.start()
    try:
        connector.wait_until_caught_up(60)
    except FrazilError as error:
        return str(error)
    return None


def main(file: Path, bare: str) -> None:
    """Ingest, run a job of one's own before and after, then lose the environment."""
    spark = SparkSession.builder.appName("a user's").getOrCreate()
    context = spark.sparkContext
    configuration = properties.read(file)
    table = f"lake.raw.{configuration['topics'].upper()}"
    connector = Connector.from_properties(configuration, spark)
    connector.start()
    found = {"caught_up": connector.wait_until_caught_up(120)}
    found["used"] = context.parallelize(range(4), 4).mapPartitions(use).collect()
    found["rows"] = [row["n"] for row in spark.sql(f"SELECT n FROM {table} ORDER BY n").collect()]
    connector.stop()
    context.pythonExec = bare
    other = Connector.from_properties({**configuration, "name": "other"}, spark)
    found["refused"] = ended_by(other)
    found["tokens"] = [key for key in properties_of(spark, table) if key.startswith("frazil.tokens.")]
    print(json.dumps(found))
    spark.stop()


def properties_of(spark: SparkSession, table: str) -> list[str]:
    """The names of a table's properties."""
    return [row["key"] for row in spark.sql(f"SHOW TBLPROPERTIES {table}").collect()]


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
