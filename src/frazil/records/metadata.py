"""RECORD_METADATA: what is recorded of a record beside its value (spec section 3)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from frazil.model import Column, Conversion, MapType, MetadataPart, Primitive, StructType
from frazil.records.headers import headers
from frazil.records.value import values
from frazil.records.variant import encode, is_kept_from_json

COLUMN: Final = "RECORD_METADATA"
"""The column's name in tables frazil creates; in others it is found ignoring case."""

FIELDS: Final[tuple[tuple[str, str], ...]] = (
    ("topic", "string"),
    ("partition", "int"),
    ("offset", "long"),
    ("key", "string"),
    ("schema_id", "int"),
    ("key_schema_id", "int"),
    ("CreateTime", "long"),
    ("LogAppendTime", "long"),
    ("SnowflakeConnectorPushTime", "long"),
    ("headers", "map"),
)
"""The fields of the struct, with their Iceberg types; times are ms since the epoch."""

KEY_IS_JSON: Final = "key is JSON"
"""The column that says whether `key` is JSON to be kept as such where the metadata is JSON."""

STRUCTURED_HEADERS: Final = "structured headers"
"""The column of headers as JSON text with the types of their values; null unless the configuration wants it."""

ENCODED: Final = "metadata encoded"
"""The column of the whole metadata as a VARIANT's bytes; null where they come of a cast from JSON."""

_FIELDS_OF: Final[Mapping[MetadataPart, tuple[str, ...]]] = {
    "topic": ("topic",),
    "offset_and_partition": ("offset", "partition"),
    "create_time": ("CreateTime", "LogAppendTime"),
    "push_time": ("SnowflakeConnectorPushTime",),
}


_BESIDE: Final = ("key", "headers", "schema_id", "key_schema_id")
"""The columns of converted records that are there for the metadata only."""

_LONG: Final = "[0-9.]{16}"
"""What every number with more digits than a double keeps has within."""


@dataclass(frozen=True, slots=True)
class MetadataColumns:
    """What is recorded of the records of a batch."""

    columns: Mapping[str, pa.Array]
    """One for each of `FIELDS`, `KEY_IS_JSON`, `STRUCTURED_HEADERS` and `ENCODED`; null is what is not recorded."""

    bad: Mapping[int, str]
    """Why records cannot have any, by row: a key or header that is not the JSON it should be."""


def column_type() -> StructType:
    """The struct of a created table; field ids are given by the catalog."""
    texts = MapType(0, Primitive("string"), 0, Primitive("string"), value_required=False)
    return StructType(
        tuple(Column(0, name, texts if kind == "map" else Primitive(kind)) for name, kind in FIELDS),
    )


def always_present(conversion: Conversion) -> frozenset[str]:
    """The fields every record has."""
    parts = (conversion.metadata or frozenset()) - {"create_time"}
    return frozenset(name for part in parts for name in _FIELDS_OF[part])


def columns(records: pa.RecordBatch, conversion: Conversion, now: int) -> MetadataColumns:
    """What is recorded of the records of a batch.

    Args:
        records: as `frazil.records.batches.converted_schema` says.
        conversion: what is recorded.
        now: when the records are converted, in ms since the epoch (SnowflakeConnectorPushTime).
    """
    count = records.num_rows
    if conversion.metadata is None:
        nothing = {name: pa.nulls(count, records.schema.field(name).type) for name in _BESIDE}
        records = pa.RecordBatch.from_pydict(
            {**{name: records.column(name) for name in records.schema.names}, **nothing}
        )
    key = values(records.column("key"))
    header = headers(records.column("headers"), structured=conversion.structured_headers)
    stamps, appended = records.column("timestamp"), records.column("log_append_time")
    missing = pa.scalar(None, pa.int64())
    found = {
        "topic": records.column("topic"),
        "partition": records.column("partition"),
        "offset": records.column("offset"),
        "key": key.texts,
        "schema_id": records.column("schema_id"),
        "key_schema_id": records.column("key_schema_id"),
        "CreateTime": pc.if_else(appended, missing, stamps),
        "LogAppendTime": pc.if_else(appended, stamps, missing),
        "SnowflakeConnectorPushTime": pa.repeat(pa.scalar(now, pa.int64()), count),
        "headers": header.texts,
        KEY_IS_JSON: key.is_json,
        STRUCTURED_HEADERS: header.structured,
    }
    for part in _FIELDS_OF.keys() - (conversion.metadata or frozenset()):
        found.update({name: pa.nulls(count, found[name].type) for name in _FIELDS_OF[part]})
    jsons = (("key", pc.if_else(key.is_json, key.texts, pa.scalar(None, pa.string()))), ("headers", header.structured))
    found[ENCODED], too_deep = _encoded({name: found[name] for name, _ in FIELDS}, jsons)
    bad_keys = {row: f"the key {reason}" for row, reason in key.bad.items()}
    return MetadataColumns(found, {**too_deep, **header.bad, **bad_keys})


def _encoded(
    parts: Mapping[str, pa.Array], jsons: Sequence[tuple[str, pa.StringArray]]
) -> tuple[pa.BinaryArray, dict[int, str]]:
    """The whole as a VARIANT's bytes where a cast from JSON would change numbers, else null; why rows have none.

    Args:
        parts: what is recorded besides, by member: numbers, texts, and texts by name.
        jsons: members that are JSON texts, by name; one that is null gives way to that of `parts`.
    """
    count = len(jsons[0][1])
    found: dict[int, bytes] = {}
    bad: dict[int, str] = {}
    for row in sorted({row for _, texts in jsons for row in _suspicious(texts)}):
        members = {name: text for name, texts in jsons if (text := texts[row].as_py()) is not None}
        try:
            if any(not is_kept_from_json(number) for text in members.values() for number in _numbers(text)):
                found[row] = encode(_document(members, {name: column[row].as_py() for name, column in parts.items()}))
        except RecursionError:
            bad[row] = "the key or a header is nested too deep"
    return pa.array([found.get(row) for row in range(count)], pa.binary()) if found else pa.nulls(
        count, pa.binary()
    ), bad


def _document(members: Mapping[str, str], others: Mapping[str, Any]) -> str:
    """A JSON object of members that are JSON texts, and of others that have a value."""
    texts = {
        name: orjson.dumps(dict(value) if isinstance(value, list) else value).decode()
        for name, value in others.items()
        if value is not None
    }
    return "{" + ",".join(f'"{name}":{text}' for name, text in {**texts, **members}.items()) + "}"


def _suspicious(texts: pa.StringArray) -> Iterator[int]:
    if texts.null_count == len(texts):
        return
    yield from pc.indices_nonzero(pc.fill_null(pc.match_substring_regex(texts, _LONG), pa.scalar(False))).to_pylist()


def _numbers(text: str) -> list[str]:
    """The numbers of a JSON document."""
    found: list[str] = []

    def note(number: str) -> Any:
        found.append(number)

    json.loads(text, parse_int=note, parse_float=note)
    return found
