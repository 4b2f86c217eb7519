"""Partitions and offsets that are texts, as those of streams: whole tasks of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
from tests.memory.catalog import MemoryCatalog
from tests.memory.shards import reader
from tests.staging.shards import DE, FIRST, KIND, LONG, OWN, SECOND, SHORT, record, rows, table, task

from frazil.cycle.accounting import first_reject
from frazil.model import (
    Conversion,
    ConverterSpec,
    Range,
    Route,
    RoutedTable,
    SourcePartition,
    TableName,
    TableRules,
    TransformSpec,
)
from frazil.sources import kinds
from frazil.sources.kinesis.positions import after
from frazil.staging.task import stage
from frazil.tables import error_files
from frazil.tables.error_files import Told
from frazil.tables.rules import error_tables

BAD = [
    record(FIRST, SHORT, '{"n": 1}'),
    record(FIRST, f"{LONG}:9", '{"n": "late"}'),
    record(FIRST, f"{LONG}:10", '{"n": 3}'),
    record(SECOND, SHORT, "{"),
    record(SECOND, f"{LONG}", '{"n": "worse"}'),
]


def test_rows_and_rejects_are_counted_by_shard(tmp_path: Path) -> None:
    staged = stage(task(tmp_path, BAD, table(tmp_path, n="long")))

    assert rows(staged) == [(1,), (3,)]
    (part,) = staged.tables
    counts = {each.partition.partition: (each.parsed, each.inserted, each.errors) for each in part.ranges}
    assert counts == {FIRST: (3, 2, 1), SECOND: (2, 0, 2)}
    assert part.rejects is not None
    found = duckdb.execute(f"SELECT partition, \"offset\", reason FROM '{part.rejects.path}'").fetchall()
    assert sorted(row[:2] for row in found) == sorted([(FIRST, f"{LONG}:9"), (SECOND, SHORT), (SECOND, LONG)])


@pytest.mark.parametrize(("one", "other"), [(SHORT, LONG), (f"{LONG}:9", f"{LONG}:10")])
def test_the_first_reject_is_the_first_in_the_order_of_the_source(tmp_path: Path, one: str, other: str) -> None:
    # Converters find theirs before projection does: what is first in the file is not first in the shard.
    records = [record(FIRST, one, '{"n": "no"}'), record(FIRST, other, b"\xff")]

    staged = stage(task(tmp_path, records, table(tmp_path, n="long")))

    (part,) = staged.tables
    assert part.rejects is not None
    assert part.rejects.first.offset == one
    later = replace(part, rejects=replace(part.rejects, first=replace(part.rejects.first, offset=other)))
    found = first_reject([later, part], KIND)
    assert found is not None
    assert found.offset == one


def test_with_no_tolerance_each_shard_ends_before_its_first_reject(tmp_path: Path) -> None:
    staged = stage(task(tmp_path, BAD, table(tmp_path, n="long"), tolerance="none"))

    assert rows(staged) == [(1,)]
    covered = {each.partition.partition: each.covered for each in staged.ranges}
    assert covered == {FIRST: after(int(LONG), 8), SECOND: kinds.before(KIND, SHORT)}
    (part,) = staged.tables
    assert part.rejects is not None
    assert (part.rejects.first.partition.partition, part.rejects.first.offset) == (FIRST, f"{LONG}:9")


def test_a_reject_is_met_by_the_next_cycle_where_not_all_before_it_was_given_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [record(FIRST, SHORT, '{"n": 1}'), record(FIRST, LONG, '{"n": 2}'), record(FIRST, f"{LONG}:9", "[]")]
    opened: list[Mapping[str, str]] = []

    def once_whole(client: Mapping[str, str], ranges: Sequence[Range], most_bytes: int) -> reader.ShardsReader:
        cut = [replace(each, end=after(int(SHORT))) for each in ranges] if opened else ranges
        opened.append(client)
        return whole(client, cut, most_bytes)

    whole = reader.open_reader
    monkeypatch.setattr(reader, "open_reader", once_whole)

    staged = stage(task(tmp_path, records, table(tmp_path, n="long"), tolerance="none"))

    assert rows(staged) == [(1,)]
    assert [each.covered for each in staged.ranges] == [after(int(SHORT))]
    assert staged.tables[0].rejects is None


def test_new_keys_are_told_in_the_order_of_the_source(tmp_path: Path) -> None:
    records = [record(FIRST, SHORT, '{"b": 1}'), record(FIRST, f"{LONG}:9", '{"a": 1}')]
    records += [record(FIRST, f"{LONG}:10", '{"c": 1}')]

    for chunk_bytes in (1, 32 * 1024 * 1024):
        staged = stage(task(tmp_path, records, table(tmp_path, evolves=True), chunk_bytes=chunk_bytes))

        drift = staged.tables[0].drift
        assert sorted(drift, key=lambda key: drift[key].first or ()) == ["b", "a", "c"]


def test_a_table_that_has_some_of_a_shard_gets_the_rest(tmp_path: Path) -> None:
    starts = {SourcePartition("orders", FIRST): after(int(LONG), 9)}
    other = replace(table(tmp_path, DE, n="long"), starts=starts)

    staged = stage(task(tmp_path, BAD[:1] + BAD[2:3], table(tmp_path, n="long"), other))

    assert (rows(staged), rows(staged, DE)) == ([(1,), (3,)], [(3,)])


def test_records_are_routed_by_their_values(tmp_path: Path) -> None:
    records = [
        record(FIRST, SHORT, '{"n": 1, "c": "de"}'),
        record(FIRST, LONG, '{"n": 2, "c": null}'),
        record(SECOND, LONG, '{"n": 3, "c": "de"}'),
    ]
    route = Route(("c",), OWN, 5, {"T_DE": RoutedTable("de", DE)})
    tables = table(tmp_path, n="long", c="string"), table(tmp_path, DE, n="long", c="string")

    staged = stage(task(tmp_path, records, *tables, route=route))

    assert (rows(staged), rows(staged, DE)) == ([], [(1, "de"), (3, "de")])
    assert staged.tables[0].rejects is not None
    assert staged.tables[0].rejects.first.offset == LONG


def inserting(name: str, **others: str) -> TransformSpec:
    given = {"type": "org.apache.kafka.connect.transforms.InsertField$Value", **others}
    given |= {"partition.field": "shard", "offset.field": "sequence"}
    return transform(name, given)


def transform(name: str, given: dict[str, str]) -> TransformSpec:
    options = {f"transforms.{name}.{key}": value for key, value in given.items()}
    return TransformSpec(name, given["type"], {"transforms": name, **options})


@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize("value", ['{"n": 1}', '{"n": 1, "shard": 2}'])
def test_inserted_partitions_and_offsets_are_texts(tmp_path: Path, value: str, *, behind: bool) -> None:
    looking = transform("flat", {"type": "org.apache.kafka.connect.transforms.Flatten$Value"})
    transforms = (inserting("where"), *((looking,) if behind else ()))
    records = [record(FIRST, f"{LONG}:9", value)]

    staged = stage(
        task(
            tmp_path,
            records,
            table(tmp_path, n="long", shard="string", sequence="string"),
            conversion=Conversion(transforms=transforms),
        )
    )

    assert rows(staged) == [(1, FIRST, f"{LONG}:9")]


def test_inserted_into_values_with_a_schema_they_are_texts_too(tmp_path: Path) -> None:
    fields = [{"type": "int64", "optional": False, "field": "n"}]
    value = {"schema": {"type": "struct", "fields": fields, "optional": False}, "payload": {"n": 1}}
    conversion = Conversion(ConverterSpec("json_envelope"), transforms=(inserting("where"),))

    staged = stage(
        task(
            tmp_path,
            [record(FIRST, LONG, json.dumps(value))],
            table(tmp_path, n="long", shard="string", sequence="string"),
            conversion=conversion,
        )
    )

    assert rows(staged) == [(1, FIRST, LONG)]


def test_reject_files_become_files_of_an_error_table_with_texts(tmp_path: Path) -> None:
    staged = stage(task(tmp_path, BAD, table(tmp_path, n="long")))
    assert staged.tables[0].rejects is not None
    path = staged.tables[0].rejects.path.removeprefix("file:")

    text = error_tables.PARTITIONS["string"]
    assert error_files.types_of(pq.read_schema(path)) == (text, text)
    with pq.ParquetFile(path) as file:
        assert file.metadata.num_rows == 3
    catalog = MemoryCatalog()
    catalog.create(TableName((), "T"), [], {})
    opened = catalog.open(TableName((), "T"), None, None)  # type: ignore[arg-type]
    assert error_files.write(opened, [path], Told("shop", "c", 0), tmp_path / "errors.parquet") == 3
    found = duckdb.execute(f"SELECT partition, \"offset\", code FROM '{tmp_path}/errors.parquet'").fetchall()
    assert sorted(found) == sorted([(FIRST, f"{LONG}:9", "5030"), (SECOND, SHORT, "5015"), (SECOND, LONG, "5030")])


def test_rescued_values_tell_where_their_record_lies(tmp_path: Path) -> None:
    part = replace(table(tmp_path, n="long", _RESCUED_DATA="string"), rules=TableRules("T", columns="rescue"))

    found = rows(stage(task(tmp_path, [record(FIRST, f"{LONG}:9", '{"n": 1, "more": 2}')], part)))

    assert json.loads(found[0][1])["source"] == {"topic": "orders", "partition": FIRST, "offset": f"{LONG}:9"}
