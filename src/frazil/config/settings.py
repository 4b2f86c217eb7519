"""What can be configured, and the way from files to settings.

`ConnectorSettings` is the list: every field says which key it comes from, what it means, its unit, bounds and default.
`load` lays the files over each other (`layers`), decides for every key what it is (`triage`), reads the values
(`values`), and raises one error that names every problem found on the way.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AliasChoices as Keys
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from frazil.config import converters, layers, properties, triage, values
from frazil.config.names import sanitise
from frazil.config.secrets import shown
from frazil.config.topic2table import Topic2Table
from frazil.errors import InvalidConfiguration, Problem
from frazil.model import Conversion, HeaderConverter, KeyConverter, MetadataPart

Source = Mapping[str, Any] | Path | str
"""Keys and values, or the path of the file that holds them."""

MEBIBYTE = 1 << 20


def _default_home() -> str:
    return os.environ.get("FRAZIL_HOME") or "./frazil-data"


class ConnectorSettings(BaseModel):
    """The settings of one connector; build them with `load`."""

    model_config = ConfigDict(
        frozen=True,
        validate_by_name=True,
        validate_by_alias=True,
        use_attribute_docstrings=True,
        hide_input_in_errors=True,
    )

    name: Annotated[str, values.by(values.connector_name)] = Field(
        validation_alias=Keys("name"), examples=["orders-sink"]
    )
    """The connector's name as written. Two names that are sanitised to the same `key` cannot run together."""

    connector_class: triage.ConnectorClass = Field(
        validation_alias=Keys("connector.class"), examples=["frazil.KafkaConnector"]
    )
    """Which connector the file was written for: frazil's own, or one of Snowflake's whose defaults then hold."""

    topics: Annotated[tuple[str, ...], values.by(values.topics)] = Field(validation_alias=Keys("topics"), default=())
    """Topics to read, separated by commas. Either this or `topics.regex` is given, never both."""

    topics_regex: Annotated[str | None, values.by(values.regex)] = Field(
        validation_alias=Keys("topics.regex"), default=None
    )
    """Read every topic whose whole name this regular expression matches, also topics that appear later."""

    topic2table: Annotated[Topic2Table, values.by(Topic2Table.read)] = Field(
        validation_alias=Keys("snowflake.topic2table.map"), default=Topic2Table()
    )
    """Tables of topics, as `topic:table` entries separated by commas. An unquoted table is the existing one that equals
    it ignoring case, else it is created in upper case; a table in double quotes is taken as written. A topic without
    an entry lands in a table named after it in upper case, with a hash at the end if characters had to be replaced."""

    key_converter: Annotated[KeyConverter, values.one_of(converters.KEY_CONVERTERS)] = Field(
        validation_alias=Keys("key.converter"), default="string", json_schema_extra={"default": converters.STRING}
    )
    """How record keys are read: StringConverter, ByteArrayConverter or JsonConverter, by full class name. The JSON one
    needs `key.converter.schemas.enable=false` beside it."""

    value_converter: Annotated[Literal["json"], values.one_of(converters.VALUE_CONVERTERS)] = Field(
        validation_alias=Keys("value.converter"), examples=[converters.JSON]
    )
    """How record values are read: `org.apache.kafka.connect.json.JsonConverter`. It needs
    `value.converter.schemas.enable=false` beside it, as Kafka Connect's default is true."""

    header_converter: Annotated[HeaderConverter, values.one_of(converters.HEADER_CONVERTERS)] = Field(
        validation_alias=Keys("header.converter"), default="simple", json_schema_extra={"default": converters.SIMPLE}
    )
    """How the values of record headers are read, by full class name; Kafka Connect's default guesses their types."""

    structured_headers: Annotated[bool, values.by(values.boolean)] = Field(
        validation_alias=Keys("snowflake.feature.structured.headers"), default=False
    )
    """Whether header values keep their JSON types, in a RECORD_METADATA column of type VARIANT or JSON text; otherwise
    they are texts."""

    metadata_all: Annotated[bool, values.by(values.boolean)] = Field(
        validation_alias=Keys("snowflake.metadata.all"), default=True
    )
    """Whether RECORD_METADATA is written at all."""

    metadata_create_time: Annotated[bool, values.by(values.boolean)] = Field(
        validation_alias=Keys("snowflake.metadata.createtime"), default=True
    )
    """Whether RECORD_METADATA tells CreateTime or LogAppendTime."""

    metadata_topic: Annotated[bool, values.by(values.boolean)] = Field(
        validation_alias=Keys("snowflake.metadata.topic"), default=True
    )
    """Whether RECORD_METADATA tells the topic."""

    metadata_offset_and_partition: Annotated[bool, values.by(values.boolean)] = Field(
        validation_alias=Keys("snowflake.metadata.offset.and.partition"), default=True
    )
    """Whether RECORD_METADATA tells the offset and the partition."""

    metadata_push_time: Annotated[bool, values.by(values.boolean)] = Field(
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
    """The time zone of texts that name none and go to a column of type timestamptz."""

    numbers: Annotated[Literal["reject", "round"], values.ANY_CASE] = Field(
        validation_alias=Keys("frazil.numbers"), default="reject"
    )
    """What becomes of digits a column has no room for, such as a fraction for a whole-number column: the record is
    rejected, or the number rounded half up."""

    nested_type: Annotated[Literal["variant", "json", "struct"], values.ANY_CASE] = Field(
        validation_alias=Keys("frazil.nested.type"), default="variant"
    )
    """What columns for objects and arrays are created as: VARIANT, JSON text, or structs and lists."""

    errors_tolerance: Annotated[Literal["none", "all"], values.ANY_CASE] = Field(
        validation_alias=Keys("errors.tolerance"), default="none"
    )
    """What a record that cannot become a row does: `none` stops the connector, `all` sets the record aside and
    goes on."""

    errors_log_enable: Annotated[bool, values.by(values.boolean)] = Field(
        validation_alias=Keys("errors.log.enable"), default=False
    )
    """Whether rejected records are logged: how many for which reasons, and where the first is, task by task."""

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
        json_schema_extra={"default": "$FRAZIL_HOME, else ./frazil-data"},
    )
    """The directory of the embedded catalog, its warehouse and frazil's own files."""

    bootstrap_servers: Annotated[str, values.by(values.servers)] = Field(
        validation_alias=Keys("consumer.override.bootstrap.servers", "consumer.bootstrap.servers", "bootstrap.servers"),
        examples=["localhost:9092"],
    )
    """Addresses of Kafka brokers, `host:port` separated by commas; in the connector file or the worker file."""

    group_id: str = Field(
        validation_alias=Keys("consumer.override.group.id", "consumer.group.id"),
        default_factory=lambda given: f"connect-{given['name']}",
        json_schema_extra={"default": "connect-<name>"},
    )
    """The consumer group whose offsets start a channel that has no token yet, and that shows progress to lag tools."""

    auto_offset_reset: Annotated[Literal["earliest", "latest", "none"], values.ANY_CASE] = Field(
        validation_alias=Keys("consumer.override.auto.offset.reset", "consumer.auto.offset.reset"), default="earliest"
    )
    """Where a channel starts that has neither a token nor a group offset; `none` refuses to choose."""

    isolation_level: Annotated[Literal["read_uncommitted", "read_committed"], values.ANY_CASE] = Field(
        validation_alias=Keys("consumer.override.isolation.level", "consumer.isolation.level"),
        default="read_uncommitted",
    )
    """Whether records of open and aborted transactions are read (`read_uncommitted`) or not (`read_committed`)."""

    consumer: Mapping[str, str] = Field(validation_alias=Keys("consumer.*"), default_factory=dict, repr=False)
    """All other consumer keys, `consumer.override.*` over `consumer.*`, as librdkafka takes them; `bootstrap.servers`
    and `isolation.level` are among them. May hold secrets, hence never shown."""

    commit_interval_ms: Annotated[int, values.by(values.integer(at_least=0))] = Field(
        validation_alias=Keys("frazil.commit.interval.ms"), default=1000
    )
    """Milliseconds from the start of one cycle to the start of the next; 0 runs them back to back."""

    cycle_max_bytes: Annotated[int, values.by(values.integer(at_least=MEBIBYTE))] = Field(
        validation_alias=Keys("frazil.cycle.max.bytes"), default=512 * MEBIBYTE
    )
    """Bytes of records one cycle reads at most, about; at least 1048576 (1 MB)."""

    on_data_loss: Annotated[Literal["fail", "skip"], values.ANY_CASE] = Field(
        validation_alias=Keys("frazil.on.data.loss"), default="fail"
    )
    """What to do when retention deleted records before they were read: stop, or go on after them."""

    snapshots_min_age_ms: Annotated[int, values.by(values.duration_ms)] = Field(
        validation_alias=Keys("frazil.snapshots.min.age"), default=20 * 60_000, json_schema_extra={"default": "20 min"}
    )
    """Snapshots of tables frazil created expire at this age: `20 min`, `30s`, `1h`, or milliseconds. A compaction by
    someone else has to finish within it."""

    spark: Mapping[str, str] = Field(validation_alias=Keys("spark.*"), default_factory=dict, repr=False)
    """Spark's own configuration, for the session frazil starts. May hold secrets, hence never shown."""

    not_needed: tuple[str, ...] = ()
    """Given keys of a Snowflake account, which takes no part."""

    no_effect: tuple[tuple[str, str], ...] = ()
    """Given keys that change nothing about what lands, each with the reason."""

    @property
    def key(self) -> str:
        """The name sanitised: the connector's identity in tokens and channels."""
        return sanitise(self.name)

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
            key_converter=self.key_converter,
            header_converter=self.header_converter,
            structured_headers=self.structured_headers,
            metadata=frozenset(part for part, written in parts.items() if written) if self.metadata_all else None,
            tombstones=self.on_null_values,
            time_zone=self.time_zone,
            numbers=self.numbers,
            nested_type=self.nested_type,
        )


