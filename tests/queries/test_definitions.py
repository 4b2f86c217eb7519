"""Tables that are created, altered and dropped in SQL, looked at through Spark's eyes."""

from __future__ import annotations

from typing import Any

import pytest
from tests.queries.tables import Tables

from frazil.errors import CatalogUnavailable, InvalidQuery
from frazil.model import Primitive, TableName
from frazil.pipes.stored import PREFIX
from frazil.tables.iceberg.java import mapping
from frazil.tables.rules import error_tables


def say(tables: Tables, text: str) -> list[dict[str, Any]]:
    return tables.engine.answer(text).batches.read_all().to_pylist()


def table(name: str) -> TableName:
    return TableName(("public",), name)


def properties(tables: Tables, name: str) -> dict[str, str]:
    return mapping(tables.catalog.jvm, tables.catalog.load(table(name)).properties())


def described(tables: Tables, name: str) -> dict[str, tuple[str, str | None]]:
    rows = tables.spark.sql(f"DESCRIBE TABLE {tables.path(table(name))}").collect()
    return {row["col_name"]: (row["data_type"], row["comment"]) for row in rows}


def test_a_table_is_created_with_all_that_is_said_of_it(tables: Tables):
    said = say(
        tables,
        """CREATE TABLE public.full (
            id INT NOT NULL COMMENT 'of the shop', total NUMBER(10,2) DEFAULT 1.5, name VARCHAR(20) DEFAULT 'none',
            at TIMESTAMP_NTZ(6), seen TIMESTAMP_LTZ, day DATE DEFAULT '2026-01-31', ok BOOLEAN, ratio FLOAT,
            doc VARIANT, place OBJECT(city VARCHAR, at ARRAY(NUMBER(3,1) NOT NULL)), tags MAP(VARCHAR, BIGINT), "odd name" BINARY
        ) CLUSTER BY (at, name) PARTITION BY (bucket(16, id), day(at), truncate(2, name), ok)
        COMMENT = 'everything' ENABLE_SCHEMA_EVOLUTION = TRUE ERROR_LOGGING = TRUE TARGET_FILE_SIZE = '32MB'""",
    )

    assert said == [{"status": "Table FULL successfully created."}]
    java = tables.catalog.load(table("FULL"))
    assert str(java.schema().findField("ID").isRequired()) == "True"
    assert described(tables, "FULL")["ID"] == ("int", "of the shop")
    assert described(tables, "FULL")["PLACE"][0] == "struct<city:string,at:array<decimal(3,1)>>"
    assert described(tables, "FULL")["TAGS"][0] == "map<string,bigint>"
    assert described(tables, "FULL")["odd name"][0] == "binary"
    assert [str(each) for each in java.spec().fields()] == [
        "1000: ID_bucket: bucket[16](1)",
        "1001: AT_day: day(4)",
        "1002: NAME_trunc: truncate[2](3)",
        "1003: OK: identity(7)",
    ]
    assert [str(each) for each in java.sortOrder().fields()] == [
        "identity(4) ASC NULLS FIRST",
        "identity(3) ASC NULLS FIRST",
    ]
    found = properties(tables, "FULL")
    assert (found["comment"], found["write.target-file-size-bytes"]) == ("everything", str(32 << 20))
    assert (found["frazil.schema.evolution"], found["frazil.error.logging"]) == ("true", "true")
    assert "frazil.created" not in found
    assert str(java.schema().findField("TOTAL").writeDefault()) == "1.50"
    assert str(java.schema().findField("NAME").writeDefault()) == "none"


def test_an_error_table_is_neither_replaced_nor_the_target_of_a_pipe(tables: Tables):
    say(tables, "CREATE TABLE with_errors (a INT) ERROR_LOGGING = TRUE")
    columns = error_tables.columns(Primitive("int"), Primitive("long"))
    with pytest.raises(InvalidQuery, match="is the name of the error table of "):
        say(tables, "CREATE TABLE with_errors_errors (a INT)")
    tables.catalog.errors(table("WITH_ERRORS_ERRORS"), columns, "uuid")

    with pytest.raises(InvalidQuery, match=r"is an error table: rename it or drop it first"):
        say(tables, "CREATE OR REPLACE TABLE with_errors_errors (a INT)")
    with pytest.raises(InvalidQuery, match=r"takes rejected records only: no pipe leads there"):
        say(tables, "CREATE PIPE p AS COPY INTO with_errors_errors (topic) FROM (SELECT $1:t::STRING AS topic FROM "
            "TABLE(DATA_SOURCE(TYPE => 'STREAMING')))")  # fmt: skip

    assert str(tables.java(table("WITH_ERRORS_ERRORS")).schema().findField(1).name()) == "connector"


