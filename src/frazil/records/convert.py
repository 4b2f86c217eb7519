"""Records as read → the columns every pipe projects from: JSON text, metadata, and where each came from.

1. Converters read values, keys and headers; transforms that look into records change them right there.
2. The transforms behind them change columns, or drop records.
3. What is left gets its metadata; tombstones leave where they are ignored, and so do the records that are bad.

A converter or transform gives a reason for each record that it refuses. Where one raises anything else, the batch is
halved until the record that causes it is alone; that record is rejected, and the others go on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from frazil.errors import FrazilError
from frazil.model import Conversion, ConverterSpec, RejectStage
from frazil.records import kinesis_metadata, metadata
from frazil.records.batches import TEXT_OR_JSON, converted_schema
from frazil.records.changing import Changing
from frazil.records.connect.decoding import DecodingConverter
from frazil.records.connect.unreadable import shown
from frazil.records.converters import (
    BytesConverter,
    ConvertedColumn,
    Converter,
    JsonConverter,
    MakeConverter,
    Part,
    StringConverter,
)
from frazil.records.decoders import decoder, schemas_of
from frazil.records.headers import converted as converted_headers
from frazil.records.headers import unique
from frazil.records.rejects import RejectReason, Rejects, rejects_of
from frazil.records.schema_types import SchemaTypes, no_types
from frazil.records.simple_header import SimpleHeaderConverter
from frazil.records.smt.chain import OwnTransformation, Step, step_of
from frazil.records.smt.columns import columnar
from frazil.records.transforms import ROW, MakeTransform, Transform
from frazil.records.value import quoted

VALUE = "value"
"""The column of JSON text; null for a tombstone."""

TYPES = "types"
"""The column of what values are by their schemas (`frazil.records.schema_types`); null for values without one."""

_TOPICS: Final = "topics as transforms left them"


class BrokenTransform(ValueError):
    """A transform does not give what transforms have to, whatever record it gets."""


_OF_NO_RECORD: Final = (FrazilError, BrokenTransform, MemoryError, OSError, ImportError)
"""What is raised for other reasons than a record: a registry, storage, memory, the installation, a broken transform."""

CONVERTERS: Final[dict[str, MakeConverter]] = {
    "json": JsonConverter,
    "string": StringConverter,
    "bytes": BytesConverter,
    "simple": SimpleHeaderConverter,
}
"""The converters of whole columns, by the kind of a `ConverterSpec`; `frazil.records.decoders` has the others."""

METADATA: Final[Mapping[str, Callable[[pa.RecordBatch, Conversion, int], metadata.MetadataColumns]]] = {
    metadata.COLUMN: metadata.columns,
    kinesis_metadata.COLUMN: kinesis_metadata.columns,
}
"""What is recorded of records beside their values, by `Conversion.metadata_column`."""

TRANSFORMS: Final[dict[str, MakeTransform]] = {}
"""The transforms of whole columns, by the kind of a `TransformSpec`; `frazil.records.smt` has the others."""


@dataclass(frozen=True, slots=True)
class Converted:
    """A batch of records with their values as JSON text."""

    table: pa.Table
    """`VALUE`, `TYPES`, and the columns of what `METADATA` gives; the topic is as transforms left it."""

    records: pa.Table
    """The same rows as they were read, for rejects."""

    rejects: Rejects
    """The records that cannot be converted or transformed; they are in neither table."""

    skipped: Mapping[int | str, int]
    """How many tombstones were left out and how many records transforms dropped, by partition; they are in neither."""

    topics: pa.DictionaryArray
    """The topics of the rows as transforms left them, whatever the metadata has."""

    def __add__(self, other: Converted) -> Converted:
        """The records of both, those of `other` behind these."""
        return Converted(
            _joined(self.table, other.table),
            _joined(self.records, other.records),
            self.rejects + other.rejects,
            Counter(self.skipped) + Counter(other.skipped),
            pa.chunked_array([self.topics, other.topics]).unify_dictionaries().combine_chunks(),
        )


@dataclass(frozen=True, slots=True)
class _Batch:
    """Records as they were read beside the same as converted, and what became of those that left them."""

    read: pa.RecordBatch
    records: pa.RecordBatch
    rejects: Rejects = field(default_factory=Rejects)
    skipped: Counter[int | str] = field(default_factory=Counter)

    def without(self, bad: Mapping[int, str], stage: RejectStage, skipped: frozenset[int] = frozenset()) -> _Batch:
        """The batch without records that are bad, with the reason, and without others, both by row."""
        if not bad and not skipped:
            return self
        stays = pa.array([row not in bad and row not in skipped for row in range(self.read.num_rows)])
        reasons = {row: RejectReason(reason) for row, reason in bad.items()}
        rejects = rejects_of(pa.Table.from_batches([self.read]), stage, reasons)
        partitions = self.read.column("partition").take(pa.array(sorted(skipped), pa.int64()))
        return _Batch(
            self.read.filter(stays),
            self.records.filter(stays),
            self.rejects + rejects,
            self.skipped + Counter(partitions.to_pylist()),
        )


class RecordConverter:
    """Converts the batches of one task; its converters and transforms may keep what they have learned."""

    def __init__(self, conversion: Conversion) -> None:
        """Convert as `conversion` says."""
        self._conversion = conversion
        types = SchemaTypes(bytes_fit=conversion.binary == "base64")
        self._value = _converter(conversion.value_converter, "value", types)
        self._key = _converter(conversion.key_converter, "key")
        self._header = _converter(conversion.header_converter, "header")
        specs = (conversion.value_converter, conversion.key_converter, conversion.header_converter)
        self._decoders = [decoder(each) for each in specs if each.kind not in CONVERTERS]
        looking, self._transforms = arranged(conversion)
        self._changing = Changing(conversion, looking, types) if looking else None

    @property
    def schemas(self) -> Mapping[str, Mapping[int, str]]:
        """What tells the schemas that records were read by from others, by the registry's address and their id."""
        return schemas_of(self._decoders)

    def convert(self, batch: pa.RecordBatch, now: int) -> Converted:
        """Convert some records.

        Whether the value is a JSON object is for the projection to find out: it parses it anyway.

        Args:
            batch: as `frazil.records.batches.schema` says.
            now: when the records are converted, in ms since the epoch.

        Raises:
            RegistryUnavailable, RegistryRefused: a schema registry did not give a schema.
        """
        try:
            return self._convert(batch, now)
        except _OF_NO_RECORD:
            raise
        except Exception as error:  # noqa: BLE001 (whatever one record causes is its own rejection)
            if batch.num_rows > 1:
                middle = batch.num_rows // 2
                return self.convert(batch.slice(0, middle), now) + self.convert(batch.slice(middle), now)
            reason = RejectReason(f"the record cannot be converted: {type(error).__name__}: {shown(str(error))}")
            nothing = self._convert(batch.slice(0, 0), now)
            return replace(nothing, rejects=rejects_of(pa.Table.from_batches([batch]), "convert", {0: reason}))

    def _convert(self, batch: pa.RecordBatch, now: int) -> Converted:
        done, bad_values, bad_others = self._read(batch) if self._changing is None else self._changed(batch)  # 1
        if self._transforms:
            done, bad_values, bad_others = done.without({**bad_others, **bad_values}, "convert"), {}, {}
            for name, transform in self._transforms:
                done = _transformed(done, name, transform)  # 2
        beside = METADATA[self._conversion.metadata_column](done.records, self._conversion, now)  # 3
        ignored = self._ignored(done.records) - bad_values.keys()
        bad = {row: reason for row, reason in {**beside.bad, **bad_others, **bad_values}.items() if row not in ignored}
        columns = {
            VALUE: done.records.column(VALUE),
            TYPES: done.records.column(TYPES),
            **beside.columns,
            _TOPICS: done.records.column("topic"),
        }
        done = replace(done, records=pa.RecordBatch.from_pydict(columns)).without(bad, "convert", ignored)
        records = pa.Table.from_batches([done.read])
        topics = done.records.column(_TOPICS)
        table = pa.Table.from_batches([done.records.drop_columns([_TOPICS])])
        return Converted(table, records, done.rejects, done.skipped, topics)

    def _read(self, batch: pa.RecordBatch) -> tuple[_Batch, dict[int, str], dict[int, str]]:
        """The records converted; why values cannot be; and why keys or headers cannot."""
        topics, schema = batch.column("topic"), converted_schema(batch.schema)
        value = _convert(self._value, batch.column("value"), topics)
        key, bad_headers = _nothing(batch.num_rows), dict[int, str]()
        headers = pa.nulls(batch.num_rows, schema.field("headers").type)
        if self._conversion.metadata is not None or self._transforms:
            key = _convert(self._key, batch.column("key"), topics)
            headers, bad_headers = converted_headers(batch.column("headers"), topics, self._header)
        nothing = pa.nulls(batch.num_rows, pa.int32())
        columns = {
            **{name: batch.column(name) for name in batch.schema.names},
            "key": pa.StructArray.from_arrays([key.texts, key.is_json], fields=list(TEXT_OR_JSON)),
            "value": _json(value),
            "headers": headers,
            "types": no_types(batch.num_rows) if value.types is None else value.types,
            "schema_id": nothing if value.schema_ids is None else value.schema_ids,
            "key_schema_id": nothing if key.schema_ids is None else key.schema_ids,
        }
        records = pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)
        bad_keys = {row: f"the key {reason}" for row, reason in key.bad.items()}
        bad_values = {row: f"the value {reason}" for row, reason in value.bad.items()}
        return _Batch(batch, records), bad_values, {**bad_headers, **bad_keys}

    def _changed(self, batch: pa.RecordBatch) -> tuple[_Batch, dict[int, str], dict[int, str]]:
        """The records converted and transformed; those that cannot be are left out of it already."""
        assert self._changing is not None  # noqa: S101 (who calls has looked)
        changed = self._changing.change(batch)
        read = _Batch(batch, batch)
        left = read.without(changed.unreadable, "convert")
        rows = [row for row in range(batch.num_rows) if row not in changed.unreadable]
        places = {row: place for place, row in enumerate(rows)}
        stays = {places[row] for row in changed.rows}
        refused = {places[row]: reason for row, reason in changed.refused.items()}
        dropped = frozenset(range(len(rows))) - stays - refused.keys()
        left = left.without(refused, "transform", dropped)
        records = changed.batch(batch)
        headers = unique(records.column("headers"))
        records = records.set_column(records.schema.get_field_index("headers"), "headers", headers)
        return replace(left, records=records), {}, {}

    def _ignored(self, records: pa.RecordBatch) -> frozenset[int]:
        """The rows of tombstones, where they become none."""
        if self._conversion.tombstones != "ignore":
            return frozenset()
        return frozenset(pc.indices_nonzero(pc.is_null(records.column("value"))).to_pylist())


