"""Which converters read a record's key and value.

Kafka Connect takes a converter with all its settings either from the connector file or from the worker file: a
connector that names a converter inherits none of the worker's settings for it. `inherit` does the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from frazil.errors import Problem

GROUPS = ("key.converter", "value.converter", "header.converter")

JSON = "org.apache.kafka.connect.json.JsonConverter"
STRING = "org.apache.kafka.connect.storage.StringConverter"
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"

KEY_CONVERTERS = {STRING: "string", BYTES: "bytes", JSON: "json"}
SIMPLE = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
HEADER_CONVERTERS = {SIMPLE: "simple", STRING: "string", JSON: "json", BYTES: "bytes"}
VALUE_CONVERTERS = {JSON: "json", STRING: "string", BYTES: "bytes"}

_DEFAULTS = {"key.converter": STRING, "value.converter": JSON, "header.converter": SIMPLE}
_READ = {JSON: "schemas.enable", STRING: "converter.encoding"}
_UTF_8 = ("utf8", "utf-8")


def inherit(connector: Mapping[str, str], worker: Mapping[str, str]) -> dict[str, str]:
    """The worker's converter keys that hold for a connector."""
    inherited = {}
    for group in GROUPS:
        if group not in connector:
            inherited.update({key: value for key, value in worker.items() if is_of(group, key)})
    return inherited


def is_of(group: str, key: str) -> bool:
    """Whether `key` belongs to the converter `group`."""
    return key == group or key.startswith(f"{group}.")


def is_setting(key: str) -> bool:
    """Whether `key` is a setting of a converter, such as `value.converter.schemas.enable`."""
    return any(key.startswith(f"{group}.") for group in GROUPS)


def problems(given: Mapping[str, str]) -> Iterator[Problem]:
    """What cannot be run about the converters' settings; the converters themselves are settings with own checks."""
    for group in GROUPS:
        converter = given.get(group, _DEFAULTS[group])
        if converter == JSON:
            yield from _envelopes(f"{group}.schemas.enable", given)
        encoding = given.get(f"{group}.converter.encoding")
        if converter == STRING and encoding and encoding.lower() not in _UTF_8:
            yield Problem(
                f"{group}.converter.encoding", f"{encoding!r} is not built yet. Write UTF-8, or remove the key."
            )


def no_effect(given: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The converters' settings that change nothing, with the reason."""
    for group in GROUPS:
        converter = given.get(group, _DEFAULTS[group])
        for key in given:
            if key.startswith(f"{group}.") and key != f"{group}.{_READ.get(converter)}":
                yield key, f"{converter.rpartition('.')[2]} does not read it where there are no schemas"


def _envelopes(key: str, given: Mapping[str, str]) -> Iterator[Problem]:
    value = given.get(key)
    if value is None:
        yield Problem(
            key,
            f"is missing next to its converter, and Kafka Connect's default is true: values in envelopes of schema and "
            f"payload, which are not built yet. Write {key}=false for plain JSON.",
        )
    elif value.lower() != "false":
        yield Problem(key, f"{value!r} is refused: envelopes of schema and payload are not built yet. Write false.")
