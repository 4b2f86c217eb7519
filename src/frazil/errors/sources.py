"""Brokers that do not answer, and topics that are not what the tokens speak of."""

from __future__ import annotations

from collections.abc import Sequence

from frazil.errors.tree import Terminal, Transient
from frazil.errors.wording import wording_of


class BrokerUnavailable(Transient):
    """The broker did not answer."""

    code = "broker_unavailable"

    def __init__(self, brokers: str, action: str, cause: str) -> None:
        super().__init__(
            f"the broker at {brokers} failed to {action}: {cause}. It is tried again; check bootstrap.servers and that "
            "the broker runs."
        )


class BrokerRefused(Terminal):
    """The broker understood and said no."""

    code = "broker_refused"

    def __init__(self, brokers: str, action: str, cause: str) -> None:
        super().__init__(
            f"the broker at {brokers} refused to {action}: {cause}. Check the topic names, credentials and access "
            "rights."
        )


class NoStartingOffset(Terminal):
    """`auto.offset.reset=none` and the consumer group has no offset."""

    code = "no_starting_offset"

    def __init__(self, group: str, partition: str) -> None:
        super().__init__(
            f"{partition} has no offset token and the consumer group {group} has no offset for it, and "
            "auto.offset.reset=none forbids choosing one. Set consumer.override.auto.offset.reset to earliest or "
            "latest."
        )


class DataLoss(Terminal):
    """Retention deleted records before they were read."""

    code = "data_loss"

    def __init__(self, partition: str, first: int | str, last: int | str, others: Sequence[str] = ()) -> None:
        """Say which records of one partition are gone; `others` are those of other partitions."""
        also = f"; so were {', '.join(others)}" if others else ""
        super().__init__(
            f"the records {first} to {last} of {partition} were deleted by the broker's retention before they "
            f"were read{also}. Set frazil.on.data.loss=skip to go on after them, or `frazil channels reset` "
            "--to-earliest; and retain longer."
        )
        self.first = first
        self.last = last


class RecordsSkipped(Transient):
    """Retention deleted records before they were read, and the configuration says to go on after them."""

    code = "records_skipped"

    def __init__(self, lost: Sequence[str]) -> None:
        super().__init__(
            f"retention deleted {', '.join(lost)} before they were read; they are skipped, as frazil.on.data.loss=skip "
            "says, and the cycle is planned again after them."
        )


class RecordsExpired(Terminal):
    """Records may be gone by retention before they were read: only the time tells, nobody can say how many."""

    code = "records_expired"

    def __init__(
        self,
        partition: str,
        covered: str | None,
        kept: str | None,
        others: Sequence[str] = (),
        *,
        is_early: bool = False,
    ) -> None:
        """Say it of one partition.

        Args:
            partition: the partition.
            covered: by when what had come was read; None where nothing was.
            kept: from when on the source keeps records; None where the partition itself is gone.
            others: partitions with which it is the same.
            is_early: whether the last record that was read is gone although the source should keep it still.
        """
        also = f"; so it is with {', '.join(others)}" if others else ""
        read = f"{partition} was read up to what had come by {covered}" if covered else f"{partition} was never read"
        left = "it is gone from its source" if kept is None else f"its source keeps what came since {kept}"
        which = "records of it" if not covered else "records behind that" if kept is None else "records between"
        if is_early:
            left += ", but not the last record that was read: its retention was lower meanwhile"
            which = "records behind that one"
        super().__init__(
            f"{read}, and {left}: {which} may be gone unread{also}. Set frazil.on.data.loss=skip to go on with what "
            "there is, or `frazil channels reset` --to-earliest; and retain longer."
        )


class StreamUnavailable(Transient):
    """The service of a stream did not answer, or has trouble of its own."""

    code = "stream_unavailable"

    def __init__(self, address: str, action: str, cause: str) -> None:
        super().__init__(
            f"Kinesis at {address} failed to {action}: {cause}. It is tried again; check the region, the endpoint and "
            "the network."
        )


class StreamRefused(Terminal):
    """The service of a stream understood and said no."""

    code = "stream_refused"

    def __init__(self, address: str, action: str, cause: str) -> None:
        super().__init__(
            f"Kinesis at {address} refused to {action}: {cause}. Check the stream names, the credentials and their "
            "rights."
        )


