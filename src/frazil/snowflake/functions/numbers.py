"""Functions of numbers, and conversions to numbers."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from frazil.snowflake.arithmetic import computed
from frazil.snowflake.arithmetic import divided as quotient_of
from frazil.snowflake.building import call, cast, grouped
from frazil.snowflake.casts import to_type
from frazil.snowflake.functions.meanings import Function, arity, as_exact, literal, table, whole
from frazil.snowflake.functions.moments import truncated
from frazil.snowflake.kinds import BIGINT, BOOLEAN, DOUBLE, HUGEINT, TEXT, TIME, decimal
from frazil.snowflake.places import Refused
from frazil.snowflake.templates import template
from frazil.snowflake.typed import Types
from frazil.snowflake.values import as_text, boxed

_LONGEST_SCALE: Final = 38


def _round(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("ROUND", arguments, 1, 3)
    value = as_exact(types, arguments[0])
    mode = literal("ROUND", arguments[2], "the mode").upper() if len(arguments) > 2 else "HALF_AWAY_FROM_ZERO"
    if mode not in ("HALF_AWAY_FROM_ZERO", "HALF_TO_EVEN"):
        raise Refused(f"ROUND: {mode[:30]} is neither HALF_AWAY_FROM_ZERO nor HALF_TO_EVEN", arguments[2])
    scale = _scale("ROUND", arguments)
    rounded = _rounded(value, scale)
    if mode == "HALF_AWAY_FROM_ZERO":
        return rounded
    below, unit = _towards("floor", value.copy(), scale), _unit(scale)
    # In the middle of two numbers the one that can be halved is wanted.
    even = f"CASE WHEN CAST(round(b / {unit}) AS HUGEINT) % 2 = 0 THEN b ELSE b + {unit} END"
    return template(f"CASE WHEN (a - b) * 2 = {unit} THEN {even} ELSE c END", [value.copy(), below, rounded])


def _rounded(value: exp.Expr, scale: int) -> exp.Expr:
    return template(f"round(a, {scale})" if scale else "round(a)", [value])


def _scale(name: str, arguments: list[exp.Expr]) -> int:
    scale = whole(name, arguments[1], "the number of digits") if len(arguments) > 1 else 0
    if abs(scale) > _LONGEST_SCALE:
        raise Refused(f"{name}: a number has no more than {_LONGEST_SCALE} digits after its point", arguments[1])
    return scale


def _unit(scale: int) -> str:
    """One of the last digit that is kept."""
    return f"0.{'0' * (scale - 1)}1" if scale > 0 else f"1{'0' * -scale}"


def _towards(direction: str, value: exp.Expr, scale: int) -> exp.Expr:
    if scale == 0:
        return template(f"{direction}(a)", [value])
    comparison, sign = (">", "-") if direction == "floor" else ("<", "+")
    rounded = _rounded(value.copy(), scale)
    return template(f"CASE WHEN b {comparison} a THEN b {sign} {_unit(scale)} ELSE b END", [value, rounded])


def _directed(name: str, direction: str) -> Function:
    def directed(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
        arity(name, arguments, 1, 2)
        return _towards(direction, as_exact(types, arguments[0]), _scale(name, arguments))

    return directed


def _trunc(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("TRUNC", arguments, 1, 2)
    value = arguments[0]
    if types.is_moment(value) or types.of(value) == TIME:
        arity("TRUNC of a date", arguments, 2, 2)
        return truncated("TRUNC", types, arguments[1], value)
    value, scale = as_exact(types, value), _scale("TRUNC", arguments)
    return template(f"trunc(a, {scale})" if scale else "trunc(a)", [value])


def _divided(name: str, *, null_too: bool) -> Function:
    def divided(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
        arity(name, arguments, 2, 2)
        above, below = (as_exact(types, each) for each in arguments)
        nothing = "b = 0 OR b IS NULL" if null_too else "b = 0"
        quotient = quotient_of(types, above.copy(), below.copy())
        kind = types.of(quotient)
        return template(
            f"CASE WHEN a IS NULL THEN NULL WHEN {nothing} THEN 0 ELSE c END", [above, below, quotient], kind
        )

    return divided


def _mod(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("MOD", arguments, 2, 2)
    return grouped(computed(types, exp.Mod, *arguments))


def _to_number(name: str, *, safe: bool) -> Function:
    def to_number(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
        arity(name, arguments, 1, 3)
        if len(arguments) > 1 and isinstance(arguments[1], exp.Literal) and arguments[1].is_string:
            raise Refused(f"{name} takes no format; write the number without what is not a digit", arguments[1])
        size = [whole(name, each, "a size") for each in arguments[1:]]
        precision, scale = (*size, 0)[:2] if size else (38, 0)
        if not (1 <= precision <= 38 and 0 <= scale <= precision):
            raise Refused(f"{name}: a NUMBER has 1 to 38 digits, not {precision} with {scale} after the point")
        return to_type(types, arguments[0], decimal(precision, scale), safe=safe)

    return to_number


def _to(name: str, kind: exp.DataType, *, safe: bool) -> Function:
    def to(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
        arity(name, arguments, 1, 1)
        return to_type(types, arguments[0], kind, safe=safe)

    return to


def _random(_: Types, arguments: list[exp.Expr]) -> exp.Expr:
    if arguments:
        raise Refused("RANDOM takes no seed here", arguments[0])
    return template("CAST(CAST(hash(uuid()) AS HUGEINT) - 9223372036854775808 AS BIGINT)", [], BIGINT)


def _hash(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("HASH", arguments, 1)
    if any(isinstance(each, exp.Star) for each in arguments):
        raise Refused("HASH(*) is not supported; name the columns")
    keys = [_hash_key(types, each) for each in arguments]
    return template("CAST(CAST(a AS HUGEINT) - 9223372036854775808 AS BIGINT)", [call("hash", *keys)], BIGINT)


_SHORTEST: Final = (
    "regexp_replace(regexp_replace(regexp_replace(CAST(a AS VARCHAR), "
    "'(\\.[0-9]*[1-9])0+$', '\\1'), '\\.0*$', ''), '^-0$', '0')"
)
"""An exact number without the zeros at its end."""

_OF_DOUBLE: Final = (
    "CASE WHEN a = trunc(a) AND abs(a) < 1e37 THEN CAST(CAST(a AS HUGEINT) AS VARCHAR) ELSE CAST(a AS VARCHAR) END"
)


def _hash_key(types: Types, node: exp.Expr) -> exp.Expr:
    """A text that is the same for equal values, whatever their types, and NULL for NULL."""
    if types.is_variant(node):
        whole = boxed(types, node)
        written = cast(whole.copy(), TEXT)
        double = template(_OF_DOUBLE, [cast(written.copy(), DOUBLE, safe=True)], TEXT)
        with_power = "regexp_full_match(a, '-?[0-9.]+[eE][+-]?[0-9]+')"
        digits = template(f"'#' || CASE WHEN {with_power} THEN b ELSE {_SHORTEST} END", [written, double], TEXT)
        is_number = "json_type(a) NOT IN ('OBJECT', 'ARRAY', 'VARCHAR', 'BOOLEAN', 'NULL')"
        return template(
            f"CASE WHEN {is_number} THEN b ELSE '=' || c END", [whole, digits, as_text(types, whole.copy())]
        )
    if types.is_exact(node):
        return template(f"'#' || {_SHORTEST}", [node])
    if types.is_number(node):
        return template(f"'#' || ({_OF_DOUBLE})", [node])
    return template("'=' || a", [as_text(types, node)])


_DOUBLES: Final = """
    POWER|POW(dd) = power(a, b)
    SQUARE(d) = a * a
    SQRT(d)
    CBRT(d) = CASE WHEN pow(round(cbrt(a)), 3) = a THEN round(cbrt(a)) ELSE cbrt(a) END
    EXP(d)
    LN(d)
    LOG(dd)
    PI()
    DEGREES(d)
    RADIANS(d)
    SIN(d)
    COS(d)
    TAN(d)
    COT(d)
    ASIN(d)
    ACOS(d)
    ATAN(d)
    ATAN2(dd)
    SINH(d)
    COSH(d)
    TANH(d)
    ASINH(d)
    ACOSH(d)
    ATANH(d)
    HAVERSINE(dddd) = 2 * 6371 * asin(sqrt(pow(sin(radians(c - a) / 2), 2) + cos(radians(a)) * cos(radians(c)) * pow(sin(radians(d - b) / 2), 2)))
