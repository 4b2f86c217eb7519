"""PARTITION BY and CLUSTER BY."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from frazil.errors import InvalidQuery
from frazil.model import LayoutTransform
from frazil.snowflake.definitions.values import LayoutKey
from frazil.snowflake.words import Words

_PARAMETRISED: Final = {"BUCKET": "bucket", "TRUNCATE": "truncate"}
_OF_TIMES: Final = {
    name: transform
    for transform in ("year", "month", "day", "hour")
    for name in (transform.upper(), f"{transform}s".upper())
}
_IDENTITY: Final = LayoutTransform("identity")
_THERE_ARE: Final = "a column or field, or BUCKET(n, c), TRUNCATE(n, c), YEAR(c), MONTH(c), DAY(c) or HOUR(c) of one"


def read_keys(w: Words, what: str) -> tuple[LayoutKey, ...]:
    """Read the keys in parentheses after PARTITION BY or CLUSTER BY.

    Raises:
        InvalidQuery: one is neither a column nor a transform of one.
    """
    place = w.pointed_next()
    words = w.parenthesised(f"the keys of {what}")
    if not words:
        raise InvalidQuery(f"{what} has at least one key, which is {_THERE_ARE}", place)
    inside = Words(w.text, words)
    found = [_key(inside)]
    while inside.take(","):
        found.append(_key(inside))
    inside.end()
    return tuple(found)


def _key(w: Words) -> LayoutKey:
    place = w.pointed_next()
    name = w.name(_THERE_ARE)
    if not w.comes("("):
        return LayoutKey(_path(name, w), _IDENTITY)
    called, inside = name.name.upper(), Words(w.text, w.parenthesised("a column"))
    if not name.args.get("quoted") and called in _PARAMETRISED:
        parameter = inside.whole(f"the number of {called}")
        if not 0 < parameter < 2**31:
            raise InvalidQuery(f"{called} takes a number from 1 to {2**31 - 1}, not {parameter}", place)
        inside.need(",")
        transform = LayoutTransform(_PARAMETRISED[called], parameter)
    elif not name.args.get("quoted") and called in _OF_TIMES:
        transform = LayoutTransform(_OF_TIMES[called])
    else:
        raise InvalidQuery(f"{called[:40]} is not supported there; a key is {_THERE_ARE}", place)
    column = _path(inside.name("a column"), inside)
    inside.end()
    return LayoutKey(column, transform)


def _path(name: exp.Identifier, w: Words) -> tuple[exp.Identifier, ...]:
    found = [name]
    while w.take(".") or (len(found) == 1 and w.take(":")):
        found.append(w.name("a field"))
    return tuple(found)
