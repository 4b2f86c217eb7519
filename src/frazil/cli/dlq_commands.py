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

Reason = Annotated[str | None, Parameter(help="For the audit in the snapshot's summary and in the log.")]
Yes = Annotated[bool, Parameter(help="Do it; without it, what waits is shown only.", negative=())]
EvenIfOwned = Annotated[bool, Parameter(help="Also if the connector runs: it is fenced.", negative=())]

dlq = App(name="dlq", help="List, show and replay rejected records; deliver or drop those that wait.")


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


@dlq.command
def waiting(
    *,
    table: Annotated[str | None, Parameter(help="Only this table.")] = None,
    worker: Worker = None,
    home: Home = None,
    format: Format = "table",  # noqa: A002 (the option's name)
) -> int:
    """Show rejected records that have not come to all places they go to, and what was set aside as damaged."""
    with opening_ahead(home_of(home), worker):
        from frazil.cli.dlq_waiting import list_waiting

        return list_waiting(home_of(home), worker, table, format)


@dlq.command
def deliver(
    *,
    table: Annotated[str, Parameter(help="The table in whose outbox they wait.")],
    reason: Reason = None,
    yes: Yes = False,
    even_if_owned: EvenIfOwned = False,
    worker: Worker = None,
    home: Home = None,
) -> int:
    """Append rejected records that wait to their error table, each once; exit code 3 where some are damaged."""
    with opening_ahead(home_of(home), worker):
        from frazil.cli.dlq_waiting import Decided, deliver_waiting

        return deliver_waiting(home_of(home), worker, Decided(table, reason, yes, even_if_owned))


@dlq.command
def drop(
    *,
    table: Annotated[str, Parameter(help="The table in whose outbox they wait.")],
    reason: Reason = None,
    yes: Yes = False,
    even_if_owned: EvenIfOwned = False,
    worker: Worker = None,
    home: Home = None,
) -> int:
    """Forget rejected records that wait; their files stay."""
    with opening_ahead(home_of(home), worker):
        from frazil.cli.dlq_waiting import Decided, drop_waiting

        return drop_waiting(home_of(home), worker, Decided(table, reason, yes, even_if_owned))
