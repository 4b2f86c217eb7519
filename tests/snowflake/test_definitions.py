"""CREATE, ALTER and DROP TABLE as they are read."""

from __future__ import annotations

import datetime as dt
import decimal
import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frazil.errors import InvalidQuery
from frazil.model import LayoutTransform
from frazil.snowflake.definitions.values import (
    AddColumns,
    AlterColumn,
    AlterTable,
    CreateTable,
    DropColumns,
    DropTable,
    RenameColumn,
    SetOrder,
    SetPartition,
    SetProperties,
)
from frazil.snowflake.pipes import read_pipe
from frazil.snowflake.statements import read

TYPES = {
    "NUMBER": "decimal(38,0)",
    "decimal(5)": "decimal(5,0)",
    "Numeric(12, 3)": "decimal(12,3)",
    "INT": "int",
    "BYTEINT": "int",
    "BIGINT": "long",
    "FLOAT": "double",
    "REAL": "double",
    "DOUBLE PRECISION": "double",
    "VARCHAR(16777216)": "string",
    "CHAR VARYING(3)": "string",
    "STRING": "string",
    "BINARY(8)": "binary",
    "BOOLEAN": "boolean",
    "DATE": "date",
    "TIME(6)": "time",
    "TIMESTAMP": "timestamp",
    "DATETIME": "timestamp",
    "TIMESTAMP_NTZ(3)": "timestamp",
    "TIMESTAMP_NTZ(9)": "timestamp_ns",
    "TIMESTAMP_LTZ": "timestamptz",
    "TIMESTAMP_TZ(9)": "timestamptz_ns",
    "TIMESTAMP WITH TIME ZONE": "timestamptz",
    "UUID": "uuid",
    "VARIANT": "variant",
    "OBJECT": "variant",
    "ARRAY": "variant",
    "ARRAY(INT NOT NULL)": "list<int>",
    'OBJECT(city VARCHAR NOT NULL, "a b" ARRAY(NUMBER(3,1)))': "struct<city: string, a b: list<decimal(3,1)>>",
    "MAP(VARCHAR, OBJECT(x INT))": "map<string, struct<x: int>>",
}


def created(text: str) -> CreateTable:
    found = read(text)
    assert isinstance(found, CreateTable)
    return found


@pytest.mark.parametrize("kind", TYPES)
def test_snowflakes_types_are_those_of_iceberg(kind: str):
    (column,) = created(f"CREATE TABLE t (c {kind} NOT NULL)").columns

    assert str(column.type) == TYPES[kind]
    assert column.required


