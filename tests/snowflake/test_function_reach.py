"""Nothing that a function becomes reaches files, settings, the environment or other processes."""

from __future__ import annotations

import re

import duckdb
import pytest
import sqlglot
from sqlglot import exp
from tests.snowflake.answers import text_of
from tests.snowflake.expected_moments import TIMES
from tests.snowflake.expected_nested import NESTED
from tests.snowflake.expected_numbers import CONDITIONS, NUMBERS
from tests.snowflake.expected_rows import AGGREGATES, ROWS, WINDOWS
from tests.snowflake.expected_texts import TEXTS

from frazil.snowflake.functions import CLASSES, KNOWN

REACHING = re.compile(
    r"^(getenv|getvariable|current_setting|read_.*|write_.*|copy_.*|parquet_.*|glob|sniff_csv|query|query_table|"
    r"sql_auto_complete|pragma_.*|duckdb_.*|which_secret|sleep.*|nextval|currval|in_search_path|current_schemas?|"
    r"current_database|current_query.*|txid_current|version|set_.*|json_execute.*|json_serialize_.*|from_substrait.*|"
    r"checkpoint|force_checkpoint|repeat_row|test_.*|storage_info|enable_.*|disable_.*|add_parquet_key|stats|user|"
    r"session_user|current_role|current_user|current_catalog|pg_.*|has_.*_privilege|write_log|parse_duckdb_log_message)$"
)

QUERIES = [
    *(f"select {each}" for group in (TEXTS, NUMBERS, CONDITIONS, TIMES, NESTED) for each in group),
    *(f"select {each} from {ROWS}" for group in (AGGREGATES, WINDOWS) for each in group),
]


@pytest.fixture(scope="module")
def called() -> set[str]:
    """The names of all functions that any function of Snowflake's becomes."""
    # A name before a parenthesis outside of texts; more than there are is as good.
    without_texts = (re.sub(r"'(?:[^']|'')*'", "''", text_of(query)) for query in QUERIES)
    return {name.lower() for text in without_texts for name in re.findall(r'"?(\w+)"?\s*\(', text)}


def test_only_scalars_and_aggregates_that_reach_nothing_are_called(called: set[str]):
    kinds = duckdb.connect().execute("SELECT lower(function_name), function_type FROM duckdb_functions()").fetchall()
    values = {name for name, kind in kinds if kind in ("scalar", "aggregate", "macro", "window")}
    # A name that is a value's function as well makes rows in FROM only, where no function of a query is put.
    reaching = {name for name, _ in kinds if name not in values or REACHING.match(name)}

    assert sorted(called & reaching) == []
    assert {"strlen", "list_transform", "strftime"} <= called


def test_no_name_that_is_known_is_one_that_reaches_out():
    assert [name for name in KNOWN if REACHING.match(name.lower())] == []
    assert all(issubclass(each, exp.Func) for each in CLASSES)
    assert sqlglot.exp.ReadCSV not in CLASSES
