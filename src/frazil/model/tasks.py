"""What the driver asks of a worker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from frazil.model.contract import TableRules
from frazil.model.conversion import Conversion
from frazil.model.layout import PLAIN_LAYOUT, Layout
from frazil.model.places import Position, Range, SourcePartition
from frazil.model.routes import Route
from frazil.model.schema import MOST_COLUMNS, Column, TableName

ReadObject: TypeAlias = tuple[tuple[str | int, ...], frozenset[str] | None]
"""The path of an object within records, and the keys that are read of it; None for all."""


@dataclass(frozen=True, slots=True)
class PipeItem:
    """What a user's pipe puts into one column, as DuckDB SQL."""

    column: str
    """The column's name, as the table spells it; for WHERE, that word."""

    sql: str
    """The value, of the column's type; computing it fails where the record does not fit."""

    text: str
    """As the user wrote it, for messages; empty for a column that the pipe gives no value."""

    source: str | None = None
    """SQL for what is cast, as JSON text; None where that is no one value."""

    target: str | None = None
    """The type the user casts to, as messages call it; None where it is the column's own."""

    required: bool = False
    """Whether the column must not be NULL."""


@dataclass(frozen=True, slots=True)
class PipeTarget:
    """The column that an item of a user's pipe goes to, whatever the table's columns are called later."""

    id: int
    """Iceberg's field id."""

    name: str
    """Its name when the pipe was created, for messages."""


@dataclass(frozen=True, slots=True)
class PipeSpec:
    """A user's pipe, compiled for the columns of its table: all that a task needs to project records through it."""

    name: str
    identity: str
    """Tells it from another pipe of that name."""

    source: str
    """SQL for the rows of a chunk with all that the items read: what stands after their FROM."""

    items: tuple[PipeItem, ...]
    """One for each column of the table, in its order."""

    inputs: tuple[str, ...]
    """The columns of converted records that are read."""

    objects: tuple[ReadObject, ...] = (((), None),)
    """Where the objects are whose keys are read, and which keys, None for all: none of those may be there twice."""

    condition: PipeItem | None = None
    """WHERE: a record for which it is not true becomes no row."""

    condition_source: str = ""
    """SQL for the rows of a chunk with all that `condition` reads."""

    volatile: tuple[tuple[str, str], ...] = ()
    """Columns of the chunk, by name, and the SQL that each is computed by: once, so that every statement and every
    part of it sees the same value."""

    batch: int | None = None
    """The most records that a statement may read at once, where it may make much longer texts of them; None: any."""

    targets: tuple[PipeTarget, ...] = ()
    """The columns that its items go to, in the order of its select list; empty where names in the pipe decide."""

    warnings: tuple[str, ...] = ()
    """What its user may not have meant, in sentences."""


@dataclass(frozen=True, slots=True)
class WriteShape:
    """What files are staged for; the commit compares it with the table's own (design section 4, *shape*)."""

    table: TableName
    uuid: str
    schema_id: int
    spec_id: int
    sort_order_id: int
    columns: tuple[Column, ...]
    has_rows: bool
    """Whether the current snapshot holds a row."""

    evolves: bool
    """Whether new keys become columns."""

    is_frozen: bool = False
    """Whether the table itself says that its columns stay as they are; its values are then rejects that do not fit."""

    takes_variants: bool = True
    """Whether its columns may be VARIANT: from Iceberg's format version 3 on."""

    layout: Layout = PLAIN_LAYOUT
    """What the partition spec and the sort order ask of files."""

    pipe_name: str = ""
    """The name of the user's pipe that rows come through, if the table has it; empty for the default pipe always."""

    pipe: str | None = None
    """What tells that pipe from another one (`PipeSpec.identity`); None for the default pipe."""


@dataclass(frozen=True, slots=True)
class Buffer:
    """When a partition's records are due: as soon as one of the bounds is reached. None bounds nothing."""

    seconds: float | None = None
    """Since something waits in the partition."""

    records: int | None = None
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class ReaderSpec:
    """What reads ranges in a task."""

    kind: str
    """The kind of source, as in `frazil.sources.kinds`."""

    client: Mapping[str, Any] = field(repr=False, default_factory=dict)
    """The client's configuration in its own keys; may hold secrets, hence never shown."""


@dataclass(frozen=True, slots=True)
class TableTask:
    """What a task stages for one of its tables."""

    shape: WriteShape
    data_path: str
    """Where its data files go: the name has one `{}` for digits that tell attempts and their chunks apart."""

    rejects_path: str
    """Where its reject file goes, should it need one; the name has such a `{}` as well."""

    data_access: Mapping[str, str] = field(repr=False, default_factory=dict)
    """What opens the storage at `data_path`, in properties of Iceberg's FileIO; never shown."""

    rejects_access: Mapping[str, str] = field(repr=False, default_factory=dict)
    """What opens the storage at `rejects_path`."""

    output_path: str | None = None
    """Where the file of its accepted records goes that are sent on, with such a `{}`; None where none are."""

    output_access: Mapping[str, str] = field(repr=False, default_factory=dict)
    """What opens the storage at `output_path`."""

    column_budget: int = MOST_COLUMNS
    """How many columns the table may still get, fields of structs counted among them."""

    rules: TableRules = field(default_factory=TableRules)
    """What becomes of values that it has no place for."""

    partitions_at: int | None = None
    """Where in `data_path` the directories of a file's partition belong; None where they belong nowhere."""

    pipe: PipeSpec | None = None
    """The user's pipe that projects the records; None for the default pipe."""

    starts: Mapping[SourcePartition, Position] = field(default_factory=dict)
    """Where the table's own token stands further on than a range of the task begins: records before are in it."""

    def start(self, wanted: Range) -> Position:
        """Where the table's part of a range begins; at its end if the table has all of it."""
        own = self.starts.get(wanted.partition, wanted.start)
        return wanted.start if own < wanted.start else min(own, wanted.end)


@dataclass(frozen=True, slots=True)
class Task:
    """Ranges of one topic, sized for one Spark task, with all a worker needs to stage them."""

    connector: str
    ranges: tuple[Range, ...]
    tables: tuple[TableTask, ...]
    """What to stage for each table that the topic feeds."""

    reader: ReaderSpec
    conversion: Conversion = field(default_factory=Conversion)
    tolerance: Literal["none", "all"] = "none"
    chunk_bytes: int = 32 * 1024 * 1024
    """Bytes of records that go through one COPY together."""

    most_bytes: int = 512 * 1024 * 1024
    """Bytes of records after which the task stops reading; what it covered until then is what it staged."""

    synced: bool = True
    """Whether files on local disks are to be there even after a power cut."""

    route: Route | None = None
    """How records find their tables; None: each of the tables gets them all."""
