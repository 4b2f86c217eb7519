"""Every error frazil raises, as one tree.

    FrazilError
    ├── Terminal    a person has to change something; the connector stops as FAILED (or FENCED)
    │   ├── InvalidConfiguration (0001)
    │   └── …
    └── Transient   waiting or planning again can help; the cycle is abandoned and tried again
        └── …

Each class has a stable `code` with a section of its own in `docs/errors.md`, and its message names the thing, the
value, and what to do next. Numbers are those of the connectors frazil replaces where the meaning is the same
(`spec` section 8.5); the others are names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


class FrazilError(Exception):
    """The root: catch this to catch everything frazil raises on purpose."""

    code: str = "frazil"
    """Stable identifier; `docs/errors.md` has a section of this name."""

    def __str__(self) -> str:
        return f"[{self.code}] {super().__str__()}"

    @property
    def message(self) -> str:
        """The sentence without the code."""
        return super().__str__()


class Terminal(FrazilError):
    """Trying again cannot help: somebody has to change something."""


class Transient(FrazilError):
    """Trying again can help: the connector plans again from the tokens."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a configuration."""

    key: str
    """The configuration key, as written or as expected."""

    text: str
    """What is wrong with it, the value included unless it is a secret, and what to write instead."""


class InvalidConfiguration(Terminal):
    """The configuration cannot be run; all its problems are listed at once."""

    code = "0001"

    def __init__(self, subject: str, problems: Sequence[Problem]) -> None:
        lines = "".join(f"\n  {problem.key}: {problem.text}" for problem in problems)
        count = f"{len(problems)} problem{'s' if len(problems) != 1 else ''}"
        super().__init__(f"{subject} has {count}:{lines}")
        self.subject = subject
        self.problems = tuple(problems)

    @classmethod
    def single(cls, subject: str, key: str, text: str) -> InvalidConfiguration:
        """One problem alone."""
        return cls(subject, [Problem(key, text)])


class SparkConnectRefused(Terminal):
    """The session is a Spark Connect session, which has no JVM in reach."""

    code = "spark_connect"

    def __init__(self) -> None:
        super().__init__(
            "this Spark session is a Spark Connect session, which has no JVM handle, and frazil commits through the "
            "JVM. Pass a classic session (SparkSession.builder.master(...)) instead."
        )


class CatalogNotIceberg(Terminal):
    """The Spark catalog of that name is missing or is not an Iceberg catalog."""

    code = "catalog"

    def __init__(self, catalog: str, reason: str) -> None:
        super().__init__(
            f"the Spark catalog {catalog!r} cannot be used: {reason}. Configure spark.sql.catalog.{catalog} as an "
            "org.apache.iceberg.spark.SparkCatalog, or leave frazil.catalog unset for the embedded one."
        )


class TableNotSupported(Terminal):
    """An existing table has a shape frazil does not write."""

    code = "table_not_supported"

    def __init__(self, table: str, reason: str, remedy: str) -> None:
        super().__init__(f"the table {table} cannot be written: {reason}. {remedy}")


class TableMissing(Terminal):
    """A table that existed when the connector opened it is gone."""

    code = "table_missing"

    def __init__(self, table: str) -> None:
        super().__init__(
            f"the table {table} was dropped or renamed while the connector was using it. Its offset tokens went with "
            "it; restore it, or start the connector again to begin a new table where the consumer group stands."
        )


class TableReplaced(Terminal):
    """The table of that name is another one than the one opened."""

    code = "table_replaced"

    def __init__(self, table: str, expected: str, found: str) -> None:
        super().__init__(
            f"the table {table} was replaced: its uuid is {found}, the connector opened {expected}. Its offset tokens "
            "went with the old table; start the connector again to open the new one."
        )


class TokensUncertain(Terminal):
    """The table was rolled back past every snapshot that carries our offset tokens."""

    code = "tokens_uncertain"

    def __init__(self, table: str, connector: str) -> None:
        super().__init__(
            f"the table {table} was rolled back past the snapshots that carry the offset tokens of {connector}, so "
            "which records it holds cannot be known. Roll it forward to a snapshot whose summary has "
            f"frazil.tokens.{connector}, or begin again in a new table (docs/how-to/start-over.md)."
        )


class CherryPicked(Terminal):
    """A snapshot that frazil wrote was cherry-picked on top of the tokens that already cover its rows, or not."""

    code = "cherry_picked"

    def __init__(self, table: str, connector: str, snapshot: int, source: int) -> None:
        super().__init__(
            f"the table {table} has snapshot {snapshot}, cherry-picked from snapshot {source} that {connector} "
            "committed, so its rows and the offset tokens no longer belong together. Roll the table back to before "
            "the cherry-pick, or begin again in a new table (docs/how-to/start-over.md)."
        )


