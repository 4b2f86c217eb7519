"""The settings of routing by a value."""

from __future__ import annotations

import pytest

from frazil.config import load
from frazil.errors import InvalidConfiguration

GIVEN = {
    "name": "shop",
    "connector.class": "frazil.KafkaConnector",
    "topics": "orders",
    "bootstrap.servers": "memory:9092",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}


def test_records_are_not_routed_unless_a_field_is_named() -> None:
    assert load(GIVEN).route_field is None


def test_a_field_is_a_path_and_there_are_a_hundred_tables_at_most() -> None:
    settings = load({**GIVEN, "frazil.route.field": 'ship_to."country.code"'})

    assert (settings.route_field, settings.most_routed) == (("ship_to", "country.code"), 100)


def test_a_bound_without_a_field_has_no_effect_and_is_told() -> None:
    settings = load({**GIVEN, "frazil.route.max.tables": "5"})

    assert "frazil.route.max.tables" in dict(settings.no_effect)


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(InvalidConfiguration) as caught:
        load({**GIVEN, "frazil.route.field": "a..b", "frazil.route.max.tables": "0"})

    assert [problem.key for problem in caught.value.problems] == ["frazil.route.field", "frazil.route.max.tables"]


@pytest.mark.parametrize("path", [".", "a.", ".a", 'a"b', '"a', "a\\b", '""', "a\nb"])
def test_a_path_that_could_mean_two_things_is_refused(path: str) -> None:
    with pytest.raises(InvalidConfiguration):
        load({**GIVEN, "frazil.route.field": path})


def test_patterns_of_a_map_and_validation_by_the_client_go_with_it() -> None:
    given = {
        **GIVEN,
        "frazil.route.field": "country",
        "snowflake.topic2table.map": "(.*)_v[0-9]:$1",
        "snowflake.topic2table.map.regex.replacement": "true",
        "snowflake.validation": "client_side",
    }

    assert load(given).route_field == ("country",)
