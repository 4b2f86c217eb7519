"""One Iceberg table: its state, its shape for staging, its birth, and its upkeep."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property
from typing import Any, Final

import structlog

from frazil.errors import CatalogUnavailable, FrazilError, TableMissing, TableNotSupported, TableReplaced
from frazil.layout.sources import unwritable
from frazil.model import (
    EVOLUTION,
    LAYOUT_OF_CREATED,
    Column,
    Conversion,
    IcebergType,
    Layout,
    SchemaChange,
    TableName,
    WriteShape,
)
from frazil.pipes.forms import form_of
from frazil.pipes.naming import folded
from frazil.pipes.types import unsupported
from frazil.sql import is_writable_name
from frazil.tables.iceberg import mount_check
from frazil.tables.iceberg.access import access, is_rest
from frazil.tables.iceberg.java import (
    SCHEMA_PARSER,
    JvmState,
    elements,
    java_class,
    java_errors,
    java_message,
    java_type,
)
from frazil.tables.iceberg.layout import lay_out
from frazil.tables.iceberg.references import referred_to
from frazil.tables.iceberg.swap import JvmSwap
from frazil.tables.rules.created_layout import missing_columns, wanted_layout
from frazil.tables.rules.expiry import MOST_KEPT, kept, named_by_snapshots, needed_by_others, oldest_kept
from frazil.tables.rules.schema import may_evolve, remaining, schema_to_json

CREATED_BY: Final = "frazil.created"
"""The table property that says frazil made the table, and so may evolve and expire it."""

_OLDEST_FORMAT: Final = 2
_EXPIRY_EVERY: Final = 60.0
"""Seconds between two looks at what may expire."""

_MERGE_EVERY: Final = 50
"""Commits from one that merges small manifests, if there are as many as the table allows, to the next."""

_RENEW_AFTER: Final = 300.0
"""Seconds after which a table is loaded again for its credentials: no store gives any for less than 15 minutes."""

_NO_FILE: Final = frozenset({"NotFoundException", "FileNotFoundException", "NoSuchKeyException"})
"""What Iceberg's FileIOs throw where there is no file: their own exception, or that of the store's client."""

_OTHER_UUID: Final = re.compile(r"UUID does not match: current=(\S+) != refreshed=(\S+)")
"""What Iceberg says when the table of a name became another one."""

_log = structlog.get_logger(__name__)


class Table:
    """A table of a catalog; see `frazil.tables.base.WritableTable`."""

    def __init__(
        self,
        jvm: Any,
        name: TableName,
        java: Any,
        conversion: Conversion,
        load: Callable[[], Any],
    ) -> None:
        """Wrap Iceberg's Java table `java`, which `load` loads again where what opens its storage does not last."""
        self.name = name
        self.java = java
        self.conversion = conversion
        """How the connector makes rows of records, which not every table can hold."""

        self._jvm = jvm
        self._load = load
        self._loaded = time.monotonic()
        self._opened = self._last_expiry = time.monotonic()
        self._known_since = self.state().last_changed
        """When the table was last changed before it was opened here, in ms since the epoch."""

        self._swaps = 0
        self._said_of_layout: str | None = None
        """Why the table is not laid out as it was asked for, as it was logged last."""

    @property
    def uuid(self) -> str:
        """The table's own identity."""
        return str(self.java.uuid())

    @property
    def location(self) -> str:
        """Where it is stored."""
        return str(self.java.location()).rstrip("/")

    @cached_property
    def confined(self) -> bool:
        """Whether what its catalog gives out may open nothing but its location."""
        return is_rest(self.java)

    @property
    def is_ours(self) -> bool:
        """Whether frazil created the table."""
        return bool(self.java.properties().get(CREATED_BY) == "true")

    def refresh(self) -> None:
        """Read the newest version.

        Raises:
            TableMissing: the table is gone.
            CatalogUnavailable: the catalog did not answer.
        """
        try:
            if not self._renew():
                self.java.refresh()
            gone = self.java.operations().current() is None
        except java_errors() as error:
            raise self.unreadable(error) from error
        # Iceberg's operations say once that the table is gone. From then on they take it for one yet to be created.
        if gone:
            raise TableMissing(str(self.name))

    def _renew(self) -> bool:
        """Load the table again, with new credentials, if they are some minutes old; whether that was so."""
        if not self.confined or time.monotonic() - self._loaded < _RENEW_AFTER:
            return False
        found = self._load()
        if str(found.uuid()) != self.uuid:
            raise TableReplaced(str(self.name), self.uuid, str(found.uuid()))
        self.java, self._loaded = found, time.monotonic()
        return True

    def unreadable(self, error: Exception) -> FrazilError:
        """What a failure to read the newest version means."""
        # NotFoundException means that the catalog has the table but its storage lacks a file: no sign of a drop.
        if java_class(error) == "NoSuchTableException":
            return TableMissing(str(self.name))
        replaced = _OTHER_UUID.search(java_message(error))
        if replaced:
            return TableReplaced(str(self.name), replaced[1], replaced[2])
        return CatalogUnavailable(f"read the table {self.name}", java_message(error))

    def state(self) -> JvmState:
        """The version read last; where reading it failed, it is read again."""
        try:
            return JvmState(self.java.operations().current(), self._jvm, self.java)
        except java_errors() as error:
            raise self.unreadable(error) from error

    def begin(self) -> JvmSwap:
        """Read the newest version, to replace it; raises what `refresh` raises."""
        try:
            swap = JvmSwap(
                self.name,
                self.java,
                self.java.newTransaction(),
                self._jvm,
                merges=self._swaps % _MERGE_EVERY == 0,
                rest=self.confined,
            )
        except java_errors() as error:
            raise self.unreadable(error) from error
        mount_check.require(self.name, self.java, swap.base.metadata_location)
        self._swaps += 1
        return swap

    def shape(self) -> WriteShape:
        """What files are to be staged for now.

        Raises:
            TableNotSupported: records cannot be projected to it.
        """
        state = self.state()
        columns, layout = tuple(state.columns()), state.layout
        self._refuse_unsupported(state, columns, layout)
        current = state.current
        rows = int((current.summary("total-records") if current else None) or 0)
        evolves = may_evolve(state.property(EVOLUTION), created=state.property(CREATED_BY) == "true")
        mount_check.require(self.name, self.java, state.metadata_location, has_rows=rows > 0)
        if rows:
            self._say_what_layout_lacks(state, columns)
        return WriteShape(
            table=self.name,
            uuid=state.uuid,
            schema_id=state.schema_id,
            spec_id=state.spec_id,
            sort_order_id=state.sort_order_id,
            columns=columns,
            has_rows=rows > 0,
            evolves=evolves is True,
            is_frozen=evolves is False,
            takes_variants=state.format_version > _OLDEST_FORMAT,
            layout=layout,
        )

    def new_data_path(self, name: str) -> str:
        """Where a data file of that name goes, by the table's location provider; `{}` in it stays.

        The directories of its partition are left out.

        Raises:
            TableNotSupported: it does not.
        """
        location, _ = self._data_location(name)
        if "{}" in name and "{}" not in location.rpartition("/")[2]:
            reason = f"its location provider puts the file {name} at {location}"
            raise TableNotSupported(str(self.name), reason, "Use one that keeps the names of files.")
        return location

    def partition_place(self, name: str) -> int | None:
        """Where in the location of a data file of that name the directories of its partition go; None: nowhere."""
        return self._data_location(name)[1]

    def _data_location(self, name: str) -> tuple[str, int | None]:
        """Where a data file goes, without the directories of its partition, and where in it these belong."""
        spec, provider = self.java.spec(), self.java.locationProvider()
        if spec.isUnpartitioned():
            return str(provider.newDataLocation(name)), None
        # A provider may put partitions anywhere or nowhere: where it puts the one without values, it puts all.
        nulls = java_type(self._jvm, "org.apache.iceberg.PartitionData")(spec.partitionType())
        location, directories = str(provider.newDataLocation(spec, nulls, name)), str(spec.partitionToPath(nulls))
        before = location.removesuffix(f"{directories}/{name}")
        return (location, None) if before == location else (before + name, len(before))

    def access(self, location: str) -> Mapping[str, str]:
        """What opens the storage at a location, for whoever has no JVM; see `frazil.tables.iceberg.access`."""
        try:
            return access(self.java, self._jvm, location)
        except java_errors() as error:
            raise CatalogUnavailable(f"say what opens {location}", java_message(error)) from error

    def evolve(self, change: SchemaChange) -> None:
        """Change the columns; what somebody did to them in the meantime stays as it is (step 5 of the cycle)."""
        while True:
            self.refresh()
            left = remaining(change, self.state().columns())
            try:
                if left == SchemaChange():
                    self._lay_out()
                    return
                self._change_columns(left)
            except java_errors() as error:
                if java_class(error) != "CommitFailedException":
                    raise CatalogUnavailable(f"change the columns of {self.name}", java_message(error)) from error

    def _change_columns(self, change: SchemaChange) -> None:
        update = self.java.updateSchema()
        for name, kind in zip(change.add, self._java_types(change.add.values()), strict=True):
            # With a parent of None the name is taken as it is, dots included.
            update = update.addColumn(None, name, kind)
        for path, kind in zip(change.grow, self._java_types(change.grow.values()), strict=True):
            update = update.addColumn(".".join(path[:-1]), path[-1], kind)
        for path, kind in zip(change.widen, self._java_types(change.widen.values()), strict=True):
            update = update.updateColumn(".".join(path), kind)
        for path in change.relax:
            update = update.makeColumnOptional(".".join(path))
        update.commit()

    def replace_property(self, key: str, before: str | None, after: str) -> None:
        """Give a property another value, unless another writer changed it since it was `before`; read the table anew.

        A catalog behind REST merges the change into what it has: there, a change of the same moment is overwritten.
        """
        while self.state().property(key) == before:
            transaction = self.java.newTransaction()
            try:
                base = transaction.startMetadata()
                if base.properties().get(key) == before:
                    transaction.updateProperties().set(key, after).commit()
                    transaction.underlyingOps().commit(base, transaction.currentMetadata())
            except java_errors() as error:
                if java_class(error) != "CommitFailedException":
                    raise CatalogUnavailable(f"change the table {self.name}", java_message(error)) from error
            self.refresh()

    def _lay_out(self) -> None:
        """Partition and sort a created table as it was asked for, once it has the columns."""
        state = self.state()
        asked = state.property(LAYOUT_OF_CREATED)
        found = None if asked is None else wanted_layout(asked, state.columns())
        if found is None:
            return
        refused = found if isinstance(found, str) else lay_out(self._jvm, self.java, found, LAYOUT_OF_CREATED)
        if refused:
            self._say_of_layout(refused)
        else:
            self.refresh()

    def _say_what_layout_lacks(self, state: JvmState, columns: tuple[Column, ...]) -> None:
        """Log which columns rows were to be partitioned and sorted by, and did not bring."""
        asked = state.property(LAYOUT_OF_CREATED)
        if asked is not None and (missing := missing_columns(asked, columns)):
            self._say_of_layout(f"no record has brought the column {' or '.join(missing)} so far")

    def _say_of_layout(self, cause: str) -> None:
        if cause != self._said_of_layout:
            _log.warning("a created table is not laid out as it was asked for", table=str(self.name), cause=cause)
        self._said_of_layout = cause

    def _java_types(self, kinds: Iterable[IcebergType]) -> list[Any]:
        text = schema_to_json([Column(0, str(number), kind) for number, kind in enumerate(kinds)])
        return [field.type() for field in elements(java_type(self._jvm, SCHEMA_PARSER).fromJson(text).columns())]

    def expire(self, min_age_ms: int, needed: int | None = None) -> None:
        """Expire snapshots older than `min_age_ms`, now and then, on a table frazil created.

        Those from the sequence number `needed` on stay, up to `frazil.tables.rules.expiry.MOST_KEPT` of them.

        A separate commit, never part of ours: inside our transaction it would delete files before the swap (tried).
        """
        if time.monotonic() - self._last_expiry < min(_EXPIRY_EVERY, min_age_ms / 1000) or not self.is_ours:
            return
        self._last_expiry = time.monotonic()
        state = self.state()
        now, elapsed = time.time_ns() // 1_000_000, time.monotonic() - self._opened
        before = oldest_kept(now, self._known_since, int(elapsed * 1000), min_age_ms)
        newest = kept(state, needed)
        if newest == MOST_KEPT:
            _log.warning(
                "a function that follows the table is far behind: older snapshots than are kept for it expire",
                table=str(self.name),
                kept=newest,
            )
        try:
            self._expire(state, before, newest)
        except java_errors() as error:
            _log.warning("old snapshots were not expired this time", table=str(self.name), cause=java_message(error))

    def _expire(self, state: JvmState, before: int, newest: int) -> None:
        expiry = self.java.expireSnapshots().expireOlderThan(before).retainLast(newest)
        doomed = {int(each.snapshotId()) for each in elements(expiry.apply())}
        if not doomed:
            return
        spared = needed_by_others(state, doomed)
        if held_by := named_by_snapshots(state, str(self.name), doomed - spared):
            _log.warning(
                "old snapshots are kept: since the table was changed behind their backs, only snapshots tell where "
                "connectors stand; start them, or reset them",
                table=str(self.name),
                connectors=held_by,
            )
            return
        if spared:
            expiry = self.java.expireSnapshots().expireOlderThan(0)
            for each in doomed - spared:
                expiry = expiry.expireSnapshotId(each)
        if doomed - spared:
            expiry.commit()

    def write_file(self, path: str, content: bytes) -> None:
        """Write a small file with the table's own access rights."""
        try:
            stream = self.java.io().newOutputFile(path).createOrOverwrite()
            try:
                stream.write(bytearray(content))
            finally:
                stream.close()
        except java_errors() as error:
            raise CatalogUnavailable(f"write {path}", java_message(error)) from error

    def read_file(self, path: str) -> bytes:
        """Read a small file; raises what `frazil.tables.base.WritableTable.read_file` does."""
        try:
            stream = self.java.io().newInputFile(path).newStream()
            try:
                return bytes(stream.readAllBytes())
            finally:
                stream.close()
        except java_errors() as error:
            if java_class(error) in _NO_FILE:
                raise FileNotFoundError(path) from error
            if java_class(error) == "ChecksumException":
                raise ValueError(java_message(error)) from error
            raise CatalogUnavailable(f"read {path}", java_message(error)) from error

    def referred_to(self, names: Collection[str], deadline: float) -> set[str]:
        """Those of the data files of these names that any snapshot of the version read last refers to."""
        try:
            return referred_to(self.java, self._jvm, names, deadline)
        except java_errors() as error:
            raise CatalogUnavailable(f"read the manifests of {self.name}", java_message(error)) from error

    def _refuse_unsupported(self, state: JvmState, columns: tuple[Column, ...], layout: Layout) -> None:
        if state.format_version < _OLDEST_FORMAT:
            reason = f"its format version is {state.format_version}"
            raise TableNotSupported(
                str(self.name), reason, "Upgrade it: ALTER TABLE … SET TBLPROPERTIES ('format-version'='2')."
            )
        if state.encrypted:
            reason = "it is encrypted, and tasks have no keys"
            raise TableNotSupported(str(self.name), reason, "Map the topic to a table without encryption.key-id.")
        if found := unwritable(layout, columns):
            raise TableNotSupported(str(self.name), found, "Partition and sort it in another way.")
        spelled: dict[str, str] = {}
        for column in columns:
            if not is_writable_name(column.name):
                reason = f"its column {column.name!r} has no name that SQL can write"
                raise TableNotSupported(str(self.name), reason, "Rename it.")
            other = spelled.setdefault(folded(column.name), column.name)
            if other != column.name:
                reason = f"its columns {other} and {column.name} differ only by case"
                raise TableNotSupported(str(self.name), reason, "Rename one of them.")
            if form_of(self.conversion).is_column(column):
                self._refuse_metadata(column)
            elif found := unsupported(column.type):
                reason = f"its column {column.name} is of type {column.type}, and {found} is not written yet"
                raise TableNotSupported(str(self.name), reason, "Drop the column or change its type.")

    def _refuse_metadata(self, column: Column) -> None:
        form = form_of(self.conversion)
        if found := form.unsupported(column, self.conversion):
            raise TableNotSupported(str(self.name), f"its column {column.name}: {found}", form.remedy)
