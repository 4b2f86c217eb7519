"""The nouns of frazil as frozen values; this module imports nothing of ours.

They are pickled between Spark's driver and its Python workers, so they hold plain data only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol, Self, TypeAlias

PartitionId: TypeAlias = int | str
"""What tells the partitions of a topic apart: Kafka's number, a shard's id. Within one source all are of one type."""

RecordOffset: TypeAlias = int | str
"""What tells the records of a partition apart: Kafka's offset, a sequence number."""


@dataclass(frozen=True, slots=True, order=True)
class SourcePartition:
    """One topic-partition, or one shard of a stream."""

    topic: str
    """The topic or stream."""

    partition: PartitionId

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class Position(Protocol):
    """A place in a source partition, between two records. Only its source knows what is in it; it can be pickled.

    Positions of one partition are ordered, and equal where the same records are before them.
    """

    @property
    def last(self) -> RecordOffset:
        """The last record before it, as JSON has it; as text, the offset token of all that is before."""

    @property
    def first(self) -> RecordOffset:
        """The first record that may follow, or how people would say where that is."""

    @property
    def leader_epoch(self) -> int | None:
        """A leader epoch whose leader had everything before it in its log (KIP-320); None where none is known."""

    @property
    def ended(self) -> bool:
        """Whether it is the end of a partition that gets no more records, as a shard's that was split."""

    def __lt__(self, other: Any, /) -> bool: ...

    def __le__(self, other: Any, /) -> bool: ...

    def distance(self, end: Any, /) -> int:
        """How many records there may be from here to `end`: at least 1 where that is further on, else 0."""

    def ahead(self, records: int, end: Any, /) -> Self:
        """The place about `records` further on, `end` at most; `end` itself where only the source could tell."""


RecordPlace: TypeAlias = tuple[SourcePartition, RecordOffset]
"""Where a record lies. Earlier is what sorts first."""


@dataclass(frozen=True, slots=True, order=True)
class TableName:
    """A table in a namespace of the connector's catalog, spelled as it exists or will be created."""

    namespace: tuple[str, ...]
    name: str

    def __str__(self) -> str:
        return ".".join((*self.namespace, self.name))


@dataclass(frozen=True, slots=True)
class Range:
    """What one cycle reads from one source partition: what is between two positions."""

    partition: SourcePartition
    start: Position
    end: Position

    @property
    def length(self) -> int:
        """How many records there may be in it."""
        return self.start.distance(self.end)


@dataclass(frozen=True, slots=True)
class Primitive:
    """An Iceberg primitive type, or VARIANT."""

    name: str
    """As Iceberg's schema JSON spells it: `long`, `timestamptz`, `decimal`, `variant` …"""

    precision: int = 0
    """Digits of a decimal."""

    scale: int = 0
    """Digits of a decimal after the point."""

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})" if self.name == "decimal" else self.name


@dataclass(frozen=True, slots=True)
class ListType:
    """An Iceberg list."""

    element_id: int
    element: IcebergType
    element_required: bool

    def __str__(self) -> str:
        return f"list<{self.element}>"


@dataclass(frozen=True, slots=True)
class MapType:
    """An Iceberg map."""

    key_id: int
    key: IcebergType
    value_id: int
    value: IcebergType
    value_required: bool

    def __str__(self) -> str:
        return f"map<{self.key}, {self.value}>"


@dataclass(frozen=True, slots=True)
class StructType:
    """An Iceberg struct."""

    fields: tuple[Column, ...]

    def __str__(self) -> str:
        return f"struct<{', '.join(f'{field.name}: {field.type}' for field in self.fields)}>"


IcebergType: TypeAlias = Primitive | ListType | MapType | StructType


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table, or a field of a struct."""

    id: int
    """Iceberg's field id, which the Parquet file carries too."""

    name: str
    type: IcebergType
    required: bool = False
    default: str | None = None
    """Iceberg's write default as JSON text; it fills a key that a record has not."""


FieldPath: TypeAlias = tuple[str, ...]
"""The names that lead to a column or field; a list's elements are its `element`, a map's values its `value`."""


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """What a table's columns are to become, so that records land that do not fit them yet."""

    add: Mapping[str, IcebergType] = field(default_factory=dict)
    """New columns, all of them optional; ids within their types are given by the catalog."""

    widen: Mapping[FieldPath, Primitive] = field(default_factory=dict)
    """Types that hold all that columns or fields hold now, and more: Iceberg's promotions."""

    relax: frozenset[FieldPath] = frozenset()
    """Columns and fields that may be NULL from now on."""


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
    """Whether the current snapshot holds a row; a table without one may still get its columns."""

    evolves: bool
    """Whether new keys become columns: only while a table frazil created holds no row."""


