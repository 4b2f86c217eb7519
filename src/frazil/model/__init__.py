"""The nouns of frazil as frozen values; this package imports nothing of ours.

They are pickled between Spark's driver and its Python workers, so they hold plain data only.
"""

from frazil.model.channels import ChannelStatus
from frazil.model.contract import ERROR_LOGGING, EVOLUTION, RESCUED, SchemaContract, TableRules, is_rescued_name
from frazil.model.conversion import Conversion, ConverterSpec, MetadataPart, TransformSpec
from frazil.model.layout import (
    LAYOUT_OF_CREATED,
    LOCATION,
    PLAIN_LAYOUT,
    CreatedKey,
    Layout,
    LayoutTransform,
    PartitionField,
    SortField,
)
from frazil.model.output import OutputRecord
from frazil.model.places import OrderedPlace, PartitionId, Position, Range, RecordOffset, RecordPlace, SourcePartition
from frazil.model.rejects import Reject, RejectKind, RejectStage, RejectSummary
from frazil.model.routes import Route, RoutedTable
from frazil.model.schema import (
    MOST_COLUMNS,
    NOTHING_OBSERVED,
    Column,
    Drift,
    FieldPath,
    IcebergType,
    ListType,
    MapType,
    ObservedType,
    Primitive,
    SchemaChange,
    StructType,
    TableName,
)
from frazil.model.staged import PartitionValue, Staged, StagedFile, StagedRange, StagedTable, StageFailure
from frazil.model.tasks import (
    Buffer,
    PipeItem,
    PipeSpec,
    PipeTarget,
    ReaderSpec,
    ReadObject,
    TableTask,
    Task,
    WriteShape,
)

__all__ = [
    "ERROR_LOGGING",
    "EVOLUTION",
    "LAYOUT_OF_CREATED",
    "LOCATION",
    "MOST_COLUMNS",
    "NOTHING_OBSERVED",
    "PLAIN_LAYOUT",
    "RESCUED",
    "Buffer",
    "ChannelStatus",
    "Column",
    "Conversion",
    "ConverterSpec",
    "CreatedKey",
    "Drift",
    "FieldPath",
    "IcebergType",
    "Layout",
    "LayoutTransform",
    "ListType",
    "MapType",
    "MetadataPart",
    "ObservedType",
    "OrderedPlace",
    "OutputRecord",
    "PartitionField",
    "PartitionId",
    "PartitionValue",
    "PipeItem",
    "PipeSpec",
    "PipeTarget",
    "Position",
    "Primitive",
    "Range",
    "ReadObject",
    "ReaderSpec",
    "RecordOffset",
    "RecordPlace",
    "Reject",
    "RejectKind",
    "RejectStage",
    "RejectSummary",
    "Route",
    "RoutedTable",
    "SchemaChange",
    "SchemaContract",
    "SortField",
    "SourcePartition",
    "StageFailure",
    "Staged",
    "StagedFile",
    "StagedRange",
    "StagedTable",
    "StructType",
    "TableName",
    "TableRules",
    "TableTask",
    "Task",
    "TransformSpec",
    "WriteShape",
    "is_rescued_name",
]
