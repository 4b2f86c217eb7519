"""Options of tables: `KEY = value` after the columns, and after SET."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from frazil.config.table_options import HONOURED, properties_of, without_effect
from frazil.errors import InvalidQuery
from frazil.model import ERROR_LOGGING, EVOLUTION
from frazil.snowflake.words import Words

_BOOLEANS: Final = {"ENABLE_SCHEMA_EVOLUTION": EVOLUTION, "ERROR_LOGGING": ERROR_LOGGING}
_THERE_ARE: Final = sorted({*HONOURED, *_BOOLEANS})


@dataclass(frozen=True, slots=True)
class Options:
    """What options come to."""

    properties: Mapping[str, str] = field(default_factory=dict)
    no_effect: tuple[tuple[str, str], ...] = ()
    """Given options that change nothing, each with the reason."""


def read_option(w: Words) -> Options:
    """Read one option.

    Raises:
        InvalidQuery: there is none of that name, or it has no such value.
    """
    place = w.pointed_next()
    key = w.word("an option")
    w.need("=")
    if key in _BOOLEANS:
        return Options({_BOOLEANS[key]: _boolean(w, key)})
    text = w.text_or_none()
    value = text if text is not None else w.word(f"a value of {key}")
    if reason := without_effect(key, value):
        return Options({}, ((key, reason),))
    if key not in HONOURED and key != "DATA_RETENTION_TIME_IN_DAYS":
        raise InvalidQuery(f"a table has no option {key[:40]} here; there are {', '.join(_THERE_ARE)}", place)
    try:
        return Options(properties_of(key, value))
    except ValueError as error:
        raise InvalidQuery(str(error), place) from error


def unset_option(w: Words) -> dict[str, None]:
    """Read the name of an option after UNSET: the properties that go.

    Raises:
        InvalidQuery: there is none of that name that can go.
    """
    place = w.pointed_next()
    key = w.word("an option")
    if key in _BOOLEANS:
        return {_BOOLEANS[key]: None}
    if key not in _UNSET:
        raise InvalidQuery(f"UNSET takes {', '.join([*_BOOLEANS, *_UNSET])}, not {key[:40]}", place)
    return dict.fromkeys(_UNSET[key])


def _boolean(w: Words, key: str) -> str:
    place = w.pointed_next()
    found = w.word("TRUE or FALSE")
    if found not in ("TRUE", "FALSE"):
        raise InvalidQuery(f"{key} is TRUE or FALSE, not {found[:40]}", place)
    return found.lower()


_UNSET: Final = {
    "COMMENT": ("comment",),
    "TARGET_FILE_SIZE": ("write.target-file-size-bytes",),
    "ENABLE_ICEBERG_MERGE_ON_READ": ("write.delete.mode", "write.update.mode", "write.merge.mode"),
}
