"""Judge the table at the end: rows and files by the oracle, against the census of the topic; rejects one by one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb
from tests.soak import census
from tests.soak.census import Census
from tests.soak.habitat import STEADY, TOPIC, Habitat
from tests.soak.tally import Judgement
from tests.soak.troubles import Others

from frazil.testing import iceberg
from frazil.testing.oracle import verify
from frazil.testing.report import OracleReport


def judge(habitat: Habitat, others: Others, acknowledged: Path) -> Judgement:
    """Compare the table with the topic and with what was acknowledged; nothing must be running any more."""
    taken = census.take(habitat.broker.bootstrap_servers, TOPIC, STEADY + 1)
    metadata = iceberg.current_metadata(habitat.home / "catalog.db", "public", "SOAK")
    report = verify(metadata, habitat.key, TOPIC, gaps=taken.without_row(), wal=acknowledged)
    rejects = _rejects(iceberg.token_document(iceberg.read_metadata(metadata), habitat.key))
    counts = taken.counts()
    return Judgement(
        records=counts[census.GOOD],
        rows=report.rows,
        lost=sum(len({*each.missing, *each.lost}) for each in report.partitions) + _behind(report, taken),
        twice=sum(len(each.duplicated) for each in report.partitions),
        harmed=(*_harm(report), *_reject_harm(rejects, taken), *_harm_to_others(others)),
        unfit=counts[census.UNFIT],
        rejects=rejects.total(),
        tombstones=counts[census.TOMBSTONE],
        gaps=counts[census.GAP],
    )


def _behind(report: OracleReport, taken: Census) -> int:
    """How many offsets lie behind the tokens, although all was to be landed."""
    tokens = {each.partition: each.token for each in report.partitions}
    ends = {place: len(kinds) for place, kinds in taken.kinds.items()}
    return sum(end - 1 - (-1 if (token := tokens.get(place)) is None else token) for place, end in ends.items())


def _harm(report: OracleReport) -> Iterator[str]:
    yield from report.file_faults
    for each in report.partitions:
        for what in ("out of order", "bad hash", "unexpected"):
            if at := each.faults.get(what):
                yield f"partition {each.partition}: {len(at)} {what}, the first at offset {at[0]}"


def _rejects(tokens: Mapping[str, Any]) -> Counter[tuple[int, int]]:
    """Partition and offset of every reject in the files that the tokens name, by way of their lists."""
    files = []
    path = tokens["rejects"]
    while path is not None:
        listed = json.loads(iceberg.local(path).read_text())
        files += [str(iceberg.local(each)) for each in listed["files"]]
        path = listed["previous"]
    if not files:
        return Counter()
    query = 'SELECT "partition", "offset" FROM read_parquet(?)'
    with duckdb.connect() as database:
        return Counter(database.execute(query, [files]).fetchall())


def _reject_harm(rejects: Counter[tuple[int, int]], taken: Census) -> Iterator[str]:
    unfit = {(place, at) for place, offsets in taken.offsets(census.UNFIT).items() for at in offsets}
    if missing := unfit - rejects.keys():
        yield f"{len(missing)} unfit records are in no reject file: {sorted(missing)[:3]}"
    if wrong := rejects.keys() - unfit:
        yield f"{len(wrong)} rejects are of no unfit record: {sorted(wrong)[:3]}"
    if doubled := [where for where, count in rejects.items() if count > 1]:
        yield f"{len(doubled)} rejects are there more than once: {sorted(doubled)[:3]}"


def _harm_to_others(others: Others) -> Iterator[str]:
    found = others.found()
    if found != others.rows:
        yield f"rows that others appended: {sorted(found)} instead of {sorted(others.rows)}"
