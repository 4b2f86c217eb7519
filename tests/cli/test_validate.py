from __future__ import annotations

from pathlib import Path

import pytest
import structlog
from tests.support.connectors import KAFKA_JSON
from tests.support.processes import frazil, write_properties

from frazil.cli import main


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("SHOP", "SHOP: valid\n"),
        ("shop", "shop: valid; channels and tokens call it SHOP\n"),
        ("shop.orders", "shop.orders: valid; channels and tokens call it SHOP_ORDERS_570428637\n"),
        ("s", "s: valid; channels and tokens call it S_115\n"),
    ],
)
def test_a_valid_file_whose_connector_is_called_otherwise_in_tables_says_how(
    name: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_properties(
        tmp_path / "connector.properties",
        name=name,
        topics="orders",
        bootstrap__servers="localhost:9092",
        **KAFKA_JSON,
    )

    code = main(["validate", str(file)])
    structlog.reset_defaults()

    assert (code, capsys.readouterr().out) == (0, said)


def test_a_file_of_openflows_is_valid_under_the_name_of_its_application(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "orders.json"
    file.write_text(
        '{"AWS Kinesis Application Name": "ORDERS", "AWS Kinesis Region": "eu-central-1", '
        '"AWS Kinesis Stream Name": "orders", "AWS Access Key ID": "hush", "AWS Secret Access Key": "hush"}'
    )

    code = main(["validate", str(file)])
    structlog.reset_defaults()

    assert (code, capsys.readouterr().out) == (0, "ORDERS: valid\n")


def test_problems_of_a_file_of_openflows_are_told_without_its_secrets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "orders.json"
    file.write_text('{"AWS Kinesis Region": "Frankfurt", "AWS Access Key ID": "hush"}')

    code = main(["validate", str(file)])
    structlog.reset_defaults()
    said = capsys.readouterr().err

    assert code == 2
    assert [line.split(":")[0].strip() for line in said.splitlines() if line.startswith("  ")] == [
        "AWS Access Key ID",
        "AWS Kinesis Application Name",
        "AWS Kinesis Region",
        "AWS Kinesis Stream Name",
    ]
    assert "hush" not in said


@pytest.fixture
def home(orders_home: Path) -> Path:
    return orders_home


@pytest.fixture
def connector(tmp_path: Path) -> Path:
    return write_properties(
        tmp_path / "connector.properties",
        name="shop",
        topics="orders,fruit,bread",
        bootstrap__servers="localhost:9092",
        **KAFKA_JSON,
    )


def test_with_the_catalog_everything_that_would_stop_the_connector_is_named(home: Path, connector: Path):
    fine = frazil("validate", "--catalog", "--home", home, connector)
    stopped = frazil(
        "validate", "--catalog", "--home", home, "--set", "snowflake.autocreate.table.type=none", connector
    )

    assert (fine.returncode, fine.stderr) == (0, "")
    assert stopped.returncode == 1
    assert [name for name in ("FRUIT", "BREAD", "ORDERS") if f"public.{name}" in stopped.stderr] == ["FRUIT", "BREAD"]
    assert not (home / "logs" / "spark.log").exists()


def test_a_home_without_a_catalog_stays_without(connector: Path, tmp_path: Path):
    nowhere = tmp_path / "nowhere"

    fine = frazil("validate", "--catalog", "--home", nowhere, connector)
    stopped = frazil(
        "validate", "--catalog", "--home", nowhere, "--set", "snowflake.autocreate.table.type=none", connector
    )

    assert (fine.returncode, stopped.returncode) == (0, 1)
    assert str(nowhere) in stopped.stderr
    assert not nowhere.exists()


def test_streams_of_a_pattern_are_known_to_kinesis(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = write_properties(
        tmp_path / "connector.properties",
        name="SHOP",
        connector__class="frazil.KinesisConnector",
        frazil__kinesis__region="eu-central-1",
        frazil__kinesis__streams__regex="orders.*",
        frazil__home=str(tmp_path),
    )

    code = main(["validate", str(file), "--catalog"])
    structlog.reset_defaults()

    assert code == 0
    said = capfd.readouterr()
    assert "Kinesis knows which streams the pattern means" in said.out + said.err
    assert "frazil.kinesis.streams.regex" in said.out + said.err
