"""What a pipe reads of a record: every constant path of `$1` once, however often the pipe names it.

`from_json` reads all of them in one parse. It is told to keep the digits of numbers as they were written.
A path that another one goes through, or that differs from another one by case alone, needs a parse of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, TypeAlias

import orjson
from sqlglot import exp

from frazil.pipes.sql.functions import PLAIN_NUMBER
from frazil.records.convert import VALUE
from frazil.snowflake.building import call, name, number, text
from frazil.snowflake.rendering import rendered
from frazil.sql import ident, json_path, literal

Path: TypeAlias = tuple[str | int, ...]
"""Keys, and places in arrays from 0."""

RAW_NUMBERS: Final = "\x7f"
"""A key made of these is read for its type: DuckDB keeps the digits of numbers within JSON if it reads some DECIMAL."""

_ODD_NUMBER: Final = r"-?[0-9]+(\.[0-9]*0|(\.[0-9]+)?[eE][+-]?[0-9]+)|-0"
"""Texts that, where they are numbers, are not the plain text of that number."""

_Tree: TypeAlias = "dict[str | int, _Tree] | str"


@dataclass(slots=True)
class Reading:
    """The paths of one statement, while it is compiled."""

    documents: set[Path] = field(default_factory=set)
    """Those that are wanted as JSON."""

    computed: set[Path] = field(default_factory=set)
    """Those of them with which something is computed: numbers have one form there, however they were written."""

    texts: set[Path] = field(default_factory=set)
    """Those that are wanted as text, as Snowflake shows it."""

    raw: set[Path] = field(default_factory=set)
    """Those that are wanted as text, numbers as they were written."""

    columns: dict[str, str] = field(default_factory=dict)
    """Other SQL over converted records that is computed once, by the name it is referred to."""

    _levels: list[dict[str | int, _Tree]] = field(default_factory=list)
    _places: dict[Path, exp.Expr] = field(default_factory=dict)

    def arrange(self) -> None:
        """Find a place for every path; no more are added afterwards."""
        for path in sorted(self.documents | self.texts | self.raw, key=lambda each: (len(each), list(map(str, each)))):
            kind = "JSON" if path in self.documents else "VARCHAR"
            level = next((n for n, tree in enumerate(self._levels) if _fits(tree, path)), len(self._levels))
            if level == len(self._levels):
                self._levels.append({})
            _put(self._levels[level], path, kind)
            self._places[path] = _reference(_level(level), path)

    def document(self, path: Path) -> exp.Expr:
        """A path's JSON."""
        return self._places[path].copy()

    def computed_document(self, path: Path) -> exp.Expr:
        """A path's JSON, a number in its plain form."""
        return exp.Column(this=name(_named("plain", path)))

    def text(self, path: Path) -> exp.Expr:
        """A path's text."""
        return exp.Column(this=name(_named("text", path)))

    def raw_text(self, path: Path) -> exp.Expr:
        """A path's text, numbers as they were written."""
        return exp.Column(this=name(_named("raw", path))) if path in self.documents else self._places[path].copy()

    def source(self, chunk: str) -> str:
        """SQL for the rows of a chunk with all that was asked for."""
        parsed = [
            f"from_json({VALUE}, {literal(_structure(tree))}) AS {ident(_level(n))}"
            for n, tree in enumerate(self._levels)
        ]
        others = [f"{sql} AS {ident(name)}" for name, sql in self.columns.items()]
        rows = f"(SELECT {', '.join(['*', *parsed, *others])} FROM {chunk})"
        derived = [
            f"{_text_of_document(rendered(self._places[path]))} AS {ident(_named('raw', path))}"
            for path in sorted(self.documents & (self.texts | self.raw | self.computed), key=str)
        ]
        if derived:
            rows = f"(SELECT *, {', '.join(derived)} FROM {rows})"
        plain = [f"{self._plain(path)} AS {ident(_named('text', path))}" for path in sorted(self.texts, key=str)]
        plain += [
            f"{self._plain_document(path)} AS {ident(_named('plain', path))}" for path in sorted(self.computed, key=str)
        ]
        return f"(SELECT *, {', '.join(plain)} FROM {rows})" if plain else rows

    def objects(self) -> dict[Path, frozenset[str]]:
        """Where the objects are whose keys are read, and which keys; what is read whole tells of its own keys."""
        found: dict[Path, set[str]] = {(): set()}
        for path in self._places:
            for length, step in enumerate(path):
                if isinstance(step, str):
                    found.setdefault(path[:length], set()).add(step)
        return {path: frozenset(keys) for path, keys in found.items()}

    def _plain(self, path: Path) -> str:
        """SQL for the plain text of a path, in which numbers have neither exponents nor zeros at their ends."""
        raw = rendered(self.raw_text(path))
        return f"CASE WHEN {self._is_odd(path, raw)} THEN {PLAIN_NUMBER}({raw}) ELSE {raw} END"

    def _plain_document(self, path: Path) -> str:
        """SQL for the JSON of a path, which is the plain text of a number where it is one."""
        raw, document = rendered(self.raw_text(path)), rendered(self._places[path])
        return f"CASE WHEN {self._is_odd(path, raw)} THEN CAST({PLAIN_NUMBER}({raw}) AS JSON) ELSE {document} END"

    def _is_odd(self, path: Path, raw: str) -> str:
        """SQL for whether a path has a number whose text, `raw`, is not its plain one."""
        pointer = json_path([str(step) for step in path])
        is_number = f"json_type({VALUE}, {pointer}) IN ('DOUBLE', 'BIGINT', 'UBIGINT', 'HUGEINT')"
        # Letters come after digits, and the minus before them: most texts need no pattern.
        return f"{raw} < ':' AND regexp_full_match({raw}, {literal(_ODD_NUMBER)}) AND {is_number}"


