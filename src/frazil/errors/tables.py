"""Tables that cannot be written, and commits that did not happen."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Final

from frazil.errors.tree import Terminal, Transient

_INTO_ANOTHER: Final = (
    "Set frazil.on.table.replaced to `continue` to go on where the connector stood, or to `earliest` to fill the table "
    "from the beginning of its topics; or `frazil channels adopt` if it holds the same rows."
)

_SHOWN: Final = 4
"""Partitions a message shows."""


class TableNotSupported(Terminal):
    """An existing table has a shape frazil does not write."""

    code = "table_not_supported"

    def __init__(self, table: str, reason: str, remedy: str) -> None:
        super().__init__(f"the table {table} cannot be written: {reason}. {remedy}")


class TableWithoutContent(Terminal):
    """An existing table cannot take whole records."""

    code = "5003"

    def __init__(self, table: str, reason: str) -> None:
        super().__init__(
            f"the table {table} cannot take whole records: {reason}. Change the column, map the topic to another "
            "table, or write snowflake.enable.schematization=true for one column per key."
        )


class TableMissing(Terminal):
    """A table that existed when the connector opened it is gone."""

    code = "table_missing"

    def __init__(self, table: str) -> None:
        super().__init__(
            f"the table {table} was dropped or renamed while the connector was using it, and its offset tokens went "
            "with it. Restore it; or, if it was renamed, change snowflake.topic2table.map; or set "
            "frazil.on.table.missing to `continue` to begin a new table where this one ended, or to `earliest` to fill "
            "a new one from the beginning."
        )


class TableReplaced(Terminal):
    """The table of that name is another one than the one opened."""

    code = "table_replaced"

    def __init__(self, table: str, expected: str, found: str) -> None:
        super().__init__(
            f"the table {table} was replaced: its uuid is {found}, the connector opened {expected}. Its offset tokens "
            f"went with the old table. {_INTO_ANOTHER}"
        )


class TableBegunAnew(TableReplaced):
    """The table was replaced in place: its uuid and properties stayed, its rows did not."""

    def __init__(self, table: str, connector: str) -> None:
        Terminal.__init__(
            self,
            f"the table {table} was replaced in place (CREATE OR REPLACE): what {connector} had committed is not part "
            f"of its history any more. {_INTO_ANOTHER}",
        )


class TokensMissing(Terminal):
    """A channel has no token in its table, but the consumer group's offset says that we landed its records."""

    code = "tokens_missing"

    def __init__(
        self, table: str, connector: str, group: str, offsets: Mapping[str, int], landed: Sequence[str], *, gone: bool
    ) -> None:
        """Say what is missing where.

        Args:
            table: where the tokens should be.
            connector: the connector's name.
            group: the consumer group.
            offsets: where it stands, by partition.
            landed: the uuids of the tables it was published for.
            gone: the table itself does not exist.
        """
        shown = ", ".join(f"offset {offset} of {partition}" for partition, offset in [*offsets.items()][:_SHOWN])
        more = f" and {len(offsets) - _SHOWN} more" if len(offsets) > _SHOWN else ""
        key = "frazil.on.table.missing" if gone else "frazil.on.table.replaced"
        super().__init__(
            f"the table {table} {'does not exist' if gone else f'has no offset tokens of {connector}'}, but the "
            f"consumer group {group} stands at {shown}{more}, published by {connector} for the table with the uuid "
            f"{', '.join(landed)}. So the records before were landed and are not in this table. Restore that table, "
            f"or name it in snowflake.topic2table.map if it was renamed; or set {key} to `continue` to go on at those "
            "offsets, or to `earliest` to read the topic again from its beginning. "
            "`frazil channels adopt` takes over the tokens of a table that was copied."
        )


class TableRenewed(Transient):
    """The table is gone or replaced, and the configuration says to go on with another one."""

    code = "table_renewed"

    def __init__(self, cause: TableMissing | TableReplaced, choice: str) -> None:
        super().__init__(f"the connector opens another table, as {choice} says, because {cause.message}")


class TableNotCreated(Terminal):
    """A table is missing and `snowflake.autocreate.table.type` is none."""

    code = "0034"

    def __init__(self, table: str, topics: Sequence[str]) -> None:
        super().__init__(
            f"the table {table} of the topic{'s' if len(topics) != 1 else ''} {', '.join(topics)} does not exist, and "
            "snowflake.autocreate.table.type=none forbids creating it. Create it, map the topic to another table in "
            "snowflake.topic2table.map, or remove the key."
        )


class TableOptionsRefused(Terminal):
    """A table cannot be created as it was asked for."""

    code = "table_options"

    def __init__(self, table: str, reason: str) -> None:
        super().__init__(
            f"the table {table} cannot be created as snowflake.iceberg.create.table.options says: "
            f"{reason.rstrip('.')}. Leave the option out, or create the table yourself before the start."
        )


