"""How records become rows: which converters read them, what of their metadata is kept, what fits a column."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Literal

from pydantic import AliasChoices as Keys
from pydantic import Field

from frazil.config import converters, transforms, values
from frazil.config.settings_base import Flag, SettingsBase
from frazil.model import Conversion, MetadataPart, TransformSpec


class RowSettings(SettingsBase):
    """The settings of how records become rows."""

    key_converter: Annotated[str, values.by(converters.kind("key.converter"))] = Field(
        validation_alias=Keys("key.converter"),
        default="string",
        json_schema_extra={"default": f"`{converters.STRING}`"},
    )
    """What reads record keys: a converter of Kafka Connect's, by its class, the end of that or a short name, or
    `package.module:Class` for one of your own (docs/converters.md). Its settings have `key.converter.` before them."""

    value_converter: Annotated[str, values.by(converters.kind("value.converter"))] = Field(
        validation_alias=Keys("value.converter"), examples=[converters.JSON]
    )
    """What reads record values, given as for keys. Those of JSON, Avro and Protobuf give keys to make columns of; the
    others go with whole records (`snowflake.enable.schematization=false`) or with transforms that put their values into
    a field. JSON without schemas needs `value.converter.schemas.enable=false` beside it, for Kafka Connect's default is
    true."""

    header_converter: Annotated[str, values.by(converters.kind("header.converter"))] = Field(
        validation_alias=Keys("header.converter"),
        default="simple",
        json_schema_extra={"default": f"`{converters.SIMPLE}`"},
    )
    """What reads the values of record headers, given as for keys; Kafka Connect's default guesses their types."""

    plugins: Mapping[str, str] = Field(default_factory=dict, repr=False)
    """The settings of converters, transforms and predicates; may hold secrets, hence never shown."""

    structured_headers: Flag = Field(validation_alias=Keys("snowflake.feature.structured.headers"), default=False)
    """Whether header values keep their JSON types, in a RECORD_METADATA column of type VARIANT or JSON text; otherwise
    they are texts."""

    structured_metadata: Flag = Field(
        validation_alias=Keys("snowflake.feature.structured.record.metadata.enabled"), default=True
    )
    """Whether RECORD_METADATA has fields in tables that are created; otherwise it is one JSON text. A column that is
    there is filled as its type asks."""

    metadata_all: Flag = Field(validation_alias=Keys("snowflake.metadata.all"), default=True)
    """Whether RECORD_METADATA is written at all."""

    metadata_create_time: Flag = Field(validation_alias=Keys("snowflake.metadata.createtime"), default=True)
    """Whether RECORD_METADATA tells CreateTime or LogAppendTime."""

    metadata_topic: Flag = Field(validation_alias=Keys("snowflake.metadata.topic"), default=True)
    """Whether RECORD_METADATA tells the topic."""

    metadata_offset_and_partition: Flag = Field(
        validation_alias=Keys("snowflake.metadata.offset.and.partition"), default=True
    )
    """Whether RECORD_METADATA tells the offset and the partition."""

    metadata_push_time: Flag = Field(
        validation_alias=Keys("snowflake.streaming.metadata.connectorPushTime"), default=True
    )
    """Whether RECORD_METADATA tells SnowflakeConnectorPushTime, when the record was converted."""

    on_null_values: Annotated[Literal["default", "ignore"], values.ANY_CASE] = Field(
        validation_alias=Keys("behavior.on.null.values"), default="default"
    )
    """What a tombstone, a record without a value, becomes: a row of metadata only (`default`), or no row (`ignore`)."""

    time_zone: Annotated[str, values.by(values.time_zone)] = Field(
        validation_alias=Keys("frazil.time.zone"), default="UTC"
    )
    """The time zone of texts that name none and go to a column of type timestamptz; Snowflake takes
    `America/Los_Angeles`."""

    validation: Annotated[Literal["client_side", "server_side"], values.ANY_CASE] = Field(
        validation_alias=Keys("snowflake.validation"), default="server_side"
    )
    """Whose rules hold for values: with `client_side`, `frazil.numbers` is `round` unless it is given."""

    numbers: Annotated[Literal["reject", "round"], values.ANY_CASE] = Field(
        validation_alias=Keys("frazil.numbers"),
        default_factory=lambda given: "round" if given["validation"] == "client_side" else "reject",
        json_schema_extra={"default": "`reject`; `round` with `snowflake.validation=client_side`"},
    )
    """What becomes of digits a column has no room for, such as a fraction for a whole-number column: the record is
    rejected, or the number rounded half up."""

    nested_type: Annotated[Literal["variant", "json", "struct"], values.ANY_CASE] = Field(
        validation_alias=Keys("frazil.nested.type"), default="variant"
    )
    """What columns for objects and arrays are created as: VARIANT, JSON text, or structs and lists."""

    normalize_columns: Flag = Field(
        validation_alias=Keys("snowflake.compatibility.enable.column.identifier.normalization"), default=False
    )
    """Whether keys are normalised like identifiers of Snowflake before they find a column or name a
    new one: put in upper case, unless they are in double quotes."""

    @cached_property
    def routers(self) -> tuple[TransformSpec, ...] | None:
        """The transforms that rename topics; None if it takes the records to know what topics they give them."""
        return transforms.routers(self.transforms)

    @cached_property
    def transforms(self) -> tuple[TransformSpec, ...]:
        """The transforms that records go through, in their order."""
        return transforms.specs(self.plugins)

    @property
    def conversion(self) -> Conversion:
        """How records become rows."""
        parts: dict[MetadataPart, bool] = {
            "topic": self.metadata_topic,
            "offset_and_partition": self.metadata_offset_and_partition,
            "create_time": self.metadata_create_time,
            "push_time": self.metadata_push_time,
        }
        return Conversion(
            value_converter=converters.spec("value.converter", self.value_converter, self.plugins),
            key_converter=converters.spec("key.converter", self.key_converter, self.plugins),
            header_converter=converters.spec("header.converter", self.header_converter, self.plugins),
            transforms=self.transforms,
            structured_headers=self.structured_headers,
            structured_metadata=self.structured_metadata,
            metadata=frozenset(part for part, written in parts.items() if written) if self.metadata_all else None,
            tombstones=self.on_null_values,
            time_zone=self.time_zone,
            numbers=self.numbers,
            nested_type=self.nested_type,
            normalizes=self.normalize_columns,
        )
