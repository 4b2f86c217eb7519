"""What may be in a query: kinds of syntax, the parts of each, and functions by name. Everything else is refused."""

from __future__ import annotations

import re
from typing import Final

from sqlglot import exp

from frazil.snowflake.functions import CLASSES, KNOWN, NAMED
from frazil.snowflake.places import Refused, near
from frazil.snowflake.reading import shown

_TWO: Final = frozenset({"this", "expression"})
_LIST: Final = frozenset({"expressions"})
_ONE: Final = frozenset({"this"})
_MODIFIERS: Final = frozenset({"with_", "order", "limit", "offset"})

PARTS: Final[dict[type[exp.Expr], frozenset[str]]] = {
    # Queries
    exp.Select: _MODIFIERS | {"expressions", "distinct", "from_", "joins", "where", "group", "having", "qualify"},
    **dict.fromkeys((exp.Union, exp.Except, exp.Intersect), _MODIFIERS | _TWO | {"distinct"}),
    exp.Subquery: _MODIFIERS | {"this", "alias", "pivots", "sample"},
    exp.With: _LIST,
    exp.CTE: frozenset({"this", "alias"}),
    exp.From: _ONE,
    exp.Join: frozenset({"this", "on", "using", "side", "kind", "method"}),
    exp.Table: frozenset({"this", "db", "catalog", "alias", "sample", "when", "changes", "pivots"}),
    exp.HistoricalData: frozenset({"this", "kind", "expression"}),
    exp.Changes: frozenset({"information", "at_before", "end"}),
    exp.Pivot: frozenset(
        {
            "expressions",
            "fields",
            "unpivot",
            "include_nulls",
            "alias",
            "columns",
            "identify_pivot_strings",
            "prefixed_pivot_columns",
            "pivot_column_naming",
            "default_on_null",
            "value_columns_first",
        }
    ),
    exp.PivotAlias: frozenset({"this", "alias"}),
    exp.TableFromRows: frozenset({"this", "alias"}),
    exp.TableSample: frozenset({"method", "percent", "size", "seed"}),
    exp.TableAlias: frozenset({"this", "columns"}),
    exp.Lateral: frozenset({"this", "alias"}),
    exp.Explode: frozenset({"this", "expressions"}),
    exp.Kwarg: _TWO,
    exp.Values: frozenset({"expressions", "alias"}),
    exp.Tuple: _LIST,
    **dict.fromkeys((exp.Where, exp.Having, exp.Qualify), _ONE),
    exp.Group: frozenset({"expressions", "all"}),
    **dict.fromkeys((exp.Rollup, exp.Cube, exp.GroupingSets, exp.Order, exp.Distinct), _LIST),
    exp.Ordered: frozenset({"this", "desc", "nulls_first"}),
    **dict.fromkeys((exp.Limit, exp.Offset), frozenset({"expression"})),
    exp.Fetch: frozenset({"direction", "count", "limit_options"}),
    exp.LimitOptions: frozenset({"rows"}),
    exp.Star: frozenset({"except_", "rename", "ilike"}),
    # Names and values
    exp.Alias: frozenset({"this", "alias"}),
    exp.Column: frozenset({"this", "table", "db", "catalog"}),
    exp.Identifier: frozenset({"this", "quoted"}),
    exp.Dot: _TWO,
    exp.Var: _ONE,
    exp.Literal: frozenset({"this", "is_string"}),
    **dict.fromkeys((exp.RawString, exp.Boolean, exp.Paren, exp.Not, exp.Neg, exp.Any, exp.All), _ONE),
    **dict.fromkeys((exp.Null, exp.JSONPathRoot), frozenset[str]()),
    exp.JSONExtract: _TWO | {"variant_extract", "requires_json"},
    exp.JSONPath: _LIST,
    exp.JSONPathKey: frozenset({"this", "quoted"}),
    exp.JSONPathSubscript: _ONE,
    exp.Bracket: frozenset({"this", "expressions", "json_access"}),
    exp.Array: _LIST,
    exp.Struct: _LIST,
    exp.PropertyEQ: _TWO,
    exp.Interval: frozenset({"this", "unit"}),
    # Operators
    **dict.fromkeys(
        (exp.And, exp.Or, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ), _TWO
    ),
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.Is, exp.Like, exp.ILike, exp.Escape), _TWO),
    exp.Div: _TWO | {"typed", "safe"},
    exp.DPipe: _TWO | {"safe"},
    exp.RegexpLike: _TWO | {"full_match"},
    exp.Between: frozenset({"this", "low", "high"}),
    exp.In: frozenset({"this", "expressions", "query"}),
    exp.Exists: _ONE,
    exp.Case: frozenset({"this", "ifs", "default"}),
    exp.If: frozenset({"this", "true"}),
    exp.Cast: frozenset({"this", "to"}),
    exp.TryCast: frozenset({"this", "to", "safe", "requires_string", "null_on_text_overflow", "probe_date_format"}),
    exp.DataType: frozenset({"this", "expressions", "nested"}),
    exp.DataTypeParam: _ONE,
    # Functions
    exp.Anonymous: frozenset({"this", "expressions"}),
    exp.Window: frozenset({"this", "partition_by", "order", "spec", "over"}),
    exp.WindowSpec: frozenset({"kind", "start", "start_side", "end", "end_side"}),
    exp.WithinGroup: _TWO,
    **dict.fromkeys((exp.IgnoreNulls, exp.RespectNulls), _ONE),
}
"""The kinds of syntax that a query may have, and which parts of each; a part that is empty or false is not there."""