def _fits(tree: dict[str | int, _Tree], path: Path) -> bool:
    """Whether a path can be read together with those of a tree."""
    here: _Tree = tree
    for step in path:
        if not isinstance(here, dict):
            return False
        if here and isinstance(next(iter(here)), int) != isinstance(step, int):
            return False
        alike = [each for each in here if isinstance(each, str) and each.lower() == str(step).lower()]
        if isinstance(step, str) and alike and alike != [step]:
            return False
        # All elements of an array are read alike.
        here = here.get(_ELEMENTS if isinstance(step, int) else step, {})
    return here == {}


_ELEMENTS: Final = 0


def _put(tree: dict[str | int, _Tree], path: Path, kind: str) -> None:
    here = tree
    for place, step in enumerate(path):
        key = _ELEMENTS if isinstance(step, int) else step
        if place == len(path) - 1:
            here[key] = kind
            return
        inner = here.setdefault(key, {})
        assert isinstance(inner, dict)  # noqa: S101 (`_fits` has seen to it)
        here = inner


def _structure(tree: dict[str | int, _Tree]) -> str:
    longest = max(len(str(key)) for key in tree)
    # Longer than all others, it is the key of no record.
    return orjson.dumps({**_shape(tree), RAW_NUMBERS * (longest + 1): "DECIMAL(1,0)"}).decode()  # type: ignore[dict-item]


def _shape(tree: _Tree) -> object:
    if isinstance(tree, str):
        return tree
    if _ELEMENTS in tree:
        return [_shape(tree[_ELEMENTS])]
    return {str(key): _shape(inner) for key, inner in tree.items()}


def _reference(level: str, path: Path) -> exp.Expr:
    found: exp.Expr = exp.Column(this=name(level))
    for step in path:
        if isinstance(step, int):
            found = call("list_extract", found, number(step + 1))
        else:
            found = call("struct_extract", found, text(step))
    return found


def _level(number: int) -> str:
    return f"parsed {number}"


def _named(form: str, path: Path) -> str:
    return f"{form} {orjson.dumps(path).decode()}"


def _text_of_document(document: str) -> str:
    bare = f"json_extract_string({document}, '$')"
    other = f"nullif(CAST({document} AS VARCHAR), 'null')"
    return f"CASE WHEN starts_with({document}, '\"') THEN {bare} ELSE {other} END"
