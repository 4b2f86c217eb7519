"""RECORD_METADATA as a VARIANT's bytes, for the records whose key or headers hold numbers that a cast would change."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from frazil.records.variant import encode
from frazil.records.variant_numbers import is_kept_from_json

_LONG: Final = "[0-9.]{16}"
"""What every number with more digits than a double keeps has within."""


def encoded(
    parts: Mapping[str, pa.Array], jsons: Sequence[tuple[str, pa.StringArray]]
) -> tuple[pa.BinaryArray, dict[int, str]]:
    """The bytes, null where the cast keeps everything; and by row, why some cannot be encoded.

    Args:
        parts: what is told besides, by member: numbers, texts, and texts by name.
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
