"""Branches, staged snapshots and clocks of Iceberg itself, and the tokens that are read then; no broker takes part."""

from __future__ import annotations

import itertools
import json
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.support.channels import with_channel

from frazil.errors import ClockBehind, TokensUncertain
from frazil.model import Conversion, SourcePartition, TableName
from frazil.tables.commit import commit
from frazil.tables.iceberg.catalog import Catalog
from frazil.tables.iceberg.table import Table
from frazil.tables.jvm.session import EMBEDDED, iceberg_catalog
from frazil.tables.rules.channels import Channel
from frazil.tables.rules.checks import Expectation
from frazil.tables.rules.tokens import Tokens, read

pytestmark = pytest.mark.slow

PARTITION = SourcePartition("orders", 0)

_numbers = itertools.count(1)


@dataclass
class Stand:
    """A table to which a connector has committed tokens, and SQL for it."""

    spark: SparkSession
    table: Table
    last: str | None = None
    """The connector's last commit."""

    @property
    def name(self) -> str:
        return f"public.{self.table.name.name}"

    def sql(self, statement: str) -> list[int]:
        """The first column of what a statement gives; `{name}` in it is the table for procedures, `{table}` for SQL."""
        found = self.spark.sql(statement.format(name=self.name, table=f"{EMBEDDED}.{self.name}")).collect()
        return [row[0] for row in found]

    def land(self, token: int) -> None:
        tokens = with_channel(Tokens("shop", str(uuid.uuid4()), "me", 1), PARTITION, Channel(str(token)), "c", "t")
        expected = Expectation("SHOP", "me", 1, self.last, (), self.table.uuid)
        self.last = commit(self.table, (), tokens, expected).tokens.commit

    def token(self) -> str | None:
        """The token that is read now."""
        self.table.refresh()
        found = read(self.table.state(), self.name, "SHOP")
        return found.channel(PARTITION).token if found else None

    def expire(self) -> None:
        """frazil's own expiry, of all that is older than this very moment."""
        self.table._last_expiry = self.table._opened = -1e6
        now = time.time_ns() // 1_000_000
        while time.time_ns() // 1_000_000 <= now:
            pass
        self.table.refresh()
        self.table.expire(0)


@pytest.fixture
def stand(spark: SparkSession, lake: Path) -> Stand:
    catalog = Catalog(iceberg_catalog(spark, EMBEDDED, lake), spark.sparkContext._gateway, EMBEDDED)
    table = catalog.open(TableName(("public",), f"BRANCHED_{next(_numbers)}"), {}, Conversion())
    stand = Stand(spark, table)
    stand.sql("ALTER TABLE {table} ADD COLUMN id BIGINT")
    stand.land(2)
    stand.sql("ALTER TABLE {table} CREATE BRANCH audit")
    stand.land(5)
    stand.land(8)
    stand.sql("INSERT INTO {table}.branch_audit (id) VALUES (1)")
    return stand


def set_to_branch(stand: Stand) -> None:
    stand.sql("CALL frazil.system.set_current_snapshot(table => '{name}', ref => 'audit')")


def test_main_set_to_a_branch_whose_branch_point_somebody_expired_is_uncertain(stand: Stand):
    stand.sql("CALL frazil.system.expire_snapshots(table => '{name}', older_than => now(), retain_last => 1)")
    assert stand.token() == "8"
    set_to_branch(stand)

    with pytest.raises(TokensUncertain, match="was set to another snapshot or branch"):
        stand.token()
    stand.sql("INSERT INTO {table} (id) VALUES (2)")
    with pytest.raises(TokensUncertain):
        stand.token()


def test_after_our_own_expiry_a_branch_still_tells_its_tokens(stand: Stand):
    before = len(stand.sql("SELECT snapshot_id FROM {table}.snapshots"))
    stand.expire()

    assert len(stand.sql("SELECT snapshot_id FROM {table}.snapshots")) == before - 1
    assert stand.token() == "8"
    set_to_branch(stand)
    assert stand.token() == "2"


def test_what_others_staged_can_be_published_after_our_own_expiry(stand: Stand):
    stand.sql("ALTER TABLE {table} SET TBLPROPERTIES ('write.wap.enabled'='true')")
    stand.spark.conf.set("spark.wap.id", "w1")
    try:
        stand.sql("INSERT INTO {table} (id) VALUES (7)")
    finally:
        stand.spark.conf.unset("spark.wap.id")
    stand.land(9)
    stand.expire()

    stand.sql("CALL frazil.system.publish_changes('{name}', 'w1')")

    assert stand.sql("SELECT id FROM {table}") == [7]
    assert stand.token() == "9"


def test_compactions_and_appends_of_others_after_ours_leave_the_mirror_where_everything_else_expired(stand: Stand):
    stand.sql("ALTER TABLE {table} DROP BRANCH audit")
    for number in range(2):
        stand.sql(f"INSERT INTO {{table}} (id) VALUES ({number})")
    stand.sql("CALL frazil.system.rewrite_data_files(table => '{name}', options => map('min-input-files', '2'))")
    stand.sql("CALL frazil.system.expire_snapshots(table => '{name}', older_than => now(), retain_last => 1)")

    assert len(stand.sql("SELECT snapshot_id FROM {table}.snapshots")) == 1
    assert stand.token() == "8"
    stand.land(9)


def test_a_clock_behind_the_table_is_told_before_a_file_is_written(stand: Stand, lake: Path):
    stand.table.refresh()
    metadata = Path(str(stand.table.java.operations().current().metadataFileLocation()).removeprefix("file:"))
    document = json.loads(metadata.read_text())
    ahead = time.time_ns() // 1_000_000 + 3_600_000
    document["last-updated-ms"] = document["snapshot-log"][-1]["timestamp-ms"] = ahead
    metadata.write_text(json.dumps(document))
    catalog = Catalog(iceberg_catalog(stand.spark, EMBEDDED, lake), stand.spark.sparkContext._gateway, EMBEDDED)
    stand.table = catalog.open(stand.table.name, None, Conversion())
    files = set(metadata.parent.iterdir())

    with pytest.raises(ClockBehind, match=r"clock says .*Z, but the table .* was last changed at .*Z"):
        stand.land(9)
    assert set(metadata.parent.iterdir()) == files