def load(
    connector: Source, worker: Source | None = None, overrides: Mapping[str, str] | None = None
) -> ConnectorSettings:
    """The settings that `overrides` over the `connector` file over the `worker` file describe.

    Raises:
        InvalidConfiguration: with every problem found.
    """
    given = layers.lay(_read("connector", connector), _read("worker", worker), _read("overrides", overrides))
    sorted_keys = triage.sort(given.given, known_keys())
    problems = list(sorted_keys.problems)
    try:
        settings = ConnectorSettings.model_validate(
            {
                **sorted_keys.settings,
                "spark.*": sorted_keys.spark,
                "not_needed": tuple(sorted(sorted_keys.not_needed)),
                "no_effect": tuple(sorted((*given.no_effect, *sorted_keys.no_effect))),
            }
        )
    except ValidationError as error:
        problems += _problems(error, given.given)
    if problems:
        raise InvalidConfiguration(_subject(connector), sorted(problems, key=lambda problem: problem.key))
    client = {
        **sorted_keys.consumer,
        "bootstrap.servers": settings.bootstrap_servers,
        "isolation.level": settings.isolation_level,
    }
    return settings.model_copy(update={"consumer": client})


def refuse_shared_keys(connectors: Iterable[ConnectorSettings]) -> None:
    """Check that connectors to run together have different identities.

    Raises:
        InvalidConfiguration: two names are sanitised to the same key.
    """
    names: dict[str, str] = {}
    problems = []
    for settings in connectors:
        if settings.key in names:
            text = f"{settings.name!r} and {names[settings.key]!r} both become {settings.key}. Rename one connector."
            problems.append(Problem("name", text))
        names[settings.key] = settings.name
    if problems:
        raise InvalidConfiguration("the set of connectors", problems)


