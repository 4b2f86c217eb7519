"""`frazil channels import` as a user types it, up to where AWS and a catalog are needed."""

from __future__ import annotations

from pathlib import Path

import pytest
import structlog
from tests.support.connectors import KAFKA_JSON
from tests.support.processes import write_properties

from frazil.cli import main
from frazil.cli.importing import which
from frazil.errors import InvalidConfiguration


def test_a_table_is_the_kcls_or_openflows() -> None:
    assert which("a", None) == ("kcl", "a")
    assert which(None, "b") == ("openflow", "b")
    for both in ((None, None), ("a", "b")):
        with pytest.raises(InvalidConfiguration, match="exactly one of --from-kcl and --from-openflow"):
            which(*both)


def test_a_connector_for_kafka_has_no_checkpoints_to_take_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_properties(
        tmp_path / "c.properties", name="shop", topics="orders", bootstrap__servers="localhost:9092", **KAFKA_JSON
    )

    code = main(["channels", "import", "--connector", str(file), "--from-kcl", "shop"])
    structlog.reset_defaults()

    assert code == 2
    assert "Give the file of a frazil.KinesisConnector" in capsys.readouterr().err
