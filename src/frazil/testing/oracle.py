"""Judge a table: is every record there exactly once, in order, unharmed, and is the token where it should be?

The oracle shares no code with what it judges. It finds the files of the current snapshot with `frazil.testing.iceberg`
and reads them with plain DuckDB; what the rows should be follows from `frazil.testing.produce`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from frazil.testing import iceberg
from frazil.testing.iceberg import DataFile
from frazil.testing.report import OracleReport, PartitionReport

ROWS = """
CREATE TEMP TABLE found AS
SELECT RECORD_METADATA['partition']::INT AS place, RECORD_METADATA['offset']::BIGINT AS position, {values}
FROM read_parquet($files, union_by_name = true) WHERE RECORD_METADATA['topic'] = $topic
"""

WITH_VALUES = '"run", "partition", "seq", "payload", "sha256"'
WITHOUT_VALUES = "NULL AS run, NULL AS seq"

TABLES = """
CREATE TEMP TABLE covered AS SELECT * FROM given_tokens;
CREATE TEMP TABLE gap AS SELECT * FROM given_gaps;
CREATE TEMP TABLE acknowledged AS SELECT * FROM given_acknowledged;
CREATE TEMP TABLE expected AS
  SELECT place, unnest(range(first, token + 1)) AS position FROM covered WHERE token IS NOT NULL
  EXCEPT SELECT * FROM gap;
"""

CHECKS = {
    "missing": "SELECT * FROM expected ANTI JOIN found USING (place, position)",
    "unexpected": "SELECT DISTINCT place, position FROM found ANTI JOIN expected USING (place, position)",
    "duplicated": "SELECT place, position FROM found GROUP BY ALL HAVING count(*) > 1",
    "lost": """SELECT place, position FROM acknowledged SEMI JOIN expected USING (place, position)
        ANTI JOIN found USING (place, position, seq)""",
}
VALUE_CHECKS = {
    # Doubled records are reported as such; here they count once.
    "out_of_order": """SELECT place, position FROM (SELECT DISTINCT place, position, run, "partition", seq FROM found)
        QUALIFY seq <= lag(seq) OVER (PARTITION BY place, run ORDER BY position) OR "partition" <> place""",
    "bad_hash": """SELECT place, position FROM found
        WHERE payload IS NULL OR seq IS NULL OR sha256 IS DISTINCT FROM sha256(payload)""",
}


def verify(
    metadata: Path,
    connector: str,
    topic: str,
    *,
    first: Mapping[int, int] | None = None,
    gaps: Mapping[int, Collection[int]] | None = None,
    wal: Path | None = None,
    values: bool = True,
) -> OracleReport:
    """Judge what a table holds of `topic`.

    Args:
        metadata: The table's current metadata file (see `iceberg.current_metadata`).
        connector: The connector's name as it stands in `frazil.tokens.<connector>`.
        topic: The topic to judge.
        first: The first offset expected, by partition; 0 where it is not given.
        gaps: Offsets that are not to become rows, by partition (see `records.gaps`); rejects count as gaps.
        wal: What `frazil.testing.produce` wrote down as acknowledged.
        values: Whether the records are those of `frazil.testing.produce`; if not, only offsets are judged.
    """
    table = iceberg.read_metadata(metadata)
    tokens = dict(enumerate(iceberg.tokens(table, connector, topic).offsets))
    files = iceberg.data_files(table)
    with duckdb.connect() as database:
        _load_rows(database, [file for file in files if file.holds_rows and file.path.exists()], topic, values)
        places = {**dict.fromkeys(_places(database)), **tokens}
        database.register("given_tokens", _tokens(places, first or {}))
        database.register("given_gaps", _gaps(gaps or {}))
        database.register("given_acknowledged", read_wal(wal))
        database.execute(TABLES)
        faults = {
            name: _by_place(database, query) for name, query in (CHECKS | (VALUE_CHECKS if values else {})).items()
        }
        counts = dict(database.execute("SELECT place, count(*) FROM found GROUP BY place").fetchall())
        return OracleReport(
            topic,
            tuple(
                PartitionReport(
                    place, token, counts.get(place, 0), **{name: at.get(place, ()) for name, at in faults.items()}
                )
                for place, token in sorted(places.items())
            ),
            tuple(file_faults(database, files)),
        )


def read_wal(path: Path | None) -> pa.Table:
    """Read the acknowledged records; a torn last line was not yet acknowledged to anybody."""
    lines = path.read_text().split("\n")[:-1] if path else []
    columns = zip(*(map(int, line.split(",")) for line in lines), strict=True) if lines else ((), (), ())
    names = ("place", "position", "seq")
    return pa.table({name: pa.array(column, pa.int64()) for name, column in zip(names, columns, strict=True)})


def _load_rows(database: duckdb.DuckDBPyConnection, files: Sequence[DataFile], topic: str, values: bool) -> None:
    if not files:
        database.execute(
            "CREATE TEMP TABLE found (place INT, position BIGINT, run VARCHAR, "
            '"partition" INT, seq BIGINT, payload VARCHAR, sha256 VARCHAR)'
        )
        return
    query = ROWS.format(values=WITH_VALUES if values else WITHOUT_VALUES)
    database.execute(query, {"files": [str(file.path) for file in files], "topic": topic})


def _places(database: duckdb.DuckDBPyConnection) -> list[int]:
    return [place for (place,) in database.execute("SELECT DISTINCT place FROM found").fetchall()]


def _tokens(places: Mapping[int, int | None], first: Mapping[int, int]) -> pa.Table:
    columns = {
        "place": list(places),
        "first": [first.get(place, 0) for place in places],
        "token": list(places.values()),
    }
    return pa.table({name: pa.array(column, pa.int64()) for name, column in columns.items()})


def _gaps(gaps: Mapping[int, Collection[int]]) -> pa.Table:
    pairs = [(place, position) for place, positions in gaps.items() for position in positions]
    columns = {"place": [place for place, _ in pairs], "position": [position for _, position in pairs]}
    return pa.table({name: pa.array(column, pa.int64()) for name, column in columns.items()})


def _by_place(database: duckdb.DuckDBPyConnection, query: str) -> dict[int, tuple[int, ...]]:
    found: dict[int, list[int]] = {}
    for place, position in database.execute(query).fetchall():
        found.setdefault(place, []).append(position)
    return {place: tuple(sorted(positions)) for place, positions in found.items()}


def file_faults(database: duckdb.DuckDBPyConnection, files: Sequence[DataFile]) -> list[str]:
    """What is wrong with the files of a snapshot."""
    counts = Counter(file.path for file in files)
    faults = [f"{path} is in the snapshot {count} times" for path, count in counts.items() if count > 1]
    faults += [f"{file.path} holds deletes, which the oracle does not apply" for file in files if not file.holds_rows]
    faults += [f"{file.path} does not exist" for file in files if not file.path.exists()]
    query = "SELECT num_rows FROM parquet_file_metadata(?)"
    for file in {file.path: file for file in files if file.holds_rows and file.path.exists()}.values():
        found = database.execute(query, [str(file.path)]).fetchone() or (None,)
        truth, said = (found[0], file.path.stat().st_size), (file.rows, file.size)
        if truth != said:
            faults.append(f"{file.path} has (rows, bytes) {truth}, its manifest says {said}")
    return faults
