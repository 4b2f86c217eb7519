"""Brokers that do not answer, and topics that are not what the tokens speak of."""

from __future__ import annotations

from collections.abc import Sequence

from frazil.errors.tree import Terminal, Transient


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

    def __init__(self, group: str, topic: str, partition: int) -> None:
        super().__init__(
            f"{topic}-{partition} has no offset token and the consumer group {group} has no offset for it, and "
            "auto.offset.reset=none forbids choosing one. Set consumer.override.auto.offset.reset to earliest or "
            "latest."
        )


class DataLoss(Terminal):
    """Retention deleted records before they were read."""

    code = "data_loss"

    def __init__(self, topic: str, partition: int, first: int, last: int) -> None:
        super().__init__(
            f"the records {first} to {last} of {topic}-{partition} were deleted by the broker's retention before they "
            "were read. Set frazil.on.data.loss=skip to go on after them, and retain longer."
        )
        self.first = first
        self.last = last


class LogTruncated(Terminal):
    """The partition ends before the offset token."""

    code = "log_truncated"

    def __init__(self, topic: str, partition: int, token: int, latest: int) -> None:
        super().__init__(
            f"{topic}-{partition} ends at offset {latest} but its offset token is {token}: the log was truncated, or "
            "the topic was deleted and made again. Once you know which, begin again in a "
            "new table (docs/how-to/start-over.md)."
        )


class TopicReplaced(Terminal):
    """The topic of that name is another one than the one the tokens speak of."""

    code = "topic_replaced"

    def __init__(self, topic: str, what: str, expected: str, found: str) -> None:
        super().__init__(
            f"the topic {topic} is not the one the offset tokens speak of: its {what} is {found}, the tokens say "
            f"{expected}. To read the new one from its start, begin again in a new table "
            "(docs/how-to/start-over.md)."
        )


class TopicMissing(Terminal):
    """A configured topic does not exist."""

    code = "topic_missing"

    def __init__(self, topics: Sequence[str], brokers: str) -> None:
        super().__init__(
            f"the topic{'s' if len(topics) != 1 else ''} {', '.join(topics)} did not appear on the broker at "
            f"{brokers}. Create it, or correct `topics`."
        )
