"""Functions that look into VARIANTs and objects, and say what they are."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from frazil.snowflake.building import call
from frazil.snowflake.casts import converted, to_type
from frazil.snowflake.functions.documents import from_members
from frazil.snowflake.functions.meanings import Function, arity, as_condition, as_list, literal
from frazil.snowflake.kinds import BOOLEAN, DOUBLE, JSON, NUMBER, TEXT
from frazil.snowflake.paths import step, walk, written_steps
from frazil.snowflake.places import Refused
from frazil.snowflake.templates import template
from frazil.snowflake.typed import Types
from frazil.snowflake.values import as_text, boxed, document

_MEMBERS: Final = "list_transform(map_entries(CAST({} AS MAP(VARCHAR, JSON))), lambda x: {{'k': x.key, 'v': x.value}})"

_TYPEOF: Final = (
    "CASE WHEN a IS NOT NULL THEN CASE json_type(a) WHEN 'NULL' THEN 'NULL_VALUE' WHEN 'OBJECT' THEN 'OBJECT' "
    "WHEN 'ARRAY' THEN 'ARRAY' "
    "WHEN 'VARCHAR' THEN 'VARCHAR' WHEN 'BOOLEAN' THEN 'BOOLEAN' ELSE "
    "CASE WHEN regexp_full_match(CAST(a AS VARCHAR), '-?[0-9]{1,38}(\\.0+)?') THEN 'INTEGER' "
    "WHEN regexp_full_match(CAST(a AS VARCHAR), '-?[0-9]+\\.[0-9]+') AND length(CAST(a AS VARCHAR)) <= 39 "
    "THEN 'DECIMAL' ELSE 'DOUBLE' END END END"
)

_STATIC: Final = {
    exp.DType.DATE: "DATE",
    exp.DType.TIME: "TIME",
    exp.DType.TIMESTAMP: "TIMESTAMP_NTZ",
    exp.DType.TIMESTAMP_NS: "TIMESTAMP_NTZ",
    exp.DType.TIMESTAMPTZ: "TIMESTAMP_LTZ",
    exp.DType.VARBINARY: "BINARY",
    exp.DType.FLOAT: "DOUBLE",
    exp.DType.DOUBLE: "DOUBLE",
}
"""What a type that JSON does not have is called as a VARIANT."""


def _get(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("GET", arguments, 2, 2)
    return walk(types, arguments[0], [step(arguments[1])], "the first argument of GET")


def _get_path(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("GET_PATH", arguments, 2, 2)
    way = written_steps("GET_PATH", literal("GET_PATH", arguments[1], "the path"), arguments[1])
    return walk(types, arguments[0], way, "the first argument of GET_PATH")


def _variant_get(name: str, *, safe: bool) -> Function:
    def get(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
        arity(name, arguments, 2, 3)
        way = written_steps(name, literal(name, arguments[1], "the path"), arguments[1])
        found = walk(types, boxed(types, arguments[0]), way, f"the first argument of {name}")
        if len(arguments) < 3:
            return found
        kind = literal(name, arguments[2], "the type")
        try:
            wanted = exp.DataType.build(kind, dialect="snowflake")
        except ValueError as error:
            raise Refused(f"{name}: {kind[:40]!r} is no type", arguments[2]) from error
        return converted(types, found, wanted, safe=safe)

    return get


def _object_keys(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("OBJECT_KEYS", arguments, 1, 1)
    whole = document(types, arguments[0], "the argument of OBJECT_KEYS")
    return template("CASE WHEN json_type(a) = 'OBJECT' THEN to_json(list_sort(json_keys(a))) END", [whole], JSON)


def _members(types: Types, node: exp.Expr) -> exp.Expr:
    """Keys and values; NULL if it is no object."""
    whole = document(types, node, "the first argument")
    return template(f"CASE WHEN json_type(a) = 'OBJECT' THEN {_MEMBERS.format('a')} END", [whole])


def _object_delete(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("OBJECT_DELETE", arguments, 2)
    keys = call("list_value", *(as_text(types, each) for each in arguments[1:]))
    return from_members(
        template("list_filter(a, lambda x: NOT list_contains(b, x.k))", [_members(types, arguments[0]), keys])
    )


def _object_pick(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("OBJECT_PICK", arguments, 2)
    if len(arguments) == 2 and types.is_variant(arguments[1]):
        keys = template("CAST(a AS VARCHAR[])", [boxed(types, arguments[1])])
    else:
        keys = call("list_value", *(as_text(types, each) for each in arguments[1:]))
    return from_members(
        template("list_filter(a, lambda x: list_contains(b, x.k))", [_members(types, arguments[0]), keys])
    )


def _object_insert(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("OBJECT_INSERT", arguments, 3, 4)
    members, key = _members(types, arguments[0]), as_text(types, arguments[1])
    value = boxed(types, arguments[2])
    update = as_condition(types, arguments[3]) if len(arguments) > 3 else exp.false()
    update.type = BOOLEAN.copy()
    there = "len(list_filter(a, lambda x: x.k = b)) > 0"
    refusal = (
        "CAST(error('OBJECT_INSERT: the key is there already; TRUE as the fourth argument replaces it') AS BOOLEAN)"
    )
    others = "list_filter(a, lambda x: x.k <> b)"
    added = f"CASE WHEN c IS NULL THEN {others} ELSE list_append({others}, {{'k': b, 'v': c}}) END"
    found = f"CASE WHEN CASE WHEN {there} AND NOT d THEN {refusal} ELSE true END AND b IS NOT NULL THEN {added} END"
    return from_members(template(found, [members, key, value, update]))


def _arrays_to_object(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("ARRAYS_TO_OBJECT", arguments, 2, 2)
    keys = template("list_transform(a, lambda x: json_extract_string(x, '$'))", [as_list(types, arguments[0])])
    members = (
        "CASE WHEN len(a) <> len(b) THEN error('ARRAYS_TO_OBJECT takes arrays of the same length') END IS NULL AND "
        "b IS NOT NULL"
    )
    built = "list_filter(list_transform(a, lambda x, i: {'k': x, 'v': coalesce(list_extract(b, i), CAST('null' AS JSON))}), lambda x: x.k IS NOT NULL)"  # noqa: E501
    return from_members(template(f"CASE WHEN {members} THEN {built} END", [keys, as_list(types, arguments[1])]))


def _typeof(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("TYPEOF", arguments, 1, 1)
    return _kind(types, arguments[0])


def _kind(types: Types, node: exp.Expr) -> exp.Expr:
    known = _STATIC.get(types.kind(node))
    if known:
        return template(f"CASE WHEN a IS NOT NULL THEN '{known}' END", [node], TEXT)
    return template(_TYPEOF, [boxed(types, node)], TEXT)


def _is(name: str, *wanted: str) -> Function:
    def is_it(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
        arity(name, arguments, 1, 1)
        listed = ", ".join(f"'{each}'" for each in wanted)
        return template(f"a IN ({listed})", [_kind(types, arguments[0])], BOOLEAN)

    return is_it


def _as(name: str, kind: exp.DataType, *wanted: str) -> Function:
    """The value if it is one of that type, else NULL; nothing is converted."""

    def as_it(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
        arity(name, arguments, 1, 1)
        value = boxed(types, arguments[0])
        is_it = _is(name, *wanted)(types, [arguments[0].copy()])
        read = value if kind == JSON else to_type(types, value, kind, safe=True)
        return template("CASE WHEN a THEN b END", [is_it, read], kind)

    return as_it


def _strip_null_value(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("STRIP_NULL_VALUE", arguments, 1, 1)
    return template("CASE WHEN json_type(a) <> 'NULL' THEN a END", [boxed(types, arguments[0])], JSON)


def _is_null_value(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("IS_NULL_VALUE", arguments, 1, 1)
    return template("json_type(a) = 'NULL'", [boxed(types, arguments[0])], BOOLEAN)


def _parse_url(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("PARSE_URL", arguments, 1, 2)
    permissive = "0"
    if len(arguments) > 1:
        if not (isinstance(arguments[1], exp.Literal) and arguments[1].name in ("0", "1")):
            raise Refused("PARSE_URL: the second argument is 0 or 1", arguments[1])
        permissive = arguments[1].name
    value = as_text(types, arguments[0])
    whole = r"^([A-Za-z][A-Za-z0-9+.-]*):(//([^/?#]*))?([^?#]*)(\?([^#]*))?(#(.*))?$"
    names = "['scheme', 'slashes', 'authority', 'path', 'asked', 'query', 'marked', 'fragment']"
    taken = template(f"regexp_extract(a, '{whole}', {names})", [value])
    query = "struct_extract(a, 'query')"
    pairs = f"list_transform(string_split({query}, '&'), lambda p: {{'k': split_part(p, '=', 1), 'v': CAST(to_json(CASE WHEN contains(p, '=') THEN substring(p, strpos(p, '=') + 1) ELSE '' END) AS VARCHAR)}})"  # noqa: E501
    unique = f"list_filter({pairs}, lambda s: s.k <> '')"
    parameters = from_members(template(f"CASE WHEN struct_extract(a, 'asked') <> '' THEN {unique} END", [taken]))
    port = "nullif(regexp_extract(struct_extract(a, 'authority'), ':([0-9]+)$', 1), '')"
    host = "nullif(regexp_replace(struct_extract(a, 'authority'), ':[0-9]+$', ''), '')"
    path = "regexp_replace(struct_extract(a, 'path'), '^/', '')"
    fields = {
        "fragment": "CASE WHEN struct_extract(a, 'marked') <> '' THEN struct_extract(a, 'fragment') END",
        "host": host,
        "parameters": "b",
        "path": path,
        "port": port,
        "query": f"CASE WHEN struct_extract(a, 'asked') <> '' THEN {query} END",
        "scheme": "struct_extract(a, 'scheme')",
    }
    built = "to_json({" + ", ".join(f"'{name}': {field}" for name, field in fields.items()) + "})"
    wrong = (
        "to_json({'error': 'this text is no URL'})"
        if permissive == "1"
        else "CAST(error('PARSE_URL: this text is no URL') AS JSON)"
    )
    matched = f"CASE WHEN struct_extract(a, 'scheme') <> '' THEN {built} WHEN c IS NOT NULL THEN {wrong} END"
    return template(matched, [taken.copy(), parameters, value.copy()], JSON)


_NUMBERS: Final = ("INTEGER", "DECIMAL")

FUNCTIONS: Final[dict[str, Function]] = {
    "GET": _get,
    "GET_PATH": _get_path,
    "VARIANT_GET": _variant_get("VARIANT_GET", safe=False),
    "TRY_VARIANT_GET": _variant_get("TRY_VARIANT_GET", safe=True),
    "OBJECT_KEYS": _object_keys,
    "OBJECT_DELETE": _object_delete,
    "OBJECT_PICK": _object_pick,
    "OBJECT_INSERT": _object_insert,
    "ARRAYS_TO_OBJECT": _arrays_to_object,
    "TYPEOF": _typeof,
    "STRIP_NULL_VALUE": _strip_null_value,
    "IS_NULL_VALUE": _is_null_value,
    "PARSE_URL": _parse_url,
    "IS_ARRAY": _is("IS_ARRAY", "ARRAY"),
    "IS_OBJECT": _is("IS_OBJECT", "OBJECT"),
    "IS_VARCHAR": _is("IS_VARCHAR", "VARCHAR"),
    "IS_CHAR": _is("IS_CHAR", "VARCHAR"),
    "IS_BOOLEAN": _is("IS_BOOLEAN", "BOOLEAN"),
    "IS_INTEGER": _is("IS_INTEGER", "INTEGER"),
    "IS_DECIMAL": _is("IS_DECIMAL", *_NUMBERS),
    "IS_DOUBLE": _is("IS_DOUBLE", *_NUMBERS, "DOUBLE"),
    "IS_REAL": _is("IS_REAL", *_NUMBERS, "DOUBLE"),
    "AS_ARRAY": _as("AS_ARRAY", JSON, "ARRAY"),
    "AS_OBJECT": _as("AS_OBJECT", JSON, "OBJECT"),
    "AS_VARCHAR": _as("AS_VARCHAR", TEXT, "VARCHAR"),
    "AS_CHAR": _as("AS_CHAR", TEXT, "VARCHAR"),
    "AS_BOOLEAN": _as("AS_BOOLEAN", BOOLEAN, "BOOLEAN"),
    "AS_INTEGER": _as("AS_INTEGER", NUMBER, "INTEGER"),
    "AS_DOUBLE": _as("AS_DOUBLE", DOUBLE, *_NUMBERS, "DOUBLE"),
    "AS_REAL": _as("AS_REAL", DOUBLE, *_NUMBERS, "DOUBLE"),
}
"""What each becomes."""
