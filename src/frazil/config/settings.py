"""What can be configured: every field says which key it comes from, what it means, its unit, bounds and default.

How records become rows (`rows`) and when they are committed (`pace`) are sections of their own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Annotated, Literal, TypeAlias

from pydantic import AliasChoices as Keys
from pydantic import BeforeValidator, Field, ValidationInfo

from frazil.config import connector_classes, converters, transforms, values
from frazil.config.contract import contract as schema_contract
from frazil.config.contract import shown
from frazil.config.kafka import SINK, STREAMING
from frazil.config.pace import PaceSettings
from frazil.config.rows import RowSettings
from frazil.config.settings_base import Flag
from frazil.config.source import SourceSettings
from frazil.config.table_options import TableOptions
from frazil.config.topic2table import TableMapping, Topic2Table
from frazil.errors import InvalidConfiguration
from frazil.model import MOST_COLUMNS, Conversion, SchemaContract
from frazil.names import sanitise

MEBIBYTE = 1 << 20

TABLE_OPTIONS = "snowflake.iceberg.create.table.options"

ROUTED_TABLES = 100
"""How many tables routing by a field may make of one topic where nobody says otherwise."""

OnTable: TypeAlias = Literal["fail", "continue", "earliest"]

AUTOCREATE: Mapping[str, str] = {"snowflake": "iceberg", "iceberg": "iceberg", "none": "none"}


def _default_home() -> str:
    return os.environ.get("FRAZIL_HOME") or "./frazil-data"


def _source(value: object, info: ValidationInfo) -> object:
    if not isinstance(value, Mapping):
        return value
    return connector_classes.settings_of(info.data.get("connector_class")).model_validate(value)


def _topic2table(value: object, info: ValidationInfo) -> object:
    if not isinstance(value, str):
        return value
    return Topic2Table.read(value, regex=info.data.get("topic2table_regex", False))


def _table_options(value: object) -> object:
    return TableOptions.read(value) if isinstance(value, str) else value


def _schematization(value: object, info: ValidationInfo) -> object:
    """Only values with keys become columns, or those that a transform may have put into a field."""
    columns = values.boolean(value) if isinstance(value, str) else value
    converter = info.data.get("value_converter", "json")
    if columns and converter in converters.SCALARS and "transforms" not in info.data.get("plugins", {}):
        raise ValueError(
            f"is true, and the value.converter {converter!r} gives no keys to make columns of; write false for whole "
            "records in RECORD_CONTENT, or put values into a field with the transform HoistField$Value, or have "
            "another converter"
        )
    return columns


def _route_field(value: object, info: ValidationInfo) -> object:
    """Either a field of the records decides where they go, or the topics that transforms give them."""
    specs = transforms.specs(info.data.get("plugins", {}))
    try:
        by_topic = value is not None and transforms.routers(specs) is None
    except InvalidConfiguration:  # it has a problem of its own
        by_topic = False
    if by_topic:
        raise ValueError(
            f"{value!r} does not go together with a transform that gives records topics by what they are, such as "
            "TimestampRouter; write one of the two"
        )
    return value


def _name_of(topic2table: Topic2Table, sanitised: bool, topic: str) -> str:
    return topic2table.resolve(topic, sanitised=sanitised).name


class ConnectorSettings(RowSettings, PaceSettings):
    """The settings of one connector; build them with `load`."""

    name: Annotated[str, values.by(values.connector_name)] = Field(
        validation_alias=Keys("name"), examples=["orders-sink"]
    )
    """The connector's name as written. Two names that are sanitised to the same `key` cannot run together."""

    connector_class: Annotated[str, values.by(connector_classes.connector_class)] = Field(
        validation_alias=Keys("connector.class"), examples=["frazil.KafkaConnector"]
    )
    """Which connector the file was written for: frazil's own, or one of Snowflake's whose defaults then hold."""

    source: Annotated[SourceSettings, BeforeValidator(_source)]
    """What is read, and how: the settings that the connector's class brings, such as `KafkaSettings`."""

    schematization: Annotated[bool, BeforeValidator(_schematization)] = Field(
        validation_alias=Keys("snowflake.enable.schematization"),
        default_factory=lambda given: given["connector_class"] != SINK,
        validate_default=True,
        json_schema_extra={"default": f"`true`; `false` for `{SINK.rpartition('.')[2]}`"},
    )
    """Whether the keys of records become columns; otherwise whole records go to a column RECORD_CONTENT, VARIANT or, in
    Iceberg's version 2, JSON text (docs/how-to/whole-records.md)."""

    topic2table_regex: Flag = Field(validation_alias=Keys("snowflake.topic2table.map.regex.replacement"), default=False)
    """Whether the tables of `snowflake.topic2table.map` may use the groups of its topics, as `$1` or `${name}`. Then
    nothing comes before the order of the entries."""

    topic2table: Annotated[Topic2Table, BeforeValidator(_topic2table)] = Field(
        validation_alias=Keys("snowflake.topic2table.map"), default=Topic2Table()
    )
    """Tables of topics, as `topic:table` entries separated by commas. A topic is a regular expression for its whole
    name; an entry that spells a topic out comes first, then the order counts. An unquoted table is the existing one
    that equals it ignoring case, else it is created in upper case; a table in double quotes is taken as written."""

    sanitize_table_names: Flag = Field(
        validation_alias=Keys("snowflake.compatibility.enable.autogenerated.table.name.sanitization"),
        default_factory=lambda given: given["connector_class"] != STREAMING,
        json_schema_extra={"default": f"`true`; `false` for `{STREAMING.rpartition('.')[2]}`"},
    )
    """Whether the table of a topic without an entry in the map has the topic's name in upper case, with a hash at the
    end if characters had to be replaced. Otherwise it has the topic's name, unchanged."""

    strict: Flag = Field(validation_alias=Keys("frazil.compatibility.strict"), default=False)
    """Whether what Snowflake's connectors cannot do is refused here as well: their own converters together with
    streaming or with transforms, and a RegexRouter in a file of the classic connector."""

    route_field: Annotated[tuple[str, ...] | None, values.by(values.field_path), BeforeValidator(_route_field)] = Field(
        validation_alias=Keys("frazil.route.field"), default=None
    )
    """The field by whose value the records of each topic go to tables of their own, created on demand and named after
    the topic's table and the value. A dot leads into an object; a key with a dot in it is written in double quotes."""

    route_max_tables: Annotated[int | None, values.by(values.integer(at_least=1))] = Field(
        validation_alias=Keys("frazil.route.max.tables"), default=None, json_schema_extra={"default": "`100`"}
    )
    """How many tables `frazil.route.field` may make of one topic, at least 1. Other values are rejected."""

    autocreate: Annotated[Literal["iceberg", "none"], values.by(values.choice(AUTOCREATE))] = Field(
        validation_alias=Keys("snowflake.autocreate.table.type"), default="iceberg"
    )
    """Whether missing tables are created (`iceberg`, or `snowflake`, which means the same here) or are an error
    (`none`). Created tables may do without parts of RECORD_METADATA, unlike Snowflake's Iceberg tables."""

    table_options: Annotated[TableOptions, BeforeValidator(_table_options)] = Field(
        validation_alias=Keys(TABLE_OPTIONS), default=TableOptions(), json_schema_extra={"default": ""}
    )
    """Options of created tables, as `KEY = value` separated by blanks or commas: `ICEBERG_VERSION`, `TARGET_FILE_SIZE`,
    `COMMENT` and others of Snowflake's CREATE ICEBERG TABLE; with `PARTITION BY`, `CLUSTER BY` and `TBLPROPERTIES`
    (docs/how-to/name-tables.md)."""

    errors_tolerance: Annotated[Literal["none", "all"], values.ANY_CASE] = Field(
        validation_alias=Keys("errors.tolerance"), default="none"
    )
    """What a record that cannot become a row does: `none` stops the connector, `all` sets the record aside and
    goes on."""

    errors_table: Flag = Field(validation_alias=Keys("frazil.errors.table"), default=False)
    """Whether rejected records go to an error table, `<TABLE>_ERRORS` beside their table; a table whose property
    ERROR_LOGGING is true has one in any case. With `errors.tolerance=all`."""

    errors_log_enable: Flag = Field(validation_alias=Keys("errors.log.enable"), default=False)
    """Whether rejected records are logged: once a minute for each reason, with their number and where the first is."""

    errors_log_include_messages: Flag = Field(validation_alias=Keys("errors.log.include.messages"), default=False)
    """Whether such a line shows what the first record holds: the value that did not fit, and the start of it all."""

    tasks_max: Annotated[int | None, values.by(values.integer(at_least=1))] = Field(
        validation_alias=Keys("tasks.max"), default=None
    )
    """The most Spark tasks one cycle may use, at least 1. Without it, as many as Spark has cores."""

    catalog: Annotated[str | None, values.by(values.catalog)] = Field(
        validation_alias=Keys("frazil.catalog"), default=None
    )
    """The Spark catalog that holds the tables. Without it, `snowflake.database.name` if Spark has a catalog of that
    name, else the embedded catalog in `frazil.home`."""

    database: str | None = Field(validation_alias=Keys("snowflake.database.name"), default=None)
    """Names the Spark catalog where one of that name is configured; otherwise it has no effect."""

    namespace: Annotated[str | None, values.by(values.namespace)] = Field(
        validation_alias=Keys("frazil.namespace", "snowflake.schema.name"), default=None
    )
    """The namespace of the tables, dots between its levels. Without it, `public`."""

    home: str = Field(
        validation_alias=Keys("frazil.home"),
        default_factory=_default_home,
        json_schema_extra={"default": "`$FRAZIL_HOME`, else `./frazil-data`"},
    )
    """The directory of the embedded catalog, its warehouse and frazil's own files."""

    cycle_max_bytes: Annotated[int, values.by(values.integer(at_least=MEBIBYTE))] = Field(
        validation_alias=Keys("frazil.cycle.max.bytes"), default=512 * MEBIBYTE
    )
    """Bytes of records one cycle reads at most, about; at least 1048576 (1 MB)."""

    columns_max: Annotated[int, values.by(values.integer(at_least=1))] = Field(
        validation_alias=Keys("frazil.columns.max"), default=MOST_COLUMNS
    )
    """The most columns a table gets from the keys of its records, at least 1; fields of structs count as columns. What
    becomes of keys beyond them says `beyond` in `frazil.schema.contract`."""

    columns_per_cycle: Annotated[int, values.by(values.integer(at_least=1))] = Field(
        validation_alias=Keys("frazil.columns.max.per.cycle"), default=50
    )
    """The most columns that one cycle adds to a table which holds rows already, at least 1; what becomes of keys beyond
    them in that cycle says `beyond`, too."""

    contract: Annotated[SchemaContract, values.by(schema_contract)] = Field(
        validation_alias=Keys("frazil.schema.contract"),
        default=SchemaContract(),
        json_schema_extra={"default": f"`{shown(SchemaContract())}`"},
    )
    """What becomes of records that do not fit their table, as `what=rule` entries separated by commas. `columns` says
    about keys without a column, `types` about values that do not fit their column: `evolve` changes the table,
    `freeze` rejects the record, `discard` drops and counts the value, `rescue` puts it into the column _RESCUED_DATA.
    `beyond` decides about keys too many to become columns, as the last three (docs/how-to/schema-evolution.md)."""

    on_data_loss: Annotated[Literal["fail", "skip"], values.ANY_CASE] = Field(
        validation_alias=Keys("frazil.on.data.loss"), default="fail"
    )
    """What to do when the broker lost records: stop, or go on. After those that retention deleted before they were
    read; from where a log was truncated, with what its offsets hold now."""

    on_table_missing: Annotated[OnTable, values.ANY_CASE] = Field(
        validation_alias=Keys("frazil.on.table.missing"), default="fail"
    )
    """What to do when the table of records that were landed is gone: stop (`fail`), make a new one and go on after them
    (`continue`), or make a new one and read the topic from its beginning (`earliest`)."""

    on_table_replaced: Annotated[OnTable, values.ANY_CASE] = Field(
        validation_alias=Keys("frazil.on.table.replaced"), default="fail"
    )
    """The same for a table that another one stands in the place of, or that has lost the connector's tokens."""

    snapshots_min_age_ms: Annotated[int, values.by(values.duration_ms)] = Field(
        validation_alias=Keys("frazil.snapshots.min.age"),
        default=20 * 60_000,
        json_schema_extra={"default": "`20 min`"},
    )
    """Snapshots of tables frazil created expire at this age: `20 min`, `30s`, `1h`, or milliseconds. A compaction by
    someone else has to finish within it."""

    stage_max_age_ms: Annotated[int, values.by(values.duration(at_least="1s", at_most="12h"))] = Field(
        validation_alias=Keys("frazil.stage.max.age"),
        default=60 * 60_000,
        json_schema_extra={"default": "`1 h`"},
    )
    """What was staged longer ago is not committed but staged again, from `1s` to `12h`: files that old may be taken for
    orphans by whoever cleans up."""

    disk_sync: Flag = Field(validation_alias=Keys("frazil.disk.sync"), default=True)
    """Whether files on local disks are synced before a commit names them, so that a power cut cannot damage a table.
    Connectors of one process that share a warehouse share its metadata's part of this."""

    orphans_min_age_ms: Annotated[int | None, values.by(values.never_or(values.duration(at_least="24h")))] = Field(
        validation_alias=Keys("frazil.orphans.min.age"),
        default=24 * 60 * 60_000,
        json_schema_extra={"default": "`24 h`"},
    )
    """The connector's files of this age whose stages were never committed are removed when it opens their table: `24h`
    at least, or `never`."""

    tokens_retention_ms: Annotated[int | None, values.by(values.never_or(values.duration(at_least="1s")))] = Field(
        validation_alias=Keys("frazil.tokens.retention"),
        default=30 * 24 * 60 * 60_000,
        json_schema_extra={"default": "`30 d`"},
    )
    """Tokens of a topic that no longer exists are dropped this long after its last record was read: `30 d`, `12h`, at
    least `1s`, or `never`. A topic that exists keeps them, whether the connector still reads it or not."""

    spark: Mapping[str, str] = Field(validation_alias=Keys("spark.*"), default_factory=dict, repr=False)
    """Spark's own configuration, for the session frazil starts. May hold secrets, hence never shown."""

    not_needed: tuple[str, ...] = ()
    """Given keys of a Snowflake account, which takes no part."""

    no_effect: tuple[tuple[str, str], ...] = ()
    """Given keys that change nothing about what lands, each with the reason."""

    def void_keys(self) -> Iterator[tuple[str, str]]:
        """The given keys that others make void, with the reason."""
        yield from super().void_keys()
        if self.route_max_tables is not None and not self.routes:
            yield "frazil.route.max.tables", "nothing routes the records of a topic, so each topic has one table"
        if self.errors_tolerance == "none":
            reason = "with errors.tolerance=none the connector stops before the first such record"
            yield from ((key, reason) for key in (*self._errors_keys(), *self.source.errors_keys()))

    def _errors_keys(self) -> Iterator[str]:
        if self.errors_table:
            yield "frazil.errors.table"

    @property
    def routes(self) -> bool:
        """Whether it takes the records of a topic to know which tables they go to."""
        return self.route_field is not None or self.routers is None

    @property
    def naming(self) -> Callable[[str], str] | None:
        """Gives the name of the table of a topic that a transform has chosen for a record; None where none does."""
        return None if self.routers is not None else partial(_name_of, self.topic2table, self.sanitize_table_names)

    def table_of(self, topic: str) -> TableMapping:
        """The table that a topic is mapped to, under the name that transforms give it.

        Raises:
            EmptyTopic: it has none.
            TableNameRefused: no table can have the name.
        """
        return self.topic2table.resolve(
            transforms.routed(topic, self.routers or ()), sanitised=self.sanitize_table_names
        )

    def names_table_of(self, topic: str) -> bool:
        """Whether somebody has chosen the table of a topic, in the map or by giving the topic another name."""
        name = transforms.routed(topic, self.routers or ())
        return name != topic or self.topic2table.has(name)

    @property
    def most_routed(self) -> int:
        """How many tables routing by a field may make of one topic."""
        return self.route_max_tables or ROUTED_TABLES

    @property
    def conversion(self) -> Conversion:
        """How records become rows."""
        # Iceberg's version 2 has no VARIANT.
        as_text = self.nested_type == "variant" and self.table_options.format_version == 2
        nested = "json" if as_text else self.nested_type
        return replace(
            super().conversion,
            nested_type=nested,
            whole_records=not self.schematization,
            metadata_column=self.source.metadata_column,
        )

    @property
    def key(self) -> str:
        """Its name, or its source's identity, sanitised: the connector's identity in tokens and channels."""
        return sanitise(self.source.identity or self.name)


def setting_keys() -> list[str]:
    """Every key that is a setting, whatever the connector's class."""
    of_sources = (key for source in connector_classes.all_settings() for key in source.setting_keys())
    return [*ConnectorSettings.setting_keys(), *of_sources]