def _joined(first: pa.Table, second: pa.Table) -> pa.Table:
    return pa.concat_tables([first, second]).unify_dictionaries().combine_chunks()


def _converter(spec: ConverterSpec, part: Part, types: SchemaTypes | None = None) -> Converter:
    made = CONVERTERS.get(spec.kind)
    return DecodingConverter(decoder(spec), types) if made is None else made(part, spec.options)


def arranged(conversion: Conversion) -> tuple[list[Step], list[tuple[str, Transform]]]:
    """Transforms in their order: those up to the last one that has to look into records, then those of columns.

    Raises:
        ValueError: a transform of columns that has no other form is among the first.
    """
    steps = [(each, None if each.kind in TRANSFORMS else step_of(each)) for each in conversion.transforms]
    is_plain = conversion.value_converter.kind == "json" and not any(
        step is not None and isinstance(step.transformation, OwnTransformation) for _, step in steps
    )
    columns: list[tuple[str, Transform]] = []
    while steps:
        spec, step = steps[-1]
        made = TRANSFORMS[spec.kind](spec.options) if step is None else columnar(step, is_plain_json=is_plain)
        if made is None:
            break
        columns.insert(0, (spec.name, made))
        steps.pop()
    if strange := [spec.name for spec, step in steps if step is None]:
        raise ValueError(f"{strange[0]} is a transform of columns, and one behind it looks into records")
    return [step for _, step in steps if step is not None], columns


