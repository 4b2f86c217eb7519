"""What goes wrong in a Spark job or one of its tasks."""

from __future__ import annotations

from typing import TypeAlias, get_args

from frazil.errors.registries import RegistryRefused, RegistryUnavailable
from frazil.errors.sources import BrokerRefused, BrokerUnavailable, StreamRefused, StreamUnavailable
from frazil.errors.tree import FrazilError, Terminal, Transient


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


class StorageUnavailable(Transient):
    """Where a table keeps its data does not answer, or is full, or fails."""

    code = "storage_unavailable"

    def __init__(self, cause: str) -> None:
        super().__init__(f"the table's storage failed: {cause}. Nothing was committed; the cycle is planned again.")
        self.cause = cause


class StorageRefused(Terminal):
    """Where a table keeps its data said no."""

    code = "storage_refused"

    def __init__(self, cause: str) -> None:
        super().__init__(
            f"the table's storage refused: {cause}. Check the bucket or container, and the credentials that the "
            "catalog is configured with or gives out: files are written, read, listed and deleted with them."
        )
        self.cause = cause


class StorageNotSupported(Terminal):
    """A table's data location is one that tasks cannot write to the way its catalog is configured."""

    code = "storage_not_supported"

    def __init__(self, cause: str) -> None:
        super().__init__(f"data files cannot be written to {cause}")
        self.cause = cause

    @classmethod
    def scheme(cls, location: str) -> StorageNotSupported:
        """The location has a scheme nobody here knows."""
        return cls(
            f"{location}: file, s3, s3a, s3n, gs, abfs, abfss, wasb, wasbs and hdfs are supported. Set the table's "
            "location or write.data.path to one of these."
        )


class StorageNotShared(Terminal):
    """A file that a task wrote is not where the driver looks for it."""

    code = "storage_not_shared"

    def __init__(self, location: str) -> None:
        super().__init__(
            f"a task has written {location}, and the driver does not find it there: executors write to disks of their "
            "own. Nothing was committed. Put the tables on a file system that driver and executors share "
            "under the same path (frazil.home, or the catalog's warehouse)."
        )


StorageError: TypeAlias = StorageUnavailable | StorageRefused | StorageNotSupported
"""What can be wrong with where a table keeps its data."""


_AsTold: TypeAlias = StorageError | RegistryUnavailable | RegistryRefused
"""What tasks report with its cause."""


def stage_error(code: str, message: str, brokers: str) -> FrazilError:
    """The error for a failure that a staging task returned as a value."""
    if code == BrokerUnavailable.code:
        return BrokerUnavailable(brokers, "give the records", message)
    if code == BrokerRefused.code:
        return BrokerRefused(brokers, "give the records", message)
    if code == StreamUnavailable.code:
        return StreamUnavailable(brokers, "give the records", message)
    if code == StreamRefused.code:
        return StreamRefused(brokers, "give the records", message)
    for kind in get_args(_AsTold):
        if code == kind.code:
            error: FrazilError = kind(message)
            return error
    return StageFailed("the cycle's records", message)