class TokensUnreadable(Terminal):
    """The offset tokens in the table are not in a form this version understands."""

    code = "tokens_unreadable"

    def __init__(self, table: str, reason: str) -> None:
        super().__init__(
            f"the offset tokens of the table {table} cannot be read: {reason}. "
            "They were written by a newer frazil or by hand; use that version, or roll the table back."
        )


class Fenced(Terminal):
    """A newer opener of the same connector owns the table."""

    code = "fenced"

    def __init__(self, connector: str, table: str, ours: int, theirs: int, rival: str) -> None:
        super().__init__(
            f"{rival} opened the connector {connector} on the table {table} after this process (owner epoch {theirs}, "
            f"ours was {ours}), so this one stops for good. Nothing is lost or doubled. Run "
            "one of the two, or give them different names."
        )
        self.rival = rival


class TokensMoved(Transient):
    """The tokens are not the ones the cycle was planned from."""

    code = "tokens_moved"

    def __init__(self, table: str, expected: str | None, found: str | None) -> None:
        super().__init__(
            f"the offset tokens of {table} are of commit {found or 'none'}, the cycle was planned from "
            f"{expected or 'none'}; it is planned again."
        )


class ShapeMoved(Transient):
    """The schema, partition spec or sort order is not the one files were staged for."""

    code = "shape_moved"

    def __init__(self, table: str, change: str) -> None:
        super().__init__(f"the table {table} changed while its files were staged ({change}); they are staged again.")


class CommitUnknown(Transient):
    """The catalog did not say whether the commit happened."""

    code = "commit_unknown"

    def __init__(self, table: str, commit: str, cause: str) -> None:
        super().__init__(
            f"the catalog did not say whether commit {commit} of {table} happened ({cause}), and it is not in the "
            "table; the cycle is planned again from the tokens."
        )


class CatalogUnavailable(Transient):
    """The catalog or its storage failed before anything could change."""

    code = "catalog_unavailable"

    def __init__(self, action: str, cause: str) -> None:
        super().__init__(f"the catalog failed to {action}: {cause}. It is tried again.")


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


class StageFailed(Transient):
    """A staging task failed for a reason that is not the data's."""

    code = "stage_failed"

    def __init__(self, where: str, cause: str) -> None:
        super().__init__(f"staging {where} failed: {cause}. Nothing was committed; the cycle is planned again.")


class CycleCancelled(Transient):
    """Somebody cancelled the cycle's Spark job."""

    code = "cycle_cancelled"

    def __init__(self, group: str) -> None:
        super().__init__(f"the Spark job group {group} was cancelled; the cycle is abandoned and planned again.")


class StorageNotSupported(Terminal):
    """A table's data location has a scheme frazil cannot write to."""

    code = "storage_not_supported"

    def __init__(self, location: str) -> None:
        super().__init__(
            f"data files cannot be written to {location}: only local paths (file:) are supported. "
            "Set the table's location or write.data.path to a local path."
        )


def stage_error(code: str, message: str, brokers: str) -> FrazilError:
    """The error for a failure that a staging task returned as a value."""
    if code == BrokerUnavailable.code:
        return BrokerUnavailable(brokers, "give the records", message)
    if code == BrokerRefused.code:
        return BrokerRefused(brokers, "give the records", message)
    if code == StorageNotSupported.code:
        return StorageNotSupported(message)
    return StageFailed("the cycle's records", message)


class InvalidRecord(Terminal):
    """A record cannot become a row and `errors.tolerance` is none."""

    code = "5015"

    def __init__(self, place: Mapping[str, object], reason: str, start_of_value: str) -> None:
        column = f", column {place['column']}" if place.get("column") else ""
        super().__init__(
            f"the record at topic {place['topic']}, partition {place['partition']}, offset {place['offset']}{column} "
            f"cannot become a row: {reason}; its value starts with {start_of_value!r}. Everything before it is "
            "committed. Set errors.tolerance=all to set such records aside, or give the table a column that takes "
            "the value."
        )
        self.place = dict(place)
        self.reason = reason


class InvalidQuery(Terminal):
    """`frazil sql` was given something it does not run."""

    code = "query"

    def __init__(self, reason: str) -> None:
        super().__init__(f"{reason}. `frazil sql` runs one SELECT over the tables of the catalog.")


class NothingSetUp(Terminal):
    """A command needs something that was never created."""

    code = "nothing_set_up"

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what}. {remedy}")


class ProgramMissing(Terminal):
    """A program frazil needs is not installed, or too old."""

    code = "program_missing"

    def __init__(self, program: str, found: str, remedy: str) -> None:
        super().__init__(f"{program} is needed but {found}. {remedy}")


class EmptyTopic(Terminal):
    """A table was asked for without a topic."""

    code = "0020"

    def __init__(self) -> None:
        super().__init__("a topic without a name has no table. Check `topics` and the record's source.")
