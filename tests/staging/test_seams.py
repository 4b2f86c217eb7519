"""A converter and a transform that frazil does not have, from a record's bytes to the file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from tests.pipes.default.chunks import Table, column, columns, struct
from tests.pipes.default.conftest import MakeTable
from tests.support.channels import offsets

from frazil.dev.kafka import KafkaBroker
from frazil.model import (
    Conversion,
    ConverterSpec,
    ReaderSpec,
    SourcePartition,
    TableName,
    TableTask,
    Task,
    TransformSpec,
    WriteShape,
)
from frazil.records.convert import CONVERTERS, TRANSFORMS
from frazil.records.converters import ConvertedColumn, Part
from frazil.records.transforms import ROW, Transformed
from frazil.staging.task import stage
from frazil.testing.records import produce

METADATA = column("RECORD_METADATA", struct(topic="string", offset="long", schema_id="int", key_schema_id="int"))


@dataclass(frozen=True, slots=True)
class RegisteredCsv:
    """Lines of values whose names are in a registry: a zero, four bytes of the schema's id, then the line."""

    part: Part
    options: Mapping[str, str]
    """Names by id, `;` between them."""

    def convert(self, column: pa.BinaryArray, topics: pa.DictionaryArray) -> ConvertedColumn:
        documents: list[str | None] = []
        ids: list[int | None] = []
        bad: dict[int, str] = {}
        for row, (cell, topic) in enumerate(zip(column.to_pylist(), topics.to_pylist(), strict=True)):
            number = None if cell is None else int.from_bytes(cell[1:5], "big")
            names = self.options.get(f"{topic}.{number}")
            if cell is not None and names is None:
                bad[row] = f"has the schema id '{number}', which the registry does not know"
            ids.append(number)
            members = zip(names.split(";"), cell[5:].decode().split(","), strict=True) if cell and names else None
            documents.append(None if members is None else json.dumps(dict(members)))
        is_json = pa.repeat(True, len(column))
        return ConvertedColumn(pa.array(documents, pa.string()), is_json, pa.array(ids, pa.int32()), bad)


@dataclass(frozen=True, slots=True)
class Tenants:
    """Sends each record to the topic of its tenant, whose name leaves the value.

    Those of one tenant are dropped, and those of `gone` become tombstones.
    """

    options: Mapping[str, str]

    def transform(self, records: pa.RecordBatch) -> Transformed:
        topics: list[str] = []
        values: list[str | None] = []
        bad: dict[int, str] = {}
        stays: list[bool] = []
        for row, topic, value in zip(
            *(records.column(name).to_pylist() for name in (ROW, "topic", "value")), strict=True
        ):
            try:
                document = {} if value is None else json.loads(value)
            except ValueError:
                bad[row] = "the value is not valid JSON"
                document = {}
            tenant = document.pop("tenant", "nobody")
            topics.append(f"{topic}.{tenant}")
            values.append(None if value is None or tenant == "gone" else json.dumps(document))
            stays.append(tenant != self.options["without"])
        changed = {
            "topic": pa.array(topics, pa.string()).dictionary_encode(),
            "value": pa.array(values, pa.string()),
        }
        arrays = [changed.get(name, records.column(name)) for name in records.schema.names]
        done = pa.RecordBatch.from_arrays(arrays, schema=records.schema)
        return Transformed(done.filter(pa.array(stays, pa.bool_())), bad)


@dataclass(frozen=True, slots=True)
class Marked:
    """Gives every record a header more, whatever headers it has."""

    options: Mapping[str, str]

    def transform(self, records: pa.RecordBatch) -> Transformed:
        given = records.column("headers")
        mark = ("mark", {"text": "new", "is_json": False})
        headers = pa.array([[*(cell or []), mark] for cell in given.to_pylist()], given.type)
        return Transformed(records.set_column(records.schema.get_field_index("headers"), "headers", headers))


@dataclass(frozen=True, slots=True)
class Twice:
    """Gives each record twice, which no transform may."""

    options: Mapping[str, str]

    def transform(self, records: pa.RecordBatch) -> Transformed:
        return Transformed(pa.Table.from_batches([records] * 2).combine_chunks().to_batches()[0])


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CONVERTERS, "registered-csv", RegisteredCsv)
    monkeypatch.setitem(TRANSFORMS, "tenants", Tenants)
    monkeypatch.setitem(TRANSFORMS, "marked", Marked)
    monkeypatch.setitem(TRANSFORMS, "twice", Twice)


def csv(schema: int, line: str) -> bytes:
    return b"\0" + schema.to_bytes(4, "big") + line.encode()


CSV = ConverterSpec("registered-csv", {"orders.7": "id;name", "orders.8": "name", "returns.8": "name;id"})
TENANTS = Conversion(transforms=(TransformSpec("split", "tenants", {"without": "test"}),))


def table_of(make_table: MakeTable, **conversion: object) -> Table:
    return make_table(METADATA, *columns(id="long", name="string"), **conversion)


