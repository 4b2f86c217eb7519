"""`frazil channels` and the commands below it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from frazil.cli.catalogs import opening_ahead
from frazil.cli.options import Format, Home, Worker, home_of

DryRun = Annotated[bool, Parameter(help="Show what would change, and change nothing.", negative=())]
EvenIfOwned = Annotated[bool, Parameter(help="Also if the connector runs; it is fenced then.", negative=())]

channels = App(name="channels")


@channels.default
def show(
    *,
    watch: Annotated[bool, Parameter(help="Look again every two seconds, until Ctrl-C.", negative=())] = False,
    home: Home = None,
    worker: Worker = None,
    format: Format = "table",  # noqa: A002 (the option's name)
) -> int:
    """Show every channel: its offset token, lag and counts, whether a connector runs or not."""
    with opening_ahead(home_of(home), worker):
        from frazil.cli.channels import show_channels

        return show_channels(home_of(home), worker, format, watch=watch)


@channels.command
def reset(
    name: Annotated[str, Parameter(help="A channel, or a connector for all of its channels.")],
    *,
    to_earliest: Annotated[bool, Parameter(help="Go on at the first record there is.", negative=())] = False,
    to_latest: Annotated[bool, Parameter(help="Go on with records that come from now on.", negative=())] = False,
    to_offset: Annotated[int | None, Parameter(help="Go on at this offset.")] = None,
    to_time: Annotated[
        str | None, Parameter(help="Go on at the first record of this time: ISO 8601, or ms since the epoch.")
    ] = None,
    topic: Annotated[str | None, Parameter(help="Only the connector's channels of this topic.")] = None,
    table: Annotated[str | None, Parameter(help="Only in this table.")] = None,
    reason: Annotated[str | None, Parameter(help="For the audit in the snapshot's summary.")] = None,
    dry_run: DryRun = False,
    even_if_owned: EvenIfOwned = False,
    connector: Annotated[
        Path | None, Parameter(help="The connector's file; default the one it was last run with from this home.")
    ] = None,
    worker: Worker = None,
    home: Home = None,
    format: Format = "table",  # noqa: A002 (the option's name)
) -> int:
    """Set channels to other offsets: records before them are skipped, those behind are read again."""
    with opening_ahead(home_of(home), worker):
        from frazil.cli.reset import reset_channels, where_of
        from frazil.connector.brokers import Brokers
        from frazil.connector.resetting import Wanted

        where = where_of(earliest=to_earliest, latest=to_latest, offset=to_offset, time=to_time)
        wanted, brokers = Wanted(name, topic, table), Brokers(connector, worker)
        return reset_channels(
            home_of(home), brokers, worker, wanted, where, reason, dry=dry_run, force=even_if_owned, format=format
        )


@channels.command
def adopt(
    table: Annotated[str, Parameter(help="The table that is to have the tokens.")],
    *,
    name: Annotated[str | None, Parameter(help="Whose tokens, where there are several connectors'.")] = None,
    source: Annotated[
        str | None, Parameter(name="--from", help="The table that has the tokens; default what TABLE brought along.")
    ] = None,
    snapshot: Annotated[
        int | None, Parameter(help="The snapshot of --from that was copied; default its current one.")
    ] = None,
    dry_run: DryRun = False,
    even_if_owned: EvenIfOwned = False,
    worker: Worker = None,
    home: Home = None,
    format: Format = "table",  # noqa: A002 (the option's name)
) -> int:
    """Let a table that was copied, restored or replaced take over the tokens that belong to its rows."""
    with opening_ahead(home_of(home), worker):
        from frazil.cli.adopt import adopt_table
        from frazil.connector.adopting import AdoptedTable

        taken = AdoptedTable(source, snapshot)
        return adopt_table(home_of(home), worker, table, taken, name, dry=dry_run, force=even_if_owned, format=format)


@channels.command
def prune(
    name: Annotated[str, Parameter(help="A connector.")],
    *,
    topic: Annotated[str | None, Parameter(help="Only this topic.")] = None,
    table: Annotated[str | None, Parameter(help="Only in this table.")] = None,
    reason: Annotated[str | None, Parameter(help="For the audit in the snapshot's summary.")] = None,
    dry_run: DryRun = False,
    even_if_owned: EvenIfOwned = False,
    connector: Annotated[
        Path | None, Parameter(help="The connector's file; default the one it was last run with from this home.")
    ] = None,
    worker: Worker = None,
    home: Home = None,
    format: Format = "table",  # noqa: A002 (the option's name)
) -> int:
    """Drop the tokens of topics that no longer exist, which a connector does by itself after a month."""
    with opening_ahead(home_of(home), worker):
        from frazil.cli.prune import prune_channels
        from frazil.connector.brokers import Brokers
        from frazil.connector.resetting import Wanted

        wanted, brokers = Wanted(name, topic, table), Brokers(connector, worker)
        return prune_channels(
            home_of(home), brokers, worker, wanted, reason, dry=dry_run, force=even_if_owned, format=format
        )


@channels.command(name="import")
def import_(
    *,
    connector: Annotated[Path, Parameter(help="The file of the connector that is to go on, one for Kinesis.")],
    from_kcl: Annotated[
        str | None, Parameter(help="A table of leases in DynamoDB, of Amazon's client library.")
    ] = None,
    from_openflow: Annotated[
        str | None, Parameter(help="A table of Openflow's in DynamoDB, of the present kind.")
    ] = None,
    stream: Annotated[str | None, Parameter(help="Whose leases they are, where the connector reads several.")] = None,
    yes: Annotated[bool, Parameter(help="Write the tokens; without it, they are shown only.", negative=())] = False,
    force: Annotated[
        bool,
        Parameter(help="Also set channels back that are ahead, and go on without shards that are gone.", negative=()),
    ] = False,
    even_if_owned: EvenIfOwned = False,
    reason: Annotated[str | None, Parameter(help="For the audit in the snapshot's summary.")] = None,
    worker: Worker = None,
    home: Home = None,
    format: Format = "table",  # noqa: A002 (the option's name)
) -> int:
    """Have channels go on where the checkpoints of the KCL or of Openflow are, also before the first start."""
    from frazil.cli.importing import import_checkpoints, which
    from frazil.connector.taking_over import Consent

    keeper, table = which(from_kcl, from_openflow)
    consent = Consent(loss=force, fencing=even_if_owned)
    return import_checkpoints(
        connector, worker, home, keeper, table, stream, reason, consent, writes=yes, format=format
    )


@channels.command
def release(
    *,
    connector: Annotated[Path, Parameter(help="The file of the connector, one for Kinesis.")],
    worker: Worker = None,
    home: Home = None,
    format: Format = "table",  # noqa: A002 (the option's name)
) -> int:
    """Deregister the consumers of a connector that is stopped for good: they cost money until then."""
    from frazil.cli.release import release_consumers

    return release_consumers(connector, worker, home, format=format)
