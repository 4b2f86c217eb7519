"""Files in an object store are read in ranges, through what opens them for staging, and locked like local ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.s3 import BUCKET, Store

from frazil.errors import FrazilError, StorageUnavailable
from frazil.model import TableName
from frazil.queries import locked, views
from frazil.queries.failures import explained
from frazil.queries.files import Files
from frazil.queries.footers import Footers
from frazil.queries.planning import DataFile, Plan
from frazil.queries.stores import PlannedFiles
from frazil.snowflake.compiled import Scan
from frazil.storage.file_systems import place

FIELDS = [
    {"id": 1, "name": "ID", "type": "long", "required": False},
    {"id": 2, "name": "V", "type": "string", "required": False},
]
ROWS = 200_000


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with Store.running() as found:
        yield found


@pytest.fixture(scope="module")
def locations(store: Store) -> list[str]:
    access = store.owner.properties(store.endpoint)
    schema = pa.schema(
        [
            pa.field(each["name"], kind, metadata={"PARQUET:field_id": str(each["id"])})
            for each, kind in zip(FIELDS, (pa.int64(), pa.string()), strict=True)
        ]
    )
    found = [f"s3://{BUCKET}/t/data/{name}.parquet" for name in ("a", "b*[x]")]
    for number, location in enumerate(found):
        ids = pa.array(range(number * ROWS, (number + 1) * ROWS))
        there = place(location, access)
        with there.system.open_output_stream(there.path) as stream:
            pq.write_table(
                pa.table([ids, pa.array(["x" * 50] * ROWS)], schema),
                stream,
                row_group_size=10_000,
                compression="none",
                use_dictionary=False,
            )
    return found


def viewed(store: Store, locations: list[str], *, partitioned: bool = False) -> duckdb.DuckDBPyConnection:
    access = store.owner.properties(store.endpoint)
    connection = duckdb.connect()
    files = Files(connection)
    planned = tuple(DataFile(each, "parquet", ROWS, 1, 0, (7,)) for each in locations)
    plan = Plan(planned, None, {0: {0: 1}} if partitioned else {})
    views.create(
        Scan("t", TableName(("public",), "T")),
        plan,
        FIELDS,
        None,
        views.Reading(connection, files, Footers()),
        lambda _: access,
    )
    locked.lock(connection, files)
    return connection


@pytest.mark.parametrize("partitioned", [False, True])
def test_rows_are_those_of_the_files(store: Store, locations: list[str], partitioned: bool) -> None:
    connection = viewed(store, locations, partitioned=partitioned)

    # Several times: threads that read one file must not be in each other's way.
    for _ in range(5):
        found = connection.execute("SELECT count(*), sum(ID), min(V), max(V) FROM t").fetchone()
        assert found == (2 * ROWS, ROWS * (2 * ROWS - 1), "x" * 50, "x" * 50)


def test_a_look_up_reads_ranges_not_files(store: Store, locations: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    connection = viewed(store, locations)
    pieces: list[int] = []
    opened = PlannedFiles._open

    def counting(system: PlannedFiles, path: str, mode: str = "rb", **how: Any) -> Any:
        return Counting(opened(system, path, mode, **how), pieces)

    monkeypatch.setattr(PlannedFiles, "_open", counting)

    assert connection.execute("SELECT ID FROM t WHERE ID = 123456").fetchall() == [(123456,)]
    assert 0 < sum(pieces) < ROWS * 50 / 4


class Counting:
    """An open file that notes how much of it is read."""

    def __init__(self, file: Any, pieces: list[int]) -> None:
        self._file, self._pieces = file, pieces

    def read(self, *sizes: int) -> bytes:
        found: bytes = self._file.read(*sizes)
        self._pieces.append(len(found))
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def test_nothing_else_in_the_store_is_read(store: Store, locations: list[str]) -> None:
    connection = viewed(store, locations[:1])

    for text in (
        f"FROM '{locations[1]}'",
        "FROM read_parquet('frazil://1.parquet')",
        "FROM glob('frazil://*')",
        "FROM read_blob('s3://lake/**')",
    ):
        with pytest.raises(duckdb.Error):
            connection.execute(text).fetchall()


def test_a_store_that_does_not_answer_or_has_the_file_no_more_says_so(store: Store, locations: list[str]) -> None:
    with pytest.raises(FrazilError, match="not there"), explained():
        viewed(store, [f"s3://{BUCKET}/t/data/gone.parquet"]).execute("FROM t").fetchall()

    class Elsewhere:
        owner, endpoint = store.owner, "http://127.0.0.1:1"

    with pytest.raises(StorageUnavailable), explained():
        viewed(Elsewhere(), locations[:1]).execute("FROM t").fetchall()  # type: ignore[arg-type]