@dataclass(frozen=True, slots=True)
class ConverterSpec:
    """What a worker makes the converter of records' values, keys or headers of."""

    kind: str
    """One of `frazil.records.convert.CONVERTERS`: `json`, `string`, `bytes` or `simple`."""

    options: Mapping[str, str] = field(default_factory=dict, hash=False, repr=False)
    """Its settings as configured, without the prefix; may hold secrets, hence never shown."""


@dataclass(frozen=True, slots=True)
class TransformSpec:
    """What a worker makes one transform of records of."""

    name: str
    """What the connector's configuration calls it, as messages do."""

    kind: str
    """One of `frazil.records.convert.TRANSFORMS`."""

    options: Mapping[str, str] = field(default_factory=dict, hash=False, repr=False)
    """Its settings as configured, without the prefix; may hold secrets, hence never shown."""


MetadataPart: TypeAlias = Literal["topic", "offset_and_partition", "create_time", "push_time"]


@dataclass(frozen=True, slots=True)
class Conversion:
    """How records become rows, as the connector is configured."""

    value_converter: ConverterSpec = ConverterSpec("json")
    key_converter: ConverterSpec = ConverterSpec("string")
    header_converter: ConverterSpec = ConverterSpec("simple")
    transforms: tuple[TransformSpec, ...] = ()
    """In their order: each gets the records that the one before it gave."""

    structured_headers: bool = False
    """Whether header values keep their JSON types; otherwise they are texts."""

    metadata: frozenset[MetadataPart] | None = frozenset({"topic", "offset_and_partition", "create_time", "push_time"})
    """The parts of RECORD_METADATA to write; None leaves the whole column NULL."""

    tombstones: Literal["default", "ignore"] = "default"
    """Whether a record without a value becomes a row of metadata only, or none."""

    time_zone: str = "UTC"
    """The zone of texts that name none and go to a column with a zone."""

    numbers: Literal["reject", "round"] = "reject"
    """What becomes of digits a column has no room for."""

    nested_type: Literal["variant", "json", "struct"] = "variant"
    """What columns for objects and arrays are created as."""

    normalizes: bool = False
    """Whether keys are normalised like Snowflake's identifiers before they are compared with columns."""


@dataclass(frozen=True, slots=True)
class Buffer:
    """When a partition's records are due: as soon as one of the bounds is reached. None bounds nothing."""

    seconds: float | None = None
    """Since something waits in the partition."""

    records: int | None = None
    bytes: int | None = None


MOST_COLUMNS: Final = 1000
"""Columns that frazil gives a table at most, unless a connector is configured otherwise."""


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

    column_budget: int = MOST_COLUMNS
    """How many columns the table may still get, fields of structs counted among them."""

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
    conversion: Conversion = Conversion()
    tolerance: Literal["none", "all"] = "none"
    chunk_bytes: int = 32 * 1024 * 1024
    """Bytes of records that go through one COPY together."""

    most_bytes: int = 512 * 1024 * 1024
    """Bytes of records after which the task stops reading; what it covered until then is what it staged."""

    synced: bool = True
    """Whether files on local disks are to be there even after a power cut."""


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A Parquet data file that is in no snapshot yet."""

    path: str
    rows: int
    size: int
    """Bytes."""

    metrics: Mapping[str, Any] = field(repr=False, default_factory=dict)
    """Iceberg's file metrics by the names of its content-file JSON; bounds are hex."""


@dataclass(frozen=True, slots=True)
class StagedRange:
    """How far a task came in one range, and what it met."""

    partition: SourcePartition
    start: Position
    covered: Position
    """Everything before it is covered: the range's end, or where the record is that stopped the task."""

    parsed: int = 0
    """Records read."""

    inserted: int = 0
    """Rows written."""

    errors: int = 0
    """Records rejected."""

    skipped: int = 0
    """Tombstones, and records that a transform dropped; `parsed` is the sum of the three."""

    bytes: int = 0
    """Bytes of values read."""

    record_epoch: int | None = None
    """Leader epoch of the last record read; None in sources without."""

    read_through: int | None = None
    """When the reader was at the end of what there was, in ms since the epoch; None if it was not, or cannot tell."""

    oldest: int | None = None
    """Timestamp of the oldest record read, in ms since the epoch."""

    newest: int | None = None
    """Timestamp of the newest record read, in ms since the epoch."""

    sample: tuple[int, ...] = ()
    """Timestamps of a few of the records, for latencies; bounded."""

    @property
    def span(self) -> int:
        """How many records there may have been between `start` and `covered`; gaps make `parsed` smaller."""
        return self.start.distance(self.covered)


RejectStage: TypeAlias = Literal["convert", "transform", "project"]
"""`convert`: a converter cannot read the bytes; `transform`: a transform cannot take the record; `project`: the value
is not a JSON object, or does not fit its column."""


