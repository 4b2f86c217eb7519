"""The schemas in the envelopes of Connect's JsonConverter."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from frazil.records.connect.data import DECIMAL, SCALE, Field, Schema, Type
from frazil.records.connect.json_values import reader
from frazil.records.connect.unreadable import Unreadable, shown

_SCALE: Final = re.compile(r"[+-]?[0-9]{1,10}")
_TYPES: Final = {
    **{str(type_): type_ for type_ in Type if type_ not in (Type.FLOAT32, Type.FLOAT64)},
    "float": Type.FLOAT32,
    "double": Type.FLOAT64,
}


def schema_of(written: Any) -> Schema | None:
    """The schema that JSON describes; None for null.

    Raises:
        Unreadable: it describes none.
    """
    return None if written is None else _schema(written)


def _schema(written: Any) -> Schema:
    if not isinstance(written, Mapping):
        raise _refused(f"{shown(written)} is no object")
    type_ = _TYPES.get(written["type"]) if isinstance(written.get("type"), str) else None
    if type_ is None:
        raise _refused(f"{shown(written.get('type'))} is no type of Connect's")
    parameters = _expected(written, "parameters", dict) or {}
    if not all(isinstance(each, str) for each in parameters.values()):
        raise _refused("a parameter is no text")
    schema = Schema(
        type_,
        optional=bool(_expected(written, "optional", bool)),
        name=_expected(written, "name", str),
        version=_version(written.get("version")),
        doc=_expected(written, "doc", str),
        parameters=parameters,
        fields=tuple(map(_field, _required(written, "fields", list))) if type_ is Type.STRUCT else (),
        key=_schema(_required(written, "keys", dict)) if type_ is Type.MAP else None,
        value=_element(type_, written),
    )
    if schema.name == DECIMAL:
        _check_scale(schema)
    return _with_default(schema, written.get("default"))


def _element(type_: Type, written: Mapping[str, Any]) -> Schema | None:
    match type_:
        case Type.MAP:
            return _schema(_required(written, "values", dict))
        case Type.ARRAY:
            return _schema(_required(written, "items", dict))
        case _:
            return None


def _field(written: Any) -> Field:
    if not isinstance(written, Mapping):
        raise _refused(f"the field {shown(written)} is no object")
    return Field(_required(written, "field", str), _schema(written))


def _with_default(schema: Schema, default: Any) -> Schema:
    if default is None:
        return schema
    return Schema(
        schema.type,
        schema.optional,
        reader(schema)(default),
        schema.name,
        schema.version,
        schema.doc,
        schema.parameters,
        schema.fields,
        schema.key,
        schema.value,
    )


def _version(written: Any) -> int | None:
    if written is None:
        return None
    try:
        return int(written)
    except (TypeError, ValueError) as error:
        raise _refused(f"the version {shown(written)} is no whole number") from error


def _check_scale(schema: Schema) -> None:
    written = schema.parameters.get(SCALE)
    if written is None or not _SCALE.fullmatch(written) or not -(2**31) <= int(written) < 2**31:
        raise _refused(f"the scale {shown(written)} of a Decimal is not a whole number of 32 bits")


def _expected(written: Mapping[str, Any], name: str, kind: type) -> Any:
    found = written.get(name)
    if found is not None and not isinstance(found, kind):
        raise _refused(f"the {name} {shown(found)} is none")
    return found


def _required(written: Mapping[str, Any], name: str, kind: type) -> Any:
    found = _expected(written, name, kind)
    if found is None:
        raise _refused(f"a schema of type {shown(written.get('type'))} has no {name}")
    return found


def _refused(why: str) -> Unreadable:
    return Unreadable(f"has a schema that is none of Connect's: {why}")