"""  # noqa: E501 (a line is a function)

FUNCTIONS: Final[dict[str, Function]] = {
    **table(DOUBLE, _DOUBLES),
    **table(
        None,
        """
        ABS(n)
        SIGN(n)
        """,
    ),
    **table(
        BIGINT,
        """
        BITAND|BIT_AND(ii) = a & b
        BITOR|BIT_OR(ii) = a | b
        BITXOR|BIT_XOR(ii) = xor(a, b)
        BITNOT|BIT_NOT(i) = ~ a
        BITSHIFTRIGHT|BIT_SHIFTRIGHT(ii) = a >> b
        WIDTH_BUCKET(nnni) = CASE WHEN a < b THEN 0 WHEN a >= c THEN d + 1 ELSE CAST(floor((a - b) * d / (c - b)) AS BIGINT) + 1 END
        """,  # noqa: E501
    ),
    **table(
        HUGEINT,
        """
        FACTORIAL(i) = factorial(CAST(a AS INTEGER))
        BITSHIFTLEFT|BIT_SHIFTLEFT(ii) = CAST(a AS HUGEINT) * CAST(pow(2, b) AS HUGEINT)
        """,
    ),
    "MOD": _mod,
    "ROUND": _round,
    "FLOOR": _directed("FLOOR", "floor"),
    "CEIL": _directed("CEIL", "ceil"),
    "CEILING": _directed("CEILING", "ceil"),
    "TRUNC": _trunc,
    "TRUNCATE": _trunc,
    "DIV0": _divided("DIV0", null_too=False),
    "DIV0NULL": _divided("DIV0NULL", null_too=True),
    **{name: _to_number(name, safe=False) for name in ("TO_NUMBER", "TO_DECIMAL", "TO_NUMERIC")},
    **{name: _to_number(name, safe=True) for name in ("TRY_TO_NUMBER", "TRY_TO_DECIMAL", "TRY_TO_NUMERIC")},
    "TO_DOUBLE": _to("TO_DOUBLE", DOUBLE, safe=False),
    "TRY_TO_DOUBLE": _to("TRY_TO_DOUBLE", DOUBLE, safe=True),
    "TO_BOOLEAN": _to("TO_BOOLEAN", BOOLEAN, safe=False),
    "TRY_TO_BOOLEAN": _to("TRY_TO_BOOLEAN", BOOLEAN, safe=True),
    "RANDOM": _random,
    "HASH": _hash,
}
"""What each becomes."""