_CLAUSES: Final = {
    "locks": "FOR UPDATE",
    "match": "MATCH_RECOGNIZE",
    "connect": "CONNECT BY",
    "joins": "a join in parentheses",
    "join_mark": "(+)",
    "on": "DISTINCT ON",
}
"""What a part is called where its own name says nothing."""


def check(tree: exp.Expr) -> None:
    """Refuse a query that has anything which is not on the lists.

    Raises:
        Refused: it names the piece.
    """
    for node in tree.walk():
        parts = CLASSES.get(type(node)) or PARTS.get(type(node))
        if parts is None:
            raise _no_such(node)
        present = {part for part, value in node.args.items() if value not in (None, False, [])}
        if unknown := sorted(present - parts):
            part = _CLAUSES.get(unknown[0]) or _words(unknown[0])
            raise Refused(f"{shown(node)}: {part} is not supported", node)
        _check_meaning(node)


def _check_meaning(node: exp.Expr) -> None:
    if isinstance(node, exp.Select) and not node.expressions:
        raise Refused("the query selects no column", node)
    if isinstance(node, exp.JSONExtract) and not node.args.get("variant_extract"):
        raise Refused(f"{shown(node)}: write a path as column:key", node)
    if isinstance(node, exp.Explode) and not isinstance(node.parent, _RELATIONS):
        raise Refused("FLATTEN makes rows, so it stands in FROM: … from t, lateral flatten(input => t.items) f", node)
    if isinstance(node, exp.Anonymous):
        _check_function(node)


_RELATIONS: Final = (exp.Lateral, exp.Table, exp.TableFromRows, exp.Anonymous)


def _no_such(node: exp.Expr) -> Refused:
    if isinstance(node, exp.Func) and not isinstance(node, exp.Binary | exp.Connector):
        return _unknown_function(node, _called(node))
    return Refused(f"{shown(node)}: {_words(type(node).__name__)} is not supported", node)


def _called(node: exp.Expr) -> str:
    """The function's name, as the message shows it."""
    written = node.meta.get("name")
    return str(written or node.sql_name()).upper() if isinstance(node, exp.Func) else type(node).__name__.upper()


def _check_function(node: exp.Anonymous) -> None:
    name = node.this
    if isinstance(name, str) and name.upper() in NAMED:
        return
    if isinstance(name, str) and name.upper() == "TABLE" and isinstance(node.parent, exp.Table | exp.Lateral):
        return
    raise _unknown_function(node, str(node.name).upper())


def _unknown_function(node: exp.Expr, name: str) -> Refused:
    return Refused(f"there is no function {name[:60]}{near(name, sorted(KNOWN))}", node)


def _words(name: str) -> str:
    """`MatchRecognize` or `match_recognize` as `MATCH RECOGNIZE`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", name).strip().upper()
