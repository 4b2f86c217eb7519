"""Changes of a table that a connector outlives, at every place of a cycle: it lands each record once, as the table is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.integration.changing import BATCH, RECALL_EVERY, WHEN, Stream, When
from tests.support.connectors import KAFKA_JSON
from tests.support.waiting import caught_up

from frazil import Connector
from frazil.dev.kafka import KafkaBroker
from frazil.testing.crash import call_at
from frazil.testing.topics import create_topic

pytestmark = pytest.mark.slow

FOREIGN = "(seq, relaxed, required) VALUES (-1, -1, -1)"
"""A row of somebody else's."""


@dataclass(frozen=True)
class Change:
    """Something that somebody does to a table."""

    by: tuple[str | Callable[[Stream], object], ...]
    again: bool = False
    """Whether what was staged before has to be staged again."""

    shows: str | None = None
    """What holds for rows that were staged for the table as it is afterwards."""

    showed: str | None = None
    """What holds for rows that were staged before and landed all the same."""

    files: bool = True
    """Whether the files alone tell which rows there are: no deletes are to be applied."""

    def __call__(self, stream: Stream) -> None:
        for step in self.by:
            if callable(step):
                step(stream)
            else:
                stream.sql(step)


def delete_first_row(stream: Stream) -> None:
    first = stream.offsets()[0]
    stream.sql(f"DELETE FROM {{table}} WHERE RECORD_METADATA.offset = {first}")
    stream.gone.add(first)


def publish_audited(stream: Stream) -> None:
    """Write, audit, publish: a snapshot beside the main branch is cherry-picked onto it, after a foreign one."""
    stream.sql("ALTER TABLE {table} SET TBLPROPERTIES ('write.wap.enabled'='true')")
    stream.spark.conf.set("spark.wap.id", stream.topic)
    stream.sql(f"INSERT INTO {{table}} {FOREIGN}")
    stream.spark.conf.unset("spark.wap.id")
    stream.sql(f"INSERT INTO {{table}} {FOREIGN}", f"CALL frazil.system.publish_changes('{{name}}', '{stream.topic}')")


def expire_all(stream: Stream) -> None:
    """Leave one snapshot, of somebody else's, and drop the schemas that only older ones have."""
    table = stream.java()
    for name in table.refs():
        if name != "main":
            change = table.manageSnapshots()
            (change.removeTag if table.refs()[name].isTag() else change.removeBranch)(name).commit()
    stream.sql(f"INSERT INTO {{table}} {FOREIGN}")
    stream.expire()


def require_column(stream: Stream) -> None:
    stream.java().updateSchema().allowIncompatibleChanges().requireColumn("required").commit()


