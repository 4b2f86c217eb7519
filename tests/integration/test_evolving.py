"""A change of a table's columns, in a real catalog, while others change them too."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from frazil.errors import TableMissing
from frazil.model import Conversion, ListType, Primitive, SchemaChange, TableName
from frazil.tables.iceberg.catalog import Catalog
from frazil.tables.iceberg.table import Table
from frazil.tables.jvm.session import EMBEDDED, iceberg_catalog
from frazil.tables.rules.schema import fields_of

LONG, DOUBLE, PRICE = Primitive("long"), Primitive("double"), Primitive("decimal", 18, 2)
NAME = TableName(("public",), "EVOLVING")
SQL = f"{EMBEDDED}.{NAME}"

WIDER = SchemaChange(
    widen={
        ("count",): LONG,
        ("ratio",): DOUBLE,
        ("price",): PRICE,
        ("place", "lat"): DOUBLE,
        ("places", "element", "number"): LONG,
        ("sizes", "value"): LONG,
        ("a.b",): LONG,
    },
    relax=frozenset({("count",), ("place", "lat"), ("note",)}),
)


@pytest.fixture
def table(spark: SparkSession, lake: Path) -> Table:
    """A table with a row, as a connector opened it."""
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {EMBEDDED}.public")
    spark.sql(f"DROP TABLE IF EXISTS {SQL}")
    spark.sql(
        f"CREATE TABLE {SQL} (count INT NOT NULL, ratio FLOAT, price DECIMAL(9, 2), note STRING, "
        "place STRUCT<lat: FLOAT NOT NULL, name: STRING>, places ARRAY<STRUCT<number: INT>>, sizes MAP<STRING, INT>, "
        "`a.b` INT) USING iceberg"
    )
    spark.sql(
        f"INSERT INTO {SQL} VALUES (1, 0.5, 9.99, 'x', named_struct('lat', 1.5F, 'name', 'here'), "
        "array(named_struct('number', 7)), map('k', 3), 5)"
    )
    catalog = Catalog(iceberg_catalog(spark, EMBEDDED, lake), spark.sparkContext._gateway, EMBEDDED)
    opened = catalog.open(NAME, None, Conversion())
    assert isinstance(opened, Table)
    return opened


def described(table: Table) -> dict[str, str]:
    """The columns and fields by dotted path, with `!` where they must not be NULL."""
    found: dict[str, str] = {}
    waiting = [(column.name, column) for column in table.state().columns()]
    while waiting:
        path, column = waiting.pop()
        found[path] = str(column.type) + "!" * column.required
        waiting += [(f"{path}.{field.name}", field) for field in fields_of(column.type)]
    return found


def test_columns_and_fields_are_widened_and_relaxed_and_keep_their_values(table: Table, spark: SparkSession) -> None:
    table.evolve(WIDER)
    table.refresh()

    found = described(table)
    assert {path: found[path] for path in ("count", "ratio", "price", "place.lat", "a.b")} == {
        "count": "long",
        "ratio": "double",
        "price": "decimal(18,2)",
        "place.lat": "double",
        "a.b": "long",
    }
    assert (found["places.element.number"], found["sizes.value"], found["place.name"]) == ("long", "long", "string")
    spark.sql(
        f"INSERT INTO {SQL} VALUES (NULL, 1e300, 12345678901234.56, NULL, named_struct('lat', NULL, 'name', 'x'), "
        "array(named_struct('number', 5000000000)), map('k', 5000000000), 5000000000)"
    )
    old, new = sorted(spark.table(SQL).collect(), key=lambda row: row["count"] is None)
    assert (old["count"], old["price"], old["place"]["lat"], old["sizes"], old["a.b"]) == (
        1,
        Decimal("9.99"),
        1.5,
        {"k": 3},
        5,
    )
    assert (new["ratio"], new["price"], new["place"]["lat"]) == (1e300, Decimal("12345678901234.56"), None)
    assert new["places"][0]["number"] == 5_000_000_000


def test_columns_are_added_with_what_else_changes_in_one_version(table: Table) -> None:
    before = table.state().schema_id

    table.evolve(
        SchemaChange(
            add={"tags": ListType(0, Primitive("string"), element_required=False), "x.y": LONG},
            widen={("count",): LONG},
            relax=frozenset({("count",)}),
        )
    )
    table.refresh()

    found = described(table)
    assert (found["tags"], found["x.y"], found["count"]) == ("list<string>", "long", "long")
    assert table.state().schema_id == before + 1


MEANWHILE: dict[str, tuple[str, str, str | None]] = {
    "widened it": ("ALTER COLUMN count TYPE BIGINT", "count", "long"),
    "widened it further": ("ALTER COLUMN price TYPE DECIMAL(30, 2)", "price", "decimal(30,2)"),
    "dropped it": ("DROP COLUMN ratio", "ratio", None),
    "renamed it": ("RENAME COLUMN ratio TO quota", "quota", "float"),
    "relaxed it": ("ALTER COLUMN count DROP NOT NULL", "count", "long"),
    "dropped a field": ("DROP COLUMN place.lat", "place.lat", None),
    "added another": ("ADD COLUMN other INT", "other", "int"),
}


@pytest.mark.parametrize("what", MEANWHILE)
def test_what_somebody_did_in_the_meantime_stays(table: Table, spark: SparkSession, what: str) -> None:
    statement, path, kind = MEANWHILE[what]
    spark.sql(f"ALTER TABLE {SQL} {statement}")

    table.evolve(WIDER)
    table.refresh()

    found = described(table)
    assert found.get(path) == kind
    assert (found["count"], found["a.b"]) == ("long", "long")


def test_a_column_that_somebody_added_in_another_case_and_type_stays(table: Table, spark: SparkSession) -> None:
    spark.sql(f"ALTER TABLE {SQL} ADD COLUMN Total STRING")

    table.evolve(SchemaChange(add={"TOTAL": LONG, "new": LONG}))
    table.refresh()

    assert [(path, kind) for path, kind in described(table).items() if path.lower() in ("total", "new")] == [
        ("new", "long"),
        ("Total", "string"),
    ]


def test_a_race_is_run_again_on_what_the_other_left(
    table: Table, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    change_columns: Callable[[SchemaChange], None] = table._change_columns
    tried: list[SchemaChange] = []

    def raced(change: SchemaChange) -> None:
        tried.append(change)
        if len(tried) == 1:
            update = table.java.updateSchema().makeColumnOptional("count")
            spark.sql(f"ALTER TABLE {SQL} ALTER COLUMN count TYPE BIGINT")
            update.commit()
        change_columns(change)

    monkeypatch.setattr(table, "_change_columns", raced)
    table.evolve(SchemaChange(widen={("count",): LONG, ("ratio",): DOUBLE}))
    table.refresh()

    assert [[*each.widen] for each in tried] == [[("count",), ("ratio",)], [("ratio",)]]
    assert (described(table)["count"], described(table)["ratio"]) == ("long!", "double")


def test_nothing_left_to_do_makes_no_version(table: Table) -> None:
    table.evolve(WIDER)
    table.refresh()
    before = table.state().schema_id

    table.evolve(WIDER)

    assert table.state().schema_id == before


def test_a_table_that_is_gone_is_said_to_be(table: Table, spark: SparkSession) -> None:
    spark.sql(f"DROP TABLE {SQL}")

    with pytest.raises(TableMissing):
        table.evolve(WIDER)


def test_a_property_is_replaced_only_while_it_has_the_value_that_was_read(table: Table, spark: SparkSession) -> None:
    spark.sql(f"ALTER TABLE {SQL} SET TBLPROPERTIES ('mine' = 'old')")
    table.replace_property("mine", "other", "new")
    table.refresh()
    assert table.state().property("mine") == "old"

    spark.sql(f"ALTER TABLE {SQL} SET TBLPROPERTIES ('beside' = 'x')")
    table.replace_property("mine", "old", "new")
    assert table.state().property("mine") == "new"

    spark.sql(f"ALTER TABLE {SQL} SET TBLPROPERTIES ('mine' = 'of another')")
    table.replace_property("mine", "new", "newer")
    assert (table.state().property("mine"), table.state().property("beside")) == ("of another", "x")
