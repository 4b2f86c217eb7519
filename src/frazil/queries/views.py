"""A table at a moment as a view of DuckDB's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import duckdb

from frazil.errors import InvalidQuery
from frazil.queries import deletions
from frazil.queries.fields import (
    Field,
    NameMapping,
    column,
    default_text,
    duckdb_type,
    name_mapping,
    schema_map,
)
from frazil.queries.files import Access, Files
from frazil.queries.footers import Footer, Footers
from frazil.queries.planning import DataFile, DeleteFile, Plan
from frazil.snowflake.compiled import Scan
from frazil.snowflake.tables import place_names
from frazil.sql import ident, literals

MOST_GROUPS: Final = 200
"""Ways to read files of one table that DuckDB is given at once; beyond, its own planning takes longer than Spark's."""

MAPPING: Final = "schema.name-mapping.default"
_DELETED: Final = "frazil deleted"


@dataclass(frozen=True, slots=True)
class _Way:
    """How files are read; those that are read alike are read together."""

    has_ids: bool
    constants: tuple[tuple[int, str | None], ...]
    by_values: tuple[DeleteFile, ...]
    has_positions: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """What is needed to read the files of one statement."""

    connection: duckdb.DuckDBPyConnection
    files: Files
    footers: Footers


def wanted(scan: Scan, fields: Sequence[Field]) -> list[Field]:
    """The fields that the view of a scan has.

    Raises:
        InvalidQuery: a column is not there.
    """
    if scan.columns is None:
        chosen = list(fields)
    else:
        by_name = {each["name"]: each for each in fields}
        missing = [name for name in scan.columns if name not in by_name]
        if missing:
            raise InvalidQuery(f"the table {scan.table} has no column {missing[0][:100]!r} at that moment")
        chosen = [by_name[name] for name in dict.fromkeys(scan.columns)]
    return chosen or [_plainest(fields)]


def called(chosen: Sequence[Field], fields: Sequence[Field]) -> list[str]:
    """What the columns of a view are called: as the table spells them, distinguished where only case does."""
    names = [each["name"] for each in fields]
    known = dict(zip(names, place_names(names), strict=True))
    return [known[each["name"]] for each in chosen]


def is_exact(plan: Plan, fields: Sequence[Field]) -> bool:
    """Whether DuckDB reads all the files of a plan as Iceberg means them."""
    ways = {tuple(each for each in file.deletes if each.content == "equality-deletes") for file in plan.files}
    return len(ways) <= MOST_GROUPS and all(
        file.format == "parquet" and deletions.is_exact(file, fields) for file in plan.files
    )


def create(
    scan: Scan, plan: Plan, fields: Sequence[Field], mapping: str | None, reading: Reading, access: Access
) -> None:
    """Make the view of a scan.

    Args:
        scan: what is to be read.
        plan: its files, which DuckDB reads exactly.
        fields: all of the table's at the moment of the scan.
        mapping: the table's property for files without field ids.
        reading: the connection, and what it may read.
        access: what opens the table's files.
    """
    chosen = wanted(scan, fields)
    by_id = {each["id"]: each for each in fields}
    names = name_mapping(mapping) if mapping else {}
    branches = []
    for number, (way, files) in enumerate(_ways(plan, by_id, names, reading, access).items()):
        relation = _Relation(way, files, chosen, by_id, names, reading, access)
        branches.append(relation.selected(f"{_DELETED} {scan.place} {number}"))
    inner = " UNION ALL ".join(branches) or deletions.empty(chosen)
    named = zip(chosen, called(chosen, fields), strict=True)
    columns = ", ".join(f"{column(each['id'])} AS {ident(name)}" for each, name in named)
    reading.connection.execute(f"CREATE VIEW {ident(scan.place)} AS SELECT {columns} FROM ({inner})")


