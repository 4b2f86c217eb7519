"""One compare-and-swap through Iceberg, without Iceberg's own retries.

Those would apply our change again to whatever they find. So the change is built in a transaction and swapped through
its underlying operations, which replace the very version the transaction began with, or nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from frazil.errors import CatalogUnavailable
from frazil.model import StagedFile, TableName
from frazil.tables.base import OutcomeUnknown, RaceLost
from frazil.tables.iceberg import mount_check
from frazil.tables.iceberg.access import LOCAL
from frazil.tables.iceberg.java import (
    JvmSnapshot,
    JvmState,
    data_file,
    java_class,
    java_errors,
    java_message,
    java_type,
)

_EXECUTORS: Final = "org.apache.iceberg.relocated.com.google.common.util.concurrent.MoreExecutors"


class JvmSwap:
    """See `frazil.tables.base.Swap`."""

    def __init__(self, name: TableName, table: Any, transaction: Any, jvm: Any, *, merges: bool, rest: bool) -> None:
        """Swap what `transaction` began with on Iceberg's Java `table`.

        Args:
            name: the table's.
            table: Iceberg's.
            transaction: of that table.
            jvm: where both live.
            merges: whether to merge small manifests, if there are many.
            rest: whether the catalog is behind REST.
        """
        self._name = name
        self._table = table
        self._transaction = transaction
        self._jvm = jvm
        self._merges = merges
        self.whole = not rest
        self.base = self.made = JvmState(transaction.startMetadata(), jvm, table)

    def build(self, files: Sequence[StagedFile], key: str, text: str, notes: Mapping[str, str]) -> None:
        """Make the next version in the transaction."""
        try:
            append = self._append()
            spec, order = self.base.spec_id, self.base.sort_order_id
            for file in files:
                self._require(file)
                append = append.appendFile(data_file(self._jvm, self._table, file, spec, order))
            for name, note in notes.items():
                append = append.set(name, note)
            append.set(key, text).commit()
            self._transaction.updateProperties().set(key, text).commit()
            self.made = JvmState(self._transaction.currentMetadata(), self._jvm, self._table)
        except java_errors() as error:
            where = f"write the manifests of {self._name} to {self._directory}"
            raise CatalogUnavailable(where, java_message(error)) from error

    def swap(self) -> JvmSnapshot:
        """Replace exactly the base by the next version, or do nothing."""
        made = self._transaction.currentMetadata()
        mount_check.require(self._name, self._table, self.base.metadata_location)
        try:
            self._transaction.underlyingOps().commit(self._transaction.startMetadata(), made)
        except java_errors() as error:
            if java_class(error) == "CommitFailedException":
                raise RaceLost from error
            raise OutcomeUnknown(f"{java_message(error)}; its metadata is in {self._directory}") from error
        if not self.whole:
            # A REST catalog merges our change into what it has by then, and answers with what came of it.
            self.made = JvmState(self._transaction.underlyingOps().current(), self._jvm, self._table)
        return JvmSnapshot(made.currentSnapshot(), self._table)

    def _append(self) -> Any:
        append = self._transaction.newAppend() if self._merges else self._transaction.newFastAppend()
        if self._merges and not LOCAL.match(self.base.metadata_location or ""):
            return append
        # Iceberg looks every 10 ms whether its pool is done, at each step of an append. One manifest needs no pool, nor
        # do those that are read from a local disk.
        return append.scanManifestsWith(_in_this_thread(self._jvm))

    @property
    def _directory(self) -> str:
        """Where metadata files go."""
        return str(self._transaction.underlyingOps().metadataFileLocation("")).rstrip("/")

    def _require(self, file: StagedFile) -> None:
        """Refuse a snapshot that would name a file which is not there any more."""
        if not mount_check.is_there(self._table, file.path):
            raise CatalogUnavailable(f"find what was staged for {self._name}", f"somebody deleted {file.path}")


@lru_cache
def _in_this_thread(jvm: Any) -> Any:
    """An executor that works in the thread that hands it work."""
    return java_type(jvm, _EXECUTORS).newDirectExecutorService()
