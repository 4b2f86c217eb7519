"""A catalog in memory, and its tables as connectors use them: troubles included, when a test asks for them."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from time import time
from typing import Literal

from tests.memory.table import Files, MemoryTable, TableSnapshot, Unsorted, require_sorted, with_snapshot

from frazil.errors import CatalogUnavailable, TableMissing, TableReplaced
from frazil.model import EVOLUTION, Column, Conversion, SchemaChange, StagedFile, TableName, WriteShape
from frazil.pipes.forms import form_of
from frazil.pipes.stored import PREFIX
from frazil.tables.base import OutcomeUnknown, RaceLost
from frazil.tables.iceberg.table import CREATED_BY
from frazil.tables.rules.error_tables import REJECTS_OF
from frazil.tables.rules.expiry import kept, named_by_snapshots, needed_by_others, oldest_kept
from frazil.tables.rules.schema import may_evolve, remaining
from frazil.tables.rules.state import MemoryState, ancestors

Outcome = Literal["told", "lost", "never", "late"]
"""What becomes of a swap: its answer comes; it happens but its answer is lost; it never happens, and nobody says so;
it happens once `MemoryCatalog.land` is called, and nobody says so."""

_EXPIRY_EVERY = 60.0
"""Seconds between two looks at what may expire."""


@dataclass(frozen=True, slots=True)
class _Flying:
    """A swap whose request is still on its way."""

    name: TableName
    table: MemoryTable
    base: MemoryState
    next: MemoryState


class MemoryCatalog:
    """A catalog that many connectors share; see `frazil.tables.base.Targets`."""

    def __init__(
        self, clock: Callable[[], float] = time, at_once: int = 1, monotonic: Callable[[], float] | None = None
    ) -> None:
        """Make an empty one.

        Args:
            clock: gives seconds since the epoch.
            at_once: how many tables it takes changes to at a time.
            monotonic: gives seconds that only increase; None where `clock` does.
        """
        self.at_once = at_once
        self.lower_case = False
        self.clock = clock
        self.monotonic = monotonic or clock
        self.files = Files()
        self.tables: dict[TableName, MemoryTable] = {}
        self.outcomes: deque[Outcome] = deque()
        """What becomes of the next swaps; those after them are told."""

        self.flying: list[_Flying] = []
        """Late swaps that have not landed."""

        self.on_request: Callable[[str], object] = lambda _: None
        """Called with the name of a request before it is answered; what it raises is the answer."""

        self.on_table_request: Callable[[str, TableName], object] = lambda _, __: None
        """The same for requests about one table, with its name."""

    def ask(self, request: str, name: TableName) -> None:
        """A request about one table is made."""
        self.on_request(request)
        self.on_table_request(request, name)

    def namespace(self, name: str) -> tuple[str, ...]:
        """The namespace of that name, as written."""
        return tuple(name.split("."))

    def list_tables(self, namespace: tuple[str, ...]) -> list[TableName]:
        """All tables of a namespace."""
        self.on_request("list_tables")
        return sorted(each for each in self.tables if each.namespace == namespace)

    def pipe_tables(self, namespace: tuple[str, ...]) -> dict[str, str]:
        """The tables of pipes that are called otherwise, by the pipe's name."""
        return {
            key.removeprefix(PREFIX): name.name
            for name, table in self.tables.items()
            if name.namespace == namespace
            for key in table.state.properties
            if key.startswith(PREFIX) and key != PREFIX + name.name
        }

    def open(self, name: TableName, create: Mapping[str, str] | None, conversion: Conversion) -> MemoryTarget:
        """The table of that name, created with the properties `create` if it is missing."""
        self.ask("open", name)
        if name not in self.tables:
            if create is None:
                raise TableMissing(str(name))
            told = Column(1, form_of(conversion).column, form_of(conversion).created_type(conversion))
            self.create(name, [told], {CREATED_BY: "true", **create})
        return MemoryTarget(self, name)

    def errors(self, name: TableName, columns: Sequence[Column], source: str) -> MemoryTarget:
        """The error table of that name; created, and marked as that of the table with the uuid `source`, if missing."""
        self.ask("errors", name)
        if name not in self.tables:
            self.create(name, columns, {CREATED_BY: "true", REJECTS_OF: source})
        return MemoryTarget(self, name)

    def create(self, name: TableName, columns: Sequence[Column], properties: Mapping[str, str]) -> MemoryTable:
        """Make a table, in place of one of that name; its uuid is new."""
        self.tables[name] = MemoryTable(self.files, self.clock, columns, properties)
        return self.tables[name]

    def drop(self, name: TableName) -> None:
        """Drop a table."""
        del self.tables[name]

    def rename(self, name: TableName, to: TableName) -> None:
        """Rename a table, in place of one that had the name."""
        self.tables[to] = self.tables.pop(name)

    def land(self) -> bool:
        """Let the first of the late swaps arrive; whether it happened, which it does where nobody swapped since."""
        swap = self.flying.pop(0)
        if self.tables.get(swap.name) is not swap.table or swap.table.state is not swap.base:
            return False
        swap.table.replace(swap.base, swap.next)
        return True


