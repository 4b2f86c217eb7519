"""What a task learns of keys that have no column: from schemas, or else from the shapes of values.

Records whose new keys look like those before them are nothing new: the decoder of the fast tier accepts them, by the
types that `_like` gives it. Only the others are looked at here, and of those that share a schema the first that lands.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Final, TypeAlias, Union

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from frazil.model import (
    NOTHING_OBSERVED,
    Column,
    Conversion,
    Drift,
    ObservedType,
    OrderedPlace,
    SchemaChange,
    TableRules,
)
from frazil.pipes.changes import changed, together
from frazil.pipes.default.coercion import Coercion
from frazil.pipes.default.decoder import LONG, is_field_name, struct
from frazil.pipes.default.exact_json import CoercionError, Object, parse
from frazil.pipes.default.exact_validation import ExactValidation
from frazil.pipes.default.growth import Growth
from frazil.pipes.default.observation import LEVELS, seen_in
from frazil.pipes.default.projection import Projection
from frazil.pipes.evolution import columns_for, is_typed, unambiguous
from frazil.records.connect.declared import shallow
from frazil.records.new_keys import NewKeys
from frazil.records.rejects import RejectReason

_MEMBERS: Final = msgspec.json.Decoder(dict[str, Raw])

Types: TypeAlias = Mapping[str, ObservedType]
"""What the keys of a record are by its schema; none without one."""


class DriftWatch:
    """Collects the new keys of the records of one chunk, which come in the order of where they lie."""

    def __init__(
        self,
        projection: Projection,
        conversion: Conversion,
        column_budget: int,
        position: Callable[[int], OrderedPlace],
        types: Callable[[int], Types],
        rules: TableRules = TableRules(),  # noqa: B008 (frozen)
        *,
        evolves: bool = True,
    ) -> None:
        """Watch the records that go to one table.

        Args:
            projection: the table's columns.
            conversion: how values become those of columns.
            column_budget: how many columns it may get.
            position: tells where the record of a row of the chunk lies.
            types: tells what its keys are by its schema.
            rules: what becomes of other values.
            evolves: whether it may get columns and fields at all; its types may become wider even so.
        """
        self.found = NewKeys(column_budget)
        """The new keys of records that land if these get columns."""

        self.change = SchemaChange()
        """What columns that are there have to become for these records."""

        self.rows: Sequence[int] | None = None
        """The rows of the chunk that are looked at, where not all are, in this order."""

        self.rejected: dict[int, RejectReason] = {}
        """Why rows with new keys would not even then; where no key is found, those are all the rows with new keys."""

        self._projection = projection
        self._conversion = conversion
        self._position = position
        self._types = types
        self._rules = rules
        self._evolves = evolves
        self._levels = LEVELS if conversion.nested_type == "struct" else 0

    def look_at_schemas(self, records: Iterable[tuple[int, str, bytes | None]]) -> None:
        """Look at the first record of each schema that lands, whatever its values are.

        Args:
            records: row of the chunk, what tells its schema from the others, and value, in the order of where they lie.
        """
        known: set[str] = set()
        for row, schema, value in records:
            if schema not in known and value is not None:
                self._look(row, value)
                if row not in self.rejected:
                    known.add(schema)

    def look(self, number: int, value: bytes) -> bool:
        """Whether the record of that number among `rows` has something new."""
        return self._look(number if self.rows is None else self.rows[number], value)

    def _look(self, row: int, value: bytes) -> bool:
        text, types = value.decode(), self._types(row)
        seen = self._seen(text, types, self._position(row)) if self._evolves else {}
        if not self.found.would_learn(seen) and not self._widens(types):
            return False
        asked = growth(text, types, self._projection, self._conversion, self._rules, grows=self._evolves)
        if reason := self._unfit_even_then(text, seen, asked):
            self.rejected[row] = reason
        else:
            self.found.note_all(seen)
            self.change = together([self.change, asked])
        return True

    def _seen(self, text: str, types: Types, at: OrderedPlace) -> Drift:
        """What the keys are that have no column: what the schema says, or else what the values look like."""
        found = seen_in(text, self._passes_over(), deep=self._levels > 0, at=at)
        new = {key: each for key, each in types.items() if not self._projection.is_settled(key)}
        by_schema = new if self._levels else dict(shallow(new))
        return {
            **found,
            **{key: replace(each, first=at) for key, each in by_schema.items()},
        }

    def _passes_over(self) -> Callable[[str], bool]:
        """Whether to pass over a key of one record.

        A record may have 100,000 new keys: only those that can still become columns are looked at, and one more, which
        shows that there is no room for it.
        """
        left = self.found.room + 1

        def passes_over(key: str) -> bool:
            nonlocal left
            if key in self.found:
                return False
            if left == 0 or self._projection.is_settled(key):
                return True
            left -= 1
            return False

        return passes_over

    def _widens(self, types: Types) -> bool:
        """Whether a schema asks for more of columns that are there than is known already."""
        asked = growth_by_types(types, self._projection, self._conversion, self._rules, grows=self._evolves)
        return together([self.change, asked]) != self.change

    def decoded(self) -> dict[str, Any]:
        """The keys the fast tier's decoder may accept, and as what: values with nothing new."""
        return {
            key: _like(seen, self._levels)
            for key, seen in self.found.items()
            if is_field_name(key) and self._is_typed(seen)
        }

    @property
    def drift(self) -> Drift:
        """What was found, if there is a key among it that gets a column."""
        return dict(self.found) if any(map(self._is_typed, self.found.values())) else {}

    def _is_typed(self, seen: ObservedType) -> bool:
        return is_typed(seen, self._conversion.nested_type)

    def _unfit_even_then(self, text: str, seen: Drift, asked: SchemaChange) -> RejectReason | None:
        """Why a record is no row even of a table with the columns its own keys would be given; None if it is one.

        Other records may make a column wider, so that a record fits that does not by itself: then its keys are found
        when it is staged for that column.
        """
        keys, kinds = self._projection, columns_for(seen, self._conversion.nested_type, self._projection.name_for)
        added = (Column(0, name, kind) for name, kind in unambiguous(kinds, keys.columns).items())
        evolved = replace(keys, columns=(*changed(keys.columns, asked), *added))
        exact = ExactValidation(evolved, self._conversion, keeps_unknown=self._evolves, rules=self._rules)
        return exact.diagnose(text)


