"""`frazil dlq replay`: rejected records through the present pipe, or what would become of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final, Literal

import orjson
from rich.console import Console
from rich.table import Table as RichTable

from frazil.cli.console import people
from frazil.cli.dlq import Given, open_rejects, require_sense, wide, write_json
from frazil.cli.visible import cell
from frazil.connector.rejected.desk import Asked
from frazil.connector.rejected.replaying import Fate, Replayer, ReplayOutcome
from frazil.model import Reject

STAYED: Final = 3
"""Exit code: done, but some of the records are not in their table."""

_SHOWN: Final = 100
"""Records and reasons that are shown to people."""

_FATES: Final = {"replayed": "was replayed before", "waiting": "its connector brings it itself"}


def replay_rejects(given: Given, asked: Asked, format: Literal["table", "json"]) -> int:  # noqa: A002 (the option's name)
    """Replay rejected records and print what became of them."""
    require_sense(asked, one=True)
    console = people()
    done = ReplayOutcome()
    with open_rejects(given, console, to_write=True) as desk, console.status("Replaying rejected records …") as status:
        for done in Replayer(desk).replay(asked):
            status.update(f"Replaying rejected records: {done.replayed} done, {len(done.rejected)} rejected again …")
    if format == "json":
        write_json({**_counts(done), "rejected_again": [_again(each) for each in done.rejected]})
    else:
        _print(done, wide())
    return STAYED if done.rejected or done.waiting or done.unknown else 0


def foresee(given: Given, asked: Asked, format: Literal["table", "json"]) -> int:  # noqa: A002 (the option's name)
    """Print what would become of rejected records; exit codes as if they had been replayed."""
    require_sense(asked, one=True)
    console = people()
    done, fates = ReplayOutcome(), list[Fate]()
    with open_rejects(given, console, to_write=False) as desk, console.status("Trying rejected records …") as status:
        for each in Replayer(desk).foresee(asked):
            if isinstance(each, ReplayOutcome):
                done = each
            else:
                fates.append(each)
                status.update(f"Trying rejected records: {len(fates)} tried …")
    counts = Counter(each.fate for each in fates)
    if format == "json":
        write_json({"unknown": done.unknown, "records": [_fate(each) for each in fates]})
    else:
        _print_fates(fates, counts, done.unknown, wide())
    return STAYED if counts["reject"] or counts["waiting"] or done.unknown else 0


def _print(done: ReplayOutcome, output: Console) -> None:
    if done.rejected:
        output.print(_reasons(done.rejected))
    output.print(f"{done.replayed} replayed, {len(done.rejected)} rejected again, {done.already} replayed before.")
    _print_left(done.waiting, done.unknown, output)


def _print_left(waiting: int, unknown: int, output: Console) -> None:
    if waiting:
        output.print(f"{waiting} are behind the connector's token: it reads them itself.")
    if unknown:
        output.print(
            f"Of {unknown} nothing says where they come from: set errors.deadletterqueue.context.headers.enable=true."
        )


def _reasons(rejected: Iterable[Reject]) -> RichTable:
    table = RichTable("rejected again", "code", "column", "reason", "first")
    counts = Counter((each.code, each.column, each.reason) for each in rejected)
    first: dict[tuple[str, str | None, str], Reject] = {}
    for each in rejected:
        first.setdefault((each.code, each.column, each.reason), each)
    for key, count in counts.most_common(_SHOWN):
        code, column, reason = key
        place = f"{first[key].partition}, offset {first[key].offset}"
        table.add_row(*map(cell, (str(count), code, column or "–", reason, place)))
    return table


def _print_fates(fates: list[Fate], counts: Counter[str], unknown: int, output: Console) -> None:
    table = RichTable("table", "record", "becomes")
    for each in fates[:_SHOWN]:
        partition, offset = each.place
        table.add_row(*map(cell, (each.table, f"{partition}, offset {offset}", _becomes(each))))
    if fates:
        output.print(table)
    if len(fates) > _SHOWN:
        output.print(f"These are the first {_SHOWN} of {len(fates)}; --format json has all of them.")
    told = {"row": "rows", "reject": "rejected again", "left out": "left out", "replayed": "replayed before"}
    output.print(", ".join(f"{counts[fate]} {text}" for fate, text in told.items()) + ".")
    _print_left(counts["waiting"], unknown, output)
    output.print("Nothing was changed: this was a dry run.")


def _becomes(fate: Fate) -> str:
    trial = fate.trial
    if trial is None:
        return _FATES[fate.fate]
    if trial.reject is not None:
        return f"reject: {trial.reject.column + ': ' if trial.reject.column else ''}{trial.reject.reason}"
    if trial.changes:
        return f"a row, once the table has {', '.join(trial.changes)}"
    return "left out" if trial.row is None else ", ".join(f"{name} = {text}" for name, text in trial.row.items())


def _counts(done: ReplayOutcome) -> dict[str, Any]:
    return {
        "replayed": done.replayed,
        "replayed_before": done.already,
        "waiting": done.waiting,
        "unknown": done.unknown,
        "commits": [{"table": table, "snapshot": snapshot} for table, snapshot in done.snapshots],
    }


def _again(reject: Reject) -> dict[str, Any]:
    return {
        "topic": reject.partition.topic,
        "partition": reject.partition.partition,
        "offset": reject.offset,
        "stage": reject.stage,
        "code": reject.code,
        "column": reject.column,
        "reason": reject.reason,
    }


def _fate(fate: Fate) -> dict[str, Any]:
    partition, offset = fate.place
    trial, reject = fate.trial, fate.trial.reject if fate.trial else None
    row = trial.row if trial else None
    return {
        "table": fate.table,
        "topic": partition.topic,
        "partition": partition.partition,
        "offset": offset,
        "becomes": fate.fate,
        "row": None if row is None else {name: orjson.Fragment(text) for name, text in row.items()},
        "changes": list(trial.changes) if trial else [],
        "column": reject.column if reject else None,
        "reason": reject.reason if reject else None,
    }