@dataclass(frozen=True, slots=True)
class _Relation:
    """Files that are read alike, as one relation."""

    way: _Way
    files: Sequence[DataFile]
    chosen: Sequence[Field]
    by_id: Mapping[int, Field]
    mapping: NameMapping
    reading: Reading
    access: Access

    def selected(self, deleted: str) -> str:
        """The SQL; what `deleted` names is made if it is needed."""
        known = self.reading.files
        left_out = deletions.by_values(self.way.by_values, self.by_id, known, self.access)
        needed = {each for _, columns in left_out for each in columns}
        fields = {column(each["id"]): each for each in self.chosen}
        fields |= {column(each): field for each, field in self.by_id.items() if column(each) in needed}
        schema = schema_map(
            list(fields.values()),
            names=None if self.way.has_ids else self.mapping,
            constants=dict(self.way.constants),
        )
        names = literals(known.name(each.path, self.access) for each in self.files)
        columns = ", ".join(f"d.{column(each['id'])}" for each in self.chosen)
        options = ", filename = true, file_row_number = true" if self.way.has_positions else ""
        text = f"SELECT {columns} FROM read_parquet({names}, schema = {schema}{options}) AS d"
        if self.way.has_positions:
            self._make(deleted)
            text += f" ANTI JOIN {ident(deleted)} AS p ON p.file = d.filename AND p.pos = d.file_row_number"
        for number, (relation, compared) in enumerate(left_out):
            equal = " AND ".join(f"e{number}.{key} IS NOT DISTINCT FROM d.{key}" for key in compared)
            text += f" ANTI JOIN ({relation}) AS e{number} ON {equal}"
        return text

    def _make(self, deleted: str) -> None:
        """Have deleted positions ready: each file of them is read once, however often the query reads the table."""
        known, connection = self.reading.files, self.reading.connection
        texts = deletions.by_position(self.files, known, self.access)
        vectors = deletions.vectors(self.files, known, self.access)
        connection.register("frazil vectors", vectors)
        parts = ['SELECT file, pos FROM "frazil vectors"', *([texts] if texts else [])]
        connection.execute(f"CREATE TABLE {ident(deleted)} AS {' UNION ALL '.join(parts)}")
        connection.unregister("frazil vectors")


def _ways(
    plan: Plan, by_id: Mapping[int, Field], names: NameMapping, reading: Reading, access: Access
) -> dict[_Way, list[DataFile]]:
    footers = _needed_footers(plan, by_id, names, reading, access)
    ways: dict[_Way, list[DataFile]] = {}
    for file in plan.files:
        footer = footers.get(file.path)
        has_ids = footer is None or bool(footer.ids) or not names
        way = _Way(
            has_ids,
            tuple(_constants(file, plan, by_id, names, footer)) if footer else (),
            tuple(each for each in file.deletes if each.content == "equality-deletes"),
            any(each.content == "position-deletes" for each in file.deletes),
        )
        ways.setdefault(way, []).append(file)
    return ways


def _needed_footers(
    plan: Plan, by_id: Mapping[int, Field], names: NameMapping, reading: Reading, access: Access
) -> dict[str, Footer]:
    """Footers of the files that may lack ids, or columns whose values their partitions have."""
    partitioned = {spec for spec, found in plan.identities.items() if any(each in by_id for each in found.values())}
    asked = [each.path for each in plan.files if names or each.spec in partitioned]
    known = {each: reading.files.name(each, access) for each in asked}
    return reading.footers.of(known, reading.connection) if known else {}


def _constants(
    file: DataFile, plan: Plan, by_id: Mapping[int, Field], names: NameMapping, footer: Footer
) -> Iterable[tuple[int, str | None]]:
    for place, identity in plan.identities.get(file.spec, {}).items():
        field = by_id.get(identity)
        if field is None:
            continue
        name = names[identity][0].lower() if identity in names else None
        if identity not in footer.ids and (footer.ids or name not in footer.names):
            yield identity, default_text(file.partition[place], field["type"])


def _plainest(fields: Sequence[Field]) -> Field:
    """The field that costs least: a view has at least one."""

    def cost(field: Field) -> int:
        try:
            duckdb_type(field["type"])
        except InvalidQuery:
            return 3
        return 0 if field["type"] in ("boolean", "int", "long", "date") else 1 if isinstance(field["type"], str) else 2

    return min(fields, key=cost)