def test_describe_shows_what_a_table_was_created_with(tables: Tables):
    say(
        tables,
        "CREATE TABLE told (id INT NOT NULL COMMENT 'of the shop', total NUMBER(10,2) DEFAULT 1.5, at TIMESTAMP_NTZ) "
        "CLUSTER BY (total, at) PARTITION BY (bucket(16, id), day(at))",
    )

    assert [tuple(row.values()) for row in say(tables, "DESCRIBE TABLE told")] == [
        ("ID", "NUMBER(10,0)", "COLUMN", "N", None, "of the shop", "1: bucket[16]", None),
        ("TOTAL", "NUMBER(10,2)", "COLUMN", "Y", '"1.50"', None, None, "1: identity"),
        ("AT", "TIMESTAMP_NTZ(6)", "COLUMN", "Y", None, None, "2: day", "2: identity"),
    ]


def test_fields_of_structs_partition_and_sort(tables: Tables):
    say(
        tables,
        "CREATE TABLE within (record_metadata OBJECT(topic VARCHAR, at OBJECT(day DATE), offset BIGINT)) "
        "PARTITION BY (truncate(1000, record_metadata.offset), record_metadata:topic) "
        "CLUSTER BY (record_metadata.at.day)",
    )

    java = tables.catalog.load(table("WITHIN"))
    names = [str(java.schema().findColumnName(each.sourceId())) for each in java.spec().fields()]
    assert names == ["RECORD_METADATA.offset", "RECORD_METADATA.topic"]
    assert str(java.schema().findColumnName(java.sortOrder().fields()[0].sourceId())) == "RECORD_METADATA.at.day"
    with pytest.raises(InvalidQuery, match="there is no column NOWHERE"):
        say(tables, "ALTER TABLE within CLUSTER BY (record_metadata.nowhere)")


def test_channels_are_not_shown_where_nobody_knows_of_any(tables: Tables):
    with pytest.raises(InvalidQuery, match="frazil channels"):
        say(tables, "SHOW CHANNELS")


def test_a_table_that_is_there_is_left_alone_unless_it_is_to_be_replaced(tables: Tables):
    say(tables, "CREATE TABLE twice (a INT)")

    with pytest.raises(InvalidQuery, match=r"there is a table public\.TWICE already"):
        say(tables, "CREATE TABLE twice (b INT)")
    assert "already exists" in say(tables, "CREATE TABLE IF NOT EXISTS twice (b INT)")[0]["status"]
    assert list(described(tables, "TWICE")) == ["A"]


def test_a_replaced_table_has_nothing_left_but_its_tokens(tables: Tables):
    say(tables, "CREATE TABLE again (a INT) COMMENT = 'old'")
    tables.spark.sql(f"INSERT INTO {tables.path(table('AGAIN'))} VALUES (1)")
    say(
        tables,
        "CREATE PIPE again AS COPY INTO again FROM (SELECT $1:a::INT FROM TABLE(DATA_SOURCE(TYPE => 'STREAMING')))",
    )
    tables.catalog.set_properties(table("AGAIN"), {"frazil.tokens.X": "kept"})

    said = say(tables, "CREATE OR REPLACE TABLE again (b VARCHAR, c INT) PARTITION BY (c)")

    assert [each["status"] for each in said] == [
        "Table AGAIN successfully created.",
        "Note: its pipes went with the table that was there: AGAIN.",
    ]
    assert say(tables, "SELECT count(*) AS n FROM again") == [{"N": 0}]
    found = properties(tables, "AGAIN")
    assert "comment" not in found
    assert not [each for each in found if each.startswith(PREFIX)]
    assert found["frazil.tokens.X"] == "kept"


