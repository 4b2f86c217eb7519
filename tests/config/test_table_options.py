from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.config import load
from frazil.config.table_options import TableOptions
from frazil.model import LAYOUT_OF_CREATED

from .connector import LEAST

KEY = "snowflake.iceberg.create.table.options"


def test_options_become_properties_of_iceberg() -> None:
    options = TableOptions.read(
        "iceberg_version = '3' TARGET_FILE_SIZE='64MB', COMMENT = 'it''s here' ENABLE_ICEBERG_MERGE_ON_READ=true"
    )

    assert options.properties == {
        "format-version": "3",
        "write.target-file-size-bytes": "67108864",
        "comment": "it's here",
        "write.delete.mode": "merge-on-read",
        "write.update.mode": "merge-on-read",
        "write.merge.mode": "merge-on-read",
    }
    assert options.no_effect == ()


def test_options_of_an_account_have_no_effect_and_say_why() -> None:
    options = TableOptions.read(
        "EXTERNAL_VOLUME = 'lake'\n BASE_LOCATION = \"a b\" CATALOG='SNOWFLAKE' STORAGE_SERIALIZATION_POLICY=OPTIMIZED"
    )

    assert options.properties == {}
    assert [name for name, _ in options.no_effect] == [
        "EXTERNAL_VOLUME", "BASE_LOCATION", "CATALOG", "STORAGE_SERIALIZATION_POLICY",
    ]  # fmt: skip
    assert all(reason for _, reason in options.no_effect)


def test_keys_location_and_properties_are_kept_for_created_tables() -> None:
    options = TableOptions.read(
        "PARTITION BY (bucket(16, Id), days(\"a (b\"), name) CLUSTER BY(at),BASE_LOCATION = 's3://lake/tables/' "
        "tblproperties ('write.parquet.compression-codec' = 'gzip', 'note' = 'it''s')"
    )

    assert json.loads(options.properties[LAYOUT_OF_CREATED]) == {
        "partition": [
            {"column": "Id", "quoted": False, "transform": "bucket", "parameter": 16},
            {"column": "a (b", "quoted": True, "transform": "day", "parameter": 0},
            {"column": "name", "quoted": False, "transform": "identity", "parameter": 0},
        ],
        "order": [{"column": "at", "quoted": False, "transform": "identity", "parameter": 0}],
    }
    assert {key: text for key, text in options.properties.items() if key != LAYOUT_OF_CREATED} == {
        "location": "s3://lake/tables",
        "write.parquet.compression-codec": "gzip",
        "note": "it's",
    }


@pytest.mark.parametrize("text", ["", "  \n", "ENABLE_SCHEMA_EVOLUTION = TRUE", "TARGET_FILE_SIZE = AUTO"])
def test_what_is_so_anyway_asks_for_nothing(text: str) -> None:
    assert TableOptions.read(text).properties == {}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("ICEBERG_VERSION = 3 CLUSTER BY (a", "'CLUSTER BY' at position 20"),
        ("CLUSTER BY ()", "CLUSTER BY () is not possible; write columns"),
        ("CLUSTER BY (a,, b)", "is not possible; write columns"),
        ("CLUSTER BY (a b)", "is not possible; write columns"),
        ("PARTITION BY (bucket(4, a)", "'PARTITION BY' at position 0"),
        ("PARTITION BY (lower(a))", "PARTITION BY knows no lower; there are bucket"),
        ("PARTITION BY (bucket(a))", "bucket, truncate take a number and a column"),
        ("PARTITION BY (day(3, a))", "bucket, truncate take a number and a column"),
        ("PARTITION BY (a) PARTITION BY (b)", "PARTITION BY is given twice"),
        ("TBLPROPERTIES (a = b)", "write 'key' = 'value' between commas"),
        ("TBLPROPERTIES ('format-version' = '2')", "format-version is set by frazil"),
        ("TBLPROPERTIES ('frazil.tokens.X' = '2')", "frazil.tokens.X is set by frazil"),
        ("WITH ROW ACCESS POLICY p ON (a)", "'WITH ROW ACCESS POLICY p ON' at position 0"),
        ("COMMENT = 'never closed", "'COMMENT' at position 0"),
        ("COMMENT = 'a'b", "'COMMENT' at position 0"),
        ("; DROP TABLE x", "';' at position 0"),
        ("ICEBERG_VERSION = 4", "ICEBERG_VERSION = 4 is not possible; write 2 or 3"),
        ("TARGET_FILE_SIZE = 1MB", "write AUTO, 16MB, 32MB, 64MB or 128MB"),
        ("ENABLE_ICEBERG_MERGE_ON_READ = yes", "write TRUE or FALSE"),
        ("ENABLE_SCHEMA_EVOLUTION = FALSE", "create the table before the start"),
        ("DATA_RETENTION_TIME_IN_DAYS = 7", "write frazil.snapshots.min.age"),
        ("COMMENT = a comment = b", "COMMENT is given twice"),
        ("PARTITIONS = 4", "PARTITIONS is none of the options frazil honours, BASE_LOCATION, COMMENT"),
    ],
)
def test_what_cannot_be_honoured_is_refused_by_name(text: str, problem: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        TableOptions.read(text)

    assert problem in str(caught.value)


def test_all_options_that_cannot_be_honoured_are_listed_at_once() -> None:
    with pytest.raises(ValueError, match=r"ICEBERG_VERSION = 9.*CLUSTERS is none"):
        TableOptions.read("ICEBERG_VERSION = 9 CLUSTERS = 2")


def test_a_connector_lists_the_options_that_have_no_effect_for_it() -> None:
    settings = load({**LEAST, KEY: "BASE_LOCATION = 'a' COMMENT = 'b'"})

    assert settings.table_options.properties == {"comment": "b"}
    assert [key for key, _ in settings.no_effect] == [f"{KEY}: BASE_LOCATION"]


def test_objects_and_arrays_are_json_text_in_version_2_which_has_no_variant() -> None:
    assert load({**LEAST, KEY: "ICEBERG_VERSION = 2"}).conversion.nested_type == "json"

    settings = load({**LEAST, KEY: "ICEBERG_VERSION = 2", "frazil.nested.type": "struct"})
    assert settings.conversion.nested_type == "struct"


@given(st.text())
def test_a_quoted_comment_may_hold_any_text(text: str) -> None:
    escaped = text.replace("'", "''")

    assert TableOptions.read(f"COMMENT = '{escaped}' ICEBERG_VERSION=3").properties["comment"] == text


@given(st.text("aB_= ,'\"\n(1"))
def test_any_text_is_either_options_or_a_value_error(text: str) -> None:
    try:
        options = TableOptions.read(text)
    except ValueError:
        return
    assert TableOptions.read(str(options)) == options
