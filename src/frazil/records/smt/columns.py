"""Transforms that need not look into each record: they change whole columns, which is many times faster.

Those that read no value work whatever the converters are. InsertField and ReplaceField work on values that are JSON
without a schema, one level deep: what stands in a field stays as it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from frazil.records.batches import TOPIC
from frazil.records.connect.data import Record, SchemaAndValue
from frazil.records.smt.chain import Step
from frazil.records.smt.headers import DropHeaders
from frazil.records.smt.insert_field import InsertField
from frazil.records.smt.predicates import HasHeaderKey, Predicate, RecordIsTombstone, TopicNameMatches
from frazil.records.smt.refusal import CannotTransform
from frazil.records.smt.replace_field import ReplaceField
from frazil.records.smt.routers import Filter, RegexRouter, TimestampRouter
from frazil.records.transforms import ROW, Transform, Transformed

_MEMBERS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ENCODER: Final = msgspec.json.Encoder(enc_hook=int)
"""All that is inserted besides texts is a number."""

_BLANKS: Final = " \t\r\n"


def columnar(step: Step, *, is_plain_json: bool) -> Transform | None:
    """The same transform on columns; None if there is none.

    Args:
        step: the transform, and which records it is for.
        is_plain_json: whether values are JSON without a schema when they get to it.
    """
    made = _made(step, is_plain_json=is_plain_json)
    if made is None or step.predicate is None:
        return made
    chooses = _chooser(step.predicate)
    return None if chooses is None else _Where(chooses, step.negated, made)


def _made(step: Step, *, is_plain_json: bool) -> Transform | None:
    match step.transformation:
        case RegexRouter() as router:
            return _Routed(router)
        case TimestampRouter() as router:
            return _RoutedByTime(router)
        case DropHeaders() as drop:
            return _WithoutHeaders(drop.names)
        case Filter():
            return _Dropped()
        case InsertField() as insert if is_plain_json and insert.part == "value" and insert.names_differ:
            return _Inserted(insert)
        case ReplaceField() as replace if is_plain_json and replace.part == "value":
            return _Replaced(replace)
        case _:
            return None


@dataclass(frozen=True, slots=True)
class _Routed:
    """RegexRouter: a batch has few topics, and each is looked at once."""

    router: RegexRouter

    def transform(self, records: pa.RecordBatch) -> Transformed:
        topics = records.column("topic")
        names = pa.array([self.router.topic(name) for name in topics.dictionary.to_pylist()], pa.string())
        return Transformed(_with(records, "topic", names.take(topics.indices).dictionary_encode().cast(TOPIC)))


@dataclass(frozen=True, slots=True)
class _RoutedByTime:
    """TimestampRouter."""

    router: TimestampRouter

    def transform(self, records: pa.RecordBatch) -> Transformed:
        bad: dict[int, str] = {}
        topics: list[str] = []
        for row, topic, timestamp in zip(
            *(records.column(name).to_pylist() for name in (ROW, "topic", "timestamp")), strict=True
        ):
            try:
                topics.append(self.router.routed(topic, timestamp))
            except CannotTransform as error:
                bad[row] = str(error)
                topics.append(topic)
        return Transformed(_with(records, "topic", pa.array(topics, pa.string()).dictionary_encode().cast(TOPIC)), bad)


@dataclass(frozen=True, slots=True)
class _WithoutHeaders:
    """DropHeaders."""

    names: frozenset[str]

    def transform(self, records: pa.RecordBatch) -> Transformed:
        headers = records.column("headers")
        if headers.null_count == len(headers) or not pc.any(_has(headers, self.names)).as_py():
            return Transformed(records)
        kept = [
            None if cell is None else [each for each in cell if each[0] not in self.names]
            for cell in headers.to_pylist()
        ]
        return Transformed(_with(records, "headers", pa.array(kept, headers.type)))


@dataclass(frozen=True, slots=True)
class _Dropped:
    """Filter."""

    def transform(self, records: pa.RecordBatch) -> Transformed:
        return Transformed(records.slice(0, 0))


@dataclass(frozen=True, slots=True)
class _Inserted:
    """InsertField on values: what is inserted is written behind the last member of the object.

    A value that may have a field of that name already, spelled in whatever way, is looked into.
    """

    insert: InsertField

    def transform(self, records: pa.RecordBatch) -> Transformed:
        values = records.column("value")
        trimmed = pc.utf8_trim(values, _BLANKS)
        there = pc.invert(_is_none(values))
        is_object = pc.and_(pc.starts_with(trimmed, "{"), pc.ends_with(trimmed, "}"))
        may_have = pc.match_substring(values, "\\u")
        for _, name in self.insert.options:
            may_have = pc.or_(may_have, pc.match_substring(values, _text(name)))
        is_quick = pc.fill_null(pc.and_not(is_object, may_have), pa.scalar(False))
        inside = pc.utf8_slice_codeunits(trimmed, 1, -1)
        is_empty = pc.equal(pc.utf8_trim(inside, _BLANKS), "")
        comma = pc.if_else(is_empty, "", ",")
        members = self._members(records)
        nothing = pc.equal(members, "")
        quick = pc.if_else(
            nothing,
            values,
            pc.binary_join_element_wise("{", inside, comma, members, "}", "", null_handling="emit_null"),
        )
        done = pc.if_else(is_quick, quick, values)
        slow = pc.indices_nonzero(pc.and_not(there, is_quick)).to_pylist()
        return self._slow(records, done, slow) if slow else Transformed(_with(records, "value", done))

    def _members(self, records: pa.RecordBatch) -> pa.StringArray:
        """What is inserted into each record, as JSON without the braces."""
        found = []
        for option, name in self.insert.options:
            text = _written(option, records, self.insert)
            found.append(pc.binary_join_element_wise(_text(name) + ":", text, "", null_handling="emit_null"))
        return pc.binary_join_element_wise(*found, ",", null_handling="skip")

    def _slow(self, records: pa.RecordBatch, done: pa.StringArray, rows: list[int]) -> Transformed:
        values: list[str | None] = done.to_pylist()
        numbers = records.column(ROW)
        bad: dict[int, str] = {}
        names = ("topic", "partition", "offset", "timestamp")
        for row in rows:
            try:
                before = _members_of(values[row])
                topic, partition, offset, timestamp = (records.column(name)[row].as_py() for name in names)
                record = Record(topic, partition, offset, timestamp, _NOTHING, SchemaAndValue(None, before))
                values[row] = _encoded(self.insert.apply(record).value.value)
            except CannotTransform as error:
                bad[numbers[row].as_py()] = str(error)
        return Transformed(_with(records, "value", pa.array(values, pa.string())), bad)


@dataclass(frozen=True, slots=True)
class _Replaced:
    """ReplaceField on values."""

    replace: ReplaceField

    def transform(self, records: pa.RecordBatch) -> Transformed:
        bad: dict[int, str] = {}
        done: list[str | None] = []
        for row, value in zip(records.column(ROW).to_pylist(), records.column("value").to_pylist(), strict=True):
            if value is None or value.strip(_BLANKS) == "null":
                done.append(value)
                continue
            try:
                done.append(_encoded(self.replace.replaced(_members_of(value))))
            except CannotTransform as error:
                bad[row] = str(error)
                done.append(value)
        return Transformed(_with(records, "value", pa.array(done, pa.string())), bad)


@dataclass(frozen=True, slots=True)
class _Where:
    """A transform of some records only."""

    chooses: Callable[[pa.RecordBatch], pa.BooleanArray]
    negated: bool
    inner: Transform

    def transform(self, records: pa.RecordBatch) -> Transformed:
        chosen = self.chooses(records)
        if self.negated:
            chosen = pc.invert(chosen)
        if not pc.any(chosen).as_py():
            return Transformed(records)
        if pc.all(chosen).as_py():
            return self.inner.transform(records)
        done = self.inner.transform(records.filter(chosen))
        both = pa.Table.from_batches([records.filter(pc.invert(chosen)), done.records]).unify_dictionaries()
        (merged,) = both.sort_by(ROW).combine_chunks().to_batches() or [records.slice(0, 0)]
        return Transformed(merged, done.bad)


def _chooser(predicate: Predicate) -> Callable[[pa.RecordBatch], pa.BooleanArray] | None:
    match predicate:
        case TopicNameMatches(pattern=pattern):

            def by_topic(records: pa.RecordBatch) -> pa.BooleanArray:
                topics = records.column("topic")
                found = [pattern.fullmatch(name) is not None for name in topics.dictionary.to_pylist()]
                return pa.array(found, pa.bool_()).take(topics.indices)

            return by_topic
        case RecordIsTombstone():
            return lambda records: _is_none(records.column("value"))
        case HasHeaderKey(name=name):
            return lambda records: _has(records.column("headers"), frozenset((name,)))
        case _:
            return None


def _has(headers: pa.MapArray, names: frozenset[str]) -> pa.BooleanArray:
    """Whether records have a header of one of the names."""
    lists = pa.ListArray.from_arrays(headers.offsets, headers.keys)
    flat, parents = pc.list_flatten(lists), pc.list_parent_indices(lists)
    rows = {*parents.filter(pc.is_in(flat, pa.array(sorted(names), pa.string()))).to_pylist()}
    return pa.array([row in rows for row in range(len(headers))], pa.bool_())


def _is_none(values: pa.StringArray) -> pa.BooleanArray:
    """Which values are null, be it as JSON."""
    return pc.fill_null(pc.equal(pc.utf8_trim(values, _BLANKS), "null"), pa.scalar(True))


def _with(records: pa.RecordBatch, name: str, column: pa.Array) -> pa.RecordBatch:
    return records.set_column(records.schema.get_field_index(name), records.schema.field(name), column)


def _written(option: str, records: pa.RecordBatch, insert: InsertField) -> Any:
    """What an option inserts, as JSON; null for nothing."""
    match option:
        case "topic.field":
            topics = records.column("topic")
            names = pa.array([_text(name) for name in topics.dictionary.to_pylist()], pa.string())
            return names.take(topics.indices)
        case "static.field":
            return pa.repeat(_text(insert.static), records.num_rows)
        case _:
            column = records.column(option.removesuffix(".field"))
            if pa.types.is_string(column.type):
                return pa.array([None if each is None else _text(each) for each in column.to_pylist()], pa.string())
            return column.cast(pa.string())


def _text(value: str | None) -> str:
    return orjson.dumps(value).decode()


def _members_of(value: str | None) -> dict[str, msgspec.Raw]:
    text = "" if value is None else value
    try:
        return _MEMBERS.decode(text)
    except msgspec.ValidationError as error:
        raise CannotTransform("without a schema it takes maps only, and the value is none") from error
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise CannotTransform(f"the value is not valid JSON: {error}") from error


def _encoded(members: Mapping[str, Any]) -> str:
    return _ENCODER.encode(members).decode()


_NOTHING: Final = SchemaAndValue(None, None)