WRONG = {
    "CREATE TABLE t (c NUNBER)": ("the nearest are NUMBER", "column 19"),
    "CREATE TABLE t (c NUMBER(39,0))": ("38 digits", "column 19"),
    "CREATE TABLE t (c NUMBER(3,4))": ("38 digits", "column 19"),
    "CREATE TABLE t (c TIME(9))": ("TIME(6)", "column 19"),
    "CREATE TABLE t (c GEOGRAPHY)": ("no type GEOGRAPHY", "column 19"),
    "CREATE TABLE t (c MAP)": ("MAP(VARCHAR, NUMBER)", "column 19"),
    "CREATE TABLE t (c INT DEFAULT now())": ("is a constant", "column 31"),
    "CREATE TABLE t (c INT DEFAULT 1.5)": ("no default of a column of type int", "column 31"),
    "CREATE TABLE t (c INT DEFAULT 3000000000)": ("no default of a column of type int", "column 31"),
    "CREATE TABLE t (c NUMBER(3,1) DEFAULT 1.25)": ("no default", "column 39"),
    "CREATE TABLE t (c VARIANT DEFAULT 'x')": ("no DEFAULT but NULL", "column 35"),
    "CREATE TABLE t (c INT IDENTITY)": ("IDENTITY is not supported", "column 23"),
    "CREATE TABLE t (c INT, PRIMARY KEY (c))": ("PRIMARY KEY is not supported", "column 24"),
    "CREATE TABLE t (c INT UNIQUE)": ("UNIQUE is not supported", "column 23"),
    "CREATE TABLE t (c INT) CLUSTER BY (upper(c))": ("UPPER is not supported there", "column 36"),
    "CREATE TABLE t (c INT) PARTITION BY (bucket(0, c))": ("from 1 to", "column 38"),
    "CREATE TABLE t (c INT) PARTITION BY ()": ("at least one key", "column 37"),
    "CREATE TABLE t (c INT) CHANGE_ME = 3": ("no option CHANGE_ME", "column 24"),
    "CREATE TABLE t (c INT) ENABLE_SCHEMA_EVOLUTION = 1": ("TRUE or FALSE", "column 50"),
    "CREATE TABLE t AS SELECT 1": ("columns in parentheses", "column 16"),
    "CREATE TABLE t (c INT) AS SELECT 1": ("AS SELECT is not supported", "column 24"),
    "CREATE TRANSIENT TABLE t (c INT)": ("CREATE TRANSIENT", "column 8"),
    "CREATE OR REPLACE TABLE IF NOT EXISTS t (c INT)": ("exclude", "column 25"),
    "CREATE VIEW v AS SELECT 1": ("CREATE VIEW is not supported", "column 1"),
    "ALTER SESSION SET x = 1": ("ALTER SESSION is not supported", "column 1"),
    "DROP SCHEMA s": ("DROP SCHEMA is not supported", "column 1"),
    "TRUNCATE TABLE t": ("TRUNCATE is not supported", "column 1"),
    "ALTER TABLE t RENAME TO u": ("RENAME TO", "column 22"),
    "ALTER TABLE t SWAP WITH u": ("not SWAP", "column 15"),
    "ALTER TABLE t ALTER COLUMN c SET NOT NULL": ("SET NOT NULL is not supported", "column 30"),
    "ALTER TABLE t ALTER COLUMN c SET DEFAULT 3": ("stays as it is", "column 30"),
    "ALTER TABLE t UNSET FOO": ("UNSET takes", "column 21"),
    "DROP TABLE t PURGE": ("PURGE is not supported", "column 14"),
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_is_said_with_its_place(text: str):
    with pytest.raises(InvalidQuery) as refused:
        read(text)

    for expected in WRONG[text]:
        assert expected in refused.value.message


def test_columns_may_be_called_as_what_other_columns_are_told():
    table = created("CREATE TABLE t (tag VARCHAR, identity INT, masking DATE, comment VARCHAR COMMENT 'its own')")

    assert [each.name.name for each in table.columns] == ["tag", "identity", "masking", "comment"]


@pytest.mark.parametrize("value", ["TRUE", "FALSE"])
def test_error_logging_is_kept_with_the_table(value: str):
    for options in (
        read(f"CREATE TABLE t (c INT) ERROR_LOGGING = {value}"),
        read(f"ALTER TABLE t SET ERROR_LOGGING = {value}").change,
    ):
        assert options.properties == {"frazil.error.logging": value.lower()}
        assert options.no_effect == ()


def test_options_become_properties_or_are_said_to_change_nothing():
    table = created(
        "CREATE ICEBERG TABLE IF NOT EXISTS t (c INT) COMMENT = 'x' ICEBERG_VERSION = 2, EXTERNAL_VOLUME = 'v' "
        "ENABLE_SCHEMA_EVOLUTION = true ERROR_LOGGING = FALSE"
    )

    assert table.properties == {
        "comment": "x",
        "format-version": "2",
        "frazil.schema.evolution": "true",
        "frazil.error.logging": "false",
    }
    assert [option for option, _ in table.no_effect] == ["EXTERNAL_VOLUME"]
    assert table.if_missing


def test_keys_are_columns_and_transforms_of_them():
    table = created('CREATE TABLE t (c INT) CLUSTER BY (c, "d") PARTITION BY (BUCKET(16, c), days(o."d e"), year)')

    assert [(".".join(each.name for each in key.column), str(key.transform)) for key in table.partition] == [
        ("c", "bucket[16]"),
        ("o.d e", "day"),
        ("year", "identity"),
    ]
    assert [key.transform for key in table.order] == [LayoutTransform("identity")] * 2


def test_changes_are_what_alter_table_says():
    def change(text: str) -> object:
        found = read(f"ALTER TABLE t {text}")
        assert isinstance(found, AlterTable)
        return found.change

    added = change("ADD COLUMN IF NOT EXISTS a INT, COLUMN b DATE")
    assert isinstance(added, AddColumns)
    assert [(each.name.name, each.if_missing) for each in added.columns] == [("a", True), ("b", False)]
    dropped = change("DROP COLUMN IF EXISTS a, b")
    assert isinstance(dropped, DropColumns)
    assert ([each.name for each in dropped.names], dropped.if_there) == (["a", "b"], True)
    renamed = change('RENAME COLUMN a TO "B"')
    assert isinstance(renamed, RenameColumn)
    assert (renamed.name.name, renamed.new.name, renamed.new.quoted) == ("a", "B", True)
    altered = change("MODIFY (COLUMN a SET DATA TYPE BIGINT, b DROP NOT NULL, c UNSET COMMENT)")
    assert isinstance(altered, tuple)
    assert all(isinstance(each, AlterColumn) for each in altered)
    assert [(str(each.type), each.relaxes, each.comment) for each in altered] == [
        ("long", False, None),
        ("None", True, None),
        ("None", False, ""),
    ]
    assert change("SET COMMENT = 'x' TARGET_FILE_SIZE = '16MB'") == SetProperties(
        {"comment": "x", "write.target-file-size-bytes": str(16 << 20)}
    )
    assert change("UNSET COMMENT, ERROR_LOGGING") == SetProperties({"comment": None, "frazil.error.logging": None})
    assert change("DROP CLUSTERING KEY") == SetOrder(())
    assert isinstance(change("PARTITION BY (month(c))"), SetPartition)


def test_drop_table_names_a_table():
    found = read('DROP TABLE IF EXISTS raw."Orders"')

    assert isinstance(found, DropTable)
    assert (found.name.name, found.name.db, found.if_there) == ("Orders", "raw", True)


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_whole_number_is_a_default_of_a_bigint(number: int):
    (column,) = created(f"CREATE TABLE t (c BIGINT DEFAULT {number})").columns

    assert json.loads(column.default or "") == number


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**28), max_value=10**28, places=9))
def test_a_decimal_default_keeps_all_its_digits(number: decimal.Decimal):
    (column,) = created(f"CREATE TABLE t (c NUMBER(38,9) DEFAULT {number:f})").columns

    assert decimal.Decimal(json.loads(column.default or "")) == number


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="'\\")))
def test_every_text_is_a_default_of_a_varchar(text: str):
    (column,) = created(f"CREATE TABLE t (c VARCHAR DEFAULT '{text}')").columns

    assert json.loads(column.default or "") == text


