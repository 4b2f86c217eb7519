"""The `frazil dev` commands, as plain functions."""

from __future__ import annotations

import os
from pathlib import Path

from rich.console import Console

from frazil.dev.directory import empty
from frazil.dev.errors import BrokerFailed
from frazil.dev.kafka import KafkaBroker, tail
from frazil.dev.stopping import stop_signals

LOOKED_AFTER = 0.5
"""Seconds between two looks at whether the broker still runs."""


def kafka(port: int = 9092, directory: Path | None = None, fresh: bool = False) -> int:
    """Run a local Kafka broker in the foreground until Ctrl-C or SIGTERM.

    Args:
        port: The port of 127.0.0.1 to listen on; 0 picks a free one.
        directory: Where it keeps its records; `kafka` under FRAZIL_HOME (`./frazil-data`) when not given.
        fresh: Begin with no topics: empty the directory first.

    Returns:
        The exit status, 0.

    Raises:
        PortInUse: somebody else listens on the port.
        DirectoryInUse: a broker already runs on `directory`.
        BrokerFailed: the broker did not start, or ended by itself.
        NotABrokerDirectory: `directory` is to be emptied and holds something else.
    """
    said = Console(stderr=True)
    where = directory or Path(os.environ.get("FRAZIL_HOME") or "frazil-data") / "kafka"
    if fresh:
        empty(where)
    broker = KafkaBroker(where, port, progress=lambda line: said.print(line, highlight=False, style="dim"))
    with broker, stop_signals() as stopped:
        print(f"Kafka is ready at {broker.bootstrap_servers}; records in {where}. Ctrl-C stops it.", flush=True)
        while broker.running and not stopped.wait(LOOKED_AFTER):
            pass
        if stopped.is_set():
            said.print("stopping the broker", style="dim")
    if not stopped.is_set():
        raise BrokerFailed("ended by itself", broker.log, tail(broker.log))
    return 0
