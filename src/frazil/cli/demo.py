"""`frazil dev demo`: the main job against a real broker, live, with a proof at the end."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import stamina
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession
from rich.console import Console
from rich.panel import Panel

from frazil.cli.console import people
from frazil.cli.demonstrating import Demonstration, Fact, figures, grid, panel
from frazil.cli.progress import Meter
from frazil.cli.session import start_spark
from frazil.connector import Connector
from frazil.connector.registry import Registry
from frazil.dev.kafka import KafkaBroker
from frazil.dev.orders_producer import OrderProducer
from frazil.dev.stopping import stop_signals
from frazil.errors import Transient
from frazil.model import SourcePartition
from frazil.sources.kafka.source import KafkaSource

TOPIC = "orders"
PARTITIONS = 4

_CONNECTOR = """\
name=orders-demo
connector.class=com.snowflake.kafka.connector.SnowflakeStreamingSinkConnector
topics={topic}
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
        self._shown = Demonstration(home, console, stopping)
        self._servers = broker.bootstrap_servers
        self._file = home / "connector.properties"
        self._file.write_text(_CONNECTOR.format(topic=TOPIC, servers=self._servers, home=home))

    def run(self, seconds: float, rate: int) -> int:
        self._create_topic()
        before = self._records_in_topic()
        home, console = self._shown.home, self._shown.console
        session = start_spark(home, None, {}, console)
        try:
            connector = Connector.from_properties(self._file, session)
            connector.on_state(Registry(home).recorder(connector.settings, self._file, None))
            console.print(f"Connector from {self._file}", highlight=False)
            meter = Meter(connector)
            self._shown.open(connector)
            producer = OrderProducer(self._servers, TOPIC, rate, first=before, seed=before).start()

            def view(left: float) -> Panel:
                return panel(grid(figures(meter, producer.totals().records, rate)), left)

            try:
                self._shown.watch(connector, seconds, view)
            finally:
                produced = producer.stop()
            try:
                caught_up = self._shown.land(connector)
            finally:
                connector.stop()
            return self._prove(session, before, produced.records) if caught_up else 1
        finally:
            session.stop()

    def _prove(self, session: SparkSession, before: int, produced: int) -> int:
        in_topic = self._records_in_topic()
        with self._shown.console.status("Counting what landed …"):
            counted: dict[str, Any] = (
                session.sql(
                    "SELECT count(*) AS all_rows, "
                    "count(DISTINCT RECORD_METADATA.partition, RECORD_METADATA.offset) AS places, "
                    f"count(DISTINCT order_id) AS orders FROM frazil.public.{TOPIC.upper()}"
                )
                .collect()[0]
                .asDict()
            )
        holds = self._shown.prove(
            [
                Fact("orders acknowledged by the broker in this run", in_topic - before, produced),
                Fact("rows in the table = records in the topic (none missing)", in_topic, counted["all_rows"]),
                Fact("different partitions and offsets (none twice)", in_topic, counted["places"]),
                Fact("different orders", in_topic, counted["orders"]),
            ]
        )
        self._shown.suggest(
            f"select status, count(*) n, round(sum(order_total)) total from {TOPIC} group by status order by n desc"
        )
        return 0 if holds else 1

    def _create_topic(self) -> None:
        admin = AdminClient({"bootstrap.servers": self._servers})
        if TOPIC not in admin.list_topics(timeout=10).topics:
            for future in admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)]).values():
                try:
                    future.result()
                except KafkaException as error:
                    self._shown.console.print(f"The topic {TOPIC} was not created: {error}", style="red")
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