def test_or_replace_makes_a_table_that_is_not_there(tables: Tables):
    say(tables, "CREATE OR REPLACE TABLE anew (a INT)")

    assert list(described(tables, "ANEW")) == ["A"]


def test_columns_are_added_dropped_renamed_widened_and_relaxed(tables: Tables):
    say(tables, "CREATE TABLE changing (a INT NOT NULL, b NUMBER(5,2), gone VARCHAR, note VARCHAR)")
    tables.spark.sql(f"INSERT INTO {tables.path(table('CHANGING'))} VALUES (1, 1.5, 'x', 'y')")

    say(
        tables,
        "ALTER TABLE changing ADD COLUMN c INT DEFAULT 7, COLUMN IF NOT EXISTS a INT, d DATE NOT NULL DEFAULT '2026-01-31'",
    )
    say(tables, "ALTER TABLE changing DROP COLUMN gone")
    say(tables, "ALTER TABLE IF EXISTS changing DROP COLUMN IF EXISTS gone")
    say(tables, "ALTER TABLE changing RENAME COLUMN note TO remark")
    say(
        tables,
        "ALTER TABLE changing ALTER COLUMN a SET DATA TYPE BIGINT, COLUMN a DROP NOT NULL, b TYPE NUMBER(9,2), b COMMENT 'money'",
    )

    assert described(tables, "CHANGING") == {
        "A": ("bigint", None),
        "B": ("decimal(9,2)", "money"),
        "REMARK": ("string", None),
        "C": ("int", None),
        "D": ("date", None),
    }
    tables.spark.sql(f"INSERT INTO {tables.path(table('CHANGING'))} VALUES (NULL, NULL, NULL, NULL, DATE '2026-02-01')")
    assert [
        tuple(map(str, row.values())) for row in say(tables, "SELECT a, b, remark, c, d FROM changing ORDER BY a")
    ] == [
        ("1", "1.50", "y", "7", "2026-01-31"),
        ("None", "None", "None", "None", "2026-02-01"),
    ]


def test_properties_order_and_partitioning_change(tables: Tables):
    say(tables, "CREATE TABLE tuned (a INT, at TIMESTAMP_NTZ) CLUSTER BY (a)")

    say(tables, "ALTER TABLE tuned SET ENABLE_SCHEMA_EVOLUTION = FALSE COMMENT = 'now'")
    assert properties(tables, "TUNED")["frazil.schema.evolution"] == "false"
    say(tables, "ALTER TABLE tuned UNSET COMMENT, ENABLE_SCHEMA_EVOLUTION")
    assert not {"comment", "frazil.schema.evolution"} & properties(tables, "TUNED").keys()
    say(tables, "ALTER TABLE tuned PARTITION BY (day(at))")
    say(tables, "ALTER TABLE tuned PARTITION BY (hour(at), bucket(4, a))")
    say(tables, "ALTER TABLE tuned CLUSTER BY (at)")
    java = tables.catalog.load(table("TUNED"))
    assert [str(each.transform()) for each in java.spec().fields()] == ["hour", "bucket[4]"]
    assert [int(each.sourceId()) for each in java.sortOrder().fields()] == [2]
    say(tables, "ALTER TABLE tuned DROP CLUSTERING KEY")
    assert tables.catalog.load(table("TUNED")).sortOrder().isUnsorted()


def test_a_dropped_table_is_gone_with_its_pipes(tables: Tables):
    say(tables, "CREATE TABLE leaving (a INT)")
    say(
        tables,
        "CREATE PIPE in_between AS COPY INTO leaving FROM (SELECT $1:a::INT FROM TABLE(DATA_SOURCE(TYPE => 'STREAMING')))",
    )

    assert say(tables, "DROP TABLE leaving")[0] == {"status": "LEAVING successfully dropped."}

    assert say(tables, "SHOW PIPES LIKE 'in_between'") == []
    assert "no such table" in say(tables, "DROP TABLE IF EXISTS leaving")[0]["status"]
    with pytest.raises(InvalidQuery, match=r"there is no table public\.LEAVING"):
        say(tables, "DROP TABLE leaving")


STREAM = "FROM TABLE(DATA_SOURCE(TYPE => 'STREAMING'))"


