"""What Kafka Connect takes a text for that stands for a value: its `Values.parseString`.

Null, booleans, numbers, dates, times, timestamps, and arrays and maps of these and of texts in quotes; anything else is
the text itself. A text is cut into tokens at the marks `: , { } [ ] "` that no backslash escapes. As in Connect, what
follows a number, an array or a map is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from frazil.records.connect.data import DECIMAL, SCALE, Moment, Schema, SchemaAndValue, Type
from frazil.records.smt.common_types import Common, NothingInCommon, TypedMap, aligned, bare
from frazil.records.smt.date_format import DateFormat
from frazil.records.smt.java_text import decimal, floating
from frazil.records.smt.kinds import BITS, INTEGERS, Float32, wrapped
from frazil.records.smt.schemas import DATE_SCHEMA, STRING, TIME_SCHEMA, TIMESTAMP_SCHEMA
from frazil.records.text import java_trim

_TOKEN: Final = re.compile(r'[:,{}\[\]"]|(?:\\.|[^\\:,{}\[\]"]|\\\Z)+', re.DOTALL)
_TIME: Final = "HH:mm:ss.SSS'Z'"
_TEMPORAL: Final = {
    10: (DATE_SCHEMA, DateFormat.read("yyyy-MM-dd")),
    13: (TIME_SCHEMA, DateFormat.read(_TIME)),
    24: (TIMESTAMP_SCHEMA, DateFormat.read(f"yyyy-MM-dd'T'{_TIME}")),
}
"""By the length of the text."""

_TOKENS_OF_A_TIME: Final = 5
_BEYOND_LONG: Final = Decimal("1e19")
_NULL: Final = SchemaAndValue(None, None)
_BOOLEANS: Final = {
    "true": SchemaAndValue(Schema(Type.BOOLEAN), True),
    "false": SchemaAndValue(Schema(Type.BOOLEAN), False),
}


class _NoCollection(ValueError):
    """A text that begins like an array or a map is none."""


def literal(text: str) -> SchemaAndValue:
    """The value that a text stands for; dates are in UTC.

    Raises:
        ValueError: it is nested too deep.
    """
    if not text:
        return SchemaAndValue(STRING, text)
    try:
        found = _Reading(text).value(embedded=False)
    except RecursionError as error:
        raise ValueError("is nested too deep. Take out some of its brackets.") from error
    return found if found.schema is None else SchemaAndValue(found.schema, bare(found.schema, found.value))


class _Reading:
    """A text's tokens, and how far they were read."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[str] = _TOKEN.findall(text)
        self._at = 0

    def value(self, *, embedded: bool) -> SchemaAndValue:
        """The next value; `embedded` is one within an array or a map."""
        if not self._is_more():
            return _NULL
        if embedded and self._takes('"'):
            return self._quoted()
        for word, found in {"null": _NULL, **_BOOLEANS}.items():
            if self._takes_word(word, embedded=embedded):
                return found
        start = self._at
        try:
            if self._takes("["):
                return self._array()
            if self._takes("{"):
                return self._map()
        except (_NoCollection, NothingInCommon):
            self._at = start
        token = self._next()
        trimmed = java_trim(token)
        return self._scalar(trimmed, embedded=embedded) if trimmed else SchemaAndValue(STRING, token)

    def _scalar(self, token: str, *, embedded: bool) -> SchemaAndValue:
        is_digit = token[0].isdecimal() and token[0] <= "\uffff"
        found = self._moment(token) if is_digit else None
        if found is None and (is_digit or token[0] in "+-"):
            found = _number(token)
        if found is not None:
            return found
        if embedded:
            raise _NoCollection(f"{token!r} is no value")
        return SchemaAndValue(STRING, self._text)

    def _moment(self, token: str) -> SchemaAndValue | None:
        """A date, or what its colons have cut into several tokens."""
        following = self._tokens[self._at : self._at + _TOKENS_OF_A_TIME - 1]
        if len(following) == _TOKENS_OF_A_TIME - 1:
            found = _temporal(f"{token}{''.join(following)}")
            if found is not None:
                self._at += len(following)
                return found
        return _temporal(token)

    def _quoted(self) -> SchemaAndValue:
        pieces = []
        while self._is_more() and not self._takes('"'):
            pieces.append(self._next())
        content = "".join(pieces)
        return _temporal(content) or SchemaAndValue(STRING, content)

    def _array(self) -> SchemaAndValue:
        elements: list[Any] = []
        common = Common()
        while self._is_more():
            if self._takes("]"):
                schema = Schema(Type.ARRAY, value=common.schema)
                done = elements if common.schema is None else [aligned(common.schema, each) for each in elements]
                return SchemaAndValue(schema, done)
            if self._takes(","):
                raise _NoCollection("an element is missing")
            element = self.value(embedded=True)
            common.add(element.schema)
            elements.append(element.value)
            before = self._at
            if self._takes("]"):
                self._at = before
            elif not self._takes(","):
                raise _NoCollection("a comma is missing")
        raise _NoCollection("the end of an array is missing")

    def _map(self) -> SchemaAndValue:
        entries = TypedMap()
        keys, values = Common(), Common()
        while self._is_more():
            if self._takes("}"):
                return _aligned_map(entries, keys.schema, values.schema)
            if self._takes(","):
                raise _NoCollection("an entry is missing")
            key = self.value(embedded=True)
            if key.value is None:
                raise _NoCollection("a key is null")
            if not self._takes(":"):
                raise _NoCollection("a colon is missing")
            value = self.value(embedded=True)
            entries.put(key.value, value.value)
            self._takes(",")
            keys.add(key.schema)
            values.add(value.schema)
        raise _NoCollection("the end of a map is missing")

    def _is_more(self) -> bool:
        return self._at < len(self._tokens)

    def _next(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1]

    def _takes(self, mark: str) -> bool:
        """Whether the next token that is not blank is this one; then it is read. Blanks before it are read anyway."""
        while self._at < len(self._tokens) - 1 and not java_trim(self._tokens[self._at]):
            self._at += 1
        there = self._is_more() and java_trim(self._tokens[self._at]) == mark
        self._at += there
        return there

    def _takes_word(self, word: str, *, embedded: bool) -> bool:
        """The same for a word, which outside of arrays and maps has to be all there is."""
        start = self._at
        if self._takes(word) and (embedded or not self._is_more()):
            return True
        self._at = start
        return False


