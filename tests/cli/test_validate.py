from __future__ import annotations

from pathlib import Path

import pytest
import structlog
from tests.integration.processes import write_properties

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
        connector__class="frazil.KafkaConnector",
        topics="orders",
        bootstrap__servers="localhost:9092",
        value__converter="org.apache.kafka.connect.json.JsonConverter",
        value__converter__schemas__enable="false",
    )

    code = main(["validate", str(file)])
    structlog.reset_defaults()

    assert (code, capsys.readouterr().out) == (0, said)
