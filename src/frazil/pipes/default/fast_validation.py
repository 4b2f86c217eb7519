"""The fast tier's check: a decoder compiled from the table's columns that accepts only what COPY reads exactly.

The decoder is strict: a JSON value must have the column's own JSON type and be in its range, and every key must be
known. It builds nothing that is kept; its whole result is which rows it refuses. Those go to
`frazil.pipes.default.exact_validation`, which gives the reason or writes the record anew.

Keys are learned from the records: a table's columns may be spelled in another case than the records' keys, and keys
without a column are counted. What was learned lasts as long as the task.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from msgspec import UNSET, Raw, UnsetType

from frazil.model import LONGEST, Column, Conversion, IcebergType, Primitive
from frazil.pipes.default.decoder import (
    NOTHING_YET,
    REFUSED,
    Dialect,
    Look,
    Undescribed,
    field,
    is_field_name,
    is_null,
    look,
    look_at_text,
    opened_becomes_variant,
    struct,
)
from frazil.pipes.default.drift import DriftWatch, members
from frazil.pipes.default.exact_json import DEEPEST, CoercionError, Object, parse
from frazil.pipes.default.projection import RESCUE_KEY, Projection, Reading
from frazil.pipes.types import VARIANT

_KEYS_LEARNED: Final = 500
"""Keys without a column that get a place in the decoder; records with others are counted one by one."""

_SPELLINGS_LEARNED: Final = 8
"""Spellings of one column's key that the statement reads, each anew; records with others are written anew."""

_STRING: Final = Primitive("string")
_LARGE: Final = min(LONGEST.values())
"""Bytes of a record that is too short for a value longer than all columns take."""