def _aligned_map(entries: TypedMap, key: Schema | None, value: Schema | None) -> SchemaAndValue:
    """A map whose keys, and whose values, are of one type where they have one in common."""
    if key is None:
        return SchemaAndValue(Schema(Type.MAP), entries.content())
    done = TypedMap()
    for each, inner in entries:
        done.put(aligned(key, each), inner if value is None else aligned(value, inner))
    return SchemaAndValue(Schema(Type.MAP, key=key, value=value), done.content())


def _temporal(text: str) -> SchemaAndValue | None:
    text = text.replace("\\:", ":")
    schema, pattern = _TEMPORAL.get(len(text), (None, None))
    if schema is None or pattern is None:
        return None
    try:
        return SchemaAndValue(schema, Moment(pattern.millis(text)))
    except ValueError:
        return None


def _number(token: str) -> SchemaAndValue | None:
    """An integer of the smallest type, else the first that has room of a float, a double and a decimal."""
    try:
        number = decimal(token)
    except ValueError:
        return None
    if (whole := _whole(number)) is not None:
        kind = next((kind for kind, bits in BITS.items() if whole == wrapped(whole, bits)), None)
        if kind is not None:
            return SchemaAndValue(Schema(kind), INTEGERS[kind](whole))
    scale = _scale(number)
    for kind, bits, made in _FLOATS:
        found = floating(str(number), bits)
        if scale != 0 and abs(found) != float("inf"):
            return SchemaAndValue(Schema(kind), made(found))
    return SchemaAndValue(Schema(Type.BYTES, name=DECIMAL, version=1, parameters={SCALE: str(scale)}), number)


_FLOATS: Final[tuple[tuple[Type, int, Callable[[float], float]], ...]] = (
    (Type.FLOAT32, 32, Float32),
    (Type.FLOAT64, 64, float),
)


def _whole(number: Decimal) -> int | None:
    """The integer a decimal is, if it is one that may have 64 bits."""
    if not number.is_zero() and not 1 <= number.copy_abs() <= _BEYOND_LONG:
        return None
    if number.is_zero():
        return 0
    return int(number) if number == number.to_integral_value() else None


def _scale(number: Decimal) -> int:
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)  # noqa: S101 (it is finite)
    return -exponent