def test_a_converter_of_ones_own_lands_its_values_with_the_ids_of_their_schemas(make_table: MakeTable) -> None:
    table = table_of(make_table, value_converter=CSV, key_converter=CSV)

    landed = table.land(
        *(csv(7, "1,ice"), csv(9, "?"), csv(8, "frazil,2"), None),
        topic=["orders", "orders", "returns", "orders"],
        key=[csv(8, "k"), None, None, csv(8, "k")],
    )

    assert landed.rows == [
        ({"topic": "orders", "offset": 0, "schema_id": 7, "key_schema_id": 8}, 1, "ice"),
        ({"topic": "returns", "offset": 2, "schema_id": 8, "key_schema_id": None}, 2, "frazil"),
        ({"topic": "orders", "offset": 3, "schema_id": None, "key_schema_id": 8}, None, None),
    ]
    (bad,) = landed.rejects.values()
    assert (bad.offset, bad.value, bad.stage, bad.code) == (1, csv(9, "?"), "convert", "5015")
    assert bad.reason == "the value has the schema id '9', which the registry does not know"


def test_rejects_of_what_a_converter_made_hold_the_bytes_that_were_read(make_table: MakeTable) -> None:
    landed = table_of(make_table, value_converter=CSV).land(csv(7, "one,ice"), csv(7, "2,ice"))

    assert [row[1] for row in landed.rows] == [2]
    (bad,) = landed.rejects.values()
    assert (bad.column, bad.value, bad.stage) == ("id", csv(7, "one,ice"), "project")


def test_plain_texts_of_a_values_converter_are_no_objects(make_table: MakeTable) -> None:
    landed = make_table(column("id", "long"), value_converter=ConverterSpec("string")).land('{"id": 1}')

    (bad,) = landed.rejects.values()
    assert (bad.stage, bad.value) == ("project", b'{"id": 1}')


def test_a_transform_changes_topics_and_values_and_drops_records(
    broker: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    values = [
        b'{"id": 1, "tenant": "a"}',
        b'{"id": 2, "tenant": "test"}',
        b'{"id": "no number", "tenant": "b"}',
        b"no JSON",
        b"\xff",
        b'{"id": 3, "tenant": "b"}',
        None,
    ]
    produce(broker.bootstrap_servers, topic, values)
    metadata = column("RECORD_METADATA", struct(topic="string", offset="long"))
    shape = WriteShape(
        TableName(("public",), "T"), "u", 0, 0, 0, (metadata, *columns(id="long")), has_rows=True, evolves=False
    )
    task = Task(
        connector="SHOP",
        ranges=(offsets(SourcePartition(topic, 0), 0, len(values)),),
        tables=(
            TableTask(
                shape,
                data_path=f"file:{tmp_path}/data-{{}}.parquet",
                rejects_path=f"file:{tmp_path}/rejects-{{}}.parquet",
            ),
        ),
        reader=ReaderSpec("kafka", {"bootstrap.servers": broker.bootstrap_servers, "group.id": "g"}),
        conversion=TENANTS,
        tolerance="all",
    )

    staged = stage(task)

    assert staged.failure is None
    (part,) = staged.tables
    (read,) = part.ranges
    assert (read.parsed, read.inserted, read.errors, read.skipped) == (7, 3, 3, 1)
    (file,) = part.files
    rows = duckdb.execute(f"FROM read_parquet('{file.path}')").fetchall()
    assert rows == [
        ({"topic": f"{topic}.a", "offset": 0}, 1),
        ({"topic": f"{topic}.b", "offset": 5}, 3),
        ({"topic": f"{topic}.nobody", "offset": 6}, None),
    ]
    assert part.rejects
    kept = 'SELECT topic, partition, "offset", value, stage, reason'
    rejects = duckdb.execute(f"{kept} FROM read_parquet('{part.rejects.path}') ORDER BY 3").fetchall()
    assert [row[:5] for row in rejects] == [
        (topic, 0, 2, values[2], "project"),
        (topic, 0, 3, values[3], "transform"),
        (topic, 0, 4, values[4], "convert"),
    ]
    assert rejects[1][5] == "the transform split: the value is not valid JSON"


def test_dropped_records_are_skipped_and_so_are_ignored_tombstones_that_transforms_make(make_table: MakeTable) -> None:
    table = table_of(make_table, transforms=TENANTS.transforms, tombstones="ignore")

    landed = table.land(
        '{"id": 1}',
        '{"id": 2, "tenant": "test"}',
        None,
        '{"id": 3, "tenant": "gone"}',
        '{"id": 4}',
        partition=[0, 1, 1, 1, 2],
    )

    assert [row[1] for row in landed.rows] == [1, 4]
    assert landed.skipped == {1: 3}


def test_of_headers_with_one_name_that_a_transform_gives_the_last_counts(make_table: MakeTable) -> None:
    shape = column("RECORD_METADATA", "string"), *columns(id="long")
    table = make_table(*shape, transforms=(TransformSpec("mark", "marked"),), metadata=frozenset({"topic"}))

    landed = table.land('{"id": 1}', '{"id": 2}', headers=[[("mark", b"old"), ("h", b"7")], None])

    assert [json.loads(row[0])["headers"] for row in landed.rows] == [{"h": "7", "mark": "new"}, {"mark": "new"}]


def test_a_batch_whose_records_are_all_dropped_leaves_nothing(make_table: MakeTable) -> None:
    landed = table_of(make_table, transforms=TENANTS.transforms).land('{"tenant": "test"}', b"\xff")

    assert (landed.rows, list(landed.rejects), landed.skipped) == ([], [1], {0: 1})


def test_a_transform_that_gives_more_than_it_got_fails_the_task(make_table: MakeTable) -> None:
    table = table_of(make_table, transforms=(TransformSpec("double", "twice"),))

    with pytest.raises(ValueError, match="the transform double gave records"):
        table.land('{"id": 1}')
