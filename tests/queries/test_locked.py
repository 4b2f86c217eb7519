"""A query reaches the files that were planned for it and nothing else, whatever its text is."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.queries.tables import Tables

from frazil.errors import FrazilError, InvalidQuery
from frazil.model import TableName
from frazil.snowflake.compiled import Scan


@pytest.fixture(scope="module")
def mine(tables: Tables) -> TableName:
    name = tables.create("id INT")
    tables.sql(name, "INSERT INTO {t} VALUES (1)")
    return name


@pytest.fixture(scope="module")
def others(tables: Tables) -> Path:
    """A file of another table."""
    name = tables.create("id INT")
    tables.sql(name, "INSERT INTO {t} VALUES (2)")
    return tables.files(name)[0]


@pytest.mark.parametrize(
    "text",
    [
        "FROM read_csv('/etc/passwd')",
        "FROM read_text('/proc/self/environ')",
        "FROM '{others}'",
        "FROM read_parquet('{others}')",
        "FROM read_parquet('{mine}/../../../{table}/data/*.parquet')",
        "FROM glob('/*')",
        "FROM read_blob('{warehouse}/public/**')",
        "FROM read_csv('http://127.0.0.1:1/x.csv')",
        "FROM query('FROM read_text(''/etc/passwd'')')",
        "SELECT getenv('PATH')",
    ],
)
def test_it_reads_nothing_else(tables: Tables, mine: TableName, others: Path, text: str) -> None:
    file = tables.files(mine)[0]
    places = {"others": others, "mine": file.parent, "warehouse": tables.warehouse, "table": others.parent.parent.name}

    with pytest.raises(FrazilError) as refused:
        tables.run(text.format(**places), 1, Scan("t", mine))

    assert len(str(refused.value)) < 1000


@pytest.mark.parametrize(
    "text",
    [
        "COPY (SELECT 1) TO '{mine}' (FORMAT parquet, USE_TMP_FILE false)",
        "COPY t TO '{mine}'",
        "ATTACH '{mine}' AS x",
        "CREATE TABLE x AS SELECT 1",
        "SET enable_external_access = true",
        "SELECT 1; SELECT 2",
        "INSTALL httpfs",
        "PRAGMA database_list",
        "",
    ],
)
def test_it_does_nothing_but_read(tables: Tables, mine: TableName, text: str) -> None:
    (file,) = tables.files(mine)
    before = file.read_bytes()

    with pytest.raises(InvalidQuery):
        tables.run(text.format(mine=file), 1, Scan("t", mine))

    assert file.read_bytes() == before


def test_the_settings_are_locked_and_nothing_of_the_environment_is_in_them(tables: Tables, mine: TableName) -> None:
    names = ["enable_external_access", "lock_configuration", "python_enable_replacements", "TimeZone", "http_proxy"]
    text = "SELECT " + ", ".join(f"current_setting('{name}')::VARCHAR" for name in names)

    (found,) = tables.run(text, len(names), Scan("t", mine)).to_pylist()

    assert list(found.values()) == ["false", "true", "false", "UTC", ""]


def test_no_variable_of_python_is_a_table(tables: Tables, mine: TableName) -> None:
    secret = tables.run("SELECT 1", 1)

    with pytest.raises(InvalidQuery, match="secret"):
        tables.run("FROM secret", 1)

    assert secret.num_rows == 1
