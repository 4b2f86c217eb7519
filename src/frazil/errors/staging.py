"""What goes wrong in a Spark job or one of its tasks."""

from __future__ import annotations

from frazil.errors.sources import BrokerRefused, BrokerUnavailable
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


class StorageNotSupported(Terminal):
    """A table's data location has a scheme frazil cannot write to."""

    code = "storage_not_supported"

    def __init__(self, location: str) -> None:
        super().__init__(
            f"data files cannot be written to {location}: only local paths (file:) are supported. "
            "Set the table's location or write.data.path to a local path."
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


def stage_error(code: str, message: str, brokers: str) -> FrazilError:
    """The error for a failure that a staging task returned as a value."""
    if code == BrokerUnavailable.code:
        return BrokerUnavailable(brokers, "give the records", message)
    if code == BrokerRefused.code:
        return BrokerRefused(brokers, "give the records", message)
    if code == StorageNotSupported.code:
        return StorageNotSupported(message)
    return StageFailed("the cycle's records", message)