class ErrorTableUnfit(Terminal):
    """A table has the name of an error table, and is something else."""

    code = "error_table"

    def __init__(self, table: str, reason: str) -> None:
        super().__init__(
            f"{table} cannot be an error table: {reason}. Rename that table or drop it; frazil makes its own, and "
            "appends what has been rejected by then."
        )


class TableOfRejects(Terminal):
    """A topic or a value leads to the error table of another table."""

    code = "table_of_rejects"

    def __init__(self, table: str, source: str | None) -> None:
        of = f" of {source}" if source else ""
        super().__init__(
            f"the table {table} is the error table{of} and takes rejected records only. Give the topic, or the topic "
            "whose value leads there, another table in snowflake.topic2table.map; or rename the error table."
        )


class TableNameRefused(Terminal):
    """A topic's table would have a name that no table can have."""

    code = "table_name"

    def __init__(self, topic: str, table: str, reason: str) -> None:
        super().__init__(
            f"the topic {topic} would land in the table {table[:40]!r}, a name that {reason}. Give the topic another "
            "table in snowflake.topic2table.map."
        )


class TopicsShareName(Terminal):
    """Two topics without an entry in the map would land in one table, for the same name is generated for both."""

    code = "topics_share_name"

    def __init__(self, table: str, topics: Sequence[str]) -> None:
        super().__init__(
            f"the topics {' and '.join(topics)} would land in one table, {table}: the name that is generated for each "
            "of them is the same. Give all of them but one a table in snowflake.topic2table.map; if they are to share "
            "it, give each of them that one."
        )


class TableOfRoute(Terminal):
    """The table of a topic is one that has the records of a value of another topic's field."""

    code = "table_of_route"

    def __init__(self, table: str, topics: Sequence[str], value: str) -> None:
        super().__init__(
            f"the table {table} of the topic{'s' if len(topics) != 1 else ''} {', '.join(topics)} has the records that "
            f"frazil.route.field brings there for the value {value!r}. Give the topic another table in "
            "snowflake.topic2table.map."
        )


class TableNotOfRoute(Terminal):
    """A table that records with some value would go to is there, and was not made for them."""

    code = "table_not_of_route"

    def __init__(self, table: str, value: str, found: str | None) -> None:
        super().__init__(
            f"the table {table}, by its name that of the value {value!r}, "
            + (f"has the records of the value {found!r}. " if found is not None else "has something else. ")
            + f"Rename it; or set its property frazil.route to {value!r} if the records are to land there, and start "
            "the connector again."
        )


class ShapeMoved(Transient):
    """The schema, partition spec or sort order is not the one files were staged for."""

    code = "shape_moved"

    def __init__(self, table: str, change: str) -> None:
        super().__init__(f"the table {table} changed while its files were staged ({change}); they are staged again.")


class SchemaRace(Terminal):
    """The columns changed while a commit was under way, in a catalog that lets both happen."""

    code = "schema_race"

    def __init__(self, table: str, change: str, snapshot: int) -> None:
        super().__init__(
            f"the columns of the table {table} changed at the very moment of a commit ({change}), which its catalog "
            f"does not prevent: the rows of snapshot {snapshot} were written for the columns before. Nothing is lost "
            "or doubled. If the rows are fine as they are, start the connector again; if not, roll the table back to "
            "the snapshot before, and start it: it writes them anew for the new columns."
        )


class StageTooOld(Transient):
    """So much time went by since files were staged that somebody may take them for orphans."""

    code = "stage_too_old"

    def __init__(self, table: str, age: float, limit: float) -> None:
        super().__init__(
            f"the files for the table {table} were begun {age:.0f} s ago, and frazil.stage.max.age is {limit:.0f} s; "
            "they are staged again. If that repeats, raise it, or lower frazil.cycle.max.bytes."
        )


class ClockBehind(Transient):
    """This machine's clock is so far behind the times in a table that Iceberg takes no commit by it."""

    code = "clock_behind"

    def __init__(self, table: str, now: float, last: float) -> None:
        super().__init__(
            f"this machine's clock says {_moment(now)}, but the table {table} was last changed at {_moment(last)} by "
            "the clock of whoever did, and Iceberg takes no commit that is more than a minute older. Set the clock "
            "right that is wrong; it is tried again until this one has caught up."
        )


class CommitUnknown(Transient):
    """The catalog did not say whether the commit happened."""

    code = "commit_unknown"

    def __init__(self, table: str, commit: str, cause: str, *, looked: bool = True) -> None:
        found = "it is not in the table" if looked else "the table cannot be read to look for it"
        super().__init__(
            f"the catalog did not say whether commit {commit} of {table} happened ({cause}), and {found}; the cycle is "
            "planned again from the tokens."
        )


class CatalogUnavailable(Transient):
    """The catalog or its storage failed before anything could change."""

    code = "catalog_unavailable"

    def __init__(self, action: str, cause: str) -> None:
        super().__init__(f"the catalog failed to {action}: {cause}. It is tried again.")


def _moment(seconds: float) -> str:
    """A time since the epoch as people read it, in UTC."""
    return dt.datetime.fromtimestamp(seconds, dt.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
