"""The commands and their options; what they do is in the module of the same name."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, CycloptsError, Parameter

from frazil import __version__
from frazil.cli import log
from frazil.cli.catalogs import opening_ahead
from frazil.cli.channel_commands import channels
from frazil.cli.console import complain
from frazil.cli.dlq_commands import dlq
from frazil.cli.options import Format, Home, Port, Worker, home_of
from frazil.dev.stopping import stop_signals
from frazil.errors import FrazilError, InvalidConfiguration

FAILED = 1
"""Exit code: something failed, the message says what to do."""

MISCONFIGURED = 2
"""Exit code: the configuration or the command line is wrong."""

app = App(name="frazil", version=__version__, help="Streams into Apache Iceberg tables, exactly once.")
dev = App(name="dev", help="Local servers and a demo on this machine.")
app.command(channels)
app.command(dev)
app.command(dlq)


@app.command
def run(
    connectors: Annotated[list[Path], Parameter(help="Connector files, .properties or JSON.", negative=())],
    *,
    worker: Worker = None,
    until_caught_up: Annotated[
        bool, Parameter(help="Ingest what is there now, commit, and exit.", negative=())
    ] = False,
    timeout: Annotated[
        float | None,
        Parameter(help="Seconds after which --until-caught-up ends in any case, with exit code 4.", negative=()),
    ] = None,
    home: Home = None,
    master: Annotated[str | None, Parameter(help="Spark's master; default all cores of this machine.")] = None,
    set: Annotated[list[str] | None, Parameter(help="key=value that wins over the files.", negative=())] = None,  # noqa: A002 (the option's name)
) -> int:
    """Run connectors in one Spark session until they are stopped."""
    if timeout is not None and not (until_caught_up and 0 < timeout < math.inf):
        reason = "takes a number of seconds above 0, and only together with --until-caught-up"
        raise InvalidConfiguration.single("the command line", "--timeout", reason)
    overrides = _overrides(set, home)
    with stop_signals() as stopping:
        from frazil.cli.run import run_connectors  # takes a second, in which a stop may be asked for

        return run_connectors(
            connectors, worker, overrides, master, stopping, until_caught_up=until_caught_up, timeout=timeout
        )


@app.command
def sql(
    query: Annotated[str | None, Parameter(help="Statements, apart by semicolons; without them, a prompt.")] = None,
    /,
    *,
    file: Annotated[Path | None, Parameter(name=["--file", "-f"], help="A file with statements.")] = None,
    format: Annotated[  # noqa: A002 (the option's name)
        Literal["table", "json", "jsonl", "csv", "parquet"], Parameter(help="How rows are written.")
    ] = "table",
    output: Annotated[Path | None, Parameter(help="The file that gets the rows; default standard output.")] = None,
    home: Home = None,
    worker: Worker = None,
) -> int:
    """Query and define tables in SQL, also while a connector runs; without a text, prompt for it."""
    with opening_ahead(home_of(home), worker):
        from frazil.cli.sql import Wanted, run_sql

        return run_sql(query, file, Wanted(format, output), home_of(home), worker)


@app.command
def pipes(
    *,
    home: Home = None,
    worker: Worker = None,
    format: Format = "table",  # noqa: A002 (the option's name)
) -> int:
    """List the pipes that records come through, and the topics of each."""
    with opening_ahead(home_of(home), worker):
        from frazil.cli.pipes import show_pipes

        return show_pipes(home_of(home), worker, format)


@app.command
def explain(
    name: Annotated[str, Parameter(help="A pipe, or a table for the pipe of its name.")],
    *,
    sample: Annotated[
        Path | None, Parameter(help="A file with a record's JSON document a line; default the topic's last records.")
    ] = None,
    records: Annotated[int, Parameter(help="How many of the last records of each partition.")] = 5,
    home: Home = None,
    worker: Worker = None,
    format: Format = "table",  # noqa: A002 (the option's name)
) -> int:
    """Show what a pipe does, and what it makes of records: rows, or why not. Nothing is written."""
    with opening_ahead(home_of(home), worker):
        from frazil.cli.pipes import explain_pipe

        return explain_pipe(name, sample, records, home_of(home), worker, format)


@app.command
def validate(
    connectors: Annotated[list[Path], Parameter(help="Connector files, .properties or JSON.", negative=())],
    *,
    worker: Worker = None,
    set: Annotated[list[str] | None, Parameter(help="key=value that wins over the files.", negative=())] = None,  # noqa: A002 (the option's name)
    catalog: Annotated[
        bool, Parameter(help="Look at the tables as well: what would stop the connectors there.", negative=())
    ] = False,
    home: Home = None,
) -> int:
    """Check connector files, and with --catalog their tables; list every problem."""
    from frazil.cli.validate import validate_files

    return validate_files(connectors, worker, _overrides(set, home), with_catalog=catalog)


@app.command
def pack(archive: Annotated[Path, Parameter(help="Where it goes; ends in .tar.gz or .tgz.")]) -> int:
    """Pack this Python environment for a cluster's executors."""
    from frazil.cli.pack import pack_environment

    return pack_environment(archive)


