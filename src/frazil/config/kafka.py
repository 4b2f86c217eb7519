"""The settings of Kafka as a source: its brokers, its topics, and the consumer that reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Final, Literal

from pydantic import AliasChoices as Keys
from pydantic import Field

from frazil.config import consumer, values
from frazil.config.settings_base import Flag
from frazil.config.source import SourceKeys, SourceSettings, feeds_itself
from frazil.errors import Problem

SINK: Final = "com.snowflake.kafka.connector.SnowflakeSinkConnector"
STREAMING: Final = "com.snowflake.kafka.connector.SnowflakeStreamingSinkConnector"

DEAD_LETTERS: Final = "errors.deadletterqueue.topic.name"
_GROUP: Final = "consumer.group.id"


class KafkaSettings(SourceSettings):
    """What is read of Kafka, and how."""

    kind: ClassVar[str] = "kafka"
    classes: ClassVar[tuple[str, ...]] = ("frazil.KafkaConnector", SINK, STREAMING)
    title: ClassVar[str] = "What is read of Kafka"
    inherited: ClassVar[tuple[str, ...]] = ("bootstrap.servers", "consumer.")

    topics: Annotated[tuple[str, ...], values.by(values.topics)] = Field(validation_alias=Keys("topics"), default=())
    """Topics to read, separated by commas. Either this or `topics.regex` is given, never both."""

    topics_regex: Annotated[str | None, values.by(values.regex)] = Field(
        validation_alias=Keys("topics.regex"), default=None
    )
    """Read every topic whose whole name this regular expression matches, also topics that appear later."""

    bootstrap_servers: Annotated[str, values.by(values.servers)] = Field(
        validation_alias=Keys("consumer.override.bootstrap.servers", "consumer.bootstrap.servers", "bootstrap.servers"),
        examples=["localhost:9092"],
    )
    """Addresses of Kafka brokers, `host:port` separated by commas; in the connector file or the worker file."""

    group_id: str = Field(
        validation_alias=Keys("consumer.override.group.id", _GROUP),
        json_schema_extra={"default": "`connect-<name>`"},
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

    dead_letter_topic: Annotated[str | None, values.by(values.topic)] = Field(
        validation_alias=Keys(DEAD_LETTERS), default=None
    )
    """The topic that rejected records go to, with their own bytes, once they are committed; with
    `errors.tolerance=all`. It is made if it is missing. It must not be one of the topics that are read."""

    dead_letter_replication: Annotated[int, values.by(values.integer(at_least=-1))] = Field(
        validation_alias=Keys("errors.deadletterqueue.topic.replication.factor"), default=3
    )
    """How many brokers have the dead-letter topic, where it is made; -1 leaves that to the brokers."""

    dead_letter_headers: Flag = Field(
        validation_alias=Keys("errors.deadletterqueue.context.headers.enable"), default=False
    )
    """Whether headers of records in the dead-letter topic say why they were rejected, by Kafka Connect's names."""

    consumer: Mapping[str, str] = Field(validation_alias=Keys("consumer.*"), default_factory=dict, repr=False)
    """All other consumer keys, `consumer.override.*` over `consumer.*`, as librdkafka takes them. May hold secrets,
    hence never shown."""

    def errors_keys(self) -> Iterator[str]:
        """The given keys that say what becomes of rejected records."""
        if self.dead_letter_topic is not None:
            yield DEAD_LETTERS

    @property
    def dead_letters(self) -> str | None:
        """The topic of rejected records."""
        return self.dead_letter_topic

    @property
    def client(self) -> Mapping[str, str]:
        """The configuration of librdkafka's consumers."""
        return {**self.consumer, **self.public_client}

    @property
    def public_client(self) -> Mapping[str, str]:
        """The brokers' addresses, and what a reader sees of transactions."""
        return {"bootstrap.servers": self.bootstrap_servers, "isolation.level": self.isolation_level}

    @property
    def address(self) -> str:
        """The brokers' addresses."""
        return self.bootstrap_servers

    @classmethod
    def read(cls, given: Mapping[str, str]) -> SourceKeys:
        """Sort the consumer's keys, too, and translate them for librdkafka."""
        clients = consumer.read(given)
        group = f"connect-{given.get('name', '')}"
        fields = {_GROUP: group, **super().read(given).fields, "consumer.*": clients.client}
        read = [each.strip() for each in given.get("topics", "").split(",")]
        loops = feeds_itself(given, DEAD_LETTERS, ("topics", read), "topics.regex")
        return SourceKeys(fields, clients.no_effect, [*clients.problems, *_topics(given), *loops])

    @classmethod
    def reads(cls, key: str) -> bool:
        """Whether `key` is a setting or a consumer's."""
        return super().reads(key) or consumer.bare(key) is not None


def _topics(given: Mapping[str, str]) -> Iterator[Problem]:
    if "topics" in given and "topics.regex" in given:
        yield Problem("topics.regex", "is given together with topics. Keep one of them.")
    if "topics" not in given and "topics.regex" not in given:
        yield Problem("topics", "is missing. Write topics=<names separated by commas>, or topics.regex=<pattern>.")
