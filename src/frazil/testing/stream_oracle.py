"""Judge a table of a stream: is each record there once, and are those of a partition key in the order they were put?

As `frazil.testing.oracle`, it shares no code with what it judges. Each record's value has a `key`, its partition key,
and a `number`, its place among those of the key, from 0. Splits and merges move a key to other shards, so its order is
that of the table's commits, and within a commit that of sequence numbers, which no child has before its parents.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import duckdb
import pyarrow as pa

from frazil.testing import iceberg
from frazil.testing.oracle import file_faults

_ROWS: Final = """
CREATE TEMP TABLE found AS
SELECT rows."key", rows."number", rows.kinesisMetadata['shardId']::VARCHAR AS shard,
  rows.filename, rows.file_row_number,
  rows.kinesisMetadata['sequenceNumber']::VARCHAR AS seq, rows.kinesisMetadata['subSequenceNumber']::BIGINT AS sub,
  given_files.commit
FROM read_parquet($files, union_by_name = true, filename = true, file_row_number = true) AS rows
  JOIN given_files ON rows.filename = given_files.path
WHERE rows.kinesisMetadata['stream'] = $stream
"""

_NO_ROWS: Final = """
CREATE TEMP TABLE found ("key" VARCHAR, "number" BIGINT, shard VARCHAR, filename VARCHAR, file_row_number BIGINT,
  seq VARCHAR, sub BIGINT, commit BIGINT)
"""

_SENT: Final = """
CREATE TEMP TABLE expected AS SELECT "key", unnest(range(0, put)) AS "number" FROM given_sent
"""

# Sequence numbers have more digits than any number of DuckDB's: longer ones are greater.
_CHECKS: Final = {
    "missing": 'SELECT * FROM expected ANTI JOIN found USING ("key", "number")',
    "unexpected": 'SELECT DISTINCT "key", "number" FROM found ANTI JOIN expected USING ("key", "number")',
    "duplicated": 'SELECT "key", "number" FROM found GROUP BY ALL HAVING count(*) > 1',
    "out of order": """SELECT "key", "number" FROM found
        QUALIFY "number" <= lag("number") OVER (PARTITION BY "key" ORDER BY commit, length(seq), seq, sub)""",
    "shuffled in a file": """SELECT "key", "number" FROM found
        QUALIFY (length(seq), seq, sub) <= lag((length(seq), seq, sub))
          OVER (PARTITION BY shard, filename ORDER BY file_row_number)""",
}


@dataclass(frozen=True, slots=True)
class StreamReport:
    """The judgement of one stream in one table."""

    stream: str
    rows: int
    faults: Mapping[str, tuple[tuple[str, int], ...]]
    """Keys and numbers of records, by what is wrong with them: `missing`, `unexpected`, `duplicated`, `out of order`
    among those of their key, `shuffled in a file` among those of their shard."""

    file_faults: tuple[str, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults and not self.file_faults

    def __str__(self) -> str:
        found = [f"{len(at)} {what}: {at[:5]}" for what, at in self.faults.items()]
        verdict = "clean" if self.clean else "NOT CLEAN"
        return "\n  ".join([f"{self.stream}: {self.rows} rows, {verdict}", *self.file_faults, *found])


def verify_stream(metadata: Path, stream: str, sent: Mapping[str, int]) -> StreamReport:
    """Judge what a table holds of a stream.

    Args:
        metadata: The table's current metadata file (see `iceberg.current_metadata`).
        stream: The stream to judge.
        sent: How many records were put, by partition key.
    """
    files = iceberg.data_files(iceberg.read_metadata(metadata))
    readable = {str(file.path): file.sequence for file in files if file.holds_rows and file.path.exists()}
    with duckdb.connect() as database:
        database.register("given_files", pa.table({"path": [*readable], "commit": [*readable.values()]}))
        database.register("given_sent", pa.table({"key": [*sent], "put": [*sent.values()]}))
        if readable:
            database.execute(_ROWS, {"files": [*readable], "stream": stream})
        else:
            database.execute(_NO_ROWS)
        database.execute(_SENT)
        found = {what: database.execute(f"{query} ORDER BY ALL").fetchall() for what, query in _CHECKS.items()}
        counted = database.execute("SELECT count(*) FROM found").fetchone() or (0,)
        faults = {what: tuple((str(key), int(number)) for key, number in at) for what, at in found.items() if at}
        return StreamReport(stream, counted[0], faults, tuple(file_faults(database, files)))
