"""Functions of arrays: lists of documents while they are worked on."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from frazil.snowflake.building import variable
from frazil.snowflake.casts import to_type
from frazil.snowflake.functions import sizes
from frazil.snowflake.functions.documents import from_list
from frazil.snowflake.functions.meanings import Function, arity, as_integer, as_list, read, table
from frazil.snowflake.kinds import BIGINT, BOOLEAN, JSON, TEXT
from frazil.snowflake.places import Refused
from frazil.snowflake.rendering import rendered
from frazil.snowflake.templates import template
from frazil.snowflake.typed import Types
from frazil.snowflake.values import as_text, boxed, key


def _from_end(letter: str) -> str:
    """A place from 0; below 0 it is counted from the end."""
    return f"CASE WHEN {letter} < 0 THEN greatest(len(a) + {letter}, 0) ELSE {letter} END"


_INSERTED: Final = (
    f"list_concat(list_concat(list_resize(a, {_from_end('b')}), [c]), list_slice(a, {_from_end('b')} + 1, len(a)))"
)
_WITHOUT: Final = "list_filter(a, lambda x, i: i <> CASE WHEN b < 0 THEN len(a) + b ELSE b END + 1)"
_SLICED: Final = f"list_slice(a, {_from_end('b')} + 1, {_from_end('c')})"
_PRESENT: Final = "list_filter(a, lambda x: x IS NOT NULL AND CAST(x AS VARCHAR) <> 'null')"

_LISTS: Final[dict[str, tuple[str, str]]] = {
    "ARRAY_APPEND": ("lj", "CASE WHEN a IS NOT NULL THEN list_append(a, b) END"),
    "ARRAY_PREPEND": ("lj", "CASE WHEN a IS NOT NULL THEN list_prepend(b, a) END"),
    "ARRAY_CAT": ("ll", "CASE WHEN a IS NOT NULL AND b IS NOT NULL THEN list_concat(a, b) END"),
    "ARRAY_COMPACT": ("l", _PRESENT),
    "ARRAY_REVERSE": ("l", "list_reverse(a)"),
    "ARRAY_FLATTEN": ("l", "flatten(list_transform(a, lambda x: CAST(x AS JSON[])))"),
    "ARRAY_INSERT": ("lij", f"CASE WHEN a IS NOT NULL AND b IS NOT NULL THEN {_INSERTED} END"),
    "ARRAY_SLICE": ("lii", f"CASE WHEN b IS NOT NULL AND c IS NOT NULL THEN {_SLICED} END"),
    "ARRAY_REMOVE_AT": ("li", f"CASE WHEN b IS NOT NULL THEN {_WITHOUT} END"),
}
"""Ways and templates of those whose results are arrays again."""


def _of_lists(name: str, ways: str, written: str) -> Function:
    def found(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
        arity(name, arguments, len(ways), len(ways))
        return from_list(template(written, read(types, ways, arguments)))

    return found


def element_key(types: Types) -> str:
    """What an element x of a list is compared by."""
    return rendered(key(types, variable("x", JSON)))


def _keyed(types: Types, written: str, arguments: list[exp.Expr], kind: exp.DataType | None = None) -> exp.Expr:
    """A template in which KEYS(a) is the list of what the elements of `a` are compared by, and KEY that of x."""
    found = written
    for letter in "abc":
        found = found.replace(f"KEYS({letter})", f"list_transform({letter}, lambda x: {element_key(types)})")
    return template(found.replace("KEY", element_key(types)), arguments, kind)


def _contains(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("ARRAY_CONTAINS", arguments, 2, 2)
    wanted, within = key(types, boxed(types, arguments[0])), as_list(types, arguments[1])
    return _keyed(types, "CASE WHEN a IS NOT NULL THEN list_contains(KEYS(b), a) END", [wanted, within], BOOLEAN)


def _position(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("ARRAY_POSITION", arguments, 2, 2)
    wanted, within = key(types, boxed(types, arguments[0])), as_list(types, arguments[1])
    found = "CASE WHEN a IS NOT NULL THEN nullif(list_position(KEYS(b), a), 0) - 1 END"
    return _keyed(types, found, [wanted, within], BIGINT)


_NTH: Final = "len(list_filter(list_slice(KEYS(a), 1, s.i), lambda k: k IS NOT DISTINCT FROM s.k))"
"""How many of the elements up to this one are equal to it."""


def _chosen(kept: str) -> str:
    """The elements of which that is true, s.k being what one is compared by and s.i its place."""
    numbered = "list_transform(KEYS(a), lambda k, i: {'k': k, 'i': i})"
    return f"list_transform(list_filter({numbered}, lambda s: {kept}), lambda s: list_extract(a, s.i))"


def _distinct(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("ARRAY_DISTINCT", arguments, 1, 1)
    return from_list(_keyed(types, _chosen(f"{_NTH} = 1"), [as_list(types, arguments[0])]))


def _counted(name: str, *, common: bool) -> Function:
    """INTERSECTION and EXCEPT: with repetitions, each of them for one of the other array's."""

    def found(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
        arity(name, arguments, 2, 2)
        others = "len(list_filter(KEYS(b), lambda k: k IS NOT DISTINCT FROM s.k))"
        chosen = _chosen(f"{_NTH} {'<=' if common else '>'} {others}")
        both = read(types, "ll", arguments)
        return from_list(_keyed(types, f"CASE WHEN b IS NOT NULL THEN {chosen} END", both))

    return found


def _overlap(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("ARRAYS_OVERLAP", arguments, 2, 2)
    return _keyed(types, "list_has_any(KEYS(a), KEYS(b))", read(types, "ll", arguments), BOOLEAN)


def _remove(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("ARRAY_REMOVE", arguments, 2, 2)
    parts = [as_list(types, arguments[0]), key(types, boxed(types, arguments[1]))]
    kept = "CASE WHEN b IS NOT NULL THEN list_filter(a, lambda x: KEY IS DISTINCT FROM b) END"
    return from_list(_keyed(types, kept, parts))


def _extreme(name: str, place: int) -> Function:
    def found(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
        arity(name, arguments, 1, 1)
        ranked = f"struct_extract(list_extract(list_sort(list_transform({_PRESENT}, lambda x: {{'k': KEY, 'v': x}})), {place}), 'v')"  # noqa: E501
        return _keyed(types, ranked, [as_list(types, arguments[0])], JSON)

    return found


def _sort(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("ARRAY_SORT", arguments, 1, 3)
    whole = as_list(types, arguments[0])
    up = to_type(types, arguments[1], BOOLEAN) if len(arguments) > 1 else exp.true()
    up.type = BOOLEAN.copy()
    first = to_type(types, arguments[2], BOOLEAN) if len(arguments) > 2 else template("NOT a", [up], BOOLEAN)
    ranked = f"list_sort(list_transform({_PRESENT}, lambda x: {{'k': KEY, 'v': x}}))"
    order = f"CASE WHEN b THEN {ranked} ELSE list_reverse({ranked}) END"
    present = f"list_transform({order}, lambda s: s.v)"
    missing = "list_filter(a, lambda x: x IS NULL OR CAST(x AS VARCHAR) = 'null')"
    joined = f"CASE WHEN c THEN list_concat({missing}, {present}) ELSE list_concat({present}, {missing}) END"
    return from_list(_keyed(types, joined, [whole, up, first]))


def _to_string(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("ARRAY_TO_STRING", arguments, 2, 2)
    item = rendered(as_text(types, variable("x", JSON)))
    texts, separator = f"list_transform(a, lambda x: coalesce({item}, ''))", as_text(types, arguments[1])
    if isinstance(separator, exp.Literal):
        # DuckDB takes a separator that stands there, and nothing that a lambda was given.
        return template(sizes.joined(texts, separator.name), [as_list(types, arguments[0])], TEXT)
    if separator.find(exp.Column):
        raise Refused("ARRAY_TO_STRING: the separator must be the same for all rows", arguments[1])
    return template(f"array_to_string({texts}, b)", [as_list(types, arguments[0]), separator], TEXT)


def _range(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("ARRAY_GENERATE_RANGE", arguments, 2, 3)
    parts = [as_integer(types, each) for each in arguments]
    is_long = sizes.RANGE_IS_LONG.format(step="c" if len(parts) > 2 else "1")
    end = f"CASE WHEN {is_long} THEN CAST({sizes.TOO_MANY} AS BIGINT) ELSE b END"
    given = ", ".join(["a", end, "c"][: len(parts)])
    return template(f"to_json(range({given}))", parts, JSON)


FUNCTIONS: Final[dict[str, Function]] = {
    **{name: _of_lists(name, ways, written) for name, (ways, written) in _LISTS.items()},
    **table(
        BIGINT,
        """
        ARRAY_SIZE(l) = len(a)
        """,
    ),
    "ARRAY_CONTAINS": _contains,
    "ARRAY_POSITION": _position,
    "ARRAY_DISTINCT": _distinct,
    "ARRAY_INTERSECTION": _counted("ARRAY_INTERSECTION", common=True),
    "ARRAY_EXCEPT": _counted("ARRAY_EXCEPT", common=False),
    "ARRAYS_OVERLAP": _overlap,
    "ARRAY_REMOVE": _remove,
    "ARRAY_MAX": _extreme("ARRAY_MAX", -1),
    "ARRAY_MIN": _extreme("ARRAY_MIN", 1),
    "ARRAY_SORT": _sort,
    "ARRAY_TO_STRING": _to_string,
    "ARRAY_GENERATE_RANGE": _range,
}
"""What each becomes."""
