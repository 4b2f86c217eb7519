"""Functions of texts."""

from __future__ import annotations

import re
from typing import Final

from sqlglot import exp

from frazil.snowflake.building import call, grouped, text, typed
from frazil.snowflake.functions import sizes
from frazil.snowflake.functions.meanings import Function, arity, as_integer, literal, table, whole
from frazil.snowflake.kinds import BIGINT, BLOB, BOOLEAN, JSON, TEXT
from frazil.snowflake.places import Refused
from frazil.snowflake.templates import template
from frazil.snowflake.typed import Types
from frazil.snowflake.values import as_text

_TEXTS: Final = r"""
    UPPER(t)
    LOWER(t)
    REVERSE(t) = CASE WHEN strlen(a) = length(a) THEN reverse(a) ELSE array_to_string(list_reverse(regexp_extract_all(a, '(?s).')), '') END
    LEFT(ti) = left(a, greatest(b, 0))
    RIGHT(ti) = right(a, greatest(b, 0))
    SUBSTR|SUBSTRING(ti) = CASE WHEN b < -length(a) THEN '' ELSE substring(a, CASE WHEN b = 0 THEN 1 ELSE b END) END
    SUBSTR|SUBSTRING(tii) = CASE WHEN c <= 0 OR b < -length(a) THEN '' ELSE substring(a, CASE WHEN b = 0 THEN 1 ELSE b END, c) END
    REPLACE(tt) = replace(a, b, '')
    TRANSLATE(ttt)
    TRIM(t) = trim(a, ' ')
    TRIM(tt)
    LTRIM(t) = ltrim(a, ' ')
    LTRIM(tt)
    RTRIM(t) = rtrim(a, ' ')
    RTRIM(tt)
    CHR|CHAR(i) = chr(CAST(a AS INTEGER))
    INSERT(tiit) = left(a, greatest(b - 1, 0)) || d || substring(a, b + c)
    SPLIT_PART(tti) = CASE WHEN b = '' THEN CASE WHEN abs(c) <= 1 THEN a ELSE '' END ELSE split_part(a, b, CASE WHEN c = 0 THEN 1 ELSE c END) END
    BASE64_ENCODE(t) = base64(encode(a))
    BASE64_DECODE_STRING(t) = decode(from_base64(a))
    TRY_BASE64_DECODE_STRING(t) = try(decode(from_base64(a)))
    HEX_ENCODE(t) = hex(encode(a))
    HEX_DECODE_STRING(t) = decode(unhex(a))
    TRY_HEX_DECODE_STRING(t) = try(decode(unhex(a)))
    UUID_STRING() = CAST(uuid() AS VARCHAR)
"""  # noqa: E501 (a line is a function)

_OR_CUT: Final = "CASE WHEN c = '' THEN left(a, greatest(b, 0)) ELSE {} END"
_SIZED: Final = f"""
    REPEAT(ti) = {sizes.repeated("a", "b")}
    SPACE(i) = {sizes.repeated("' '", "a")}
    LPAD(ti) = {sizes.padded("lpad", "' '")}
    LPAD(tit) = {_OR_CUT.format(sizes.padded("lpad", "c"))}
    RPAD(ti) = {sizes.padded("rpad", "' '")}
    RPAD(tit) = {_OR_CUT.format(sizes.padded("rpad", "c"))}
    REPLACE(ttt) = {sizes.REPLACED}
"""

_TOKENS: Final = (
    "CASE WHEN b = '' THEN CASE WHEN a = '' THEN [] ELSE [a] END "
    "ELSE list_filter(string_split(translate(a, b, repeat(left(b, 1), length(b))), left(b, 1)), lambda x: x <> '') END"
)

_CODES: Final = "01230120022455012623010202"
"""Soundex of A to Z."""

_DELIMITERS: Final = ' \t\n\r\f\v!?@"^#$&~_,.:;+-*%/|\\[](){}<>'
"""What INITCAP begins words after."""