SETTLED = {
    "appended to": Change((f"INSERT INTO {{table}} {FOREIGN}",)),
    "deleted from": Change((delete_first_row,)),
    "branched, tagged and written beside": Change(
        (
            "ALTER TABLE {table} CREATE BRANCH beside",
            "ALTER TABLE {table} CREATE TAG kept",
            f"INSERT INTO {{table}}.branch_beside {FOREIGN}",
        )
    ),
    "fast-forwarded": Change(
        (
            "ALTER TABLE {table} CREATE BRANCH ahead",
            f"INSERT INTO {{table}}.branch_ahead {FOREIGN}",
            "CALL frazil.system.fast_forward('{name}', 'main', 'ahead')",
        )
    ),
    "published to": Change((publish_audited,)),
    "upgraded": Change(("ALTER TABLE {table} SET TBLPROPERTIES ('format-version'='3')",)),
    "deleted from by vectors": Change(
        ("ALTER TABLE {table} SET TBLPROPERTIES ('write.delete.mode'='merge-on-read')", delete_first_row), files=False
    ),
    "compacted": Change(
        (
            "CALL frazil.system.rewrite_data_files(table => '{name}', options => map('rewrite-all', 'true'))",
            "CALL frazil.system.rewrite_manifests('{name}')",
        )
    ),
    "expired": Change((expire_all,)),
    "given a column": Change(
        ("ALTER TABLE {table} ADD COLUMN added BIGINT",), shows="added = seq", showed="added IS NULL"
    ),
    "given a field": Change(
        ("ALTER TABLE {table} ADD COLUMN nested.b BIGINT",),
        shows="nested.b = seq",
        showed="nested.a = seq AND nested.b IS NULL",
    ),
    "widened, relaxed and reordered": Change(
        (
            "ALTER TABLE {table} ALTER COLUMN promoted TYPE BIGINT",
            "ALTER TABLE {table} ALTER COLUMN relaxed DROP NOT NULL",
            "ALTER TABLE {table} ALTER COLUMN seq FIRST",
        ),
        shows="promoted = seq AND relaxed = seq",
    ),
    "deprived of a column": Change(("ALTER TABLE {table} DROP COLUMN dropped",), again=True),
    "given another name for a column": Change(
        ("ALTER TABLE {table} RENAME COLUMN renamed TO moved",), again=True, shows="moved IS NULL"
    ),
    "given another type for a column": Change(
        ("ALTER TABLE {table} DROP COLUMN retyped", "ALTER TABLE {table} ADD COLUMN retyped STRING"),
        again=True,
        shows="retyped = CAST(seq AS STRING)",
    ),
    "sorted": Change(("ALTER TABLE {table} WRITE ORDERED BY seq",), again=True),
    "partitioned": Change(("ALTER TABLE {table} ADD PARTITION FIELD bucket(3, seq) AS part",), again=True),
    "partitioned otherwise": Change(
        ("ALTER TABLE {table} REPLACE PARTITION FIELD part WITH truncate(4, seq) AS part",), again=True
    ),
    "partitioned no longer": Change(("ALTER TABLE {table} DROP PARTITION FIELD part",), again=True),
    "made to require a column": Change((require_column,), again=True, shows="required = seq"),
}
"""What may happen to a table, in an order in which it may happen to one table."""


@pytest.fixture(scope="module", params=WHEN)
def when(request: pytest.FixtureRequest) -> When:
    """Where all the changes of one table happen."""
    return request.param


@pytest.fixture(scope="module")
def stream(when: When, spark: SparkSession, lake: Path, broker: KafkaBroker) -> Iterator[Stream]:
    """One table that goes through all the changes, one cycle each."""
    topic = create_topic(broker.bootstrap_servers, f"changed_{when}")
    connector = Connector.from_properties(
        {
            "name": topic,
            "topics": topic,
            "bootstrap.servers": broker.bootstrap_servers,
            "frazil.home": str(lake),
            "frazil.commit.interval.ms": "100",
            **KAFKA_JSON,
        },
        spark,
    )
    stream = Stream(spark, broker, lake, topic, connector)
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(RECALL_EVERY, 0.2)
        stream.create()
        connector.start()
        stream.land()
        yield stream
        connector.stop()


@pytest.mark.parametrize(
    "change", [pytest.param(change, id=re.sub(r"\W+", "_", name)) for name, change in SETTLED.items()]
)
def test_a_table_is_changed_and_every_record_lands_once(stream: Stream, when: When, change: Change):
    stages: list[None] = []
    with call_at("after_stage", lambda: stages.append(None)):
        stream.change(when, change)
        if when == "idle":
            stream.send()
        caught_up(stream.connector)

    assert str(stream.connector.state) == "RUNNING"
    stream.require_exactly_once(files=change.files)
    staged_before = when in ("after_stage", "before_swap")
    shown = change.showed if staged_before and change.showed else change.shows
    if shown:
        newest = range(stream.sent - BATCH, stream.sent)
        assert stream.offsets(f"RECORD_METADATA.offset >= {newest[0]} AND {shown}") == list(newest)
    assert len(stages) == (2 if staged_before and change.again else 1)
