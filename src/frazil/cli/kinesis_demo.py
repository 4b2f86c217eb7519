"""`frazil dev demo --source kinesis`: a local stream that is split and merged, live, with a proof at the end."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyspark.sql import SparkSession
from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table

from frazil.cli.console import people
from frazil.cli.demonstrating import Demonstration, Fact, figures, grid, panel
from frazil.cli.progress import Meter, describe_seconds
from frazil.cli.session import start_spark
from frazil.connector import Connector
from frazil.connector.registry import Registry
from frazil.dev.kinesis import LocalKinesis
from frazil.dev.kinesis.orders_producer import Acknowledged, OrdersToStream
from frazil.dev.kinesis.reshaping import Reshaper
from frazil.dev.stopping import stop_signals
from frazil.sources.kinesis.positions import SHARD_END

STREAM: Final = "orders"
SHARDS: Final = 4
_TABLE: Final = f"frazil.public.{STREAM.upper()}"

_CONNECTOR: Final = """\
name=orders-demo
connector.class=frazil.KinesisConnector
frazil.kinesis.streams={stream}
frazil.kinesis.region={region}
frazil.kinesis.endpoint={endpoint}
frazil.kinesis.access.key.id=local
frazil.kinesis.secret.access.key=local
frazil.home={home}
"""

# An order is judged by what the stream said of it, and by the commit that added the file it is in.
_PROOF: Final = f"""
WITH landed AS (
    SELECT customer_id, customer_order, shard, sequence, entry.sequence_number AS commit
    FROM (
        SELECT customer_id, customer_order, kinesisMetadata.shardId AS shard,
               kinesisMetadata.sequenceNumber AS sequence, _file AS file
        FROM {_TABLE} WHERE startswith(customer_id, :run)
    ) JOIN {_TABLE}.entries AS entry ON entry.data_file.file_path = file AND entry.status < 2
), beside AS (
    SELECT *, lag(sequence) OVER (PARTITION BY customer_id ORDER BY customer_order) AS sequence_before,
           lag(commit) OVER (PARTITION BY customer_id ORDER BY customer_order) AS commit_before
    FROM landed
)
SELECT (SELECT count(*) FROM acknowledged LEFT SEMI JOIN landed USING (customer_id, customer_order, shard, sequence))
           AS arrived,
       count(*) AS of_this_run,
       count_if(lpad(sequence, 128, '0') <= lpad(sequence_before, 128, '0')) AS against_the_stream,
       count_if(commit < commit_before) AS against_commits,
       (SELECT count(*) FROM {_TABLE}) AS all_rows,
       (SELECT count(DISTINCT kinesisMetadata.shardId, kinesisMetadata.sequenceNumber) FROM {_TABLE}) AS places
FROM beside
"""


def run_demo(home: Path, seconds: float, rate: int) -> int:
    """Run the demo; 0 when the proof holds."""
    console = people()
    home = (home / "demo-kinesis").resolve()
    home.mkdir(parents=True, exist_ok=True)
    with stop_signals() as stopping, LocalKinesis(home / "kinesis") as local:
        console.print(f"Kinesis at {local.endpoint}", highlight=False)
        return _Demo(home, local, console, stopping).run(seconds, rate)


class _Demo:
    """One run against a running server. Stream and table stay: a second run goes on where the first ended."""

    def __init__(self, home: Path, local: LocalKinesis, console: Console, stopping: threading.Event) -> None:
        self._shown = Demonstration(home, console, stopping)
        self._file = home / "connector.properties"
        self._file.write_text(_CONNECTOR.format(stream=STREAM, region=local.region, endpoint=local.endpoint, home=home))
        local.provide(STREAM, SHARDS)
        self._run = f"{time.time_ns() // 1_000_000}"
        # Of a request that is repeated, both may have arrived.
        self._client = local.client(retries={"total_max_attempts": 1})
        self._shards = Reshaper(self._client, STREAM)

    def run(self, seconds: float, rate: int) -> int:
        home, console = self._shown.home, self._shown.console
        session = start_spark(home, None, {}, console)
        try:
            connector = Connector.from_properties(self._file, session)
            connector.on_state(Registry(home).recorder(connector.settings, self._file, None))
            console.print(f"Connector from {self._file}", highlight=False)
            meter = Meter(connector)
            self._shown.open(connector)
            try:
                orders = self._produce(meter, seconds, rate)
                caught_up = self._shown.land(connector)
                ended = _ended(connector)
            finally:
                connector.stop()
            return self._prove(session, orders, ended) if caught_up else 1
        finally:
            session.stop()

    def _produce(self, meter: Meter, seconds: float, rate: int) -> Sequence[Acknowledged]:
        producer = OrdersToStream(self._client, STREAM, rate, self._run).start()

        def view(left: float) -> Panel:
            rows = grid(figures(meter, producer.records, rate))
            return panel(Group(rows, "", _shards(meter.connector, self._shards)), left)

        try:
            self._shown.watch(meter.connector, seconds, view, (self._shards.split, self._shards.merge))
        finally:
            orders = producer.stop()
        return orders

    def _prove(self, session: SparkSession, orders: Sequence[Acknowledged], ended: set[str]) -> int:
        with self._shown.console.status("Counting what landed …"):
            columns = zip(*orders, strict=True) if orders else ([], [], [], [])
            names = ("customer_id", "customer_order", "shard", "sequence")
            told = pa.table({name: pa.array(each) for name, each in zip(names, columns, strict=True)})
            session.createDataFrame(told).createOrReplaceTempView("acknowledged")
            counted = session.sql(_PROOF, {"run": f"{self._run}-"}).collect()[0]
        parents = [parent for change in self._shards.changes for parent in change.parents]
        holds = self._shown.prove(
            [
                Fact("orders acknowledged that are in the table (none missing)", len(orders), counted.arrived),
                Fact("rows of this run (none twice)", len(orders), counted.of_this_run),
                Fact("different sequence numbers, of all rows ever", counted.all_rows, counted.places),
                Fact("orders in the stream before an earlier one of their customer", 0, counted.against_the_stream),
                Fact("orders committed before an earlier one of their customer", 0, counted.against_commits),
                Fact("shards split or merged and read to their end", len(parents), len(ended.intersection(parents))),
            ]
        )
        for change in self._shards.changes:
            self._shown.console.print(str(change), highlight=False, soft_wrap=True)
        self._shown.suggest(
            "select kinesisMetadata.shardId, count(*) n, max(kinesisMetadata.approximateArrival) newest "
            f"from {STREAM} group by all order by 1"
        )
        return 0 if holds else 1


def _ended(connector: Connector) -> set[str]:
    """The shards that are read to their end."""
    return {str(each.partition) for each in connector.status() if each.offset_token == SHARD_END}


def _shards(connector: Connector, shards: Reshaper) -> Table:
    """What is so of each shard."""
    closed = {parent for change in shards.changes for parent in change.parents}
    found = Table("shard", "", "rows", "behind", box=None, pad_edge=False, padding=(0, 3, 0, 0))
    channels = {str(each.partition): each for each in connector.status()}
    for shard, channel in sorted(channels.items()):
        ended = channel.offset_token == SHARD_END
        if ended and shard not in closed:
            continue  # in an earlier run
        state = "ended" if ended else "closed" if shard in closed else "open"
        found.add_row(shard, state, f"{channel.rows_inserted:,}", describe_seconds(channel.lag_seconds))
    return found
