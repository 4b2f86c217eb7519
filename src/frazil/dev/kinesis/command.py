"""The `frazil dev kinesis` command, as a plain function."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from frazil.dev.directory import empty
from frazil.dev.kinesis.failures import Refused
from frazil.dev.kinesis.server import RECORDS, LocalKinesis
from frazil.dev.stopping import stop_signals
from frazil.errors import InvalidConfiguration


def kinesis(
    port: int = 4567,
    directory: Path | None = None,
    streams: Sequence[str] = (),
    shards: int = 1,
    *,
    quotas: bool = True,
    fresh: bool = False,
) -> int:
    """Run a local stream in the foreground until Ctrl-C or SIGTERM.

    Args:
        port: The port of 127.0.0.1 to listen on; 0 picks a free one.
        directory: Where it keeps its records; `kinesis` under FRAZIL_HOME (`./frazil-data`) when not given.
        streams: Names of streams that are made if they are not there.
        shards: How many shards each of those has.
        quotas: Whether what exceeds AWS's quotas is refused.
        fresh: Begin with no streams: empty the directory first.

    Returns:
        The exit status, 0.

    Raises:
        PortInUse: somebody else listens on the port.
        DirectoryInUse: a server already runs on `directory`.
        DirectoryUnusable: records cannot be kept in `directory`.
        NotABrokerDirectory: `directory` is to be emptied and holds something else.
        InvalidConfiguration: there cannot be a stream of such a name, or with so many shards.
    """
    where = directory or Path(os.environ.get("FRAZIL_HOME") or "frazil-data") / "kinesis"
    if fresh:
        empty(where, RECORDS)
    with LocalKinesis(where, port=port, quotas=quotas) as local, stop_signals() as stopped:
        for name in streams:
            _provide(local, name, shards)
        print(f"Kinesis is ready at {local.endpoint}; records in {where}. Ctrl-C stops it.", flush=True)
        print(
            "boto3 and the AWS CLI use it after: "
            f"export AWS_ENDPOINT_URL_KINESIS={local.endpoint} AWS_DEFAULT_REGION={local.region} "
            "AWS_ACCESS_KEY_ID=local AWS_SECRET_ACCESS_KEY=local",
            flush=True,
        )
        stopped.wait()
        Console(stderr=True).print("stopping", style="dim")
    return 0


def _provide(local: LocalKinesis, name: str, shards: int) -> None:
    try:
        local.provide(name, shards)
    except Refused as refused:
        text = f"{name!r} with --shards {shards} cannot be made: {refused.message.rstrip('.')}. Correct it."
        raise InvalidConfiguration.single("the command line", "--stream", text) from refused