def test_an_interactive_table_comes_with_the_pipe_of_its_name(tables: Tables):
    said = say(
        tables,
        "CREATE INTERACTIVE TABLE metrics (name VARCHAR, value NUMBER, at TIMESTAMP_NTZ) CLUSTER BY (at) AS "
        f"(SELECT $1:M_NAME::VARCHAR, $1:M_VALUE::NUMBER, $1:RECORD_METADATA.timestamp::TIMESTAMP_NTZ {STREAM})",
    )

    assert [each["status"] for each in said] == [
        "Table METRICS successfully created.",
        "Pipe METRICS successfully created.",
    ]
    (pipe,) = say(tables, "DESCRIBE PIPE metrics")
    assert pipe["table_name"] == "METRICS"
    assert "$1:M_VALUE::NUMBER" in pipe["definition"]


@pytest.mark.parametrize(
    ("pipe", "reason"),
    [
        (f"SELECT $1:a::NOPE {STREAM}", "NOPE"),
        (f"SELECT $1:a, $1:b {STREAM}", "2"),
        (f"SELECT nothing($1:a) {STREAM}", "NOTHING"),
        ("SELECT $1:a FROM orders", "orders"),
    ],
)
def test_an_interactive_table_with_a_wrong_pipe_is_not_made(tables: Tables, pipe: str, reason: str):
    with pytest.raises(InvalidQuery) as refused:
        say(tables, f"CREATE INTERACTIVE TABLE halfway (a INT) AS ({pipe})")

    assert reason in refused.value.message
    assert say(tables, "SHOW TABLES LIKE 'halfway'") == []


REFUSED = {
    "CREATE TABLE t (a INT, A INT)": "there is a column A already",
    'CREATE TABLE t (a INT, "a" INT)': "by case alone",
    "CREATE TABLE nowhere.t (a INT)": "no namespace nowhere",
    "CREATE TABLE t (a VARIANT) PARTITION BY (a)": "cannot be written",
    "CREATE TABLE t (a FLOAT) CLUSTER BY (bucket(3, a))": "column of type double",
    "CREATE TABLE t (a INT) PARTITION BY (b)": "there is no column B",
    "CREATE TABLE t (a VARIANT) ICEBERG_VERSION = 2": "ICEBERG_VERSION = 3",
    "CREATE TABLE t (a INT DEFAULT 3) ICEBERG_VERSION = 2": "ICEBERG_VERSION = 3",
    "ALTER TABLE standing ADD COLUMN b INT NOT NULL": "NOT NULL and has no DEFAULT",
    "ALTER TABLE standing ADD COLUMN A INT": "there is a column A already",
    "ALTER TABLE standing DROP COLUMN c": "there is no column C",
    "ALTER TABLE standing RENAME COLUMN a TO k": "there is a column K already",
    "ALTER TABLE standing ALTER COLUMN a SET DATA TYPE VARCHAR": "cannot become string",
    "ALTER TABLE standing DROP COLUMN k": "Iceberg refuses",
    "ALTER TABLE standing SET ICEBERG_VERSION = 2": "Iceberg refuses",
    "CREATE OR REPLACE TABLE standing (a INT) ICEBERG_VERSION = 2": "Iceberg refuses",
}


@pytest.fixture(scope="module")
def standing(tables: Tables) -> Tables:
    say(tables, "CREATE TABLE standing (a INT, k INT) PARTITION BY (k)")
    return tables


@pytest.mark.parametrize("text", REFUSED)
def test_what_cannot_be_is_refused_and_changes_nothing(standing: Tables, text: str):
    before = {row["name"] for row in say(standing, "SHOW TABLES")}

    with pytest.raises(InvalidQuery) as refused:
        say(standing, text)

    assert REFUSED[text] in refused.value.message
    assert {row["name"] for row in say(standing, "SHOW TABLES")} == before
    assert list(described(standing, "STANDING"))[:2] == ["A", "K"]


