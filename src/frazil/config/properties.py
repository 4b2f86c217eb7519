"""Read configuration files: Java properties, or the JSON that Kafka Connect's REST interface takes."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import javaproperties

from frazil.errors import InvalidConfiguration, Problem

_FIRST_WORD = re.compile(r"[A-Z][A-Za-z]*")
_REST_OF_KEY = re.compile(r"([A-Z][A-Za-z]*(?: [A-Z][A-Za-z]*)*)\s*[=:]")

_REPORTED_BY_CONNECT = ("tasks", "type")
"""What `GET /connectors/<name>` adds to a configuration."""


def read(path: Path) -> dict[str, str]:
    """The keys and values of the file at `path`.

    A file is JSON when its name ends in `.json` or its text begins with `{`: either `{"name": …, "config": {…}}` or one
    flat object. Anything else is Java properties, in UTF-8 or, as Java itself reads them, in ISO 8859-1.

    Raises:
        InvalidConfiguration: the file cannot be read, is malformed, or gives one key two values.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise _invalid(path, [Problem("file", f"cannot be read: {error.strerror}. Check the path.")]) from error
    text = decode(data)
    if path.suffix == ".json" or text.lstrip().startswith("{"):
        return _as_texts(path, _json_pairs(path, text))
    try:
        pairs = java_pairs(text)
    except ValueError as error:
        raise _invalid(path, [Problem("file", f"{error}.")]) from error
    if cut := list(_cut(pairs)):
        raise _invalid(path, cut)
    return _as_texts(path, pairs)


def texts(subject: str, mapping: Mapping[str, Any]) -> dict[str, str]:
    """`mapping` with its values as text, as Kafka Connect takes them from JSON: `true`, `10`; None is no value.

    Raises:
        InvalidConfiguration: a value is a list or an object.
    """
    return _as_texts(subject, mapping.items())


def decode(data: bytes) -> str:
    """The text of a file in UTF-8 or, as Java itself reads properties, in ISO 8859-1."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def java_pairs(text: str) -> list[tuple[str, str]]:
    """The keys and values of Java properties, in their order.

    Raises:
        ValueError: it is malformed; the message quotes nothing of it.
    """
    try:
        pairs = javaproperties.load(io.StringIO(text), object_pairs_hook=list)
    except ValueError:
        raise ValueError(
            r"has a \u without four hexadecimal digits after it; write a backslash that means itself twice"
        ) from None
    return [(str(key), str(value)) for key, value in pairs]


def _cut(pairs: Iterable[tuple[str, str]]) -> Iterator[Problem]:
    """Keys of several words that ended at their first blank."""
    for key, value in pairs:
        rest = _REST_OF_KEY.match(value)
        if rest and _FIRST_WORD.fullmatch(key):
            whole = f"{key} {rest[1]}"
            escaped = whole.replace(" ", "\\ ")
            yield Problem(whole, f"has blanks, and the first one ends the key. Write {escaped}=…, or JSON.")


def _json_pairs(path: Path, text: str) -> list[tuple[str, Any]]:
    try:
        document = json.loads(text, object_pairs_hook=_Pairs, parse_int=str, parse_float=str, parse_constant=str)
    except (ValueError, RecursionError) as error:
        raise _invalid(path, [Problem("file", f"is not valid JSON: {error}.")]) from error
    if not isinstance(document, _Pairs):
        problem = Problem("file", 'is not a JSON object. Write {"name": …, "config": {…}} or one flat object.')
        raise _invalid(path, [problem])
    configs = [value for key, value in document if key == "config" and isinstance(value, _Pairs)]
    if not configs:
        return document
    outside = [(key, value) for key, value in document if key not in ("config", *_REPORTED_BY_CONNECT)]
    if unknown := [Problem(key, "stands outside of config. Move it inside.") for key, _ in outside if key != "name"]:
        raise _invalid(path, unknown)
    return outside + [pair for config in configs for pair in config]


class _Pairs(list[tuple[str, Any]]):
    """A JSON object as it was written: an ordinary dict would hide a key given twice."""


def _as_texts(source: Path | str, pairs: Iterable[tuple[str, Any]]) -> dict[str, str]:
    values: dict[str, str] = {}
    problems = []
    for key, value in pairs:
        if value is None:
            continue
        if not isinstance(value, str | bool | int | float):
            problems.append(Problem(key, "is a list or an object. Write a text, a number, true or false."))
            continue
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if values.setdefault(key, text) != text:
            problems.append(Problem(key, "is given twice with different values. Keep one of them."))
    if problems:
        raise _invalid(source, problems)
    return values


def _invalid(source: Path | str, problems: list[Problem]) -> InvalidConfiguration:
    return InvalidConfiguration(str(source), problems)
