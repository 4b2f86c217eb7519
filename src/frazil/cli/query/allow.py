"""What may be in a query: kinds of syntax, the parts of each, and functions by name. Everything else is refused."""

from __future__ import annotations

import difflib
import re
from typing import Final

from sqlglot import exp

from frazil.cli.query.dialect import shown
from frazil.cli.query.functions import KNOWN
from frazil.errors import InvalidQuery

_TWO: Final = frozenset({"this", "expression"})
_LIST: Final = frozenset({"expressions"})
_ONE: Final = frozenset({"this"})
_MODIFIERS: Final = frozenset({"with_", "order", "limit", "offset"})

PARTS: Final[dict[type[exp.Expr], frozenset[str]]] = {
    # Queries
    exp.Select: _MODIFIERS | {"expressions", "distinct", "from_", "joins", "where", "group", "having", "qualify"},
    **dict.fromkeys((exp.Union, exp.Except, exp.Intersect), _MODIFIERS | _TWO | {"distinct"}),
    exp.Subquery: _MODIFIERS | {"this", "alias"},
    exp.With: _LIST,
    exp.CTE: frozenset({"this", "alias"}),
    exp.From: _ONE,
    exp.Join: frozenset({"this", "on", "using", "side", "kind", "method"}),
    exp.Table: frozenset({"this", "db", "catalog", "alias", "sample"}),
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
    exp.Star: frozenset({"except_", "rename"}),
    # Names and values
    exp.Alias: frozenset({"this", "alias"}),
    exp.Column: frozenset({"this", "table", "db", "catalog"}),
    exp.Identifier: frozenset({"this", "quoted"}),
    exp.Dot: _TWO,
    exp.Var: _ONE,
    exp.Literal: frozenset({"this", "is_string"}),
    **dict.fromkeys((exp.RawString, exp.Boolean, exp.Paren, exp.Not, exp.Neg, exp.Any, exp.All), _ONE),
    **dict.fromkeys((exp.Null, exp.CurrentDate, exp.CurrentTimestamp, exp.JSONPathRoot), frozenset[str]()),
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
    exp.ToBoolean: frozenset({"this", "safe"}),
    exp.DataType: frozenset({"this", "expressions", "nested"}),
    exp.DataTypeParam: _ONE,
    # Functions
    exp.Anonymous: frozenset({"this", "expressions"}),
    exp.Extract: _TWO,
    exp.StrPosition: frozenset({"this", "substr", "position", "clamp_position"}),
    exp.Window: frozenset({"this", "partition_by", "order", "spec", "over"}),
    exp.WindowSpec: frozenset({"kind", "start", "start_side", "end", "end_side"}),
    exp.WithinGroup: _TWO,
    **dict.fromkeys((exp.IgnoreNulls, exp.RespectNulls), _ONE),
}
"""The kinds of syntax that a query may have, and which parts of each; a part that is empty or false is not there."""


_CLAUSES: Final = {
    "when": "AT or BEFORE (the past of a table)",
    "locks": "FOR UPDATE",
    "pivots": "PIVOT",
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
        InvalidQuery: it names the piece.
    """
    for node in tree.walk():
        parts = PARTS.get(type(node))
        if parts is None:
            raise InvalidQuery(f"{shown(node)}: {_words(type(node).__name__)} is not supported")
        present = {part for part, value in node.args.items() if value not in (None, False, [])}
        if unknown := sorted(present - parts):
            part = _CLAUSES.get(unknown[0]) or _words(unknown[0])
            raise InvalidQuery(f"{shown(node)}: {part} is not supported")
        if isinstance(node, exp.Select) and not node.expressions:
            raise InvalidQuery("the query selects no column")
        if isinstance(node, exp.JSONExtract) and not node.args.get("variant_extract"):
            raise InvalidQuery(f"{shown(node)}: write a path as column:key")
        if isinstance(node, exp.Anonymous):
            _check_function(node)


def _check_function(node: exp.Anonymous) -> None:
    name = node.this
    if isinstance(name, str) and name.upper() in KNOWN:
        return
    if isinstance(name, str) and name.upper() == "TABLE" and isinstance(node.parent, exp.Table):
        return
    near = difflib.get_close_matches(str(node.name).upper(), sorted(KNOWN), n=3)
    hint = f"; the nearest are {', '.join(near)}" if near else ""
    raise InvalidQuery(f"there is no function {str(node.name).upper()[:60]}{hint}")


def _words(name: str) -> str:
    """`MatchRecognize` or `match_recognize` as `MATCH RECOGNIZE`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", name).strip().upper()
