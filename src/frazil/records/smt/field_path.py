"""Paths to fields: a name (V1), or names between dots, those with dots in them in backticks (V2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from frazil.records.connect.data import Field, Schema, Struct, Type
from frazil.records.smt.options import Options
from frazil.records.smt.refusal import CannotTransform
from frazil.records.smt.schemas import field_value
from frazil.records.smt.transformation import require_map, require_struct

_PURPOSE = "access to a nested field"


@dataclass(frozen=True, slots=True)
class FieldPath:
    """The names to go along, from the outermost; at least one."""

    steps: tuple[str, ...]

    @classmethod
    def of(cls, options: Options, key: str) -> FieldPath:
        """The path of an option, in the syntax that `field.syntax.version` says."""
        text = options.text(key)
        version = options.text("field.syntax.version", "V1").upper()
        if version not in ("V1", "V2"):
            options.refuse("field.syntax.version", f"{version!r} is neither V1 nor V2. Write one of them.")
        return cls(options.read(key, text, _steps, ("",)) if version == "V2" else (text,))

    def in_map(self, value: dict[str, Any]) -> Any:
        """What is at the path, or None.

        Raises:
            CannotTransform: the path leads through what is no map.
        """
        current: Any = value
        for step in self.steps[:-1]:
            current = current.get(step)
            if current is None:
                return None
            current = require_map(current, _PURPOSE)
        return current.get(self.steps[-1])

    def in_schema(self, schema: Schema) -> Field | None:
        """The field at the path, if there is one.

        Raises:
            CannotTransform: the path leads through what is no struct.
        """
        for step in self.steps[:-1]:
            found = _field(schema, step)
            if found is None:
                return None
            schema = found.schema
        return _field(schema, self.steps[-1])

    def in_struct(self, value: Struct, *, default: bool) -> Any:
        """What is at the path, or None; with `default` what stands for null."""
        for step in self.steps[:-1]:
            inner = field_value(value, step, default=True)
            if inner is None:
                return None
            value = require_struct(inner, _PURPOSE)
        return field_value(value, self.steps[-1], default=default)


def _field(schema: Schema, name: str) -> Field | None:
    if schema.type is not Type.STRUCT:
        raise CannotTransform(f"only structs have fields, and {name!r} is looked for in a value of type {schema.type}")
    return schema.field(name)


def _steps(text: str) -> tuple[str, ...]:
    steps, at = [], 0
    while at < len(text):
        if text[at] == "`":
            step, at = _quoted(text, at)
        else:
            end = text.find(".", at)
            step, at = (text[at:], len(text)) if end < 0 else (text[at:end], end + 1)
        steps.append(step)
    if text.endswith("."):
        steps.append("")
    if not steps:
        raise ValueError("is an empty path. Write the name of a field.")
    return tuple(steps)


def _quoted(text: str, opening: int) -> tuple[str, int]:
    """The step that begins with a backtick, and where the next one begins."""
    step, start = "", opening + 1
    at = start
    while (at := text.find("`", at)) >= 0:
        escaped = text[at - 1] == "\\"
        if at == len(text) - 1:
            if escaped:
                break
            return step + text[start:at], len(text)
        if text[at + 1] == ".":
            if not escaped:
                return step + text[start:at], at + 2
            step, start = f"{step}{text[start : at - 1]}`", at + 1
        at += 1
    raise ValueError(
        f"{text!r} has a backtick at position {opening} without its pair. Write one before the next dot, or a "
        "backslash before it if it belongs to the name."
    )