def keys_of(field: str) -> list[str]:
    """The keys that the field is read from, the first given one wins; none for a field that has no key."""
    return _keys(ConnectorSettings.model_fields[field])


def known_keys() -> list[str]:
    """Every key that is a setting."""
    return [key for field in ConnectorSettings.model_fields for key in keys_of(field) if not key.endswith(".*")]


def _read(what: str, source: Source | None) -> dict[str, str]:
    if source is None:
        return {}
    if isinstance(source, Mapping):
        return properties.texts(f"the {what} configuration", source)
    return properties.read(Path(source))


def _subject(connector: Source) -> str:
    return "the connector configuration" if isinstance(connector, Mapping) else f"the connector file {connector}"


def _problems(error: ValidationError, given: Mapping[str, str]) -> Iterator[Problem]:
    """Pydantic's findings in frazil's words."""
    fields = {key: field for field in ConnectorSettings.model_fields.values() for key in _keys(field)}
    for detail in error.errors(include_url=False):
        if detail["type"] == "default_factory_not_called":
            continue  # the field it depends on has a problem of its own
        key = str(detail["loc"][0])
        context = detail.get("ctx", {})
        if detail["type"] == "missing":
            yield from _missing(fields[key], given)
        elif detail["type"] == "literal_error":
            yield Problem(key, f"{given[key]!r} is not possible; write {context['expected']}.")
        else:
            yield Problem(key, shown("", f"{context.get('error', detail['msg'])}."))


def _missing(field: FieldInfo, given: Mapping[str, str]) -> Iterator[Problem]:
    *others, plain = _keys(field)
    if not any(key in given for key in (*others, plain)):  # a given value that was refused has its problem already
        yield Problem(plain, f"is missing. Write {plain}={(field.examples or ['…'])[0]}.")


def _keys(field: FieldInfo) -> list[str]:
    alias = field.validation_alias
    return [str(choice) for choice in alias.choices] if isinstance(alias, Keys) else []