@dev.command
def kafka(
    *,
    port: Port = 9092,
    dir: Annotated[Path | None, Parameter(help="Where the broker keeps its records.")] = None,  # noqa: A002 (the option's name)
    fresh: Annotated[bool, Parameter(help="Begin with no topics.", negative=())] = False,
) -> int:
    """Run a real Kafka broker in the foreground."""
    from frazil.dev.command import kafka as run_kafka

    return run_kafka(port, dir, fresh)


@dev.command
def kinesis(
    *,
    port: Port = 4567,
    dir: Annotated[  # noqa: A002 (the option's name)
        Path | None, Parameter(name=["--dir", "--directory"], help="Where the server keeps its records.")
    ] = None,
    fresh: Annotated[bool, Parameter(help="Begin with no streams.", negative=())] = False,
    quotas: Annotated[bool, Parameter(help="Refuse what exceeds AWS's quotas.")] = True,
    stream: Annotated[
        list[str] | None, Parameter(help="A stream that is to be there; made if missing.", negative=())
    ] = None,
    shards: Annotated[int, Parameter(help="How many shards such a stream is made with.")] = 1,
) -> int:
    """Run a Kinesis-compatible server in the foreground."""
    from frazil.dev.kinesis.command import kinesis as run_kinesis

    return run_kinesis(port, dir, stream or (), shards, quotas=quotas, fresh=fresh)


@dev.command
def demo(
    *,
    source: Annotated[Literal["kafka", "kinesis"], Parameter(help="Where the orders come from.")] = "kafka",
    seconds: Annotated[float, Parameter(help="How long to produce and ingest.")] = 30.0,
    rate: Annotated[int, Parameter(help="Orders per second.")] = 2000,
    home: Home = None,
) -> int:
    """Produce orders to a real broker, land them in a table, and prove that none is missing or doubled.

    With --source kinesis, the orders go to a local stream, which is split and merged meanwhile.
    """
    if source == "kinesis":
        from frazil.cli.kinesis_demo import run_demo as run_kinesis_demo

        return run_kinesis_demo(home_of(home), seconds, rate)
    from frazil.cli.demo import run_demo

    return run_demo(home_of(home), seconds, rate)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 done, 1 failed, 2 the configuration is wrong."""
    log.configure()
    try:
        result = app(arguments, exit_on_error=False, print_error=True, result_action="return_value")
        return result if isinstance(result, int) else 0
    except CycloptsError:
        return MISCONFIGURED
    except InvalidConfiguration as error:
        complain(error)
        return MISCONFIGURED
    except FrazilError as error:
        complain(error)
        return FAILED
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read our output (`head`, a pager) has seen enough; Python must not complain about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _overrides(assignments: list[str] | None, home: Path | None) -> dict[str, str]:
    overrides = {}
    for assignment in assignments or ():
        key, equals, value = assignment.partition("=")
        if not equals:
            raise InvalidConfiguration.single("the command line", "--set", f"{assignment!r} is no key=value")
        overrides[key.strip()] = value.strip()
    if home is not None:
        overrides["frazil.home"] = str(home)
    return overrides
