"""What many partitions and many tables cost: opening, a cycle with a record in each, an idle cycle, the tokens.

    python bench/scale.py [--partitions 1000] [--tables 200] [--cores 2] [--only NAME…] [--json FILE]

`tables` lands as many topics in as many tables, in the embedded catalog, which takes one commit at a time, and in a
database server, which takes many.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient, NewTopic

from common import CONSOLE, Answer, Columns, Job, Subject, described, machine, plain, show
from frazil.dev.kafka import KafkaBroker

# The database server is the tests' own.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support.h2 import Database, h2_jar

SUBJECTS = ("partitions", "embedded", "database")

COLUMNS: Columns = {
    "": ("subject", str),
    "channels": ("channels", plain(0)),
    "open s": ("open", plain(2)),
    "open again s": ("open_again", plain(2)),
    "first cycle's end s": ("first", plain(2)),
    "a cycle s": ("cycle", plain(2)),
    "of it plan": ("plan", plain(3)),
    "stage": ("stage", plain(2)),
    "commit": ("commit", plain(2)),
    "acknowledge": ("acknowledge", plain(3)),
    "idle ms": ("idle_ms", plain(1)),
    "recall s": ("recall", plain(2)),
    "status ms": ("status_ms", plain(1)),
    "tokens B": ("token_bytes", plain(0)),
    "CPU-s": ("cpu_s", plain(1)),
}


def main() -> None:
    asked = arguments()
    directory = Path(tempfile.mkdtemp(prefix="frazil-bench-"))
    where, rows = machine(), []
    try:
        for subject in asked.only:
            CONSOLE.log(subject)
            rows.append({"subject": subject, **measure(asked, subject, directory / subject)})
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    CONSOLE.print(described(where))
    show("Many partitions, many tables", COLUMNS, rows)
    if asked.json:
        asked.json.write_text(json.dumps({"machine": where, "runs": rows}, indent=1))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", type=int, default=1000, help="of the one topic of `partitions`")
    parser.add_argument("--tables", type=int, default=200, help="topics of `embedded` and `database`")
    parser.add_argument("--cores", type=int, default=2, help="Spark's local[N]")
    parser.add_argument("--only", nargs="+", choices=SUBJECTS, default=SUBJECTS, metavar="NAME")
    parser.add_argument("--json", type=Path, help="write everything that was measured to this file")
    return parser.parse_args()


def measure(asked: argparse.Namespace, subject: str, directory: Path) -> dict[str, Any]:
    """Make the topics on a broker of their own, and land them."""
    many = subject == "partitions"
    topics = ["records"] if many else [f"records_{number}" for number in range(asked.tables)]
    partitions = asked.partitions if many else 1
    with KafkaBroker(directory / "broker") as broker, catalog(subject, directory) as settings:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers, "log_level": 2})
        for made in admin.create_topics([NewTopic(topic, partitions, 1) for topic in topics]).values():
            made.result(120)
        home = str(directory / "home")
        job = Job(broker.bootstrap_servers, ",".join(topics), partitions, 0, 25, home, asked.cores, settings)
        with Subject("subject_scale.py", job) as running:
            answer = running.finish(900)
    return figures(len(topics) * partitions, running, answer)


@contextlib.contextmanager
def catalog(subject: str, directory: Path) -> Iterator[Mapping[str, str]]:
    """The settings of a subject's catalog, while that runs."""
    if subject != "database":
        yield {}
        return
    with Database.running(directory / "database") as database:
        settings = {
            "": "org.apache.iceberg.spark.SparkCatalog",
            ".type": "jdbc",
            ".uri": f"jdbc:h2:tcp://{database.address}/catalog;DATABASE_TO_UPPER=FALSE",
            ".jdbc.user": "sa",
            ".jdbc.password": "",
            ".jdbc.schema-version": "V1",
            ".clients": "8",
            ".warehouse": f"file://{directory}/warehouse",
            ".cache-enabled": "false",
        }
        yield {
            **{f"spark.sql.catalog.served{key}": value for key, value in settings.items()},
            "spark.jars": str(h2_jar()),
            "frazil.catalog": "served",
        }


def figures(channels: int, running: Subject, answer: Answer) -> dict[str, Any]:
    """One run in numbers; the cycle is the last of those that read something."""
    *cycles, told = answer.cycles
    last = cycles[-1]["seconds"]
    return {
        "channels": channels,
        **{key: told[key] for key in ("open", "open_again", "first", "second", "recall", "token_bytes")},
        **{key: told[key] for key in ("encode", "decode")},
        "cycle": sum(last.values()),
        **last,
        "idle_ms": told["idle"] * 1000,
        "status_ms": told["status"] * 1000,
        "cpu_s": running.meter.cpu(running.started, answer.ended),
        "cycles": cycles,
    }


if __name__ == "__main__":
    main()
