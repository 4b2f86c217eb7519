"""`frazil dlq` and the commands below it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from frazil.cli.catalogs import opening_ahead
from frazil.cli.options import Format, Home, Worker, home_of

Table = Annotated[str | None, Parameter(help="A table that has an error table.")]
Topic = Annotated[str | None, Parameter(help="A dead-letter topic, instead of a table.")]
Where = Annotated[
    str | None, Parameter(help="A condition in Snowflake's SQL over the error table's columns: \"code = '5030'\".")
]
ConnectorFile = Annotated[
    Path | None, Parameter(help="The connector's file; default the one it was last run with from this home.")
]

dlq = App(name="dlq", help="List, show and replay rejected records.")


@dlq.command(name="list")
def list_(
    *,
    table: Table = None,
    topic: Topic = None,
    where: Where = None,
    connector: ConnectorFile = None,
    worker: Worker = None,
    home: Home = None,
    format: Format = "table",  # noqa: A002 (the option's name)
) -> int:
    """List rejected records by partition and reason, of one table, of all, or of a dead-letter topic."""
    with opening_ahead(home_of(home), worker):
        from frazil.cli.dlq import Given, list_rejects
        from frazil.connector.rejected.desk import Asked

        return list_rejects(Given(home_of(home), connector, worker), Asked(table, topic, where), format)


@dlq.command
def show(
    *,
    table: Table = None,
    topic: Topic = None,
    where: Where = None,
    limit: Annotated[int, Parameter(help="How many records at most.")] = 20,
    connector: ConnectorFile = None,
    worker: Worker = None,
    home: Home = None,
    format: Format = "table",  # noqa: A002 (the option's name)
) -> int:
    """Show rejected records: where each came from, why it was rejected, its key, value and headers."""
    with opening_ahead(home_of(home), worker):
        from frazil.cli.dlq import Given, show_rejects
        from frazil.connector.rejected.desk import Asked

        return show_rejects(Given(home_of(home), connector, worker), Asked(table, topic, where), limit, format)


@dlq.command
def replay(
    *,
    table: Table = None,
    topic: Topic = None,
    where: Where = None,
    dry_run: Annotated[
        bool, Parameter(help="Say what would become of each record, and change nothing.", negative=())
    ] = False,
    connector: ConnectorFile = None,
    worker: Worker = None,
    home: Home = None,
    format: Format = "table",  # noqa: A002 (the option's name)
) -> int:
    """Bring rejected records through the present pipe, each once; exit code 3 where some are rejected again."""
    with opening_ahead(home_of(home), worker):
        from frazil.cli.dlq import Given
        from frazil.cli.dlq_replay import foresee, replay_rejects
        from frazil.connector.rejected.desk import Asked

        do = foresee if dry_run else replay_rejects
        return do(Given(home_of(home), connector, worker), Asked(table, topic, where), format)
