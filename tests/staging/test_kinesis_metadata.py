"""kinesisMetadata, from a stream's records to the file."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.pipes.default.chunks import column, struct, variants
from tests.staging.shards import ARRIVAL, FIRST, LONG, OWN, SHORT, record, rows, table, task

from frazil.model import Column, Conversion, IcebergType, StructType
from frazil.pipes.kinesis_metadata import KINESIS
from frazil.pipes.sql.compiling import compile_pipe
from frazil.records.kinesis_metadata import COLUMN
from frazil.snowflake.pipes import read_pipe
from frazil.staging.task import stage

STREAMS = Conversion(metadata_column=COLUMN)
MOMENT = dt.datetime.fromtimestamp(ARRIVAL // 1000, dt.UTC) + dt.timedelta(milliseconds=ARRIVAL % 1000)

PLAIN = {
    "stream": "orders",
    "shardId": FIRST,
    "approximateArrival": ARRIVAL,
    "partitionKey": "k",
    "sequenceNumber": SHORT,
    "subSequenceNumber": 0,
    "shardedSequenceNumber": SHORT + "0" * 20,
}
AGGREGATED = {
    **PLAIN,
    "sequenceNumber": LONG,
    "subSequenceNumber": 17,
    "shardedSequenceNumber": LONG + "0" * 18 + "17",
}
RECORDS = [record(FIRST, SHORT, '{"n": 1}'), record(FIRST, f"{LONG}:17", '{"n": 2}')]


def landed(directory: Path, kind: str | IcebergType, conversion: Conversion = STREAMS) -> list[Any]:
    """What a column of that type, spelled otherwise, holds of `RECORDS`."""
    part = table(directory, OWN, column("KINESISMETADATA", kind))
    assert KINESIS.unsupported(part.shape.columns[0], conversion) is None
    return [row[0] for row in rows(stage(task(directory, RECORDS, part, conversion=conversion)))]


def with_ids(kind: StructType) -> StructType:
    """The type as a catalog numbers its fields."""
    return StructType(tuple(Column(100 + number, each.name, each.type) for number, each in enumerate(kind.fields)))


def test_a_created_column_has_seven_fields_with_the_arrival_as_a_moment(tmp_path: Path) -> None:
    kind = KINESIS.created_type(STREAMS)
    assert isinstance(kind, StructType)

    found = landed(tmp_path, with_ids(kind))

    assert [list(each) for each in found] == [[*PLAIN], [*PLAIN]]
    assert found == [{**PLAIN, "approximateArrival": MOMENT}, {**AGGREGATED, "approximateArrival": MOMENT}]


@pytest.mark.parametrize(
    ("kind", "arrival"),
    [
        ("timestamptz", MOMENT),
        ("timestamp", MOMENT.replace(tzinfo=None)),
        ("long", ARRIVAL),
        ("string", "2025-10-09T08:53:20.123Z"),
    ],
)
def test_in_a_struct_the_arrival_has_the_type_of_its_field(tmp_path: Path, kind: str, arrival: Any) -> None:
    found = landed(
        tmp_path, struct(APPROXIMATEARRIVAL=kind, shardid="string", subSequenceNumber="decimal(19,0)", other="long")
    )

    assert found[1] == {"APPROXIMATEARRIVAL": arrival, "shardid": FIRST, "subSequenceNumber": 17, "other": None}


def test_as_json_the_arrival_is_a_number(tmp_path: Path) -> None:
    found = landed(tmp_path, "string")

    assert [json.loads(each) for each in found] == [PLAIN, AGGREGATED]
    assert list(json.loads(found[0])) == [*PLAIN]


def test_as_variant_the_arrival_is_a_number(tmp_path: Path) -> None:
    part = table(tmp_path, OWN, column("kinesisMetadata", "variant"))

    staged = stage(task(tmp_path, RECORDS, part, conversion=STREAMS))

    assert staged.failure is None
    (file,) = staged.tables[0].files
    assert variants(Path(file.path.removeprefix("file:")), 0) == [PLAIN, AGGREGATED]


def test_a_record_without_a_partition_key_has_none(tmp_path: Path) -> None:
    part = table(tmp_path, OWN, column("kinesisMetadata", struct(partitionKey="string")), kinesis="string")
    records = [record(FIRST, SHORT, "{}", None), record(FIRST, LONG, "{}", "\N{SNOWMAN}".encode())]

    found = rows(stage(task(tmp_path, records, part, conversion=STREAMS)))

    assert [row[0]["partitionKey"] for row in found] == [None, "\N{SNOWMAN}"]
    text = table(tmp_path, OWN, column("kinesisMetadata", "string"))
    without, _ = rows(stage(task(tmp_path, records, text, conversion=STREAMS)))
    assert "partitionKey" not in json.loads(without[0])


def test_no_key_of_a_record_goes_to_the_column_or_makes_one_of_its_name(tmp_path: Path) -> None:
    records = [record(FIRST, SHORT, '{"kinesismetadata": "mine", "RECORD_METADATA": 7}')]
    there = table(tmp_path, OWN, column("kinesisMetadata", "string"), evolves=True)
    missing = table(tmp_path, evolves=True)

    for part in (there, missing):
        staged = stage(task(tmp_path, records, part, conversion=STREAMS))

        assert list(staged.tables[0].drift) == ["RECORD_METADATA"]


def test_with_all_metadata_left_out_the_column_is_null(tmp_path: Path) -> None:
    conversion = Conversion(metadata_column=COLUMN, metadata=None)

    assert landed(tmp_path, struct(shardId="string"), conversion) == [None, None]


def test_parts_of_the_metadata_of_topics_leave_out_nothing(tmp_path: Path) -> None:
    conversion = Conversion(metadata_column=COLUMN, metadata=frozenset())

    assert [json.loads(each) for each in landed(tmp_path, "string", conversion)] == [PLAIN, AGGREGATED]


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (struct(shardId="long"), "its field shardId is of type long, which cannot hold it"),
        (struct(approximateArrival="int"), "which cannot hold it"),
        (struct(topic="string"), "its type is struct"),
        ("long", "its type is long"),
    ],
)
def test_a_column_that_cannot_hold_it_is_refused(kind: str | IcebergType, reason: str) -> None:
    found = KINESIS.unsupported(column("kinesisMetadata", kind), STREAMS)

    assert found is not None
    assert reason in found


def test_whole_records_have_it_beside_them(tmp_path: Path) -> None:
    conversion = Conversion(metadata_column=COLUMN, whole_records=True)
    part = table(tmp_path, OWN, column("RECORD_CONTENT", "string"), column("kinesisMetadata", struct(shardId="string")))

    found = rows(stage(task(tmp_path, RECORDS, part, conversion=conversion)))

    assert found == [('{"n": 1}', {"shardId": FIRST}), ('{"n": 2}', {"shardId": FIRST})]


def test_a_users_pipe_reads_it_as_one_path_of_the_record(tmp_path: Path) -> None:
    part = table(
        tmp_path, kinesisMetadata="string", n="long", shard="string", arrival="long", at="timestamptz", sub="long"
    )
    arrival = "$1:kinesisMetadata.approximateArrival"
    items = f"$1:kinesisMetadata, $1:n, $1:kinesisMetadata.shardId, {arrival}, "
    items += f"to_timestamp_tz({arrival}::STRING), $1:kinesisMetadata.subSequenceNumber + 1"
    sql = f"CREATE PIPE P AS COPY INTO T FROM (SELECT {items} FROM TABLE(DATA_SOURCE(TYPE => 'STREAMING')))"
    pipe = compile_pipe(read_pipe(sql), "P", part.shape.columns, STREAMS)

    staged = stage(task(tmp_path, RECORDS, replace(part, pipe=pipe), conversion=STREAMS))

    (_, second) = rows(staged)
    assert json.loads(second[0]) == AGGREGATED
    assert second[1:4] == (2, FIRST, ARRIVAL)
    assert second[4:] == (MOMENT, 18)