@given(st.datetimes())
def test_every_moment_is_a_default_of_a_timestamp(moment: dt.datetime):
    (column,) = created(f"CREATE TABLE t (c TIMESTAMP_NTZ DEFAULT '{moment}')").columns

    assert dt.datetime.fromisoformat(json.loads(column.default or "")) == moment


STATEMENTS = [
    "CREATE OR REPLACE TABLE a.b ( id NUMBER ( 10 , 2 ) NOT NULL DEFAULT - 5 COMMENT 'x' , \"q\" ARRAY ( INT NOT NULL ) )",
    "CREATE TABLE a ( m MAP ( VARCHAR , OBJECT ( a INT ) ) ) CLUSTER BY ( id ) PARTITION BY ( bucket ( 16 , id ) , m )",
    "CREATE TABLE IF NOT EXISTS a ( c INT ) COMMENT = 'x' ENABLE_SCHEMA_EVOLUTION = TRUE BASE_LOCATION = '/x'",
    "ALTER TABLE IF EXISTS a ADD COLUMN IF NOT EXISTS x INT DEFAULT 5 , y TIMESTAMP WITH TIME ZONE",
    "ALTER TABLE a ALTER COLUMN x SET DATA TYPE NUMBER ( 20 , 0 ) , COLUMN y DROP NOT NULL",
    "ALTER TABLE a SET COMMENT = 'x' ERROR_LOGGING = FALSE",
    "CREATE INTERACTIVE TABLE R ( m VARCHAR ) AS ( SELECT $1:M ::VARCHAR from TABLE(DATA_SOURCE(TYPE => 'STREAMING')) )",
    "DROP TABLE IF EXISTS a . b",
    "SHOW CHANNELS LIKE 'x' IN TABLE a . b",
]


@settings(max_examples=400)
@given(st.sampled_from(STATEMENTS), st.data())
def test_a_statement_with_words_left_out_or_moved_is_read_or_refused(text: str, data: st.DataObject):
    words = text.split(" ")
    begin, end = sorted(data.draw(st.tuples(*[st.integers(0, len(words))] * 2)))
    moved = words[begin:end] if data.draw(st.booleans()) else []
    place = data.draw(st.integers(0, len(words)))
    changed = words[:begin] + words[end:]
    mangled = " ".join(changed[:place] + moved + changed[place:])

    with suppress(InvalidQuery):
        read(mangled)


METRICS = (
    "CREATE INTERACTIVE TABLE REALTIME_METRICS ( metric_name VARCHAR, source_topic VARCHAR, timestamp TIMESTAMP_NTZ ) AS "
    "(SELECT $1:M_NAME::VARCHAR, $1:RECORD_METADATA.topic::VARCHAR, $1:RECORD_METADATA.timestamp::TIMESTAMP_NTZ from "
    "TABLE(DATA_SOURCE(TYPE => 'STREAMING')));"
)


def test_an_interactive_table_has_a_pipe_that_can_be_kept():
    table = created(METRICS)

    assert table.pipe is not None
    assert [each.name.name for each in table.columns] == ["metric_name", "source_topic", "timestamp"]
    assert read_pipe(table.pipe.text).query == table.pipe.query
    assert (table.pipe.name.name, table.pipe.target.name) == ("REALTIME_METRICS", "REALTIME_METRICS")