class MemoryTarget:
    """A table, as one connector uses it; see `frazil.tables.base.WritableTable`."""

    def __init__(self, catalog: MemoryCatalog, name: TableName) -> None:
        self.name = name
        self._catalog = catalog
        self._table = catalog.tables[name]
        self._state = self._table.state
        self._opened = self._last_expiry = catalog.monotonic()
        self._known_since = self._state.last_changed

    @property
    def uuid(self) -> str:
        """The table's own identity."""
        return self._state.uuid

    @property
    def location(self) -> str:
        """Where it is stored."""
        return f"memory/{'/'.join(self.name.namespace)}/{self.name.name}"

    @property
    def confined(self) -> bool:
        """Whether what its catalog gives out may open nothing but its location: there is nothing to open."""
        return False

    def refresh(self) -> None:
        """Read the newest version."""
        self._catalog.ask("refresh", self.name)
        found = self._catalog.tables.get(self.name)
        if found is None:
            raise TableMissing(str(self.name))
        if found is not self._table:
            raise TableReplaced(str(self.name), self.uuid, found.state.uuid)
        self._state = self._table.state

    def state(self) -> MemoryState:
        """The version read last."""
        return self._state

    def shape(self) -> WriteShape:
        """What files are to be staged for now."""
        files = self._table.history[self._state.current_id].files if self._state.current_id else ()
        # Files of error tables are real ones, and in them are rows.
        rows = any(path not in self._catalog.files.data or self._catalog.files.data[path].rows for path in files)
        created = self._state.property(CREATED_BY) == "true"
        evolves = may_evolve(self._state.property(EVOLUTION), created=created)
        return WriteShape(
            table=self.name,
            uuid=self.uuid,
            schema_id=self._state.schema_id,
            spec_id=self._state.spec_id,
            sort_order_id=self._state.sort_order_id,
            columns=self._state.schema,
            has_rows=rows,
            evolves=evolves is True,
            is_frozen=evolves is False,
        )

    def begin(self) -> MemorySwap:
        """Read the newest version, to replace it."""
        self.refresh()
        return MemorySwap(self._catalog, self.name, self._table, self._state)

    def new_data_path(self, name: str) -> str:
        """Where a data file of that name goes."""
        return f"{self.location}/data/{name}"

    def partition_place(self, name: str) -> int | None:  # noqa: ARG002 (no table in memory has partitions)
        """Where in the location of a data file the directories of its partition go: nowhere."""
        return None

    def access(self, location: str) -> Mapping[str, str]:  # noqa: ARG002 (memory is open to all)
        """What opens the storage at a location."""
        return {}

    def evolve(self, change: SchemaChange) -> None:
        """Change the columns; what somebody did to them in the meantime stays as it is."""
        self.refresh()
        self._table.evolve(remaining(change, self._state.schema))
        self._state = self._table.state

    def replace_property(self, key: str, before: str | None, after: str) -> None:
        """Give a property another value, unless another writer changed it since it was `before`."""
        self.refresh()
        if self._state.property(key) == before:
            self._table.set_property(key, after)
        self._state = self._table.state

    def expire(self, min_age_ms: int, needed: int | None = None) -> None:
        """Expire snapshots older than `min_age_ms`, now and then, on a table frazil created."""
        now = self._catalog.monotonic()
        ours = self._state.property(CREATED_BY) == "true"
        if not ours or now - self._last_expiry < min(_EXPIRY_EVERY, min_age_ms / 1000):
            return
        self._last_expiry = now
        self.refresh()
        stay = {each.id for each in itertools.islice(ancestors(self._state), kept(self._state, needed))}
        wall, elapsed = int(self._catalog.clock() * 1000), int((now - self._opened) * 1000)
        doomed = set(self._table.older_than(oldest_kept(wall, self._known_since, elapsed, min_age_ms))) - stay
        doomed -= needed_by_others(self._state, doomed)
        if doomed and not named_by_snapshots(self._state, str(self.name), doomed):
            with suppress(Unsorted):
                self._table.expire(doomed)

    def write_file(self, path: str, content: bytes) -> None:
        """Write a small file."""
        self._catalog.ask("write_file", self.name)
        self._catalog.files.small[path] = content

    def read_file(self, path: str) -> bytes:
        """Read a small file."""
        self._catalog.ask("read_file", self.name)
        if path not in self._catalog.files.small:
            raise FileNotFoundError(path)
        return self._catalog.files.small[path]

    def referred_to(self, names: Collection[str], deadline: float) -> set[str]:  # noqa: ARG002 (it takes no time)
        """Those of the data files of these names that any snapshot of the version read last refers to."""
        snapshots = [each for each in self._state.snapshots.values() if isinstance(each, TableSnapshot)]
        return {path.rpartition("/")[2] for each in snapshots for path in each.files} & set(names)


