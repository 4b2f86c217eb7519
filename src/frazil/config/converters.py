"""Which converters read a record's key, value and headers.

Kafka Connect takes a converter with all its settings either from the connector file or from the worker file: a
connector that names a converter inherits none of the worker's settings for it. `inherit` does the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from frazil.config import registry_tls
from frazil.errors import Problem
from frazil.model import ConverterSpec

GROUPS = ("key.converter", "value.converter", "header.converter")

JSON = "org.apache.kafka.connect.json.JsonConverter"
STRING = "org.apache.kafka.connect.storage.StringConverter"
SIMPLE = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
AVRO = "io.confluent.connect.avro.AvroConverter"
PROTOBUF = "io.confluent.connect.protobuf.ProtobufConverter"
JSON_SCHEMA = "io.confluent.connect.json.JsonSchemaConverter"

_SNOWFLAKE: Final = "com.snowflake.kafka.connector.records."

KINDS: Final[Mapping[str, str]] = {
    JSON: "json",
    STRING: "string",
    BYTES: "bytes",
    SIMPLE: "simple",
    AVRO: "avro",
    PROTOBUF: "protobuf",
    JSON_SCHEMA: "json_schema",
    f"{_SNOWFLAKE}SnowflakeJsonConverter": "snowflake_json",
    f"{_SNOWFLAKE}SnowflakeAvroConverter": "snowflake_avro",
    f"{_SNOWFLAKE}SnowflakeAvroConverterWithoutSchemaRegistry": "snowflake_avro_file",
    **{
        f"org.apache.kafka.connect.converters.{name}Converter": name.lower()
        for name in ("Boolean", "Short", "Integer", "Long", "Float", "Double")
    },
}
"""What a `ConverterSpec` calls them, by their class names in Kafka Connect."""

SCALARS: Final = frozenset({"string", "bytes", "boolean", "short", "integer", "long", "float", "double"})
"""Those whose values have no keys."""

_DEFAULTS = {"key.converter": STRING, "value.converter": JSON, "header.converter": SIMPLE}
_REGISTRY: Final = ("schema.registry.", "basic.auth.", "bearer.auth.", "ssl.")
_READ: Final[Mapping[str, tuple[str, ...]]] = {
    "json": ("schemas.enable", "replace.null.with.default"),
    "string": ("converter.encoding",),
    "avro": (*_REGISTRY, "ignore.default.for.nullables"),
    "protobuf": (*_REGISTRY, "flatten.unions", "generate.index.for.unions", "wrapper.for.nullables"),
    "json_schema": (*_REGISTRY, "ignore.default.for.nullables"),
    "snowflake_avro": (*_REGISTRY, "reader.schema", "break.on.schema.registry.error"),
}
"""How the settings begin that a converter reads."""


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


def kind(group: str) -> Callable[[str], str]:
    """What reads the value of `key.converter` and the other two: what a `ConverterSpec` calls the converter.

    It may be given by its class in Kafka Connect, by the last part of that, by a short name, or as the Python path of a
    user's own, `package.module:Class`.
    """
    usable = {name: each for name, each in KINDS.items() if each != "simple" or group == "header.converter"}
    known = {
        **{each: each for each in usable.values()},
        **{_short(name): each for name, each in usable.items()},
        **usable,
    }

    def read(text: str) -> str:
        if ":" in text:
            return text
        if text not in known:
            raise ValueError(
                f"{text!r} is no converter frazil has; write one of {', '.join(usable)}, or package.module:Class for "
                "one of your own"
            )
        return known[text]

    return read


def spec(group: str, name: str, given: Mapping[str, str]) -> ConverterSpec:
    """What a worker makes a converter of.

    Args:
        group: such as `value.converter`.
        name: what `kind` found.
        given: a connector's keys, or the converter's settings among them.
    """
    options = {key.removeprefix(f"{group}."): value for key, value in given.items() if key.startswith(f"{group}.")}
    if name == "snowflake_json":
        return ConverterSpec("json", options)
    if asks_registry(name):
        return ConverterSpec(name, registry_tls.translate(options).client)
    # Connect's JsonConverter expects schemas unless it is told that there are none.
    if name == "json" and options.get("schemas.enable", "true").lower() != "false":
        return ConverterSpec("json_envelope", options)
    return ConverterSpec(name, options)


def is_snowflakes(name: str) -> bool:
    """Whether a converter is one of the classic connector's own."""
    return KINDS.get(name, name).startswith("snowflake_")


def problems(given: Mapping[str, str]) -> Iterator[Problem]:
    """What cannot be run about the converters' settings; the converters themselves are settings with own checks."""
    for group in GROUPS:
        try:
            name = kind(group)(given.get(group, _DEFAULTS[group]))
        except ValueError:
            continue
        flags = {"json": ("schemas.enable", "replace.null.with.default")}.get(name, ())
        for flag in (f"{group}.{each}" for each in flags):
            if given.get(flag, "true").lower() not in ("true", "false"):
                yield Problem(flag, f"{given[flag]!r} is neither true nor false. Write one of them.")
        refused = list(_tls_problems(group, given)) if asks_registry(name) else []
        yield from refused
        if not refused and (name in _READ or ":" in name):
            yield from _made(group, spec(group, name, given))


def no_effect(given: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The converters' settings that change nothing, with the reason."""
    for group in GROUPS:
        converter = given.get(group, _DEFAULTS[group])
        try:
            name = kind(group)(converter)
        except ValueError:
            continue
        for key in given:
            if key.startswith(f"{group}.") and ":" not in name:
                option = key.removeprefix(f"{group}.")
                if not option.startswith(_READ.get(name, ("\0",))):
                    yield key, f"{_short(converter)} does not read it when it reads records"


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def asks_registry(name: str) -> bool:
    """Whether a converter asks a schema registry for its schemas."""
    return _REGISTRY[0] in _READ.get(name, ())


def _tls_problems(group: str, given: Mapping[str, str]) -> Iterator[Problem]:
    options = {key.removeprefix(f"{group}."): value for key, value in given.items() if key.startswith(f"{group}.")}
    for problem in registry_tls.translate(options).problems:
        yield Problem(f"{group}.{problem.key}", problem.text)


def _made(group: str, made: ConverterSpec) -> Iterator[Problem]:
    """What making the converter shows to be wrong."""
    # Only who has settings for a converter needs what it is made of.
    from frazil.records.decoders import checked

    for reason in checked(made):
        yield Problem(group, f"{reason}.")
