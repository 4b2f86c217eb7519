"""The settings of Kinesis as a source: its streams, how they are read, and who reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Final, Literal
from urllib.parse import urlsplit

from pydantic import AliasChoices as Keys
from pydantic import Field

from frazil.config import converters, streams, values
from frazil.config.source import OutputLimits, SourceKeys, SourceSettings, feeds_itself
from frazil.errors import Problem

CLASS: Final = "frazil.KinesisConnector"

STREAMS: Final = "frazil.kinesis.streams"
PATTERN: Final = "frazil.kinesis.streams.regex"
APPLICATION: Final = "frazil.kinesis.application.name"
REGION: Final = "frazil.kinesis.region"
ENDPOINT: Final = "frazil.kinesis.endpoint"
CONSUMER: Final = "frazil.kinesis.consumer.type"
POSITION: Final = "frazil.kinesis.initial.position"
TIMESTAMP: Final = "frazil.kinesis.initial.timestamp"
PROFILE: Final = "frazil.kinesis.profile"
ACCESS_KEY: Final = "frazil.kinesis.access.key.id"
SECRET_KEY: Final = "frazil.kinesis.secret.access.key"  # noqa: S105 (a key's name)
TOKEN: Final = "frazil.kinesis.session.token"  # noqa: S105
ROLE: Final = "frazil.kinesis.role.arn"
EXTERNAL_ID: Final = "frazil.kinesis.role.external.id"
ROLE_SESSION: Final = "frazil.kinesis.role.session.name"
MAX_RECORDS: Final = "frazil.kinesis.max.records"
POLL_INTERVAL: Final = "frazil.kinesis.poll.interval.ms"
READ_RATE: Final = "frazil.kinesis.read.rate"
READ_WINDOW: Final = "frazil.kinesis.read.window.ms"
FAN_OUT_WINDOW: Final = "frazil.kinesis.fan.out.window.ms"
DISCOVERY: Final = "frazil.kinesis.discovery.interval.ms"
DEAD_LETTERS: Final = "errors.deadletterqueue.stream.name"
OUTPUT: Final = "frazil.output.stream"
OUTPUT_ORDER: Final = "frazil.output.order"
OUTPUT_FILES: Final = "frazil.output.max.files"
OUTPUT_AGE: Final = "frazil.output.max.age.ms"

SHARED: Final = "SHARED_THROUGHPUT"
FAN_OUT: Final = "ENHANCED_FAN_OUT"
AT_TIMESTAMP: Final = "AT_TIMESTAMP"

_ANY_CASE = values.by(str.upper)
_CONSUMER_NAME = re.compile(r"[a-zA-Z0-9_.-]{1,128}")
_CREDENTIAL = re.compile(r"[!-~]+")
_ROLE = re.compile(r"arn:aws[a-z-]*:iam::[0-9]{12}:role/[\w+=,.@/-]+", re.ASCII)

_NO_BROKERS = "it is for Kafka, and this connector reads Kinesis"
_POLLED = f"{CONSUMER}={FAN_OUT} gets records pushed, nothing is polled"

NO_EFFECT: Final[Mapping[str, str]] = {
    "bootstrap.servers": _NO_BROKERS,
    "errors.deadletterqueue.context.headers.enable": "records of Kinesis have no headers",
    "errors.deadletterqueue.topic.replication.factor": "Kinesis keeps its records safe by itself",
    "header.converter": "records of Kinesis have no headers",
    "key.converter": "the key of a record of Kinesis is its partition key, a text",
}
"""Keys that files for Kafka have, and that change nothing here."""

NO_EFFECT_PREFIXES: Final[Mapping[str, str]] = {
    "consumer.": _NO_BROKERS,
    "header.converter.": NO_EFFECT["header.converter"],
    "key.converter.": NO_EFFECT["key.converter"],
}

REFUSED: Final[Mapping[str, str]] = {
    "errors.deadletterqueue.topic.name": f"names a topic of Kafka. Write {DEAD_LETTERS}.",
    "topics": f"names topics of Kafka. Write {STREAMS}.",
    "topics.regex": f"means topics of Kafka. Write {PATTERN}.",
}
"""Keys that files for Kafka have, and that ask for what Kinesis has under another name."""


def _endpoint(text: str) -> str:
    """The URL of a service."""
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        bare = not (parts.username or parts.password or parts.query or parts.fragment)
    except ValueError:
        usable = bare = False
    if not usable or not bare:
        # Users, and queries of URLs that are signed, have secrets.
        shown = re.sub(r"[?#].*", "?…", text, flags=re.DOTALL)
        raise ValueError(f"{shown!r} is no URL of a service; write one like https://kinesis.eu-central-1.amazonaws.com")
    return text


def _credential(text: str) -> str:
    """A part of credentials; blanks around it come with copying, and from files that end with a line."""
    found = text.strip()
    if not _CREDENTIAL.fullmatch(found):
        # The client would show it when it cannot send it.
        raise ValueError("holds blanks or letters that no credentials have; write it as AWS gave it")
    return found


def _role(text: str) -> str:
    """The ARN of a role."""
    if not _ROLE.fullmatch(text):
        raise ValueError(f"{text!r} is no ARN of a role; write one like arn:aws:iam::123456789012:role/reader")
    return text


class KinesisSettings(SourceSettings):
    """What is read of Kinesis, and how."""

    kind: ClassVar[str] = "kinesis"
    classes: ClassVar[tuple[str, ...]] = (CLASS,)
    title: ClassVar[str] = "What is read of Kinesis"
    metadata_column: ClassVar[str] = "kinesisMetadata"

    topics: Annotated[tuple[str, ...], values.by(streams.names)] = Field(validation_alias=Keys(STREAMS), default=())
    """Streams to read, by their names or ARNs, separated by commas. Either this or `frazil.kinesis.streams.regex` is
    given, never both."""

    arns: Mapping[str, str] = Field(default_factory=dict, repr=False)
    """The ARNs among them, by the names of their streams."""

    topics_regex: Annotated[str | None, values.by(values.regex)] = Field(validation_alias=Keys(PATTERN), default=None)
    """Read every stream of the region whose whole name this regular expression matches, also streams that are made
    later."""

    application_name: str = Field(
        validation_alias=Keys(APPLICATION), default="", json_schema_extra={"default": "`<name>`"}
    )
    """Who reads: part of every channel, and with `ENHANCED_FAN_OUT` the name of the consumer that is registered. Two
    applications read the same stream independently. Where `name` is not given, it is the connector's name as well."""

    region: Annotated[str, values.by(streams.region)] = Field(
        validation_alias=Keys(REGION),
        json_schema_extra={"default": "that of the ARNs, else must be given"},
        examples=["eu-central-1"],
    )
    """The region of the streams."""

    endpoint: Annotated[str | None, values.by(_endpoint)] = Field(validation_alias=Keys(ENDPOINT), default=None)
    """The URL of Kinesis, where it is not the region's own: of a VPC endpoint, or of a local stream."""

    consumer_type: Annotated[Literal["SHARED_THROUGHPUT", "ENHANCED_FAN_OUT"], _ANY_CASE] = Field(
        validation_alias=Keys(CONSUMER), default=SHARED
    )
    """Whether shards are polled, all consumers of a shard sharing its 2 MB/s (`SHARED_THROUGHPUT`), or push their
    records to a consumer that is registered and has 2 MB/s of its own (`ENHANCED_FAN_OUT`)."""

    initial_position: Annotated[Literal["TRIM_HORIZON", "LATEST", "AT_TIMESTAMP"], _ANY_CASE] = Field(
        validation_alias=Keys(POSITION), default="TRIM_HORIZON"
    )
    """Where shards start that a stream has when it is first opened: at the oldest record it holds, at records that come
    from then on, or at a time. Shards that appear later are always read from their beginning."""

    initial_timestamp_ms: Annotated[int | None, values.by(values.moment_ms)] = Field(
        validation_alias=Keys(TIMESTAMP), default=None
    )
    """The time of `AT_TIMESTAMP`: ISO 8601, in UTC where it names no zone, or milliseconds since the epoch."""

    profile: str | None = Field(validation_alias=Keys(PROFILE), default=None)
    """The profile of AWS's configuration files that has the credentials. Without it and without keys, AWS's usual chain
    finds them: environment, files, the machine's role."""

    access_key_id: Annotated[str | None, values.by(_credential)] = Field(
        validation_alias=Keys(ACCESS_KEY), default=None, repr=False
    )
    """The id of an access key, never shown."""

    secret_access_key: Annotated[str | None, values.by(_credential)] = Field(
        validation_alias=Keys(SECRET_KEY), default=None, repr=False
    )
    """The secret of the access key, never shown."""

    session_token: Annotated[str | None, values.by(_credential)] = Field(
        validation_alias=Keys(TOKEN), default=None, repr=False
    )
    """The session token of a temporary access key, never shown."""

    role_arn: Annotated[str | None, values.by(_role)] = Field(validation_alias=Keys(ROLE), default=None)
    """The ARN of a role to assume with those credentials, and again whenever it expires."""

    role_external_id: Annotated[str | None, values.by(_credential)] = Field(
        validation_alias=Keys(EXTERNAL_ID), default=None, repr=False
    )
    """The external id that the role asks for, never shown."""

    role_session_name: str | None = Field(
        validation_alias=Keys(ROLE_SESSION), default=None, json_schema_extra={"default": "`frazil`"}
    )
    """What a session of the role is called in AWS's audit."""

    max_records: Annotated[int, values.by(values.integer(1, 10_000))] = Field(
        validation_alias=Keys(MAX_RECORDS), default=10_000
    )
    """The most records of one GetRecords, from 1 to 10000."""

    poll_interval_ms: Annotated[int, values.by(values.integer(200))] = Field(
        validation_alias=Keys(POLL_INTERVAL), default=1000
    )
    """Milliseconds between two looks at a shard that has nothing new, at least 200: all consumers of a shard share five
    reads a second. A shard that is behind is read sooner."""

    read_rate: Annotated[int, values.by(values.integer(1))] = Field(validation_alias=Keys(READ_RATE), default=2_097_152)
    """Bytes per second that are read of one shard at most. A shard gives 2097152 to all its consumers together; less
    leaves some to the others."""

    read_window_ms: Annotated[int, values.by(values.integer(200))] = Field(
        validation_alias=Keys(READ_WINDOW), default=2000
    )
    """Milliseconds that one cycle polls shards at most, at least 200; a cycle that has caught up ends sooner."""

    fan_out_window_ms: Annotated[int, values.by(values.integer(5000, 300_000))] = Field(
        validation_alias=Keys(FAN_OUT_WINDOW), default=10_000
    )
    """Milliseconds that one cycle is subscribed to shards at most, with `ENHANCED_FAN_OUT`: from 5000, since a shard
    takes one subscription of a consumer in five seconds, to 300000, when Kinesis ends it."""

    discovery_interval_ms: Annotated[int, values.by(values.integer(100))] = Field(
        validation_alias=Keys(DISCOVERY), default=10_000
    )
    """Milliseconds between two looks for new streams and shards, at least 100. When a shard ends, its children are
    looked for at once."""

    dead_letter_stream: Annotated[str | None, values.by(streams.name)] = Field(
        validation_alias=Keys(DEAD_LETTERS), default=None
    )
    """The stream that rejected records go to, with their own bytes, once they are committed; with
    `errors.tolerance=all`. It has to exist."""

    output_stream: Annotated[str | None, values.by(streams.name)] = Field(validation_alias=Keys(OUTPUT), default=None)
    """The stream that accepted records go on to, with their own bytes and partition keys, once they are committed: each
    at least once. It has to exist."""

    output_order: Annotated[Literal["key", "none"], values.by(str.lower)] = Field(
        validation_alias=Keys(OUTPUT_ORDER), default="key"
    )
    """Which accepted records come to the output stream in their order. `key`: those of a partition key, of which one is
    under way at a time. `none`: where the stream refuses part of a request, what it refuses comes behind the rest;
    faster where records have few keys."""

    output_max_files: Annotated[int, values.by(values.integer(0))] = Field(
        validation_alias=Keys(OUTPUT_FILES), default=10_000
    )
    """How many files of accepted records of one table may wait to be sent on. From then on the streams that feed it are
    not read until the output has taken enough of them. 0 lets any number wait."""

    output_max_age_ms: Annotated[int, values.by(values.integer(0))] = Field(
        validation_alias=Keys(OUTPUT_AGE), default=0
    )
    """How long the oldest of them may wait; after that the streams are not read likewise. 0 lets it wait for any time.
    Keep it well below the retention of the streams that are read."""

    def errors_keys(self) -> Iterator[str]:
        """The given keys that say what becomes of rejected records."""
        if self.dead_letter_stream is not None:
            yield DEAD_LETTERS

    @property
    def dead_letters(self) -> str | None:
        """The stream of rejected records."""
        return self.dead_letter_stream

    @property
    def output(self) -> str | None:
        """The stream of accepted records."""
        return self.output_stream

    @property
    def output_limits(self) -> OutputLimits:
        """What the two settings say."""
        return OutputLimits(self.output_max_files or None, self.output_max_age_ms / 1000 or None)

    @property
    def identity(self) -> str:
        """The application's name."""
        return self.application_name

    @property
    def client(self) -> Mapping[str, str]:
        """What its clients need, with the credentials."""
        hidden = {
            "access_key_id": self.access_key_id,
            "secret_access_key": self.secret_access_key,
            "session_token": self.session_token,
            "role_external_id": self.role_external_id,
        }
        return {**self.public_client, **{name: value for name, value in hidden.items() if value is not None}}

    @property
    def public_client(self) -> Mapping[str, str]:
        """What its clients need, but for keys and ids that are secrets."""
        shown = {
            "region": self.region,
            "endpoint": self.endpoint,
            "profile": self.profile,
            "role_arn": self.role_arn,
            "role_session_name": self.role_session_name,
            "application": self.application_name,
            "consumer_type": self.consumer_type,
            "max_records": str(self.max_records),
            "poll_interval_ms": str(self.poll_interval_ms),
            "read_rate": str(self.read_rate),
            "read_window_ms": str(self.read_window_ms),
            "fan_out_window_ms": str(self.fan_out_window_ms),
            **{f"arn.{name}": arn for name, arn in self.arns.items()},
        }
        return {name: value for name, value in shown.items() if value is not None}

    @property
    def address(self) -> str:
        """The endpoint, if one is given, else the region."""
        return self.endpoint or self.region

    @classmethod
    def complete(cls, given: Mapping[str, str]) -> dict[str, str]:
        """The application's name is the connector's, values are JSON without schemas, and ARNs name their region."""
        found = dict(given)
        if APPLICATION in given:
            found.setdefault("name", given[APPLICATION])
        if "value.converter" not in given:
            found["value.converter"] = converters.JSON
            found.setdefault("value.converter.schemas.enable", "false")
        regions = {arn.region for arn in streams.arns(given.get(STREAMS, ""))}
        if REGION not in given and len(regions) == 1:
            found[REGION] = regions.pop()
        return found

    @classmethod
    def read(cls, given: Mapping[str, str]) -> SourceKeys:
        """Sort the keys of Kafka's, too, and look at what goes together."""
        found = super().read(given)
        found.fields.setdefault(APPLICATION, given.get("name", ""))
        found.fields["arns"] = arns = {arn.name: str(arn) for arn in streams.arns(given.get(STREAMS, ""))}
        found.no_effect += [(key, reason) for key in given if (reason := _why_void(key))]
        found.no_effect += _void_beside(given)
        found.problems += [Problem(key, REFUSED[key]) for key in given if key in REFUSED]
        found.problems += _streams(given)
        found.problems += _position(given)
        found.problems += _consumer(given)
        found.problems += _credentials(given)
        read = {each.strip() for each in given.get(STREAMS, "").split(",")} | {*arns}
        for key in (DEAD_LETTERS, OUTPUT):
            found.problems += feeds_itself(given, key, (STREAMS, read), PATTERN)
        if given.get(OUTPUT) is not None and given.get(OUTPUT) == given.get(DEAD_LETTERS):
            reason = f"is {given[OUTPUT]!r}, as is {DEAD_LETTERS}: nobody could tell them apart. Write another stream."
            found.problems.append(Problem(OUTPUT, reason))
        return found

    @classmethod
    def reads(cls, key: str) -> bool:
        """Whether `key` is a setting, or one of Kafka's."""
        return super().reads(key) or key in REFUSED or _why_void(key) is not None


