"""Deleted rows: as relations that DuckDB leaves out where it reads the files."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
from pyroaring import BitMap64

from frazil.errors import InvalidQuery
from frazil.queries.fields import Field, column, duckdb_type, schema_map
from frazil.queries.files import Access, Files
from frazil.queries.planning import DataFile, DeleteFile
from frazil.sql import literal, literals

_PATH: Final[Field] = {"id": 2147483546, "name": "file_path", "type": "string"}
_POSITION: Final[Field] = {"id": 2147483545, "name": "pos", "type": "long"}
"""Reserved ids of Iceberg's, for what position delete files have."""

_MAGIC: Final = bytes.fromhex("D1D33964")
_FRACTIONS: Final = ("float", "double")

POSITIONS: Final = pa.schema([("file", pa.string()), ("pos", pa.int64())])


def is_exact(file: DataFile, fields: Sequence[Field]) -> bool:
    """Whether DuckDB can tell which rows of a file are deleted, as Iceberg does."""
    kinds = {each["id"]: each["type"] for each in fields}
    for each in file.deletes:
        if each.content == "equality-deletes":
            # Iceberg holds NaN and the two zeros for what they are, DuckDB does not.
            plain = all(isinstance(kinds.get(one), str) and kinds[one] not in _FRACTIONS for one in each.equality_ids)
            if each.format != "parquet" or not each.equality_ids or not plain:
                return False
            if any(kinds[one] == "variant" for one in each.equality_ids):
                return False
        elif each.format not in ("parquet", "puffin"):
            return False
    return True


def vectors(files: Iterable[DataFile], known: Files, access: Access) -> pa.Table:
    """The positions that deletion vectors have, by what DuckDB calls the files.

    Raises:
        InvalidQuery: one is damaged.
        StorageUnavailable: one cannot be read.
    """
    parts = []
    for file in files:
        for each in file.deletes:
            if each.format == "puffin":
                content = known.read(each.path, access, each.offset, each.length)
                positions = _positions(content, each.path)
                name = pa.array([known.name(file.path, access)], pa.string())
                names = pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(positions), np.int32)), name)
                parts.append(pa.table({"file": names.cast(pa.string()), "pos": positions}, POSITIONS))
    return pa.concat_tables(parts) if parts else POSITIONS.empty_table()


def _positions(content: bytes, location: str) -> pa.Array:
    """Those of a vector: its length and its checksum are big-endian, all else is Roaring's portable format."""
    length = int.from_bytes(content[:4], "big")
    body, checksum = content[4 : 4 + length], content[4 + length : 8 + length]
    if body[:4] != _MAGIC or zlib.crc32(body).to_bytes(4, "big") != checksum:
        raise InvalidQuery(f"the deletion vector in {location} is damaged: its checksum is another one")
    return pa.array(np.fromiter(BitMap64.deserialize(body[4:]), np.int64))


def by_position(files: Iterable[DataFile], known: Files, access: Access) -> str | None:
    """A relation of what position delete files have, with columns `file` and `pos`; None if there are none."""
    deletes: dict[str, None] = {}
    names: dict[str, str] = {}
    for file in files:
        for each in file.deletes:
            if each.content == "position-deletes" and each.format == "parquet":
                deletes[known.name(each.path, access)] = None
                names[file.path] = known.name(file.path, access)
    if not deletes:
        return None
    path, position = column(_PATH["id"]), column(_POSITION["id"])
    known_names = ", ".join(f"({literal(location)}, {literal(name)})" for location, name in names.items())
    return (
        f"SELECT n.name AS file, p.{position} AS pos "
        f"FROM read_parquet({literals(deletes)}, schema = {schema_map([_PATH, _POSITION])}) AS p "
        f"JOIN (VALUES {known_names}) AS n(location, name) ON n.location = p.{path}"
    )


def by_values(
    deletes: Sequence[DeleteFile], fields: Mapping[int, Field], known: Files, access: Access
) -> list[tuple[str, list[str]]]:
    """Relations of what equality delete files have, and the columns in each that rows are compared by."""
    alike: dict[tuple[int, ...], list[str]] = {}
    for each in deletes:
        alike.setdefault(tuple(sorted(each.equality_ids)), []).append(known.name(each.path, access))
    found = []
    for ids, names in alike.items():
        schema = schema_map([fields[each] for each in ids])
        found.append(
            (f"SELECT * FROM read_parquet({literals(names)}, schema = {schema})", [column(each) for each in ids])
        )
    return found


def empty(fields: Sequence[Field]) -> str:
    """A relation without rows."""
    columns = ", ".join(f"NULL::{duckdb_type(each['type'])} AS {column(each['id'])}" for each in fields)
    return f"SELECT {columns} WHERE false"
