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

from frazil.errors.configuration import EmptyTopic, InvalidConfiguration, Problem
from frazil.errors.fleet import ConnectorExists, ConnectorUnknown, FleetEnded
from frazil.errors.following import FollowerFailed, FollowRefused, HistoryExpired, HistoryMoved
from frazil.errors.imports import (
    ChannelAhead,
    CheckpointExpired,
    CheckpointOfOtherStream,
    CheckpointTableMissing,
    CheckpointTableRefused,
    CheckpointUnreadable,
    NoCheckpoints,
)
from frazil.errors.pipes import ExplainRefused, PipeBroken, PipeGone, PipeRefused
from frazil.errors.records import InvalidRecord, UnfitValue
from frazil.errors.registries import RegistryChanged, RegistryRefused, RegistryUnavailable
from frazil.errors.replays import LedgerUnreadable, ReplayRefused
from frazil.errors.resets import OwnerRuns, ResetRefused
from frazil.errors.sources import (
    BrokerRefused,
    BrokerUnavailable,
    ConsumersExhausted,
    ConsumersInUse,
    DataLoss,
    LogTruncated,
    NoStartingOffset,
    RecordsExpired,
    RecordsReplaced,
    RecordsSkipped,
    StreamCredentialsMissing,
    StreamRefused,
    StreamUnavailable,
    TopicMissing,
    TopicReplaced,
)
from frazil.errors.staging import (
    CycleCancelled,
    StageFailed,
    StorageError,
    StorageNotShared,
    StorageNotSupported,
    StorageRefused,
    StorageUnavailable,
    stage_error,
)
from frazil.errors.surroundings import (
    CatalogNotIceberg,
    ExecutorUnfit,
    IcebergRuntimeUnfit,
    InvalidQuery,
    NothingSetUp,
    NotPackable,
    ProgramMissing,
    QueryCancelled,
    SparkConnectRefused,
    SparkEnded,
    SparkNeeded,
    SparkVersionRefused,
    StillStopping,
)
from frazil.errors.tables import (
    CatalogUnavailable,
    ClockBehind,
    CommitUnknown,
    ErrorTableUnfit,
    SchemaRace,
    ShapeMoved,
    StageTooOld,
    TableBegunAnew,
    TableMissing,
    TableNameRefused,
    TableNotCreated,
    TableNotOfRoute,
    TableNotSupported,
    TableOfRejects,
    TableOfRoute,
    TableOptionsRefused,
    TableRenewed,
    TableReplaced,
    TableWithoutContent,
    TokensMissing,
    TopicsShareName,
)
from frazil.errors.tokens import CherryPicked, Fenced, TokensMoved, TokensUncertain, TokensUnreadable
from frazil.errors.tree import FrazilError, Terminal, Transient, Unexpected
from frazil.errors.wording import wording_of

__all__ = [
    "BrokerRefused",
    "BrokerUnavailable",
    "CatalogNotIceberg",
    "CatalogUnavailable",
    "ChannelAhead",
    "CheckpointExpired",
    "CheckpointOfOtherStream",
    "CheckpointTableMissing",
    "CheckpointTableRefused",
    "CheckpointUnreadable",
    "CherryPicked",
    "ClockBehind",
    "CommitUnknown",
    "ConnectorExists",
    "ConnectorUnknown",
    "ConsumersExhausted",
    "ConsumersInUse",
    "CycleCancelled",
    "DataLoss",
    "EmptyTopic",
    "ErrorTableUnfit",
    "ExecutorUnfit",
    "ExplainRefused",
    "Fenced",
    "FleetEnded",
    "FollowRefused",
    "FollowerFailed",
    "FrazilError",
    "HistoryExpired",
    "HistoryMoved",
    "IcebergRuntimeUnfit",
    "InvalidConfiguration",
    "InvalidQuery",
    "InvalidRecord",
    "LedgerUnreadable",
    "LogTruncated",
    "NoCheckpoints",
    "NoStartingOffset",
    "NotPackable",
    "NothingSetUp",
    "OwnerRuns",
    "PipeBroken",
    "PipeGone",
    "PipeRefused",
    "Problem",
    "ProgramMissing",
    "QueryCancelled",
    "RecordsExpired",
    "RecordsReplaced",
    "RecordsSkipped",
    "RegistryChanged",
    "RegistryRefused",
    "RegistryUnavailable",
    "ReplayRefused",
    "ResetRefused",
    "SchemaRace",
    "ShapeMoved",
    "SparkConnectRefused",
    "SparkEnded",
    "SparkNeeded",
    "SparkVersionRefused",
    "StageFailed",
    "StageTooOld",
    "StillStopping",
    "StorageError",
    "StorageNotShared",
    "StorageNotSupported",
    "StorageRefused",
    "StorageUnavailable",
    "StreamCredentialsMissing",
    "StreamRefused",
    "StreamUnavailable",
    "TableBegunAnew",
    "TableMissing",
    "TableNameRefused",
    "TableNotCreated",
    "TableNotOfRoute",
    "TableNotSupported",
    "TableOfRejects",
    "TableOfRoute",
    "TableOptionsRefused",
    "TableRenewed",
    "TableReplaced",
    "TableWithoutContent",
    "Terminal",
    "TokensMissing",
    "TokensMoved",
    "TokensUncertain",
    "TokensUnreadable",
    "TopicMissing",
    "TopicReplaced",
    "TopicsShareName",
    "Transient",
    "Unexpected",
    "UnfitValue",
    "stage_error",
    "wording_of",
]
