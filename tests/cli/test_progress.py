"""What people see of connectors that ran."""

from __future__ import annotations

import io

from rich.console import Console
from structlog.testing import capture_logs
from tests.cycle.memory import World, settings
from tests.memory import MemoryCatalog, MemoryRecord, connector

from frazil.cli.progress import Progress
from frazil.config import load


def landed(*topics: str) -> list[dict[str, object]]:
    """The lines logged when connectors on topics of three records, and a tombstone in the last one, have ended."""
    world = World()
    for topic in topics:
        world.cluster.create_topic(topic)
        world.produce(3, topic=topic)
    world.cluster.topics[topics[-1]].logs[0].append(MemoryRecord(None))
    keys = {"topics": ",".join(topics), "behavior.on.null.values": "ignore", "frazil.cycle.max.bytes": "1048576"}
    found = connector(settings(**keys), world.cluster, world.catalog)
    progress = Progress(Console(file=io.StringIO()))
    progress.watch(found)
    with capture_logs() as lines, progress:
        found.start(until_caught_up=True)
        assert found.wait(30)
        world.produce(2, topic=topics[0])
        found.start(until_caught_up=True)
        assert found.wait(30)
    return [dict(line) for line in lines if line["event"] in ("progress", "landed")]


def test_the_end_of_a_run_says_what_became_of_each_of_several_tables() -> None:
    total, orders, returns = landed("orders", "returns")

    assert (total["event"], total["rows"]) == ("progress", 8)
    facts = ("table", "records", "rows", "rejected", "skipped", "files")
    assert [orders[each] for each in facts] == ["public.ORDERS", 5, 5, 0, 0, 2]
    assert [returns[each] for each in facts] == ["public.RETURNS", 4, 3, 0, 1, 1]


def test_lines_of_a_connector_on_a_stream_say_as_whom_it_reads() -> None:
    keys = {"frazil.kinesis.streams": "orders", "frazil.kinesis.region": "eu-central-1"}
    named = {"name": "shop", "frazil.kinesis.application.name": "Shop's"}
    found = load({"connector.class": "frazil.KinesisConnector", **named, **keys})
    progress = Progress(Console(file=io.StringIO()))
    progress.watch(connector(found, World().cluster, MemoryCatalog()))

    with capture_logs() as lines, progress:
        pass

    assert [(line["connector"], line["application"]) for line in lines] == [("shop", "Shop's")]
    assert "application" not in landed("orders")[0]


def test_of_a_single_table_the_total_says_it_all() -> None:
    assert [line["event"] for line in landed("orders")] == ["progress"]