def _why_void(key: str) -> str | None:
    by_prefix = (reason for prefix, reason in NO_EFFECT_PREFIXES.items() if key.startswith(prefix))
    return NO_EFFECT.get(key) or next(by_prefix, None)


def _void_beside(given: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Keys that others make void, with the reason."""
    fan_out = given.get(CONSUMER, SHARED).upper() == FAN_OUT
    void = (MAX_RECORDS, POLL_INTERVAL, READ_RATE, READ_WINDOW) if fan_out else (FAN_OUT_WINDOW,)
    why = _POLLED if fan_out else f"it is for {CONSUMER}={FAN_OUT}"
    yield from ((key, why) for key in void if key in given)
    if ROLE not in given:
        yield from ((key, f"{ROLE} is not given") for key in (EXTERNAL_ID, ROLE_SESSION) if key in given)
    if TIMESTAMP in given and given.get(POSITION, "").upper() != AT_TIMESTAMP:
        yield TIMESTAMP, f"it is for {POSITION}={AT_TIMESTAMP}"


def _streams(given: Mapping[str, str]) -> Iterator[Problem]:
    if STREAMS in given and PATTERN in given:
        yield Problem(PATTERN, f"is given together with {STREAMS}. Keep one of them.")
    if STREAMS not in given and PATTERN not in given:
        yield Problem(STREAMS, f"is missing. Write {STREAMS}=<names separated by commas>, or {PATTERN}=<pattern>.")
    regions = sorted({arn.region for arn in streams.arns(given.get(STREAMS, ""))})
    if len(regions) > 1:
        yield Problem(STREAMS, f"is in {values.listed(regions)}, and a connector reads one region. Write one for each.")
    elif regions and given.get(REGION, regions[0]) != regions[0]:
        yield Problem(REGION, f"is {given[REGION]!r}, and the ARNs of {STREAMS} are in {regions[0]}. Remove it.")


def _position(given: Mapping[str, str]) -> Iterator[Problem]:
    if given.get(POSITION, "").upper() == AT_TIMESTAMP and TIMESTAMP not in given:
        yield Problem(TIMESTAMP, f"is missing with {POSITION}={AT_TIMESTAMP}. Write one like 2026-07-29T12:00:00Z.")


def _consumer(given: Mapping[str, str]) -> Iterator[Problem]:
    """What an application cannot be called whose name is that of a consumer as well."""
    name = given.get(APPLICATION, given.get("name", ""))
    if given.get(CONSUMER, "").upper() == FAN_OUT and name and not _CONSUMER_NAME.fullmatch(name):
        key = APPLICATION if APPLICATION in given else "name"
        yield Problem(
            key,
            f"{name!r} cannot be a consumer of {FAN_OUT}. Write up to 128 letters, digits, '.', '_' and '-', as "
            f"{APPLICATION} where the connector is to keep its name.",
        )


def _credentials(given: Mapping[str, str]) -> Iterator[Problem]:
    for key, other in ((ACCESS_KEY, SECRET_KEY), (SECRET_KEY, ACCESS_KEY)):
        if key in given and other not in given:
            yield Problem(key, f"must be given together with {other}. Write both, or neither.")
    if TOKEN in given and ACCESS_KEY not in given and SECRET_KEY not in given:
        yield Problem(TOKEN, f"belongs to an access key. Write {ACCESS_KEY} and {SECRET_KEY} as well, or remove it.")
    if PROFILE in given and (ACCESS_KEY in given or SECRET_KEY in given):
        yield Problem(PROFILE, f"is given together with {ACCESS_KEY}. Keep one of them.")
