"""What `snowflake.iceberg.create.table.options` asks for: clauses of Snowflake's CREATE ICEBERG TABLE.

An option becomes properties of the tables that frazil creates, has no effect here, or is refused with what to write.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

_OPTION = re.compile(
    r"""(?P<key>[A-Za-z]\w*)\s*=\s*(?:'(?P<single>(?:[^']|'')*)'|"(?P<double>[^"]*)"|(?P<bare>[^\s,'"()=]+))"""
    r"(?=[\s,]|\Z)[\s,]*"
)
_CLAUSE = re.compile(r"[A-Za-z]\w*(?:\s+[A-Za-z]\w*)*")
_FORMAT_VERSION = "format-version"
_SIZE = re.compile(r"(16|32|64|128)MB", re.IGNORECASE)
_MODES = ("write.delete.mode", "write.update.mode", "write.merge.mode")


@dataclass(frozen=True, slots=True)
class TableOptions:
    """What becomes of the options."""

    properties: Mapping[str, str] = field(default_factory=dict)
    """Iceberg's properties of created tables."""

    no_effect: tuple[tuple[str, str], ...] = ()
    """Given options that change nothing, each with the reason."""

    text: str = ""
    """As written."""

    @classmethod
    def read(cls, text: str) -> TableOptions:
        """The options in `text`: `KEY = value`, separated by blanks or commas.

        Raises:
            ValueError: an option is malformed or cannot be honoured; the message lists them all.
        """
        properties: dict[str, str] = {}
        no_effect: list[tuple[str, str]] = []
        reasons = []
        for key, value in _options(text):
            if reason := NO_EFFECT.get(key):
                no_effect.append((key, reason))
                continue
            try:
                properties |= properties_of(key, value)
            except ValueError as error:
                reasons.append(str(error))
        if reasons:
            raise ValueError("; ".join(reasons))
        return cls(properties, tuple(no_effect), text.strip())

    @property
    def format_version(self) -> int | None:
        """Iceberg's format version, if one is asked for."""
        version = self.properties.get(_FORMAT_VERSION)
        return None if version is None else int(version)

    def __str__(self) -> str:
        return self.text


def _options(text: str) -> Iterator[tuple[str, str]]:
    position, given = len(text) - len(text.lstrip()), set()
    while position < len(text):
        found = _OPTION.match(text, position)
        if not found:
            clause = _CLAUSE.match(text, position)
            raise ValueError(
                f"{clause[0] if clause else text[position]!r} at position {position} of {text!r} begins no option "
                f"frazil reads; write options as KEY = value, and for any other clause create the table before the "
                "start"
            )
        key = found["key"].upper()
        if key in given:
            raise ValueError(f"{key} is given twice; keep one of them")
        given.add(key)
        yield key, _value(found)
        position = found.end()


def _value(found: re.Match[str]) -> str:
    if found["single"] is not None:
        return found["single"].replace("''", "'")
    return found["bare"] if found["double"] is None else found["double"]


def properties_of(key: str, value: str) -> dict[str, str]:
    """Iceberg's properties for one option.

    Raises:
        ValueError: there is none of that name, or it has no such value.
    """
    if key in HONOURED:
        return HONOURED[key](value)
    if key == "DATA_RETENTION_TIME_IN_DAYS":
        raise ValueError(f"{key} is a setting of the connector here; remove it and write frazil.snapshots.min.age")
    raise ValueError(
        f"{key} is none of the options frazil honours, {', '.join(HONOURED)}; remove it, or create the table before "
        "the start"
    )


def _version(value: str) -> dict[str, str]:
    if value not in ("2", "3"):
        raise ValueError(f"ICEBERG_VERSION = {value} is not possible; write 2 or 3")
    return {_FORMAT_VERSION: value}


def _target_file_size(value: str) -> dict[str, str]:
    if value.upper() == "AUTO":
        return {}
    size = _SIZE.fullmatch(value)
    if not size:
        raise ValueError(f"TARGET_FILE_SIZE = {value} is not possible; write AUTO, 16MB, 32MB, 64MB or 128MB")
    return {"write.target-file-size-bytes": str(int(size[1]) << 20)}


def _merge_on_read(value: str) -> dict[str, str]:
    mode = "merge-on-read" if _boolean("ENABLE_ICEBERG_MERGE_ON_READ", value) else "copy-on-write"
    return dict.fromkeys(_MODES, mode)


def _schema_evolution(value: str) -> dict[str, str]:
    if not _boolean("ENABLE_SCHEMA_EVOLUTION", value):
        raise ValueError(
            "ENABLE_SCHEMA_EVOLUTION = FALSE is not possible, as a created table gets its columns from its records; "
            "create the table before the start"
        )
    return {}


def _boolean(key: str, value: str) -> bool:
    if value.upper() not in ("TRUE", "FALSE"):
        raise ValueError(f"{key} = {value} is not possible; write TRUE or FALSE")
    return value.upper() == "TRUE"


HONOURED: Mapping[str, Callable[[str], dict[str, str]]] = {
    "COMMENT": lambda value: {"comment": value},
    "ENABLE_ICEBERG_MERGE_ON_READ": _merge_on_read,
    "ENABLE_SCHEMA_EVOLUTION": _schema_evolution,
    "ICEBERG_VERSION": _version,
    "TARGET_FILE_SIZE": _target_file_size,
}
"""Options that mean something here, each with its way to Iceberg's properties."""

_PLACE = "the Spark catalog decides where tables lie"

NO_EFFECT: Mapping[str, str] = {
    "BASE_LOCATION": _PLACE,
    "CATALOG": "the Spark catalog holds the tables",
    "CATALOG_SYNC": "the Spark catalog holds the tables",
    "CHANGE_TRACKING": "Iceberg's snapshots tell what changed",
    "ENABLE_DATA_COMPACTION": "frazil compacts nothing by itself (docs/how-to/maintenance.md)",
    "ERROR_LOGGING": "errors.tolerance decides what becomes of rejected records",
    "EXTERNAL_VOLUME": _PLACE,
    "MAX_DATA_EXTENSION_TIME_IN_DAYS": "there are no Snowflake streams",
    "PATH_LAYOUT": _PLACE,
    "STORAGE_SERIALIZATION_POLICY": "data files are always such that every engine reads them",
}
"""Options of a Snowflake account, and those that ask for what is so anyway; each with the reason."""