class MemorySwap:
    """See `frazil.tables.base.Swap`."""

    def __init__(self, catalog: MemoryCatalog, name: TableName, table: MemoryTable, base: MemoryState) -> None:
        self.base = base
        self._catalog = catalog
        self._name = name
        self._table = table
        self._next = base
        self.made = base
        self.whole = True

    def build(self, files: Sequence[StagedFile], key: str, text: str, notes: Mapping[str, str]) -> None:
        """Make the next version."""
        self._catalog.ask("build", self._name)
        held = () if self.base.current_id is None else self._table.history[self.base.current_id].files
        paths = (*held, *(file.path for file in files))
        made = with_snapshot(self.base, paths, {"operation": "append", **notes, key: text}, self._catalog.clock())
        try:
            require_sorted(self.base, made)
        except Unsorted as error:
            raise CatalogUnavailable(f"write the manifests of {self._name}", str(error)) from error
        self._next = self.made = replace(made, properties={**self.base.properties, key: text})

    def swap(self) -> TableSnapshot:
        """Replace exactly the base by the next version, or do nothing; or whatever a test asked for."""
        outcome = self._catalog.outcomes.popleft() if self._catalog.outcomes else "told"
        if outcome == "late":
            self._catalog.flying.append(_Flying(self._name, self._table, self.base, self._next))
        if outcome in ("late", "never"):
            raise OutcomeUnknown("the catalog did not answer")
        if self._catalog.tables.get(self._name) is None:
            raise OutcomeUnknown("there is no such table")
        if self._catalog.tables[self._name] is not self._table:
            raise RaceLost
        self._table.replace(self.base, self._next)
        if outcome == "lost":
            raise OutcomeUnknown("the answer was lost")
        return self._table.history[self._next.current_id or 0]