@dataclass(frozen=True, slots=True)
class Reject:
    """A record that could not become a row."""

    partition: SourcePartition
    offset: RecordOffset
    timestamp: int | None
    """Milliseconds since the epoch."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    stage: RejectStage

    code: str
    """Stable error code, as in `frazil.errors`: 5030 where a value does not fit its column, else 5015."""

    reason: str
    column: str | None = None

    def start_of_value(self, length: int = 80) -> str:
        """The first `length` characters of the value, undecodable bytes replaced."""
        return (self.value or b"")[: length * 4].decode("utf-8", "replace")[:length]


@dataclass(frozen=True, slots=True)
class RejectKind:
    """Rejects of one task whose reasons differ only in what they show of the record."""

    code: str
    column: str | None
    reason: str
    """The reason without what it shows of the record."""

    count: int
    first: Reject
    """The first of them, shortened."""


@dataclass(frozen=True, slots=True)
class RejectSummary:
    """What the driver needs to know about a task's rejects; the records are in the file."""

    count: int
    first: Reject
    """The first by partition and offset, shortened: the start of its value, no key and no headers."""

    path: str
    kinds: tuple[RejectKind, ...]
    """A bounded number of them; the last one counts those that are one too many."""


@dataclass(frozen=True, slots=True)
class ObservedType:
    """What values of one key looked like."""

    scalars: frozenset[str] = frozenset()
    """`null`, `boolean`, `long`, `huge` (a whole number beyond 64 bits), `double`, `string`."""

    fields: tuple[tuple[str, ObservedType], ...] | None = None
    """The keys of objects among them; None when there was no object."""

    element: ObservedType | None = None
    """The elements of arrays among them; None when there was no array."""

    first: RecordPlace | None = field(default=None, compare=False)
    """The first record that had one of them; None when nobody asked. It says nothing about what they looked like."""

    def merged_with(self, other: ObservedType) -> ObservedType:
        """What was seen here and there; the order does not matter."""
        fields: dict[str, ObservedType] = {}
        for key, seen in (*(self.fields or ()), *(other.fields or ())):
            fields[key] = fields[key].merged_with(seen) if key in fields else seen
        objects = self.fields is not None or other.fields is not None
        elements = [each for each in (self.element, other.element) if each is not None]
        return ObservedType(
            self.scalars | other.scalars,
            tuple(sorted(fields.items(), key=lambda item: item[0])) if objects else None,
            elements[0].merged_with(elements[1]) if len(elements) == 2 else next(iter(elements), None),
            min((each for each in (self.first, other.first) if each is not None), default=None),
        )


NOTHING_OBSERVED = ObservedType()

Drift: TypeAlias = Mapping[str, ObservedType]
"""New keys, spelled as they came, and what their values looked like."""


@dataclass(frozen=True, slots=True)
class StagedTable:
    """What one task did for one table."""

    shape: WriteShape
    ranges: tuple[StagedRange, ...]
    """How far the table came in each of the task's ranges: what lies before its own token is in none of the counts."""

    files: tuple[StagedFile, ...] = ()
    rejects: RejectSummary | None = None
    drift: Drift = field(default_factory=dict)
    """Not empty only for a table that evolves; then `files` is empty."""

    dropped: Mapping[str, int] = field(default_factory=dict)
    """Values of keys that have no column, counted by key."""


@dataclass(frozen=True, slots=True)
class Staged:
    """What one task did. A failure is a value too: raising would make a cluster retry it and lose the reason."""

    ranges: tuple[StagedRange, ...]
    """What was read: how far, and how many records and bytes."""

    tables: tuple[StagedTable, ...] = ()
    failure: StageFailure | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Where the task's time went: `read`, `convert`, `project`, `move`."""

    repeated: bool = False
    """Whether Spark may have run the task more than once: other attempts may have left files, or still write some."""


@dataclass(frozen=True, slots=True)
class StageFailure:
    """Why a task could not stage its ranges."""

    error: str
    """The code of the error it is, as in `frazil.errors`."""

    message: str
    partition: SourcePartition | None = None
    table: TableName | None = None
    """The table that could not be staged for, where it is one table's failure."""


@dataclass(frozen=True, slots=True)
class ChannelStatus:
    """One channel as `frazil channels` shows it."""

    connector: str
    channel: str
    """`<CONNECTOR>_<topic>_<partition>` (spec 7.1)."""

    topic: str
    partition: PartitionId
    table: str
    pipe: str
    offset_token: str | None
    latest_offset: RecordOffset | None
    """The last offset the partition holds, or None when the broker did not answer."""

    lag_records: int | None
    lag_seconds: float | None
    rows_inserted: int
    rows_parsed: int
    rows_error: int
    records_lost: int
    """Offsets that retention deleted before they were read, or a truncation took away after."""

    last_error: str | None
    state: str
    """What the connector is doing, or the channel's table where that is left out while the others go on."""

    reason: str | None
    """The error that is waited out, or that has ended it; None where all is well."""

    last_commit_time: str | None
    """ISO 8601, UTC."""

    owner_epoch: int
