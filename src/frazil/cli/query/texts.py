"""Functions of texts that Spark has under other rules."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from pyspark.sql import types as t
from sqlglot import exp

from frazil.cli.query.spark import call, grouped, text, typed
from frazil.cli.query.translator import Function, Translator, arity, literal
from frazil.cli.query.values import as_integer, as_text
from frazil.errors import InvalidQuery

_STRING: Final = t.StringType()
_FLAGS: Final = {"c": "", "i": "i", "m": "m", "s": "s", "e": ""}


def matches(x: Translator, subject: exp.Expr, pattern: exp.Expr, flags: str = "") -> exp.Expr:
    """REGEXP_LIKE: the whole text matches, as everywhere in Snowflake."""
    if unknown := set(flags) - set(_FLAGS):
        raise InvalidQuery(f"REGEXP_LIKE has no flag {min(unknown)!r}")
    inline = "".join(sorted({_FLAGS[flag] for flag in flags}))
    start = f"(?{inline})^(?:" if inline else "^(?:"
    whole = call("concat", text(start), as_text(x.types, x(pattern)), text(r")\z"))
    return typed(exp.RegexpLike(this=grouped(as_text(x.types, x(subject))), expression=whole), t.BooleanType())


def like_pattern(x: Translator, pattern: exp.Expr) -> exp.Expr:
    """A pattern of LIKE without ESCAPE: a backslash is a backslash, which escapes for Spark."""
    if isinstance(pattern, exp.Literal) and pattern.is_string:
        return text(pattern.name.replace("\\", "\\\\"))
    return call("replace", as_text(x.types, x(pattern)), text("\\"), text("\\\\"), kind=_STRING)


def position(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    """POSITION and CHARINDEX: where a text is in another, from 1; 0 if nowhere."""
    arity("POSITION", arguments, 2, 3)
    read = [as_text(x.types, x(node)) for node in arguments[:2]]
    start = [as_integer(x.types, x(node)) for node in arguments[2:]]
    return call("locate", *read, *start, kind=t.IntegerType())


def _regexp_like(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    arity("REGEXP_LIKE", arguments, 2, 3)
    flags = literal("REGEXP_LIKE", arguments[2]) if len(arguments) == 3 else ""
    return matches(x, arguments[0], arguments[1], flags)


def _regexp_replace(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    arity("REGEXP_REPLACE", arguments, 2, 3)
    put = literal("REGEXP_REPLACE", arguments[2]) if len(arguments) == 3 else ""
    # Groups are \1 in Snowflake and $1 in Java, where a dollar means nothing else.
    java = re.sub(r"\\([0-9])", r"$\1", put.replace("$", r"\$"))
    subject, pattern = (as_text(x.types, x(node)) for node in arguments[:2])
    return call("regexp_replace", subject, pattern, text(java), kind=_STRING)


def _trim(name: str, side: str) -> Function:
    def trim(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
        arity(name, arguments, 1, 2)
        subject, *characters = (as_text(x.types, x(node)) for node in arguments)
        return typed(
            exp.Trim(this=subject, expression=characters[0] if characters else text(" "), position=side), _STRING
        )

    return trim


def _split(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    arity("SPLIT", arguments, 2, 2)
    subject, separator = (as_text(x.types, x(node)) for node in arguments)
    # Spark splits at a regular expression; between \Q and \E everything stands for itself.
    inner = call("replace", separator, text("\\E"), text("\\E\\\\E\\Q"))
    quoted = call("concat", text("\\Q"), inner, text("\\E"))
    return call("split", subject, quoted, kind=t.ArrayType(_STRING))


def _concat_ws(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    arity("CONCAT_WS", arguments, 2)
    # Spark's leaves NULLs out, Snowflake's is NULL.
    separator, first, *rest = (as_text(x.types, x(node)) for node in arguments)
    parts = [first, *(part for node in rest for part in (separator.copy(), node))]
    return call("concat", *parts, kind=_STRING)


def _sha2(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    arity("SHA2", arguments, 1, 2)
    size = as_integer(x.types, x(arguments[1])) if len(arguments) > 1 else exp.Literal.number(256)
    return call("sha2", as_text(x.types, x(arguments[0])), size, kind=_STRING)


def _base64_decode(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    arity("BASE64_DECODE_STRING", arguments, 1, 1)
    return call("decode", call("unbase64", as_text(x.types, x(arguments[0]))), text("UTF-8"), kind=_STRING)


def _replace(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    arity("REPLACE", arguments, 2, 3)
    return call("replace", *(as_text(x.types, x(node)) for node in arguments), kind=_STRING)


FUNCTIONS: Final[dict[str, Function]] = {
    "REGEXP_LIKE": _regexp_like,
    "RLIKE": _regexp_like,
    "REGEXP_REPLACE": _regexp_replace,
    "TRIM": _trim("TRIM", "BOTH"),
    "LTRIM": _trim("LTRIM", "LEADING"),
    "RTRIM": _trim("RTRIM", "TRAILING"),
    "SPLIT": _split,
    "REPLACE": _replace,
    "CONCAT_WS": _concat_ws,
    "CHARINDEX": position,
    "SHA2": _sha2,
    "SHA2_HEX": _sha2,
    "BASE64_DECODE_STRING": _base64_decode,
}
