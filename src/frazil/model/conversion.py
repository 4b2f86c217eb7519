"""How bytes become JSON text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class ConverterSpec:
    """What a worker makes the converter of records' values, keys or headers of."""

    kind: str
    """One of `frazil.records.convert.CONVERTERS` or `frazil.records.decoders.DECODERS`, such as `json` or `avro`; or
    the Python path of a user's own, `package.module:Class`."""

    options: Mapping[str, str] = field(default_factory=dict, hash=False, repr=False)
    """Its settings as configured, without the prefix; may hold secrets, hence never shown."""


@dataclass(frozen=True, slots=True)
class TransformSpec:
    """What a worker makes one transform of records of."""

    name: str
    """What the connector's configuration calls it, as messages do."""

    kind: str
    """One of `frazil.records.convert.TRANSFORMS`; or the class of a single message transform, whose options then are
    the keys of a connector's file that describe it alone, as `frazil.records.smt.chain.specs` gives them."""

    options: Mapping[str, str] = field(default_factory=dict, hash=False, repr=False)
    """Its settings as configured, without the prefix; may hold secrets, hence never shown."""


MetadataPart: TypeAlias = Literal["topic", "offset_and_partition", "create_time", "push_time"]


@dataclass(frozen=True, slots=True)
class Conversion:
    """How records become rows, as the connector is configured."""

    value_converter: ConverterSpec = ConverterSpec("json")
    key_converter: ConverterSpec = ConverterSpec("string")
    header_converter: ConverterSpec = ConverterSpec("simple")
    transforms: tuple[TransformSpec, ...] = ()
    """In their order: each gets the records that the one before it gave."""

    structured_headers: bool = False
    """Whether header values keep their JSON types; otherwise they are texts."""

    structured_metadata: bool = True
    """Whether RECORD_METADATA is created with fields, rather than as one JSON text."""

    metadata_column: str = "RECORD_METADATA"
    """The column that says where a record comes from: the source's kind has it of one form (`frazil.pipes.forms`)."""

    metadata: frozenset[MetadataPart] | None = frozenset({"topic", "offset_and_partition", "create_time", "push_time"})
    """The parts of RECORD_METADATA to write; None leaves the whole column NULL."""

    tombstones: Literal["default", "ignore"] = "default"
    """Whether a record without a value becomes a row of metadata only, or none."""

    time_zone: str = "UTC"
    """The zone of texts that name none and go to a column with a zone."""

    numbers: Literal["reject", "round"] = "reject"
    """What becomes of digits a column has no room for."""

    validation: Literal["client_side", "server_side"] = "server_side"
    """Whether texts become what they say as JSON in columns of VARIANT, lists, structs and maps (`client_side`)."""

    binary: Literal["hex", "base64"] = "hex"
    """How texts stand for the bytes of columns of type binary and fixed."""

    nested_type: Literal["variant", "json", "struct"] = "variant"
    """What columns for objects and arrays are created as."""

    whole_records: bool = False
    """Whether a record's value goes to RECORD_CONTENT as it is, rather than its keys to columns."""

    normalizes: bool = False
    """Whether keys are normalised like Snowflake's identifiers before they are compared with columns."""
