"""spark-submit on a cluster without frazil: a user's program with its own session, catalog, modules and archives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tests.integration.cluster.conftest import LOOPBACK
from tests.support.bare import bare_python
from tests.support.connectors import KAFKA_JSON
from tests.support.processes import frazil, write_properties

from frazil.dev.jars import pyspark_jars
from frazil.dev.kafka import KafkaBroker
from frazil.tables.jvm.session import PACKAGES
from frazil.testing.cluster import SparkCluster
from frazil.testing.records import produce
from frazil.testing.topics import create_topic

SPARK_SUBMIT = str(pyspark_jars().parent / "bin" / "spark-submit")
ICEBERG, _, _ = PACKAGES.partition(",")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `frazil pack` makes of the environment that runs the tests."""
    archive = tmp_path_factory.mktemp("packed") / "environment.tar.gz"
    done = frazil("pack", archive)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip() == str(archive)
    return archive


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bare_python(tmp_path_factory.mktemp("bare") / "environment")


@pytest.fixture(scope="module")
def found(
    cluster: SparkCluster, broker: KafkaBroker, environment: Path, bare: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """What the program in `driver.py` said."""
    directory = tmp_path_factory.mktemp("submit")
    create_topic(broker.bootstrap_servers, "submitted", 2)
    for partition in range(2):
        values = [f'{{"n": {number}}}' for number in range(partition, 1000, 2)]
        produce(broker.bootstrap_servers, "submitted", values, partition=partition)
    file = write_properties(
        directory / "submitted.properties",
        name="submitted",
        topics="submitted",
        bootstrap__servers=broker.bootstrap_servers,
        **KAFKA_JSON,
        frazil__catalog="lake",
        frazil__namespace="raw",
        frazil__home=str(directory / "home"),
    )
    settings = {
        "spark.executor.memory": "512m",
        "spark.ui.enabled": "false",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": f"file://{directory / 'warehouse'}",
        "spark.sql.catalog.lake.cache-enabled": "false",
    }
    driver = Path(__file__).with_name("driver.py")
    options = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
    brought = [
        *("--packages", ICEBERG, "--py-files", ",".join(map(str, wares(directory)))),
        *("--archives", f"{environment}#environment,{papers(directory)}#papers"),
    ]
    done = subprocess.run(
        [SPARK_SUBMIT, "--master", cluster.master, *options, *brought, str(driver), str(file), str(bare)],
        env=variables(PYSPARK_PYTHON="./environment/bin/python"),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


@pytest.mark.long
def test_rows_land_once_with_the_packed_environment_in_a_session_and_a_catalog_of_the_users(found: dict[str, Any]):
    assert found["caught_up"] is True
    assert found["rows"] == list(range(1000))


@pytest.mark.long
def test_what_a_user_ships_is_imported_and_read_in_workers_that_have_staged(found: dict[str, Any]):
    assert found["used"] == [["wares", "alone", "paper", "environment/bin/python"]] * 4


@pytest.mark.long
def test_executors_without_frazil_are_named_before_a_table_is_touched(found: dict[str, Any], bare: Path):
    assert found["refused"].startswith("[executor_environment]")
    assert str(bare) in found["refused"]
    assert "frazil pack" in found["refused"]
    assert found["tokens"] == ["frazil.tokens.SUBMITTED"]


@pytest.mark.slow
def test_the_command_itself_can_be_submitted_and_says_that_iceberg_is_missing(tmp_path: Path):
    main = tmp_path / "main.py"
    main.write_text("import sys\n\nfrom frazil.cli import main\n\nsys.exit(main())\n")
    file = write_properties(
        tmp_path / "bald.properties",
        name="bald",
        topics="any",
        bootstrap__servers="127.0.0.1:1",
        **KAFKA_JSON,
        frazil__home=str(tmp_path / "home"),
    )

    done = subprocess.run(
        [SPARK_SUBMIT, "--master", "local[1]", str(main), "run", str(file)],
        env=variables(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 1
    assert "[iceberg_runtime]" in done.stdout  # spark-submit gives both of a program's outputs as one
    assert f"--packages {ICEBERG}" in done.stdout


def variables(**others: str) -> dict[str, str]:
    return {**os.environ, **LOOPBACK, "PYSPARK_DRIVER_PYTHON": sys.executable, **others}


def wares(directory: Path) -> list[Path]:
    """A package in a zip and a module alone, as for `--py-files`."""
    package, module = directory / "wares.zip", directory / "wares_alone.py"
    with zipfile.ZipFile(package, "w") as file:
        file.writestr("wares/__init__.py", "from wares.labels import LABEL\n")
        file.writestr("wares/labels.py", "LABEL = 'wares'\n")
    module.write_text("PAIR = 'alone'\n")
    return [package, module]


def papers(directory: Path) -> Path:
    """An archive of data, as for `--archives`."""
    paper, archive = directory / "paper.txt", directory / "papers.tar.gz"
    paper.write_text("paper")
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(paper, "paper.txt")
    return archive
