"""What a cluster's tasks have written must be where the driver looks, or nothing is committed."""

from __future__ import annotations

from pathlib import Path

import pytest

from frazil.cycle.job import require_shared
from frazil.errors import StorageNotShared
from frazil.model import Staged, StagedFile, StagedTable, TableName, WriteShape

SHAPE = WriteShape(TableName(("public",), "T"), "uuid", 0, 0, 0, (), has_rows=True, evolves=False)


def test_files_that_the_driver_finds_are_committed_and_one_it_does_not_find_stops_the_connector(tmp_path: Path):
    (tmp_path / "here.parquet").write_bytes(b"x")
    here, gone = staged(tmp_path / "here.parquet"), staged(tmp_path / "gone.parquet")

    require_shared([here, staged_at("s3://bucket/x.parquet")], keeps_rejects=True)
    with pytest.raises(StorageNotShared, match=r"gone\.parquet"):
        require_shared([here, gone], keeps_rejects=True)


def staged(path: Path) -> Staged:
    return staged_at(f"file://{path}")


def staged_at(location: str) -> Staged:
    return Staged((), (StagedTable(SHAPE, (), files=(StagedFile(location, 1, 1, {}),)),))