def _convert(converter: Converter, column: pa.BinaryArray, topics: pa.DictionaryArray) -> ConvertedColumn:
    return _nothing(len(column)) if column.null_count == len(column) else converter.convert(column, topics)


def _nothing(count: int) -> ConvertedColumn:
    return ConvertedColumn(pa.nulls(count, pa.string()), pa.repeat(False, count))


def _json(value: ConvertedColumn) -> pa.StringArray:
    """Converted values as JSON documents."""
    if pc.all(value.is_json).as_py():
        return value.texts
    return pc.if_else(value.is_json, value.texts, quoted(value.texts))


def _transformed(batch: _Batch, name: str, transform: Transform) -> _Batch:
    """What a transform leaves of a batch, each record beside the same as it was read.

    Raises:
        BrokenTransform: it gave records twice, in another order, or of other columns than it got.
    """
    if not batch.read.num_rows:
        return batch
    numbers = pc.indices_nonzero(pa.repeat(True, batch.read.num_rows)).cast(pa.int64())
    given = pa.RecordBatch.from_arrays(
        [numbers, *batch.records.columns], schema=batch.records.schema.insert(0, pa.field(ROW, pa.int64()))
    )
    done = transform.transform(given)
    rows = done.records.column(ROW).to_pylist()
    if done.records.schema != given.schema or rows != sorted({*rows} & {*range(given.num_rows)}):
        raise BrokenTransform(f"the transform {name} gave records that are none of those it got, or in another order")
    stays = {row for row in rows if row not in done.bad}
    dropped = frozenset(range(given.num_rows)) - stays - done.bad.keys()
    bad = {row: f"the transform {name}: {reason}" for row, reason in done.bad.items()}
    left = batch.without(bad, "transform", dropped)
    kept = done.records.filter(pa.array([row in stays for row in rows], pa.bool_())).select(batch.records.schema.names)
    headers = unique(kept.column("headers"))
    return replace(left, records=kept.set_column(kept.schema.get_field_index("headers"), "headers", headers))
