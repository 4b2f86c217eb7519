"""Where a table's files go: as its location provider says, and rejects beside it, or in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from frazil.errors import TableNotSupported
from frazil.model import Conversion, TableName
from frazil.tables import outbox
from frazil.tables.iceberg.table import Table

NAME = TableName(("public",), "ORDERS")


@dataclass
class Provider:
    """Stands for the Java objects of a table, and for the location provider of its property."""

    pattern: str

    def locationProvider(self) -> Provider:  # noqa: N802 (Java's)
        return self

    def operations(self) -> Provider:
        return self

    def current(self) -> Provider:
        return self

    def snapshotLog(self) -> Provider:  # noqa: N802
        return self

    def size(self) -> int:
        return 0

    def lastUpdatedMillis(self) -> int:  # noqa: N802
        return 0

    def spec(self) -> Provider:
        return self

    def isUnpartitioned(self) -> bool:  # noqa: N802
        return True

    def newDataLocation(self, name: str) -> str:  # noqa: N802
        return self.pattern.replace("NAME", name)


def table(pattern: str) -> Table:
    java: Any = Provider(pattern)
    return Table(None, NAME, java, Conversion(), lambda: java)


@pytest.mark.parametrize(
    "pattern", ["s3://lake/data/NAME", "s3://lake/0101/{}/NAME", "/lake/data/shard-7-NAME", "s3://l/NAME.parquet"]
)
def test_files_go_where_a_custom_location_provider_says(pattern: str) -> None:
    assert table(pattern).new_data_path("a-{}.parquet") == pattern.replace("NAME", "a-{}.parquet")


@pytest.mark.parametrize("pattern", ["s3://lake/data/fixed.parquet", "s3://lake/{}/fixed", "s3://lake/NAME/file"])
def test_a_location_provider_that_gives_all_files_one_name_is_refused(pattern: str) -> None:
    with pytest.raises(TableNotSupported, match="location provider"):
        table(pattern).new_data_path("a-{}.parquet")


@dataclass
class RemoteLocation:
    """Where a table is."""

    location: str
    confined: bool = False
    name: TableName = NAME
    uuid: str = "u"


@pytest.mark.parametrize(
    ("place", "directory"),
    [
        (RemoteLocation("s3://lake/public/ORDERS"), "s3://lake/public/_frazil/ORDERS-u"),
        (RemoteLocation("s3://lake/public/ORDERS", confined=True), "s3://lake/public/ORDERS/_frazil/ORDERS-u"),
        (RemoteLocation("s3://lake/ORDERS"), "s3://lake/_frazil/ORDERS-u"),
        (RemoteLocation("s3://lake"), "s3://lake/_frazil/ORDERS-u"),
        (RemoteLocation("/lake/ORDERS"), "/lake/_frazil/ORDERS-u"),
    ],
)
def test_rejects_are_kept_beside_a_table_or_in_it_where_its_catalog_opens_nothing_else(
    place: Any, directory: str
) -> None:
    assert outbox.directory(place) == directory
