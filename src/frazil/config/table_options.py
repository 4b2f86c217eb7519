"""What `snowflake.iceberg.create.table.options` asks for: clauses of Snowflake's CREATE ICEBERG TABLE.

An option becomes properties of the tables that frazil creates, has no effect here, or is refused with what to write.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import orjson

from frazil.model import ERROR_LOGGING, LAYOUT_OF_CREATED, LOCATION, CreatedKey

_OPTION = re.compile(
    r"""(?P<key>[A-Za-z]\w*)\s*=\s*(?:'(?P<single>(?:[^']|'')*)'|"(?P<double>[^"]*)"|(?P<bare>[^\s,'"()=]+))"""
    r"(?=[\s,]|\Z)[\s,]*"
)
_KEYS = re.compile(
    r"""(?P<kind>PARTITION|CLUSTER)\s+BY\s*\((?P<keys>(?:[^()"]|"(?:[^"]|"")*"|\((?:[^()"]|"(?:[^"]|"")*")*\))*)\)"""
    r"(?=[\s,]|\Z)[\s,]*",
    re.IGNORECASE,
)
_KEY = re.compile(
    r"""\s*(?:(?P<transform>[A-Za-z]+)\s*\(\s*(?:(?P<number>\d{1,9})\s*,)?)?\s*"""
    r"""(?:"(?P<quoted>(?:[^"]|"")+)"|(?P<plain>[^\W\d]\w*))\s*(?P<closed>\))?\s*(?:,|\Z)"""
)
_OF_PROPERTIES = re.compile(
    r"""TBLPROPERTIES\s*\((?P<properties>(?:[^'()]|'(?:[^']|'')*')*)\)(?=[\s,]|\Z)[\s,]*""", re.IGNORECASE
)
_PROPERTY = re.compile(r"""\s*'(?P<key>[^']+)'\s*=\s*'(?P<value>(?:[^']|'')*)'\s*(?:,|\Z)""")
_PARAMETRISED = ("bucket", "truncate")
_OF_TIMES = ("year", "month", "day", "hour")
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/|/")
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
        keys: dict[str, list[CreatedKey]] = {}
        for key, value in _options(text):
            if reason := without_effect(key, value):
                no_effect.append((key, reason))
                continue
            try:
                if key in _CLAUSES:
                    keys[_CLAUSES[key]] = list(_keys(key, value))
                else:
                    properties |= _own_properties(value) if key == "TBLPROPERTIES" else properties_of(key, value)
            except ValueError as error:
                reasons.append(str(error))
        if reasons:
            raise ValueError("; ".join(reasons))
        if keys:
            properties[LAYOUT_OF_CREATED] = orjson.dumps(keys).decode()
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
        clause = _KEYS.match(text, position) or _OF_PROPERTIES.match(text, position)
        found = clause or _OPTION.match(text, position)
        if not found:
            other = _CLAUSE.match(text, position)
            raise ValueError(
                f"{other[0] if other else text[position]!r} at position {position} of {text!r} begins no option "
                f"frazil reads; write options as KEY = value, and for any other clause create the table before the "
                "start"
            )
        if clause:
            key = f"{clause['kind'].upper()} BY" if clause.re is _KEYS else "TBLPROPERTIES"
            value = clause[clause.lastgroup or 0] if clause.re is not _KEYS else clause["keys"]
        else:
            key, value = found["key"].upper(), _value(found)
        if key in given:
            raise ValueError(f"{key} is given twice; keep one of them")
        given.add(key)
        yield key, value
        position = found.end()


def _value(found: re.Match[str]) -> str:
    if found["single"] is not None:
        return found["single"].replace("''", "'")
    return found["bare"] if found["double"] is None else found["double"]


def without_effect(key: str, value: str) -> str | None:
    """Why an option changes nothing here; None if it may."""
    if key == "BASE_LOCATION" and not _ABSOLUTE.match(value):
        return f"{_PLACE}; write where they lie with its scheme, such as s3://bucket/tables"
    return NO_EFFECT.get(key)


def _keys(clause: str, text: str) -> Iterator[CreatedKey]:
    position = 0
    while position < len(text) or not position:
        found = _KEY.match(text, position)
        if not found or (found["transform"] is None) != (found["closed"] is None):
            raise ValueError(
                f"{clause} ({text.strip()}) is not possible; write columns, or bucket(n, c), truncate(n, c), year(c), "
                "month(c), day(c) and hour(c) of them, between commas"
            )
        yield _key(clause, found)
        position = found.end()


def _key(clause: str, found: re.Match[str]) -> CreatedKey:
    transform, number = (found["transform"] or "identity").lower(), int(found["number"] or 0)
    if transform.removesuffix("s") in _OF_TIMES:
        transform = transform.removesuffix("s")
    elif transform not in (*_PARAMETRISED, "identity"):
        raise ValueError(f"{clause} knows no {transform}; there are {', '.join((*_PARAMETRISED, *_OF_TIMES))}")
    if (transform in _PARAMETRISED) != (number > 0):
        raise ValueError(f"{clause}: {', '.join(_PARAMETRISED)} take a number and a column, the others a column alone")
    quoted = found["quoted"]
    name = found["plain"] if quoted is None else quoted.replace('""', '"')
    return CreatedKey(name, quoted is not None, transform, number)


def _own_properties(text: str) -> dict[str, str]:
    """Iceberg's properties, as they are written."""
    found: dict[str, str] = {}
    position = 0
    while position < len(text):
        each = _PROPERTY.match(text, position)
        if not each:
            raise ValueError(f"TBLPROPERTIES ({text.strip()}) is not possible; write 'key' = 'value' between commas")
        key = each["key"]
        if key.startswith("frazil.") or key in ("format-version", "location"):
            raise ValueError(f"TBLPROPERTIES: {key} is set by frazil, and by options of its own")
        found[key] = each["value"].replace("''", "'")
        position = each.end()
    return found


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
    "BASE_LOCATION": lambda value: {LOCATION: value.rstrip("/") or "/"},
    "COMMENT": lambda value: {"comment": value},
    "ENABLE_ICEBERG_MERGE_ON_READ": _merge_on_read,
    "ENABLE_SCHEMA_EVOLUTION": _schema_evolution,
    "ERROR_LOGGING": lambda value: {ERROR_LOGGING: str(_boolean("ERROR_LOGGING", value)).lower()},
    "ICEBERG_VERSION": _version,
    "TARGET_FILE_SIZE": _target_file_size,
}
"""Options that mean something here, each with its way to Iceberg's properties."""

_CLAUSES: Mapping[str, str] = {"PARTITION BY": "partition", "CLUSTER BY": "order"}

_PLACE = "the Spark catalog decides where tables lie"

NO_EFFECT: Mapping[str, str] = {
    "CATALOG": "the Spark catalog holds the tables",
    "CATALOG_SYNC": "the Spark catalog holds the tables",
    "CHANGE_TRACKING": "Iceberg's snapshots tell what changed",
    "ENABLE_DATA_COMPACTION": "frazil compacts nothing by itself (docs/how-to/maintenance.md)",
    "EXTERNAL_VOLUME": _PLACE,
    "MAX_DATA_EXTENSION_TIME_IN_DAYS": "there are no Snowflake streams",
    "PATH_LAYOUT": _PLACE,
    "STORAGE_SERIALIZATION_POLICY": "data files are always such that every engine reads them",
}
"""Options of a Snowflake account, and those that ask for what is so anyway; each with the reason."""