class FastValidation:
    """Finds among the records of one table those that the fast statement might misread."""

    def __init__(
        self,
        projection: Projection,
        conversion: Conversion,
        *,
        keeps_unknown: bool = False,
        drops_unknown: bool = True,
    ) -> None:
        """Validate for the table of `projection`.

        Args:
            projection: which keys go to which columns.
            conversion: the rules as the connector has configured them.
            keeps_unknown: whether new keys may become columns and so need usable names.
            drops_unknown: whether records land without the values of keys that have no column.
        """
        self._payload = projection.payload()
        self._projection = projection
        self._keeps_unknown = keeps_unknown
        self._drops_unknown = drops_unknown
        self.has_new_keys = False
        """Whether a record was refused that has keys which may become columns, since this was last set to false."""

        self._dialect = Dialect(conversion)
        self._opens_texts = conversion.validation == "client_side"
        self._quick = True
        self._defaults = frozenset(column.name for column in self._payload if column.default is not None)
        self._takes_tombstones = not self._defaults and not any(column.required for column in self._payload)
        self.reading = Reading()
        """How the columns' keys were spelled so far, and which text columns had objects or arrays."""

        self._unknown: dict[str, str] = {}
        """Keys without a column, and their places in the decoder."""

        self._untyped: dict[str, str] = {}
        """Keys without a column that do not tell a type yet, and their places."""

        self._watch: DriftWatch | None = None
        self._is_behind = False
        """Whether the decoder does not know yet what was last seen of new keys."""

        self._compile()

    def refused(
        self, values: Iterable[bytes | None], unknown: Counter[str], watch: DriftWatch | None = None
    ) -> list[int]:
        """The rows that only exact validation can decide about; counts keys without a column into `unknown`.

        Args:
            values: JSON texts; None for a tombstone.
            unknown: how many of the accepted records have each key that has no column.
            watch: gets to see records with new keys, unless the same was seen before.
        """
        if watch is not None:
            self._watch = watch
            self._compile()
        try:
            return self._refused(values, unknown)
        finally:
            if watch is not None:
                self._watch = None
                self._compile()  # for now, records with new keys are to be refused again

    @property
    def has_untyped_keys(self) -> bool:
        """Whether records were accepted whose new keys did not tell a type; others may tell it."""
        return bool(self._untyped)

    def counted(self, text: str) -> list[str]:
        """The keys without a column that were counted of a record that was accepted."""
        found = {key: raw for key, raw in members(text).items() if self._projection.column_for(key) is None}
        if not self._keeps_unknown:
            return [*found]
        return [key for key, raw in found.items() if self._projection.is_settled(key) or bytes(raw) != b"null"]

    def learn_rescued(self) -> bool:
        """From now on read what is rescued: rows that were written anew have it. Whether that is new."""
        column = self._projection.rescued
        if column is None or column.name in self.reading.spellings:
            return False
        self.reading = replace(self.reading, spellings={**self.reading.spellings, column.name: (RESCUE_KEY,)})
        self._compile()
        return True

    def look_closely(self) -> None:
        """From now on accept times in the exact forms only: some are in others, which COPY would refuse."""
        if self._quick:
            self._quick = False
            self._compile()

    def _refused(self, values: Iterable[bytes | None], unknown: Counter[str]) -> list[int]:
        if not self._defaults:
            return self._pass(values, unknown)
        texts = list(values)
        while True:
            # A record without the key of a default is fine as long as no record has the key: then they all get it.
            before = self._defaults & self.reading.spellings.keys()
            counted = unknown.copy()
            rows = self._pass(texts, counted)
            if self._defaults & self.reading.spellings.keys() == before:
                unknown.update(counted - unknown)
                return rows

    def _pass(self, values: Iterable[bytes | None], unknown: Counter[str]) -> list[int]:
        rows: list[int] = []
        for row, value in enumerate(values):
            if value is None:
                if not self._takes_tombstones:
                    rows.append(row)
                continue
            try:
                decoded = self._decode(value)
            except REFUSED:
                decoded = self._after_learning(row, value)
            if decoded is None or (
                len(value) > SHALLOW and (is_too_deep(value) or (len(value) > _LARGE and self._has_long(value)))
            ):
                rows.append(row)
                continue
            for place, fits in self._looks:
                if not fits(getattr(decoded, place)):
                    rows.append(row)
                    break
            else:
                if self._needed and self._lacks_needed(decoded):
                    rows.append(row)
                elif self._unknown or self._untyped:
                    self._count(decoded, unknown)
        return rows

    def _has_long(self, value: bytes) -> bool:
        """Whether a record has a text or bytes that may be longer than a column without a length takes."""
        return len(value) > _LARGE and any(
            len(bytes(raw)) > _LARGE and str(column.type) in LONGEST
            for key, raw in members(value).items()
            if (column := self._projection.column_for(key))
        )

    def _count(self, decoded: Any, unknown: Counter[str]) -> None:
        unknown.update(key for key, place in self._unknown.items() if getattr(decoded, place) is not UNSET)
        unknown.update(key for key, place in self._untyped.items() if getattr(decoded, place) == [])

    def _lacks_needed(self, decoded: Any) -> bool:
        return any(all(is_null(getattr(decoded, place)) for place in places) for places in self._needed)

    def _after_learning(self, row: int, value: bytes) -> Any:
        """Learn from a refused record and try again; None if it is still refused."""
        try:
            found = members(value)
        except REFUSED:
            self._learn_exactly(row, value)
            return None
        self._note_new(key for key, raw in found.items() if not _says_nothing(raw))
        learned = self._learn(found) | self._learn_documents(found) | self._learn_untyped(found)
        if self._catches_up(row, value, found) | learned:
            self._compile()
        try:
            return self._decode(value)
        except REFUSED:
            return None

    def _learn_exactly(self, row: int, value: bytes) -> None:
        """Learn the columns' keys from a record that only exact validation can read: it may land."""
        try:
            parsed = parse(value.decode())
        except (CoercionError, RecursionError):
            return
        if isinstance(parsed, Object):
            keys = [key for key, _ in parsed]
            self._note_new(key for key, member in parsed if member is not None)
            if self._catches_up(row, value, keys) | self._learn(filter(self._projection.column_for, keys)):
                self._compile()

    def _catches_up(self, row: int, value: bytes, keys: Iterable[str]) -> bool:
        """Whether the decoder is to learn new keys seen so far; not while each record brings one, as each may."""
        if self._watch is None or all(map(self._projection.is_settled, keys)):
            return False
        if self._watch.look(row, value):
            self._is_behind = True
            return False
        return self._is_behind

    def _note_new(self, keys: Iterable[str]) -> None:
        if self._keeps_unknown and not self.has_new_keys:
            self.has_new_keys = not all(map(self._projection.is_settled, keys))

    def _learn(self, keys: Iterable[str]) -> bool:
        learned = False
        spellings = dict(self.reading.spellings)
        for key in keys:
            column = self._projection.column_for(key)
            if column is not None:
                known = spellings.get(column.name, ())
                if key not in known and len(known) < _SPELLINGS_LEARNED:
                    spellings[column.name] = (*known, key)
                    learned = True
            elif key not in self._unknown and len(self._unknown) < _KEYS_LEARNED and self._may_learn(key):
                self._unknown[key] = f"unknown_{len(self._unknown)}"
                learned = True
        if learned:
            self.reading = replace(self.reading, spellings=spellings)
        return learned

    def _learn_untyped(self, found: Mapping[str, Raw]) -> bool:
        """Learn keys without a column whose values do not tell a type: others of theirs are to be refused again."""
        if not self._keeps_unknown:
            return False
        room = max(0, _KEYS_LEARNED - len(self._untyped))
        new = [key for key, raw in found.items() if _says_nothing(raw) and self._may_wait(key)][:room]
        self._untyped |= {key: f"untyped_{len(self._untyped) + number}" for number, key in enumerate(new)}
        return bool(new)

    def _may_wait(self, key: str) -> bool:
        return key not in self._untyped and is_field_name(key) and not self._projection.is_settled(key)

    def _learn_documents(self, found: Mapping[str, Raw]) -> bool:
        """Learn which text columns get objects and arrays, whose JSON text they hold."""
        documents = self.reading.documents.union(
            column.name
            for key, raw in found.items()
            if (column := self._projection.column_for(key))
            and column.type == _STRING
            and bytes(raw)[:1] in (b"{", b"[")
        )
        if documents == self.reading.documents:
            return False
        self.reading = replace(self.reading, documents=documents)
        return True

    def _may_learn(self, key: str) -> bool:
        if not is_field_name(key):
            return False
        if self._keeps_unknown:
            return self._projection.is_settled(key) and self._projection.can_name_column(key)
        return self._drops_unknown

    def _compile(self) -> None:
        fields: list[Any] = []
        renamed: dict[str, str] = {}
        self._looks: list[tuple[str, Look]] = []
        """What is left to look at once a record is decoded, by place."""

        self._needed: list[tuple[str, ...]] = []
        """Places of the decoder of which one must have a value, for each required column it cannot require itself.

        Without any place all records are refused: of a default whose key it cannot name, each may lack the key."""

        for number, column in enumerate(self._payload):
            spellings = self.reading.spellings.get(column.name, ())
            places = {f"column_{number}_{which}": key for which, key in enumerate(spellings) if is_field_name(key)}
            fields.extend(self._fields(column, tuple(places), certain=len(spellings) == len(places) == 1))
            renamed |= places
        for key, place in self._unknown.items():
            renamed[place] = key
            fields.append((place, Raw, UNSET))
        watched = self._watch.decoded() if self._watch else {}
        for key, place in self._untyped.items():
            renamed[place] = key
            known = self._watch is None or key in self._watch.found
            fields.append((place, watched.pop(key, NOTHING_YET if known else None) | UnsetType, UNSET))
        for number, (key, kind) in enumerate(watched.items()):
            renamed[f"new_{number}"] = key
            fields.append((f"new_{number}", kind | UnsetType, UNSET))
        self._is_behind = False
        self._decode = self._dialect.decoder(struct("Record", fields, renamed))

    def _look(self, kind: IcebergType) -> Look | None:
        """What is left to look at in a column's decoded value."""
        is_opened = self._opens_texts and kind == VARIANT
        return opened_becomes_variant if is_opened else look(kind, required=False)

    def _fields(self, column: Column, places: tuple[str, ...], *, certain: bool) -> list[Any]:
        """The decoder's fields for a column; `certain` when it has one spelling and so one place."""
        document = column.name in self.reading.documents
        if column is self._projection.rescued:
            return [field(place, Undescribed, required=False, present=False) for place in places]
        kind = Raw if document else self._dialect.column(column.type, quick=self._quick)
        found = look_at_text if document else self._look(column.type)
        if column.length is not None:
            kind, found = Undescribed if document else self._dialect.limited(column.type, column.length), None
        if found:
            self._looks.extend((place, found) for place in places)
        required = column.required and certain and kind is not Raw
        unseen = column.default is not None and not places and column.name in self.reading.spellings
        if unseen or (column.required and not required and (places or column.default is None)):
            self._needed.append(places)
        # A record that lacks a key with a default is written anew, with the default.
        return [field(place, kind, required=required, present=column.default is not None) for place in places]


def _says_nothing(raw: Raw) -> bool:
    """Whether a value is one of those that `NOTHING_YET` takes; other spellings of them go to the exact tier."""
    return bytes(raw) in (b"null", b"[]")


SHALLOW: Final = 2 * DEEPEST
"""Bytes of a record that is too short for more levels than `DEEPEST`."""

_BRACKETS: Final = bytes.maketrans(b"{}", b"[]")
_OTHERS: Final = bytes(set(range(256)) - set(b'[]{}"'))
_STRINGS: Final = re.compile(rb'"[^"]*"')


def is_too_deep(data: bytes) -> bool:
    """Whether a record is nested deeper than exact validation allows: the decoder does not count levels."""
    if data.count(b"[") + data.count(b"{") <= DEEPEST:
        return False
    # Only what is done to the whole text at once is quick enough for one of many megabytes.
    left = data.replace(rb"\\", b"").replace(rb"\"", b"").translate(_BRACKETS, _OTHERS).replace(b'""', b"")
    left = _STRINGS.sub(b"", left)
    for _ in range(DEEPEST + 1):  # the record itself is level 0
        left = left.replace(b"[]", b"")  # the innermost level
    return bool(left)
