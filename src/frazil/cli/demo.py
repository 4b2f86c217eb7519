"""`frazil dev demo`: the main job against a real broker, live, with a proof at the end."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import stamina
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession
from rich.console import Console
from rich.live import Live
from rich.panel import Panel
from rich.table import Table

from frazil.cli.console import people
from frazil.cli.progress import Meter, describe_seconds, describe_state
from frazil.cli.session import start_spark
from frazil.cli.visible import cell
from frazil.connector import Connector, State
from frazil.connector.registry import Registry
from frazil.connector.states import ENDED
from frazil.dev.command import stop_signals
from frazil.dev.kafka import KafkaBroker
from frazil.dev.orders_producer import OrderProducer
from frazil.errors import Transient
from frazil.model import SourcePartition
from frazil.sources.kafka.source import KafkaSource

TOPIC = "orders"
PARTITIONS = 4
_CATCH_UP = 60.0
"""Seconds the connector may take to land what was produced last."""

_CONNECTOR = """\
name=orders-demo
connector.class=com.snowflake.kafka.connector.SnowflakeStreamingSinkConnector
topics={topic}
snowflake.topic2table.map={topic}:{topic}
key.converter=org.apache.kafka.connect.storage.StringConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
value.converter.schemas.enable=false
bootstrap.servers={servers}
frazil.home={home}
"""


def run_demo(home: Path, seconds: float, rate: int) -> int:
    """Run the demo; 0 when the proof holds."""
    console = people()
    # A broker that is not ready yet is asked again, and that is no news to anybody.
    stamina.instrumentation.set_on_retry_hooks([])
    home = (home / "demo").resolve()
    home.mkdir(parents=True, exist_ok=True)
    with stop_signals() as stopping:
        with console.status("Starting a Kafka broker …") as status:
            broker = KafkaBroker(home / "kafka", progress=lambda line: status.update(f"{line} …"))
            broker.start()
        try:
            console.print(f"Kafka broker at {broker.bootstrap_servers}", highlight=False)
            return _Demo(home, broker, console, stopping).run(seconds, rate)
        finally:
            broker.stop()


class _Demo:
    """One run against a running broker. Topic and table stay: a second run goes on where the first ended."""

    def __init__(self, home: Path, broker: KafkaBroker, console: Console, stopping: threading.Event) -> None:
        self._home = home
        self._servers = broker.bootstrap_servers
        self._console = console
        self._stopping = stopping
        self._file = home / "connector.properties"
        self._file.write_text(_CONNECTOR.format(topic=TOPIC, servers=self._servers, home=home))

    def run(self, seconds: float, rate: int) -> int:
        self._create_topic()
        before = self._records_in_topic()
        session = start_spark(self._home, None, {}, self._console)
        try:
            connector = Connector.from_properties(self._file, session)
            connector.on_state(Registry(self._home).recorder(connector.settings, self._file, None))
            self._console.print(f"Connector from {self._file}", highlight=False)
            meter = Meter(connector)
            self._open(connector)
            producer = OrderProducer(self._servers, TOPIC, rate, first=before, seed=before).start()
            try:
                self._watch(meter, producer, seconds, rate)
            finally:
                produced = producer.stop()
            if not self._land(connector):
                return 1
            return self._prove(session, before, produced.records)
        finally:
            session.stop()

    def _open(self, connector: Connector) -> None:
        connector.start()
        with self._console.status("Opening the table …"):
            while connector.state == State.OPENING and not self._stopping.wait(0.1):
                pass

    def _watch(self, meter: Meter, producer: OrderProducer, seconds: float, rate: int) -> None:
        ends = time.monotonic() + seconds
        with Live(console=self._console, refresh_per_second=4, transient=not self._console.is_terminal) as live:
            while time.monotonic() < ends and meter.connector.state not in ENDED and not self._stopping.wait(0.25):
                left = max(0, round(ends - time.monotonic()))
                live.update(_panel(meter, producer, rate, left))

    def _land(self, connector: Connector) -> bool:
        """Let the connector finish, and stop it; whether everything is in the table."""
        with self._console.status("Landing the last records …"):
            try:
                caught_up = connector.wait_until_caught_up(_CATCH_UP)
            finally:
                connector.stop()
        if not caught_up:
            self._console.print(f"The table is not caught up after {_CATCH_UP:.0f} s.", style="red")
        return caught_up

    def _prove(self, session: SparkSession, before: int, produced: int) -> int:
        in_topic = self._records_in_topic()
        with self._console.status("Counting what landed …"):
            counted: dict[str, Any] = (
                session.sql(
                    "SELECT count(*) AS all_rows, "
                    "count(DISTINCT RECORD_METADATA.partition, RECORD_METADATA.offset) AS places, "
                    f"count(DISTINCT order_id) AS orders FROM frazil.public.{TOPIC.upper()}"
                )
                .collect()[0]
                .asDict()
            )
        table = Table("proof", "expected", "found", "", box=None, pad_edge=False)
        facts = [
            ("orders acknowledged by the broker in this run", in_topic - before, produced),
            ("rows in the table = records in the topic (none missing)", in_topic, counted["all_rows"]),
            ("different partitions and offsets (none twice)", in_topic, counted["places"]),
            ("different orders", in_topic, counted["orders"]),
        ]
        for name, expected, found in facts:
            table.add_row(name, f"{expected:,}", f"{found:,}", "[green]✓" if expected == found else "[red]✗")
        self._console.print(table)
        query = f"select status, count(*) n, round(sum(order_total)) total from {TOPIC} group by status order by n desc"
        self._console.print("\nAsk it something:")
        self._console.print(f'  .venv/bin/frazil sql --home {self._home} "{query}"', highlight=False, soft_wrap=True)
        return 0 if all(expected == found for _, expected, found in facts) else 1

    def _create_topic(self) -> None:
        admin = AdminClient({"bootstrap.servers": self._servers})
        if TOPIC not in admin.list_topics(timeout=10).topics:
            for future in admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)]).values():
                try:
                    future.result()
                except KafkaException as error:
                    self._console.print(f"The topic {TOPIC} was not created: {error}", style="red")
                    raise

    @stamina.retry(on=Transient, timeout=20.0)
    def _records_in_topic(self) -> int:
        source = KafkaSource(
            {"bootstrap.servers": self._servers}, "frazil-demo", (TOPIC,), None, "earliest", "read_uncommitted"
        )
        try:
            return sum(
                end.offset for end in source.ends([SourcePartition(TOPIC, n) for n in range(PARTITIONS)]).values()
            )
        finally:
            source.close()


def _panel(meter: Meter, producer: OrderProducer, rate: int, left: int) -> Panel:
    records, size = meter.rates()
    produced = producer.totals().records
    waiting = max(0, produced - meter.records)
    grid = Table.grid(padding=(0, 3))
    rows = [
        ("produced", f"{produced:,} orders at {rate:,}/s"),
        ("landed", f"{meter.rows:,} rows in {meter.files:,} files"),
        ("throughput", f"{records:,.0f} records/s, {size / 1e6:.1f} MB/s"),
        ("lag", f"{waiting:,} records, {describe_seconds(meter.age() if waiting else 0.0)}"),
        (
            "latency",
            f"p50 {describe_seconds(meter.latency(0.5))}, p95 {describe_seconds(meter.latency(0.95))} to the snapshot",
        ),
        ("snapshot", str(meter.snapshot or "–")),
        ("state", describe_state(meter.connector)),
    ]
    for name, value in rows:
        grid.add_row(f"[dim]{name}", cell(value))
    return Panel(grid, title="orders → frazil.public.ORDERS", subtitle=f"{left} s left, Ctrl-C ends it", width=96)
