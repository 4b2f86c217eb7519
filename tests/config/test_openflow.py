"""Files with the parameters of Openflow's connector for Kinesis run as they are; what is wrong is told by their names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from frazil.config import ConnectorSettings, TableMapping, load
from frazil.config.kinesis import KinesisSettings
from frazil.config.openflow import DECIDING, NO_EFFECT, NOT_NEEDED, PARAMETERS, RENAMED
from frazil.config.providers import ENVIRONMENT
from frazil.model import SchemaContract
from frazil.names import sanitise
from frazil.secrets import is_secret

from .kinesis import CLASS, problems_of

SECOND = {
    "AWS Access Key ID": "AKIA",
    "AWS Secret Access Key": "hush",
    "AWS Kinesis Region": "eu-central-1",
    "AWS Kinesis Stream Name": "orders",
    "AWS Kinesis Application Name": "orders-app",
    "AWS Kinesis Consumer Type": "ENHANCED_FAN_OUT",
    "AWS Kinesis Initial Stream Position": "LATEST",
    "Snowflake Destination Database": "RAW",
    "Snowflake Destination Schema": "Shop",
    "Snowflake Destination Table": "Orders of today",
}

FIRST = {
    **SECOND,
    "AWS Kinesis Consumer Type": "SHARED_THROUGHPUT",
    "Iceberg Enabled": True,
    "Schema Evolution Enabled": True,
    "Schema Evolution For New Tables Enabled": True,
    "Metrics Publishing": "CLOUDWATCH",
    "Snowflake Account Identifier": "org-account",
    "Snowflake Authentication Strategy": "KEY_PAIR",
    "Snowflake Private Key": "hush-2",
    "Snowflake Private Key File": "",
    "Snowflake Private Key Password": "hush-3",
    "Snowflake Role": "LOADER",
    "Snowflake Username": "me",
}

PROCESSOR = {
    "Region": "eu-central-1",
    "Stream Name": "orders",
    "Application Name": "orders-app",
    "Consumer Type": "SHARED_THROUGHPUT",
    "Initial Stream Position": "AT_TIMESTAMP",
    "Stream Position Timestamp": "2026-07-29T12:00:00Z",
    "Max Records Per Request": "1000",
    "Endpoint Override URL": "http://127.0.0.1:4567",
    "Processing Strategy": "RECORD",
    "Record Reader": "JsonTreeReader",
    "Record Writer": "JsonRecordSetWriter",
    "Output Strategy": "INJECT_METADATA",
    "Max Batch Duration": "5 s",
    "Max Batch Size": "10 MB",
    "AWS Credentials Provider Service": "AWSCredentialsProviderControllerService",
}


def of(settings: ConnectorSettings) -> KinesisSettings:
    assert isinstance(settings.source, KinesisSettings)
    return settings.source


def test_a_file_of_the_second_generation_runs_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "orders.json"
    file.write_text(json.dumps(SECOND))

    settings = load(file)
    own = of(settings)

    assert (settings.name, settings.key, settings.connector_class) == ("orders-app", sanitise("orders-app"), CLASS)
    assert (own.topics, own.region, own.application_name) == (("orders",), "eu-central-1", "orders-app")
    assert (own.consumer_type, own.initial_position) == ("ENHANCED_FAN_OUT", "LATEST")
    assert (own.client["access_key_id"], own.client["secret_access_key"]) == ("AKIA", "hush")
    assert (settings.database, settings.namespace) == ("RAW", "Shop")
    assert settings.table_of("orders") == TableMapping("Orders of today", quoted=True)
    assert settings.contract == SchemaContract()
    assert "hush" not in repr(settings)


def test_a_file_of_the_first_generation_runs_as_kafka_connect_would_write_it(tmp_path: Path) -> None:
    file = tmp_path / "orders.json"
    file.write_text(json.dumps({"name": "shop", "config": FIRST}))

    settings = load(file)

    assert (settings.name, settings.key) == ("shop", sanitise("orders-app"))
    assert settings.contract == SchemaContract()
    assert [key for key, _ in settings.no_effect] == [
        "Iceberg Enabled",
        "Metrics Publishing",
        "Schema Evolution For New Tables Enabled",
    ]
    assert settings.not_needed == (
        "Snowflake Account Identifier",
        "Snowflake Authentication Strategy",
        "Snowflake Private Key",
        "Snowflake Private Key Password",
        "Snowflake Role",
        "Snowflake Username",
    )
    assert "hush" not in repr(settings)


def test_properties_of_the_processor_count_too() -> None:
    settings = load(PROCESSOR)
    own = of(settings)

    assert (own.initial_timestamp_ms, own.max_records) == (1785326400000, 1000)
    assert own.address == "http://127.0.0.1:4567"
    assert [key for key, _ in settings.no_effect] == sorted(
        {*PROCESSOR} & {*NO_EFFECT, "Output Strategy"},
    )


def test_blanks_are_escaped_in_properties(tmp_path: Path) -> None:
    file = tmp_path / "orders.properties"
    file.write_text("".join(f"{key} = {value}\n".replace(" ", "\\ ", key.count(" ")) for key, value in SECOND.items()))

    assert load(file) == load(SECOND)


def test_a_blank_that_is_not_escaped_is_told_as_such_and_no_value_is_shown(tmp_path: Path) -> None:
    file = tmp_path / "orders.properties"
    file.write_text("AWS Secret Access Key=hush\nAWS Kinesis Region=eu-central-1\n")

    found = problems_of(file)

    assert found == {
        "AWS Secret Access Key": "has blanks, and the first one ends the key. Write AWS\\ Secret\\ Access\\ Key=…, or "
        "JSON.",
        "AWS Kinesis Region": "has blanks, and the first one ends the key. Write AWS\\ Kinesis\\ Region=…, or JSON.",
    }


def test_all_problems_are_in_one_report_by_the_names_of_the_file() -> None:
    wrong = {
        "AWS Kinesis Region": "Frankfurt",
        "AWS Kinesis Stream Name": "a b",
        "AWS Kinesis Consumer Type": "EFO",
        "AWS Kinesis Initial Stream Position": "earliest",
        "AWS Secret Access Key": "",
        "Snowflake Destination Table": 'a"b',
        "Iceberg Enabled": "on",
        "Schema Evolution Enabled": "off",
        "Schema Evolution For New Tables Enabled": "off",
        "Metrics Publishing": "PROMETHEUS",
        "Snowflake Authentication Strategy": "PASSWORD",
        "Output Strategy": "USE_WRAPPER",
        "Max Records Per Request": "0",
        "Stream Position Timestamp": "noon",
        "Processing Strategy": "ALL",
        "AWS Kinesis Shard": "1",
    }

    found = problems_of({**FIRST, **wrong})

    assert list(found) == sorted({*wrong, "AWS Access Key ID"} - {"AWS Secret Access Key"})
    assert found["AWS Access Key ID"].startswith("must be given together with AWS Secret Access Key.")
    assert "'EFO' is not possible" in found["AWS Kinesis Consumer Type"]
    assert not any("frazil.kinesis.region" in text for text in found.values())


def test_what_is_missing_is_asked_for_by_the_parameters_name() -> None:
    found = problems_of({"AWS Kinesis Consumer Type": "SHARED_THROUGHPUT"})

    assert list(found) == ["AWS Kinesis Application Name", "AWS Kinesis Region", "AWS Kinesis Stream Name"]
    assert found["AWS Kinesis Region"] == "is missing. Write AWS Kinesis Region=eu-central-1."


def test_a_misspelt_parameter_is_compared_with_the_others() -> None:
    found = problems_of({**SECOND, "AWS Kinesis Regoin": "eu-central-1"})

    assert "Did you mean AWS Kinesis Region?" in found["AWS Kinesis Regoin"]


@pytest.mark.parametrize("flag", ["false", False, "FALSE"])
def test_without_schema_evolution_unknown_keys_are_left_out_and_tables_stay(flag: Any) -> None:
    assert load({**SECOND, "Schema Evolution Enabled": flag}).contract == SchemaContract("discard", "freeze")


def test_a_contract_of_our_own_goes_over_schema_evolution() -> None:
    settings = load({**SECOND, "Schema Evolution Enabled": "false", "frazil.schema.contract": "columns=rescue"})

    assert settings.contract == SchemaContract(columns="rescue")
    assert dict(settings.no_effect)["Schema Evolution Enabled"] == "frazil.schema.contract is given, and goes over it"


def test_new_tables_cannot_be_told_to_stay_where_others_change() -> None:
    new = {"Schema Evolution For New Tables Enabled": "false"}

    assert list(problems_of({**SECOND, **new})) == [*new]
    assert load({**SECOND, **new, "Schema Evolution Enabled": "false"}).contract.columns == "discard"


def test_a_parameter_and_a_key_that_mean_the_same_have_the_same_value() -> None:
    assert of(load({**SECOND, "frazil.kinesis.region": "eu-central-1"})).region == "eu-central-1"
    assert list(problems_of({**SECOND, "frazil.kinesis.region": "us-east-1"})) == ["AWS Kinesis Region"]
    assert "AWS Kinesis Region" in problems_of({**SECOND, "Region": "us-east-1"})["Region"]
    assert list(problems_of({**SECOND, "snowflake.topic2table.map": "a:b"})) == ["Snowflake Destination Table"]


def test_the_command_line_goes_over_the_file_by_either_name() -> None:
    by_key = load(SECOND, None, {"frazil.kinesis.region": "us-east-1"})
    by_name = load(SECOND, None, {"AWS Kinesis Region": "us-east-1", "AWS Kinesis Stream Name": "returns"})

    assert (of(by_key).region, of(by_name).region) == ("us-east-1", "us-east-1")
    assert by_name.table_of("returns").name == "Orders of today"


def test_several_streams_go_to_the_one_table() -> None:
    settings = load({**SECOND, "AWS Kinesis Stream Name": "orders,returns"})

    assert {settings.table_of(each).name for each in settings.source.topics} == {"Orders of today"}


def test_placeholders_are_looked_up_and_what_they_stand_for_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = {"config.providers": "env", "config.providers.env.class": ENVIRONMENT}
    monkeypatch.setenv("HUSH", "hush")
    looked_up = {"AWS Secret Access Key": "${env:HUSH}", "Snowflake Destination Table": "t-${env:HUSH}"}

    settings = load({**SECOND, **looked_up}, worker)

    assert of(settings).client["secret_access_key"] == "hush"
    assert settings.table_of("orders").name == "t-hush"
    assert "hush" not in repr(settings)
    wrong = problems_of({**SECOND, "AWS Kinesis Region": "${env:HUSH}"}, worker)
    assert list(wrong) == ["AWS Kinesis Region"]
    assert "hush" not in str(wrong)


def test_a_file_for_another_class_knows_no_such_parameters() -> None:
    found = problems_of({"connector.class": "frazil.KafkaConnector", "AWS Kinesis Region": "eu-central-1"})

    assert "is not a key frazil knows" in found["AWS Kinesis Region"]


def test_every_parameter_has_one_place_and_those_of_secrets_are_known() -> None:
    assert len(PARAMETERS) == len(RENAMED) + len(DECIDING) + len(NOT_NEEDED) + len(NO_EFFECT)
    assert {name for name in PARAMETERS if is_secret(name)} == {
        "AWS Access Key ID",
        "AWS Secret Access Key",
        "AWS Credentials Provider Service",
        "Snowflake Private Key",
        "Snowflake Private Key File",
        "Snowflake Private Key Password",
    }
