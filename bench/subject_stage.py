"""Subject: one Spark task's work without Spark, by one process: read, convert, check, project, write.

With the option `checked=0` records go straight to the projection: nothing looks at what DuckDB would change in silence.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from common import Answer, Job, tell, told
from frazil.model import Column, Conversion, ReaderSpec, SourcePartition, Task
from frazil.pipes import choice
from frazil.pipes.base import Chunk
from frazil.pipes.default.projection import Projection, Reading
from frazil.sources.kafka.positions import offsets
from frazil.staging import task as staging
from stagings import STAGINGS


def main() -> None:
    job = told()
    if not job.options["checked"]:
        choice.DefaultPipe = Unchecked  # type: ignore[misc,assignment]
    wanted = STAGINGS[list(STAGINGS)[job.options["staging"]]]
    began = time.process_time()
    task = Task(
        connector="bench",
        ranges=tuple(
            offsets(SourcePartition(job.topic, number), 0, len(range(number, job.records, job.partitions)))
            for number in range(job.partitions)
        ),
        tables=(wanted.table(job.home),),
        reader=ReaderSpec("kafka", {"bootstrap.servers": job.bootstrap_servers, "group.id": "bench"}),
        conversion=_conversion(job) or wanted.conversion,
        tolerance="all",
    )
    (staged,) = staging.stage_all(iter([[task]]))
    used = time.process_time() - began
    if staged.failure:
        raise SystemExit(staged.failure.message)
    (table,) = staged.tables
    rows = sum(file.rows for file in table.files)
    rejected = table.rejects.count if table.rejects else 0
    if rows + rejected != job.records:
        raise SystemExit(f"{rows} rows and {rejected} rejects of {job.records} records")
    answer = {
        "cpu_s": used,
        "rows": rows,
        "rejects": rejected,
        "files": len(table.files),
        **{f"{key}_s": at for key, at in staged.seconds.items()},
    }
    tell(job, Answer(time.time(), cycles=[answer]))


def _conversion(job: Job) -> Conversion | None:
    """How records of another form than JSON are read."""
    if "form" not in job.options:
        return None
    # Who measures JSON does not load what reads the others.
    from forms import FORMS

    return list(FORMS.values())[job.options["form"]].conversion(job.settings["schema.registry.url"])


class Unchecked:
    """Stands in for the default pipe: every key is a column of its own spelling, every value fits."""

    def __init__(self, columns: tuple[Column, ...], *_: object, **__: object) -> None:
        self.columns = columns
        self._projection = Projection(columns)
        self.inputs = self._projection.inputs()

    def statements(self, _: Chunk) -> Iterator[str]:
        """The statement the checked projection uses."""
        reading = Reading({column.name: (column.name,) for column in self._projection.payload()})
        yield self._projection.select(reading, strict=True)

    def diagnose(self, _: Mapping[str, Any]) -> None:
        """Every record fits."""


if __name__ == "__main__":
    main()
