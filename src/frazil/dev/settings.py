"""The `server.properties` and logging of a local single-node broker (KRaft: broker and controller in one process)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from javaproperties import join_key_value

from frazil.dev.ports import LOOPBACK

LOGGING = """\
rootLogger.level = INFO
rootLogger.appenderRef.out.ref = out
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d %p %c{1}: %m%n
"""


def server_properties(port: int, controller_port: int, data: Path) -> dict[str, str]:
    """The broker's configuration."""
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@{LOOPBACK}:{controller_port}",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://{LOOPBACK}:{port},CONTROLLER://{LOOPBACK}:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://{LOOPBACK}:{port}",
        "log.dirs": str(data),
        "auto.create.topics.enable": "false",
        "group.initial.rebalance.delay.ms": "0",
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "transaction.state.log.num.partitions": "1",
        # The default, 128 MB, is a quarter of the heap.
        "log.cleaner.dedupe.buffer.size": str(16 * 1024 * 1024),
    }


def behind(proxy: str, address: str, others: Mapping[str, str]) -> dict[str, str]:
    """Broker settings that add to `others` a listener at `address`, whose clients come through `proxy`."""
    protocols = "listener.security.protocol.map"
    return {
        "listeners": f"{others['listeners']},PROXIED://{address}",
        "advertised.listeners": f"{others['advertised.listeners']},PROXIED://{proxy}",
        protocols: f"{others.get(protocols, 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT')},PROXIED:PLAINTEXT",
    }


def as_properties(settings: Mapping[str, str]) -> str:
    """Write `settings` so that `java.util.Properties` reads them back unchanged."""
    return "".join(f"{join_key_value(key, value)}\n" for key, value in settings.items())
