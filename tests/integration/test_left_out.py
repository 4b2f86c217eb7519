"""One of a connector's tables cannot be written: the other lands, and commands say what ails the first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.integration.commands import Desk
from tests.support.sending import send
from tests.support.waiting import caught_up

from frazil.connector.channels import left_out_of
from frazil.connector.registry import Registry
from frazil.dev.kafka import KafkaBroker
from frazil.errors import TableNotSupported


@pytest.fixture
def desk(spark: SparkSession, lake: Path, connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    made = Desk(spark, lake, connect, tmp_path)
    monkeypatch.setattr("frazil.cli.channels.open_catalog", made.opened)
    return made


def channels(desk: Desk, capsys: pytest.CaptureFixture[str], connector: str) -> dict[str, dict[str, Any]]:
    """What `frazil channels` says of one connector, by topic."""
    capsys.readouterr()
    assert desk.type("channels", "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)
    return {each["topic"]: each for each in found if each["connector"] == connector}


def test_a_table_that_cannot_be_written_is_left_out_until_it_is_mended_and_the_connector_started_again(
    desk: Desk, make_topic, judge, broker: KafkaBroker, spark: SparkSession, lake: Path, connect, capsys
):
    good, bad = make_topic(), make_topic()
    send(broker, good, range(5))
    send(broker, bad, range(5))
    table = f"frazil.public.{bad.upper()}"
    spark.sql("CREATE NAMESPACE IF NOT EXISTS frazil.public")
    spark.sql(f"CREATE TABLE {table} (run string, seq bigint) USING iceberg TBLPROPERTIES ('format-version'='1')")
    connector = connect(f"{good},{bad}", name=f"to_{good}", begin=False)
    file = lake / f"{good}.properties"
    file.write_text("")
    note = Registry(lake).recorder(connector.settings, file, None, lambda: left_out_of(connector.failing))
    connector.on_state(note)
    connector.on_cycle(lambda _: note(connector.state))
    connector.start()

    with pytest.raises(TableNotSupported):
        connector.wait_until_caught_up(60)

    assert str(connector.state) == "RUNNING"
    report = judge(connector, good)
    assert report.clean, report
    assert report.rows == 5
    said = channels(desk, capsys, connector.settings.key)
    assert (said[good]["state"], said[good]["reason"], said[good]["offset_token"]) == ("RUNNING", None, "4")
    assert (said[bad]["state"], said[bad]["offset_token"]) == ("FAILED", None)
    assert "its format version is 1" in said[bad]["reason"]

    connector.stop()
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('format-version'='2')")
    send(broker, bad, range(5, 10))
    connector.start()
    caught_up(connector)

    assert [row.seq for row in spark.sql(f"SELECT seq FROM {table} ORDER BY seq").collect()] == list(range(10))
    said = channels(desk, capsys, connector.settings.key)
    assert (said[bad]["state"], said[bad]["reason"], said[bad]["offset_token"]) == ("RUNNING", None, "9")
