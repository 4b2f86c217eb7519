"""Tables that cannot be written, and commits that did not happen."""

from __future__ import annotations

from collections.abc import Sequence

from frazil.errors.tree import Terminal, Transient


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


class TableNotCreated(Terminal):
    """A table is missing and `snowflake.autocreate.table.type` is none."""

    code = "0034"

    def __init__(self, table: str, topics: Sequence[str]) -> None:
        super().__init__(
            f"the table {table} of the topic{'s' if len(topics) != 1 else ''} {', '.join(topics)} does not exist, and "
            "snowflake.autocreate.table.type=none forbids creating it. Create it, map the topic to another table in "
            "snowflake.topic2table.map, or remove the key."
        )


class TableNameRefused(Terminal):
    """A topic's table would have a name that no table can have."""

    code = "table_name"

    def __init__(self, topic: str, table: str, reason: str) -> None:
        super().__init__(
            f"the topic {topic} would land in the table {table[:40]!r}, a name that {reason}. Give the topic another "
            "table in snowflake.topic2table.map."
        )


class ShapeMoved(Transient):
    """The schema, partition spec or sort order is not the one files were staged for."""

    code = "shape_moved"

    def __init__(self, table: str, change: str) -> None:
        super().__init__(f"the table {table} changed while its files were staged ({change}); they are staged again.")


class StageTooOld(Transient):
    """So much time went by since files were staged that somebody may take them for orphans."""

    code = "stage_too_old"

    def __init__(self, table: str, age: float, limit: float) -> None:
        super().__init__(
            f"the files for the table {table} were begun {age:.0f} s ago, and frazil.stage.max.age is {limit:.0f} s; "
            "they are staged again. If that repeats, raise it, or lower frazil.cycle.max.bytes."
        )


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
