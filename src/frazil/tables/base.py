"""What a cycle needs from the tables it writes: those of Iceberg, or others in memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from frazil.model import Column, Conversion, SchemaChange, StagedFile, TableName, WriteShape
from frazil.tables.rules.state import SnapshotState, TableState


class RaceLost(Exception):
    """Somebody else swapped first: nothing happened."""


class OutcomeUnknown(Exception):
    """A swap failed in a way that leaves open whether it happened; carries the cause."""


class Swap(Protocol):
    """One try to replace a table's newest version by the next one."""

    @property
    def base(self) -> TableState:
        """The version it replaces."""

    def build(self, files: Sequence[StagedFile], key: str, text: str, notes: Mapping[str, str]) -> None:
        """Make the next version: with `files` appended, and `text` under `key` in the summary and as a property.

        `notes` are for the summary alone.

        Raises:
            CatalogUnavailable: something could not be written; nothing happened.
        """

    @property
    def made(self) -> TableState:
        """The next version; after the swap, as the catalog tells it."""

    @property
    def whole(self) -> bool:
        """Whether nothing but `made`, as it was built, can replace the base: no catalog merges it into what it has."""

    def swap(self) -> SnapshotState:
        """Replace exactly the base by the next version, whose snapshot comes back, or do nothing.

        Raises:
            CatalogUnavailable: it was not tried, for the storage is not there.
            RaceLost: the newest version is no longer the base.
            OutcomeUnknown: any other failure.
        """


class WritableTable(Protocol):
    """A table, as one connector uses it."""

    @property
    def name(self) -> TableName:
        """Its name in the catalog."""

    @property
    def uuid(self) -> str:
        """The table's own identity."""

    @property
    def location(self) -> str:
        """Where it is stored."""

    @property
    def confined(self) -> bool:
        """Whether what its catalog gives out may open nothing but its location."""

    def refresh(self) -> None:
        """Read the newest version.

        Raises:
            TableMissing: the table is gone.
            TableReplaced: the table of that name is another one.
            CatalogUnavailable: the catalog did not answer.
        """

    def state(self) -> TableState:
        """The version read last; raises what `refresh` raises where there is none yet."""

    def shape(self) -> WriteShape:
        """What files are to be staged for now.

        Raises:
            TableNotSupported: records cannot be projected to it.
        """

    def begin(self) -> Swap:
        """Read the newest version, to replace it; raises what `refresh` raises."""

    def new_data_path(self, name: str) -> str:
        """Where a data file of that name goes, without the directories of its partition; `{}` in it stays.

        Raises:
            TableNotSupported: it does not.
        """

    def partition_place(self, name: str) -> int | None:
        """Where in the location of a data file of that name the directories of its partition go; None: nowhere."""

    def access(self, location: str) -> Mapping[str, str]:
        """What opens the storage at a location, for whoever has no JVM: properties by the names of Iceberg's FileIO.

        It may hold credentials, and is never shown.
        """

    def evolve(self, change: SchemaChange) -> None:
        """Change the columns; what somebody did to them in the meantime stays as it is (step 5 of the cycle).

        Raises:
            CatalogUnavailable: they could not be changed.
        """

    def replace_property(self, key: str, before: str | None, after: str) -> None:
        """Give a property another value, unless another writer changed it since it was `before`; read the table anew.

        Raises:
            CatalogUnavailable: the catalog did not do it.
        """

    def expire(self, min_age_ms: int, needed: int | None = None) -> None:
        """Expire snapshots older than `min_age_ms`, now and then, on a table frazil created.

        Those from the sequence number `needed` on stay, up to `frazil.tables.rules.expiry.MOST_KEPT` of them.
        """

    def write_file(self, path: str, content: bytes) -> None:
        """Write a small file with the table's own access rights.

        Raises:
            CatalogUnavailable: it could not be written.
        """

    def read_file(self, path: str) -> bytes:
        """Read a small file.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it is damaged: it is not what its checksum was made of.
            CatalogUnavailable: it could not be read.
        """

    def referred_to(self, names: Collection[str], deadline: float) -> set[str]:
        """Those of the data files of these names that any snapshot of the version read last refers to.

        Raises:
            CatalogUnavailable: a manifest could not be read.
            TimeoutError: it cannot be said before `deadline`, on the monotonic clock.
        """


class TableCatalog(Protocol):
    """Where a connector finds its tables: a catalog."""

    @property
    def at_once(self) -> int:
        """How many of its tables may be opened and committed to at a time."""

    @property
    def lower_case(self) -> bool:
        """Whether all names in it are in lower case."""

    def namespace(self, name: str) -> tuple[str, ...]:
        """The namespace of that name: the existing one equal ignoring case, else the name as written."""

    def list_tables(self, namespace: tuple[str, ...]) -> Sequence[TableName]:
        """All tables of a namespace; none if it does not exist."""

    def pipe_tables(self, namespace: tuple[str, ...]) -> Mapping[str, str]:
        """The tables of users' pipes that are called otherwise than their table, by the pipe's name.

        What it says may be out of date: a pipe is there if its table has it.
        """

    def errors(self, name: TableName, columns: Sequence[Column], source: str) -> WritableTable:
        """The error table of that name, created with those columns if it is missing; it is marked as one.

        `source` is the uuid of the table whose rejects it is for.

        Raises:
            CatalogUnavailable: the catalog did not answer.
        """

    def open(self, name: TableName, create: Mapping[str, str] | None, conversion: Conversion) -> WritableTable:
        """The table of that name, created with the properties `create` if it is missing.

        Raises:
            TableMissing: there is none, and `create` is None.
            TableNotSupported: it exists and frazil cannot write it.
        """