def _length(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("LENGTH", arguments, 1, 1)
    if types.of(arguments[0]) == BLOB:
        return call("octet_length", arguments[0], kind=BIGINT)
    return call("length", as_text(types, arguments[0]), kind=BIGINT)


def _octet_length(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("OCTET_LENGTH", arguments, 1, 1)
    if types.of(arguments[0]) == BLOB:
        return call("octet_length", arguments[0], kind=BIGINT)
    return call("strlen", as_text(types, arguments[0]), kind=BIGINT)


def _bit_length(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("BIT_LENGTH", arguments, 1, 1)
    return template("a * 8", [_octet_length(types, arguments)], BIGINT)


def _concat(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("CONCAT", arguments, 1)
    return joined([as_text(types, each) for each in arguments])


def _concat_ws(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("CONCAT_WS", arguments, 2)
    separator, first, *rest = (as_text(types, each) for each in arguments)
    if not rest:
        return template("CASE WHEN a IS NOT NULL THEN b END", [separator, first], TEXT)
    return joined([first, *(part for each in rest for part in (separator.copy(), each))])


def joined(parts: list[exp.Expr]) -> exp.Expr:
    """Texts one after the other; NULL if one is."""
    found = parts[0]
    for each in parts[1:]:
        found = typed(exp.DPipe(this=grouped(found), expression=grouped(each)), TEXT)
    return found


def _initcap(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("INITCAP", arguments, 1, 2)
    delimiters = literal("INITCAP", arguments[1], "the list of delimiters") if len(arguments) > 1 else _DELIMITERS
    if any(each.isalnum() for each in delimiters):
        raise Refused(f"INITCAP: letters and digits cannot be delimiters, as in {delimiters[:20]!r}")
    value = as_text(types, arguments[0])
    if not delimiters:
        return template("upper(left(a, 1)) || lower(substring(a, 2))", [value], TEXT)
    among = "".join(re.escape(each) for each in delimiters)
    words = call("regexp_extract_all", value, text(f"[{among}]+|[^{among}]+"))
    capital = "array_to_string(list_transform(a, lambda x: upper(left(x, 1)) || lower(substring(x, 2))), '')"
    return template(capital, [words], TEXT)


def _position(name: str) -> Function:
    def position(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
        arity(name, arguments, 2, 3)
        wanted, within = (as_text(types, each) for each in arguments[:2])
        if len(arguments) == 2:
            return call("strpos", within, wanted, kind=BIGINT)
        start = as_integer(types, arguments[2])
        found = "CASE WHEN strpos(substring(b, greatest(c, 1)), a) = 0 THEN 0 "
        found += "ELSE strpos(substring(b, greatest(c, 1)), a) + greatest(c, 1) - 1 END"
        return template(found, [wanted, within, start], BIGINT)

    return position


def _split(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("SPLIT", arguments, 2, 2)
    parts = [as_text(types, each) for each in arguments]
    return template(
        "CASE WHEN b = '' THEN to_json([a]) WHEN b IS NOT NULL THEN to_json(string_split(a, b)) END", parts, JSON
    )


def _strtok(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("STRTOK", arguments, 1, 3)
    value = as_text(types, arguments[0])
    delimiters = as_text(types, arguments[1]) if len(arguments) > 1 else text(" ")
    place = as_integer(types, arguments[2]) if len(arguments) > 2 else exp.Literal.number(1)
    return template(f"CASE WHEN c > 0 THEN list_extract({_TOKENS}, c) END", [value, delimiters, place], TEXT)


def _strtok_to_array(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("STRTOK_TO_ARRAY", arguments, 1, 2)
    value = as_text(types, arguments[0])
    delimiters = as_text(types, arguments[1]) if len(arguments) > 1 else text(" ")
    return template(f"CASE WHEN a IS NOT NULL AND b IS NOT NULL THEN to_json({_TOKENS}) END", [value, delimiters], JSON)


def _digest(name: str, function: str) -> Function:
    def digest(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
        arity(name, arguments, 1, 1)
        value = arguments[0]
        return call(function, value if types.of(value) == BLOB else as_text(types, value), kind=TEXT)

    return digest


def _sha2(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("SHA2", arguments, 1, 2)
    if len(arguments) > 1 and (size := whole("SHA2", arguments[1], "the size")) not in (0, 256):
        raise Refused(f"SHA2 of {size} bits is not there, only of 256", arguments[1])
    return _digest("SHA2", "sha256")(types, arguments[:1])


def _soundex(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("SOUNDEX", arguments, 1, 1)
    letters = template("regexp_replace(upper(a), '[^A-Z]', '', 'g')", [as_text(types, arguments[0])], TEXT)
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    found = template(
        f"translate(left(a, 1), '{alphabet}', '{_CODES}') || "
        f"translate(regexp_replace(substring(a, 2), '[HW]', '', 'g'), '{alphabet}', '{_CODES}')",
        [letters],
        TEXT,
    )
    for digit in "123456":
        found = call("regexp_replace", found, text(f"{digit}+"), text(digit), text("g"), kind=TEXT)
    tail = "CASE WHEN a = '' THEN '' ELSE left(left(a, 1) || replace(substring(b, 2), '0', '') || '000', 4) END"
    return template(tail, [letters.copy(), found], TEXT)


def _editdistance(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("EDITDISTANCE", arguments, 2, 3)
    left, right = (as_text(types, each) for each in arguments[:2])
    plain = all(isinstance(each, exp.Literal) and each.name.isascii() for each in (left, right))
    found = "levenshtein(a, b)"
    if not plain:
        # DuckDB counts bytes.
        found = "CASE WHEN strlen(a) = length(a) AND strlen(b) = length(b) THEN levenshtein(a, b) "
        found += (
            "ELSE CAST(error('EDITDISTANCE is not there for texts with other characters than ASCII') AS BIGINT) END"
        )
    found = f"CASE WHEN {sizes.DISTANCE_IS_FAR} THEN {sizes.TOO_FAR} ELSE {found} END"
    distance = template(found, [left, right], BIGINT)
    if len(arguments) == 2:
        return distance
    return template("least(a, b)", [distance, as_integer(types, arguments[2])], BIGINT)


_BINARY: Final = {"HEX": "unhex(a)", "UTF-8": "encode(a)", "UTF8": "encode(a)", "BASE64": "from_base64(a)"}


def _to_binary(name: str, *, safe: bool) -> Function:
    def to_binary(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
        arity(name, arguments, 1, 2)
        written = literal(name, arguments[1], "the format").upper() if len(arguments) > 1 else "HEX"
        if written not in _BINARY:
            raise Refused(f"{name}: a text is read as HEX, BASE64 or UTF-8, not as {written[:20]}", arguments[1])
        if types.of(arguments[0]) == BLOB:
            return arguments[0]
        read_as = _BINARY[written]
        return template(f"try({read_as})" if safe else read_as, [as_text(types, arguments[0])], BLOB)

    return to_binary


FUNCTIONS: Final[dict[str, Function]] = {
    **table(TEXT, _TEXTS + _SIZED),
    **table(
        BIGINT,
        """
        ASCII(t)
        UNICODE(t) = greatest(unicode(a), 0)
        """,
    ),
    **table(
        BOOLEAN,
        """
        CONTAINS(tt)
        STARTSWITH(tt) = starts_with(a, b)
        ENDSWITH(tt) = ends_with(a, b)
        """,
    ),
    **dict.fromkeys(("LENGTH", "LEN", "CHAR_LENGTH", "CHARACTER_LENGTH"), _length),
    "OCTET_LENGTH": _octet_length,
    "BIT_LENGTH": _bit_length,
    "CONCAT": _concat,
    "CONCAT_WS": _concat_ws,
    "INITCAP": _initcap,
    "POSITION": _position("POSITION"),
    "CHARINDEX": _position("CHARINDEX"),
    "SPLIT": _split,
    "STRTOK": _strtok,
    "STRTOK_TO_ARRAY": _strtok_to_array,
    **dict.fromkeys(("MD5", "MD5_HEX"), _digest("MD5", "md5")),
    **dict.fromkeys(("SHA1", "SHA1_HEX"), _digest("SHA1", "sha1")),
    **dict.fromkeys(("SHA2", "SHA2_HEX"), _sha2),
    "SOUNDEX": _soundex,
    "TO_BINARY": _to_binary("TO_BINARY", safe=False),
    "TRY_TO_BINARY": _to_binary("TRY_TO_BINARY", safe=True),
    "EDITDISTANCE": _editdistance,
}
"""What each becomes."""