class StreamCredentialsMissing(Terminal):
    """There is nothing to sign a request to a stream's service with, so it was not asked."""

    code = "stream_credentials_missing"

    def __init__(self, address: str, action: str, cause: str) -> None:
        super().__init__(
            f"Kinesis at {address} was not asked to {action}, for there are no credentials to do so: {cause}. Give "
            "frazil.kinesis.access.key.id and frazil.kinesis.secret.access.key in the connector's file, or have AWS's "
            "own chain find some here; those that a program has given its connector are not written down."
        )


class ConsumersExhausted(Transient):
    """A stream has as many registered consumers as it may."""

    code = "stream_consumers_exhausted"

    def __init__(self, consumer: str, stream: str, cause: str) -> None:
        super().__init__(
            f"the consumer {consumer} cannot be registered with {stream}: {cause}. It is tried again; deregister a "
            "consumer that nobody needs, or set frazil.kinesis.consumer.type=SHARED_THROUGHPUT."
        )


class ConsumersInUse(Terminal):
    """The connector whose consumers are to be deregistered still runs."""

    code = "consumers_in_use"

    def __init__(self, connector: str, sign: str) -> None:
        super().__init__(
            f"the connector {connector} runs: {sign}. Its streams would send it nothing more, and it would register "
            "again. Stop it first."
        )


class LogTruncated(Terminal):
    """The partition's log no longer holds what the offset token covers."""

    code = "log_truncated"

    def __init__(
        self,
        partition: str,
        token: int | str,
        latest: int | str,
        parts: int | str | None = None,
        others: Sequence[str] = (),
    ) -> None:
        """Say what is known of one partition.

        Args:
            partition: the partition.
            token: the last offset covered.
            latest: where the log ends now.
            parts: the first offset at which it is another log than the one that was read; None if nobody knows.
            others: partitions to which the same has happened.
        """
        also = f" So it is with {', '.join(others)}." if others else ""
        found = _ends_early(latest, token) if parts is None else _parts(parts, latest, token)
        super().__init__(f"{partition} {found}{also}")
        self.parts = parts


def _ends_early(latest: int | str, token: int | str) -> str:
    early = not isinstance(latest, int) or not isinstance(token, int) or latest <= token
    ends = "ends" if early else "has another log than the one that was read and ends"
    return (
        f"{ends} at offset {latest} but its offset token is {token}: the log was truncated, or the topic was deleted "
        "and made again. Once you know which, stop the connector and choose where to go on: `frazil channels reset` "
        f"--to-latest goes on at {latest}, --to-earliest reads the topic again."
    )


def _parts(parts: int | str, latest: int | str, token: int | str) -> str:
    return (
        f"was truncated at offset {parts} and ends at offset {latest} but its offset token is {token}: the rows of its "
        f"records {parts} to {token} are in the table, and those offsets are other records' now, or nobody's yet. Set "
        "frazil.on.data.loss=skip to keep the rows and read what the offsets hold now, or stop the connector and "
        f"choose where to go on: `frazil channels reset` --to-offset {parts} does the same once."
    )


class RecordsReplaced(Transient):
    """Logs were truncated below what is covered, and the configuration says to read what they hold now."""

    code = "records_replaced"

    def __init__(self, replaced: Sequence[str]) -> None:
        super().__init__(
            f"the broker's log lost {', '.join(replaced)} after they were read; their rows stay, the offset tokens are "
            "back before them, as frazil.on.data.loss=skip says, and the cycle is planned again from there."
        )


class TopicReplaced(Terminal):
    """The topic of that name is another one than the one the tokens speak of."""

    code = "topic_replaced"

    def __init__(self, kind: str, topic: str, what: str, expected: str, found: str) -> None:
        """Say how it differs.

        Args:
            kind: what kind of source it is of.
            topic: the topic.
            what: what is another one.
            expected: what the tokens say of that.
            found: what the source says of it.
        """
        words = wording_of(kind)
        super().__init__(
            f"the {words.topic} {topic} is not the one the offset tokens speak of: its {what} is {found}, the tokens "
            f"say {expected}. {words.misled} To read the new {words.topic}, stop the connector and run `frazil "
            f"channels reset` with --topic {topic} --to-earliest."
        )


class TopicMissing(Terminal):
    """A configured topic does not exist."""

    code = "topic_missing"

    def __init__(self, kind: str, topics: Sequence[str], address: str) -> None:
        """Name topics of a kind of source that do not exist at an address."""
        words, several = wording_of(kind), len(topics) != 1
        super().__init__(
            f"the {words.topic}{'s' if several else ''} {', '.join(topics)} {'do' if several else 'does'} not exist: "
            f"{words.service} at {address} does not have {'them' if several else 'it'}. Create what is missing, or "
            f"correct `{words.topics}`."
        )