def growth(
    text: str | None, types: Types, projection: Projection, conversion: Conversion, rules: TableRules, *, grows: bool
) -> SchemaChange:
    """What a record asks of the columns that are there; nothing where it is no JSON object.

    Args:
        text: the record's value; None for a tombstone.
        types: what its keys are by its schema.
        projection: the columns.
        conversion: how values become those of columns.
        rules: whether types may become wider.
        grows: whether structs may get fields.
    """
    try:
        parsed = None if text is None else parse(text)
    except (CoercionError, RecursionError):
        return SchemaChange()
    if parsed is not None and not isinstance(parsed, Object):
        return SchemaChange()
    return _growth(projection, conversion, rules, grows=grows).asked_by(parsed, types)


def growth_by_types(
    types: Types, projection: Projection, conversion: Conversion, rules: TableRules, *, grows: bool
) -> SchemaChange:
    """What a schema asks of the columns that are there, whatever its values are; see `growth`."""
    return _growth(projection, conversion, rules, grows=grows).asked_by_types(types)


def _growth(projection: Projection, conversion: Conversion, rules: TableRules, *, grows: bool) -> Growth:
    return Growth(projection, Coercion(conversion), grows=grows, widens=rules.types == "evolve")


def members(value: bytes | str) -> Mapping[str, Raw]:
    """The members of a JSON object, unparsed; of a key given twice the last.

    Raises:
        msgspec.DecodeError: the text is not a JSON object.
    """
    found: Mapping[str, Raw] = _MEMBERS.decode(value)
    return found


_LIKE: Final[dict[str, Any]] = {
    "boolean": bool,
    **dict.fromkeys(("int", "long"), LONG),
    **dict.fromkeys(("string", "date", "time", "timestamp", "timestamptz", "binary"), str),
}
_NO_INTEGER: Final = Annotated[int, Meta(ge=1, le=0)]
"""Without it, the decoder takes whole numbers for fractions."""


def _like(seen: ObservedType, levels: int) -> Any:
    """What the decoder accepts as values that look like what was seen; `levels` as they were looked into."""
    kinds = [None, *(_LIKE[kind] for kind in sorted(seen.scalars) if kind in _LIKE)]
    if "double" in seen.scalars or "float" in seen.scalars:
        kinds += [float] if LONG in kinds else [float, _NO_INTEGER]
    elif any(kind.startswith("decimal") for kind in seen.scalars):
        kinds.append(float)
    if seen.entries is not None:
        kinds += _map_like(seen.entries, levels)
    if seen.element is not None:
        kinds.append(_list_like(seen.element, levels))
    if seen.fields is not None:
        kinds.append(_object_like(dict(seen.fields), levels - 1) if levels else _AnyObject)
    return Union[tuple(kinds)]  # noqa: UP007 (as many as there are)


def _map_like(entries: tuple[ObservedType, ObservedType], levels: int) -> list[Any]:
    keys, values = entries
    if keys.scalars == {"string"}:
        return [types.GenericAlias(dict, (str, _like(values, levels - 1)))]
    return [list[Raw]]


def _list_like(element: ObservedType, levels: int) -> Any:
    if levels:
        return types.GenericAlias(list, _like(element, levels - 1))
    # One with elements tells more than those that were empty.
    return list[Raw] if element != NOTHING_OBSERVED else Annotated[list[Raw], Meta(max_length=0)]


class _AnyObject(msgspec.Struct):
    pass


def _object_like(fields: Mapping[str, ObservedType], levels: int) -> Any:
    named = {f"field_{number}": key for number, key in enumerate(fields) if is_field_name(key)}
    kinds = [(place, _like(fields[key], levels) | UnsetType, UNSET) for place, key in named.items()]
    return struct("Object", kinds, named)
