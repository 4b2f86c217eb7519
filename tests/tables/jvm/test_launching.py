"""What Spark's JVM is told is seen by nobody else on the machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.sessions import Seen, watched

pytestmark = pytest.mark.slow

SECRET = "hush"
OURS = {
    "spark.sql.catalog.lake.credential": r' client:hush-1 \"#!=ü" ',
    "spark.sql.catalog.lake.s3.sse.key": "hush-2",
    "spark.hadoop.fs.azure.account.key.lake": "hush-3",
    "spark.sql.catalog.lake.uri": "jdbc:postgresql://me:hush-4@host/lake",
    "spark.hadoop.fs.azure.sas.container.lake.blob.core.windows.net": "hush-7",
    "spark.sql.catalog.lake.client.assume-role.external-id": "hush-8",
    "spark.sql.catalog.lake.house-number": "hush-9",
    "spark.redaction.regex": "house-number",
}
DEFAULTS = {"spark.sql.catalog.lake.token": "hush-5", "spark.default.parallelism": "3"}
SUBMITTED = {"spark.sql.catalog.lake.jdbc.password": "hush 6", "spark.sql.shuffle.partitions": "5"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a session keeps what it writes, and finds Spark's own configuration."""
    return tmp_path_factory.mktemp("session")


@pytest.fixture(scope="module")
def seen(home: Path) -> Seen:
    """A session that was told secrets in all ways there are."""
    for name in ("events", "conf"):
        (home / name).mkdir()
    (home / "conf" / "spark-defaults.conf").write_text("".join(f"{key} {text}\n" for key, text in DEFAULTS.items()))
    submitted = " ".join(f'--conf "{key}={text}"' for key, text in SUBMITTED.items())
    showing = {
        "spark.ui.enabled": "true",
        "spark.ui.port": "0",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": f"file:{home}/events",
    }
    variables = {
        "SPARK_CONF_DIR": str(home / "conf"),
        "PYSPARK_SUBMIT_ARGS": f"--name told {submitted} pyspark-shell",
    }
    return watched(home, "local[2]", {**OURS, **showing}, variables)


def test_no_secret_is_on_a_command_line_or_in_the_environment_of_a_process_that_a_session_starts(seen: Seen):
    assert any("SparkSubmit" in each for each in seen.commands)
    assert any("pyspark.worker" in each for each in seen.commands)
    assert seen.showing(SECRET) == ([], [])


def test_the_settings_of_the_jvm_are_in_no_file_while_it_starts(seen: Seen):
    assert seen.files_with(SECRET) == []


def test_every_setting_arrives_as_it_was_given_whoever_gave_it(seen: Seen):
    ours = {key: text for key, text in OURS.items() if key != "spark.redaction.regex"}
    given = {**ours, **DEFAULTS, **SUBMITTED, "spark.master": "local[2]", "spark.driver.memory": "1g"}

    assert {key: seen.settings.get(key) for key in given} == given
    assert any("\0-Xmx1g\0" in each for each in seen.commands)


def test_neither_sparks_pages_nor_its_event_log_show_a_secret(seen: Seen, home: Path):
    logs = [path for path in (home / "events").rglob("*") if path.is_file() and not path.name.startswith(".")]
    shown = ["".join(path.read_text() for path in logs), *seen.pages]

    assert len(shown) == 3
    assert all("spark.sql.catalog.lake.credential" in text for text in shown)
    assert [text for text in shown if SECRET in text] == []
