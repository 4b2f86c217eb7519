"""The driver's side of Kinesis: streams, where their shards go on, and what is known of them."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from botocore.exceptions import BotoCoreError, ClientError

from frazil.errors import StreamUnavailable
from frazil.model import Position, Range, ReaderSpec, SourcePartition, StagedRange
from frazil.sources import kinds
from frazil.sources.base import Acknowledgement, Held, Rest, TopicFacts
from frazil.sources.kinesis import client as clients
from frazil.sources.kinesis import faults
from frazil.sources.kinesis.clock import ServiceClock
from frazil.sources.kinesis.fan_out.consumers import SHARED, Consumers, Lack, is_fanned_out
from frazil.sources.kinesis.initial_positions import InitialPosition
from frazil.sources.kinesis.iterators import iterator_at
from frazil.sources.kinesis.letters import DeadLetterStream, OutputStream
from frazil.sources.kinesis.positions import BEGINNING, Hints, KinesisPosition, Mark, hinted, now, of_kinesis
from frazil.sources.kinesis.probing import Prober
from frazil.sources.kinesis.pulling import Puller
from frazil.sources.kinesis.shard_reading import RawRecord
from frazil.sources.kinesis.streams import Stream, Streams
from frazil.sources.kinesis.watch import Watch
from frazil.sources.kinesis.writing import StreamWriter

if TYPE_CHECKING:
    from frazil.config import ConnectorSettings
    from frazil.config.kinesis import KinesisSettings

_SAMPLE: Final = 50
"""Records read of a shard to know how large records are."""

_ARN: Final = "arn."
_DISCOVERY: Final = 10.0
_POLL: Final = 1.0


@dataclass(frozen=True, slots=True)
class Reading:
    """Which streams are read, and how often they are looked at."""

    streams: tuple[str, ...] = ()
    pattern: str | None = None
    initial: InitialPosition = field(default_factory=InitialPosition)
    discovery: float = _DISCOVERY
    """Seconds between two looks at streams and their shards."""

    dead_letters: str | None = None
    """The stream that rejected records go to."""

    output: str | None = None
    """The stream that accepted records go on to."""

    keeps_output_order: bool = True
    """Whether records of a partition key come there in their order, one at a time."""


class KinesisSource:
    """Streams of one region, as one connector reads them; see `frazil.sources.base.Source`."""

    kind: Final = kinds.KINESIS

    def __init__(self, client: Mapping[str, str], reading: Reading) -> None:
        """Read streams with what the settings give as a client's configuration."""
        self._options = dict(client)
        self._reading = reading
        self._pattern = re.compile(reading.pattern) if reading.pattern else None
        self._address = faults.address_of(client)
        with faults.asking(self._address, "be asked anything"):
            self._client = clients.connect(client)
        self._clock = ServiceClock()
        arns = {key.removeprefix(_ARN): value for key, value in client.items() if key.startswith(_ARN)}
        self._streams = Streams(self._client, self._address, arns, reading.discovery, self._clock)
        self._watch = Watch()
        self._prober = Prober(self._client, self._address, self._streams, self._watch, self._clock)
        self._consumers = Consumers(self._client, self._address, client.get("application", ""))
        self._read: Collection[SourcePartition] = ()
        """The shards in which there was something to read, or might be, when the last plan was made."""

        self._waiting: Mapping[SourcePartition, Held] = {}
        """The shards of streams that give no consumer, and why."""

        self._is_sent = is_fanned_out(client)
        self._poll = None if self._is_sent else int(client.get("poll_interval_ms", _POLL * 1000)) / 1000
        """Seconds between two looks at a quiet shard; None where its records are sent."""
        dead_letters, output = reading.dead_letters, reading.output
        self._dead_letters = DeadLetterStream(self._writer(dead_letters)) if dead_letters else None
        self._output = OutputStream(self._writer(output), keeps_order=reading.keeps_output_order) if output else None

    def discover(self) -> Mapping[str, TopicFacts]:
        names = self._reading.streams
        if self._pattern is not None:
            names = tuple(name for name in self._streams.names() if self._pattern.fullmatch(name))
        return {name: found.facts for name, found in self._streams.find(names).items()}

    def facts(self, topics: Collection[str]) -> Mapping[str, TopicFacts]:
        return self._streams.identities(topics)

    def cluster(self) -> str:
        return self._streams.cluster()

    def ends(self, partitions: Collection[SourcePartition]) -> Mapping[SourcePartition, KinesisPosition]:
        known = self._streams.find({each.topic for each in partitions})
        there = [each for each in partitions if each.topic in known and each in known[each.topic].hash_keys]
        if self._poll is not None:
            due = time.monotonic() - self._poll
            read = [each for each in there if each.topic not in self._streams.failing()]
            quiet = [each for each in read if self._watch.of(each).was_quiet_at(due)]
            self._prober.look(quiet, [each for each in read if each not in quiet and not self._watch.of(each).ended])
        return {each: self._end(each, known[each.topic]) for each in there}

    def earliest(self, partitions: Collection[SourcePartition]) -> Mapping[SourcePartition, KinesisPosition]:
        known = self._streams.find({each.topic for each in partitions})
        return {each: BEGINNING for each in partitions if each.topic in known and each in known[each.topic].hash_keys}

    def latest(self, partitions: Collection[SourcePartition]) -> Mapping[SourcePartition, KinesisPosition]:
        return self._started(partitions, InitialPosition("LATEST"))

    def at_time(
        self, partitions: Collection[SourcePartition], moment: int
    ) -> Mapping[SourcePartition, KinesisPosition]:
        return self._started(partitions, InitialPosition("AT_TIMESTAMP", moment))

    def resolve_starts(
        self,
        topics: Sequence[TopicFacts],
        table: str,  # noqa: ARG002 (no group of consumers tells what a table once had)
        *,
        gone: bool,  # noqa: ARG002
    ) -> Mapping[SourcePartition, KinesisPosition]:
        return {
            partition: start
            for facts in topics
            for partition, start in self._reading.initial.starts(facts, self._clock.moment).items()
        }

    def look_for_truncation(
        self,
        starts: Mapping[SourcePartition, Position],  # noqa: ARG002 (shards lose their beginning only)
        ends: Mapping[SourcePartition, Position],  # noqa: ARG002
    ) -> Mapping[SourcePartition, KinesisPosition | None]:
        return {}

    def diverged(
        self,
        starts: Mapping[SourcePartition, Position],  # noqa: ARG002
    ) -> Mapping[SourcePartition, KinesisPosition | None]:
        return {}

    def oldest_timestamps(self, starts: Mapping[SourcePartition, Position]) -> Mapping[SourcePartition, int]:
        puller = Puller(self._client, 1)
        found = {}
        for partition, start in of_kinesis(starts).items():
            if not start.ended and (records := self._next(puller, partition, start)):
                found[partition] = records[0].arrival
        return found

    def staged(self, ranges: Iterable[StagedRange]) -> None:
        for each in ranges:
            covered = of_kinesis({each.partition: each.covered})[each.partition]
            if each.trouble is None:
                self._watch.hold(each.partition, each.held)
            self._watch.of(each.partition).hear(each, covered)
            if covered.ended:
                self._streams.forget(each.partition.topic)

    def require_answers(self) -> None:
        if self._watch.is_outage(self._read):
            first = next(iter(self._read))
            raise StreamUnavailable(self._address, "give the records", str(self._watch.of(first).trouble))

    def resting(self, starts: Mapping[SourcePartition, Position]) -> Mapping[SourcePartition, Rest]:
        failing = self._streams.failing()
        self._read = [each for each in starts if each.topic not in failing]
        outage = self._watch.is_outage(self._read)
        if not outage:
            self._watch.say()
        lacking = self._without_consumer({each.topic for each in starts}) if self._is_sent else {}
        self._waiting = {
            each: Held(lack.error.message, passes=isinstance(lack.error, StreamUnavailable))
            for each in starts
            if (lack := lacking.get(each.topic)) is not None and lack.error is not None
        }
        waits = {**{name: lack.seconds for name, lack in lacking.items()}, **failing}
        rests = {
            each: Rest(waits[each.topic]) if each.topic in waits else self._rest(each, start, outage=outage)
            for each, start in of_kinesis(starts).items()
        }
        return {each: rest for each, rest in rests.items() if rest is not None}

    def held(self) -> Mapping[SourcePartition, Held]:
        return {**self._streams.held(), **self._watch.held(), **self._waiting}

    def read_through(self, starts: Mapping[SourcePartition, Position]) -> Mapping[SourcePartition, int]:
        known = {each: self._watch.of(each) for each in starts}
        return {
            each: watched.read_through
            for each, watched in known.items()
            if watched.is_quiet and watched.covered == starts[each] and watched.read_through is not None
        }

    def have_last(self, starts: Mapping[SourcePartition, Position]) -> Mapping[SourcePartition, bool]:
        return self._prober.have_last(of_kinesis(starts))

    def average_sizes(self, ranges: Collection[Range]) -> Mapping[str, float]:
        puller = Puller(self._client, _SAMPLE)
        sizes: dict[str, list[int]] = {}
        for each in ranges:
            start = of_kinesis({each.partition: each.start})[each.partition]
            try:
                found = self._pull(puller, each.partition, start)
            except (ClientError, BotoCoreError):
                continue  # a reader says it better, and may go on all the same
            sizes.setdefault(each.partition.topic, []).extend(len(record.data) for record in found)
        return {topic: sum(found) / len(found) for topic, found in sizes.items() if found}

    def acknowledge(self, covered: Mapping[SourcePartition, Acknowledgement]) -> None:
        """Nobody is to be told: the service keeps no positions of its consumers."""

    def reader(self) -> ReaderSpec:
        if not self._is_sent:
            return ReaderSpec(self.kind, self._options)
        return ReaderSpec(self.kind, {**self._options, **self._consumers.options(self._streams.arns())})

    def release(self) -> dict[str, bool]:
        """Deregister the consumers of the streams that it reads; whether there was one, by stream."""
        self.discover()
        return {name: self._consumers.deregister(arn) for name, arn in sorted(self._streams.arns().items())}

    def dead_letters(self) -> DeadLetterStream | None:
        return self._dead_letters

    def output(self) -> OutputStream | None:
        return self._output

    def close(self) -> None:
        for stream in (self._dead_letters, self._output):
            if stream is not None:
                stream.close()
        self._prober.close()
        self._client.close()

    def _writer(self, stream: str) -> StreamWriter:
        return StreamWriter(self._client, self._address, stream)

    def _without_consumer(self, streams: Collection[str]) -> Mapping[str, Lack]:
        """The streams whose shards may not be subscribed to yet.

        Raises:
            ConsumersExhausted, StreamUnavailable, StreamRefused: so it is with all of them, and none is on its way.
        """
        arns = {name: arn for name, arn in self._streams.arns().items() if name in streams}
        lacking = self._consumers.lacking(arns)
        errors = [each.error for each in lacking.values() if each.error is not None]
        if errors and len(errors) == len(arns):
            raise errors[0]
        return lacking

    def _started(
        self, partitions: Collection[SourcePartition], initial: InitialPosition
    ) -> dict[SourcePartition, KinesisPosition]:
        known = self._streams.find({each.topic for each in partitions})
        found = {}
        for stream in known.values():
            found.update(initial.starts(stream.facts, self._clock.moment, margin=0))
        return {each: found[each] for each in partitions if each in found}

    def _rest(self, partition: SourcePartition, start: KinesisPosition, *, outage: bool) -> Rest | None:
        if start.mark == Mark.AT_TIMESTAMP and (left := start.value - self._clock.moment) > 0:
            # The service takes no time that is still to come.
            return Rest(left / 1000)
        return self._watch.of(partition).rest(start, self._poll, outage=outage)

    def _end(self, partition: SourcePartition, stream: Stream) -> KinesisPosition:
        known = self._watch.of(partition)
        hints = Hints(stream.hash_keys.get(partition), known.young_iterator, known.covered, known.seconds_owed)
        if known.covered is not None and known.covered.ended:
            return hinted(known.covered, hints)
        moment = self._clock.by_now
        waiting = known.waiting(moment)
        if self._is_sent and known.is_due:
            # Whether anything has come to a quiet shard, only a subscription tells.
            waiting = max(1, waiting)
        return now(moment, waiting, hints)

    def _next(self, puller: Puller, partition: SourcePartition, start: KinesisPosition) -> Sequence[RawRecord]:
        """Records behind a position, if some can be had at once."""
        try:
            return self._pull(puller, partition, start)
        except (ClientError, BotoCoreError) as error:
            # A place may be refused that a reader goes on from: it was passed by retention, or its stream made again.
            if faults.passes(error) or faults.code(error) in faults.HELD | {faults.UNFIT, faults.GONE}:
                return ()
            raise faults.translate(error, self._address, f"give records of {partition}") from error

    def _pull(self, puller: Puller, partition: SourcePartition, start: KinesisPosition) -> Sequence[RawRecord]:
        arn = self._streams.arn(partition.topic)
        return puller.pull(iterator_at(self._client, partition, arn, start), arn).records


def open_source(settings: ConnectorSettings, own: KinesisSettings) -> KinesisSource:  # noqa: ARG001 (as for all kinds)
    """The streams of a connector."""
    initial = InitialPosition(own.initial_position, own.initial_timestamp_ms)
    discovery = own.discovery_interval_ms / 1000
    streams = (own.dead_letter_stream, own.output_stream, own.output_order == "key")
    return KinesisSource(own.client, Reading(own.topics, own.topics_regex, initial, discovery, *streams))


def require_reachable(client: Mapping[str, str], patience: float) -> None:  # noqa: ARG001 (the client's own counts)
    """Raise unless the service answers; a refusal is an answer. See `frazil.sources.kinds.require_reachable`."""
    with faults.asking(faults.address_of(client), "list streams"):
        try:
            clients.connect(client).list_streams(Limit=1)
        except ClientError as error:
            # Rights may be given for single streams; whether they suffice shows when those are read.
            if faults.passes(error) and faults.code(error) not in faults.THROTTLED:
                raise


def observe(client: Mapping[str, str], topics: Collection[str]) -> KinesisSource:
    """Streams for whoever only looks: nothing is registered for that."""
    return KinesisSource({**client, "consumer_type": SHARED}, Reading(tuple(topics)))