def test_a_table_that_cannot_be_read_hides_no_pipe_of_another(tables: Tables):
    copied = "FROM (SELECT $1:a::INT FROM TABLE(DATA_SOURCE(TYPE => 'STREAMING')))"
    say(tables, "CREATE TABLE whole (a INT)")
    say(tables, f"CREATE PIPE of_the_whole AS COPY INTO whole {copied}")
    say(tables, "CREATE TABLE broken (a INT)")
    newest = max(
        (tables.warehouse / "public" / "BROKEN" / "metadata").glob("v*.metadata.json"),
        key=lambda file: int(file.name.removeprefix("v").split(".")[0]),
    )
    kept = newest.read_bytes()
    for checksum in newest.parent.glob(".*.crc"):
        checksum.unlink()
    newest.write_bytes(b"")
    try:
        shown, (described,) = say(tables, "SHOW PIPES LIKE 'of_the%'"), say(tables, "DESCRIBE PIPE of_the_whole")
        with pytest.raises(CatalogUnavailable, match="BROKEN"):
            say(tables, "DROP TABLE broken")
    finally:
        newest.write_bytes(kept)
        say(tables, "DROP TABLE broken")

    assert [(each["name"], each["table_name"]) for each in (*shown, described)] == [("OF_THE_WHOLE", "WHOLE")] * 2


def test_lengths_are_kept_shown_changed_and_taken_away(tables: Tables):
    def shown() -> dict[str, str]:
        return {row["name"]: row["type"] for row in say(tables, "DESCRIBE TABLE lengthy")}

    say(tables, "CREATE TABLE lengthy (a VARCHAR(20), b STRING, c BINARY(3), d CHAR, e OBJECT(f VARCHAR(3)))")
    assert shown() == {
        "A": "VARCHAR(20)", "B": "VARCHAR", "C": "BINARY(3)", "D": "VARCHAR(1)", "E": "OBJECT(f VARCHAR)",
    }  # fmt: skip
    say(tables, "ALTER TABLE lengthy ADD COLUMN g VARCHAR(7)")
    say(tables, "ALTER TABLE lengthy RENAME COLUMN a TO h")
    say(tables, "ALTER TABLE lengthy ALTER COLUMN h SET DATA TYPE VARCHAR(30), COLUMN d SET DATA TYPE STRING")
    say(tables, "ALTER TABLE lengthy DROP COLUMN c")

    assert shown() == {"H": "VARCHAR(30)", "B": "VARCHAR", "D": "VARCHAR", "E": "OBJECT(f VARCHAR)", "G": "VARCHAR(7)"}
    kept = {each.name: each.length for each in tables.catalog.table(table("LENGTHY")).state().columns()}
    assert kept == {"H": 30, "B": None, "D": None, "E": None, "G": 7}
    say(tables, "CREATE OR REPLACE TABLE lengthy (b VARCHAR(5), h STRING)")
    assert shown() == {"B": "VARCHAR(5)", "H": "VARCHAR"}
    with pytest.raises(InvalidQuery, match="a length is 1 at least"):
        say(tables, "ALTER TABLE lengthy ADD COLUMN i VARCHAR(0)")


def test_a_default_longer_than_its_column_is_refused_by_create_and_alter(tables: Tables):
    too_long = r"the DEFAULT of {} is too long: .* has \d (characters|bytes), and the column takes {}"
    say(tables, "CREATE TABLE public.bounded (a VARCHAR(3) DEFAULT 'äbc', b BINARY(1) DEFAULT 'ff')")

    for statement, column, length in [
        ("CREATE TABLE public.unbounded (a VARCHAR(3) DEFAULT 'abcd')", "A", 3),
        ("CREATE TABLE public.unbounded (a INT, b BINARY(1) DEFAULT 'ffff')", "B", 1),
        ("ALTER TABLE public.bounded ADD COLUMN c VARCHAR(1) DEFAULT 'ab'", "C", 1),
        ("ALTER TABLE public.bounded ALTER COLUMN a SET DATA TYPE VARCHAR(2)", "A", 2),
    ]:
        with pytest.raises(InvalidQuery, match=too_long.format(column, length)):
            say(tables, statement)

    assert [name for name in described(tables, "BOUNDED") if not name.startswith("#")][:2] == ["A", "B"]
    assert "UNBOUNDED" not in {row["name"] for row in say(tables, "SHOW TABLES IN public")}
