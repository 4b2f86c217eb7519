"""Pieces of DuckDB SQL, each with its type where that is known.

A node's `type` is DuckDB's. Who puts a node into two places copies it.
"""

from __future__ import annotations

from typing import TypeVar

from sqlglot import exp

from frazil.snowflake.kinds import BIGINT, BOOLEAN, DOUBLE, HUGEINT, INTEGER, JSON, NULL, TEXT, decimal

_Node = TypeVar("_Node", bound=exp.Expr)

_SIMPLE = (exp.Column, exp.Literal, exp.Anonymous, exp.Paren, exp.Cast, exp.Case, exp.Null, exp.Boolean, exp.Subquery)


def typed(node: _Node, kind: exp.DataType | None) -> _Node:
    """The node, known to be of that type."""
    node.type = kind.copy() if kind else None
    return node


def name(text: str) -> exp.Identifier:
    """A quoted name."""
    return exp.to_identifier(text, quoted=True)


def column(table: str, column: str, kind: exp.DataType) -> exp.Column:
    """A column of a relation."""
    return typed(exp.Column(this=name(column), table=name(table)), kind)


def text(value: str) -> exp.Literal:
    """A text."""
    return typed(exp.Literal.string(value), TEXT)


def number(value: int) -> exp.Expr:
    """A whole number."""
    kind = INTEGER if -(2**31) < value < 2**31 else BIGINT if -(2**63) < value < 2**63 else HUGEINT
    found = exp.Literal.number(abs(value))
    return typed(exp.paren(exp.Neg(this=found)) if value < 0 else found, kind)


def decimal_number(written: str) -> exp.Expr:
    """A number with digits after its point, as written."""
    whole, _, part = written.partition(".")
    digits = len(whole.lstrip("0")) + len(part)
    return typed(exp.Literal.number(written), decimal(max(digits, 1), len(part)))


def double(written: str) -> exp.Expr:
    """A number as a double."""
    return cast(exp.Literal.number(written), DOUBLE)


def null(kind: exp.DataType = NULL) -> exp.Expr:
    """NULL, of a type."""
    bare = typed(exp.Null(), NULL)
    return bare if kind.this == exp.DType.NULL else cast(bare, kind)


def truth(value: bool) -> exp.Boolean:
    """TRUE or FALSE."""
    return typed(exp.Boolean(this=value), BOOLEAN)


def call(function: str, *arguments: exp.Expr, kind: exp.DataType | None = None) -> exp.Anonymous:
    """A function of DuckDB's, by its name; without a type DuckDB is asked for it."""
    return typed(exp.Anonymous(this=function, expressions=list(arguments)), kind)


def cast(node: exp.Expr, kind: exp.DataType, *, safe: bool = False) -> exp.Expr:
    """DuckDB's own cast; what Snowflake's mean, `casts` knows."""
    # TRY_CAST of sqlglot's would check what it is cast from.
    found = exp.TryCast(this=node, to=kind.copy(), safe=True) if safe else exp.Cast(this=node, to=kind.copy())
    return typed(found, kind)


def grouped(node: exp.Expr) -> exp.Expr:
    """The node, in parentheses unless it needs none."""
    if isinstance(node, _SIMPLE):
        return node
    return typed(exp.Paren(this=node), node.type)


def when(condition: exp.Expr, then: exp.Expr, other: exp.Expr | None = None) -> exp.Expr:
    """CASE with one branch."""
    return choice([(condition, then)], other)


def choice(branches: list[tuple[exp.Expr, exp.Expr]], other: exp.Expr | None = None) -> exp.Expr:
    """CASE; of the type of its first branch that is not NULL."""
    results = [then for _, then in branches] + ([other] if other else [])
    kind = next((each.type for each in results if each.type and each.type.this != exp.DType.NULL), None)
    ifs = [exp.If(this=condition, true=then) for condition, then in branches]
    return typed(exp.Case(ifs=ifs, default=other), kind)


def is_null(node: exp.Expr) -> exp.Expr:
    """IS NULL."""
    return typed(exp.Is(this=grouped(node), expression=exp.Null()), BOOLEAN)


def not_null(node: exp.Expr) -> exp.Expr:
    """IS NOT NULL."""
    return negation(is_null(node))


def negation(node: exp.Expr) -> exp.Expr:
    """NOT."""
    return typed(exp.Not(this=grouped(node)), BOOLEAN)


def compare(operator: type[exp.Binary], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """A comparison, or AND and OR."""
    return typed(operator(this=grouped(left), expression=grouped(right)), BOOLEAN)


def equals(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """Equality as DuckDB has it."""
    return compare(exp.EQ, left, right)


def one_of(node: exp.Expr, *values: str) -> exp.Expr:
    """Whether a text is one of these."""
    return typed(exp.In(this=grouped(node), expressions=[text(value) for value in values]), BOOLEAN)


def together(operator: type[exp.And | exp.Or], conditions: list[exp.Expr]) -> exp.Expr:
    """Conditions joined by AND or OR; there is at least one."""
    found = conditions[0]
    for each in conditions[1:]:
        found = compare(operator, found, each)
    return found


def each(parameters: list[str], body: exp.Expr) -> exp.Expr:
    """A lambda, for functions of lists; its body uses `variable` for what it is given."""
    return exp.Lambda(this=body, expressions=[name(parameter) for parameter in parameters])


def variable(parameter: str, kind: exp.DataType | None) -> exp.Expr:
    """What a lambda is given."""
    return typed(exp.Column(this=name(parameter)), kind)


def failing(message: str, kind: exp.DataType) -> exp.Expr:
    """What ends the query with an error when it is reached."""
    return cast(call("error", text(message)), kind)


def json_text(node: exp.Expr) -> exp.Expr:
    """A text that is JSON already, as a document."""
    return cast(node, JSON)
