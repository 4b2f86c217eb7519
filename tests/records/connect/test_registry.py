"""Schemas from a registry over HTTP, through confluent-kafka's own client."""

from __future__ import annotations

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

from frazil.errors import RegistryRefused, RegistryUnavailable
from frazil.records.connect.registry import RegisteredSchema, parted
from frazil.records.connect.registry import registry as connect
from frazil.records.connect.unreadable import Unreadable
from frazil.testing.schema_registry import SchemaRegistry, served


def test_a_schema_is_asked_for_once(registry: SchemaRegistry) -> None:
    number = registry.register("orders-value", '"int"')
    schemas = connect({"schema.registry.url": registry.url})

    assert [schemas.schema(number) for _ in range(3)] == [RegisteredSchema("AVRO", '"int"')] * 3
    assert len(registry.requests) == 1


def test_an_unknown_id_is_bad_and_asked_for_once(registry: SchemaRegistry) -> None:
    schemas = connect({"schema.registry.url": registry.url})
    for _ in range(2):
        with pytest.raises(Unreadable, match="'7'"):
            schemas.schema(7)

    assert len(registry.requests) == 1


def test_a_registry_that_fails_is_asked_again(registry: SchemaRegistry) -> None:
    number = registry.register("orders-value", '"int"')
    schemas = connect({"schema.registry.url": registry.url})
    registry.failing = 503
    with pytest.raises(RegistryUnavailable, match="503"):
        schemas.schema(number)
    registry.failing = None

    assert schemas.schema(number).text == '"int"'


def test_a_registry_that_cannot_be_reached_is_transient() -> None:
    with served() as gone:
        schemas = connect({"schema.registry.url": gone.url})
    with pytest.raises(RegistryUnavailable):
        schemas.schema(1)


def test_the_next_url_is_asked_if_the_first_does_not_answer(registry: SchemaRegistry) -> None:
    with served() as gone:
        urls = f"{gone.url},{registry.url}"
    number = registry.register("orders-value", '"int"')

    assert connect({"schema.registry.url": urls}).schema(number).text == '"int"'


USER = {"basic.auth.credentials.source": "USER_INFO", "basic.auth.user.info": "anna:secret"}
BEARER = {"bearer.auth.credentials.source": "STATIC_TOKEN", "bearer.auth.token": "abc"}


@pytest.mark.parametrize(("options", "user", "token"), [(USER, "anna:secret", None), (BEARER, None, "abc")])
def test_a_registry_that_demands_credentials_gets_them(
    options: dict[str, str], user: str | None, token: str | None
) -> None:
    with served(user, token) as guarded:
        number = guarded.register("orders-value", '"int"')

        assert connect({"schema.registry.url": guarded.url, **options}).schema(number).text == '"int"'
        with pytest.raises(RegistryRefused, match="401"):
            connect({"schema.registry.url": guarded.url}).schema(number)


def test_credentials_in_the_url_are_used_and_not_shown() -> None:
    with served("anna:secret") as guarded:
        schemas = connect({"schema.registry.url": guarded.url.replace("//", "//anna:secret@")})
        with pytest.raises(Unreadable) as refused:
            schemas.schema(1)

    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    "options", [{}, {"schema.registry.url": "http://r", "basic.auth.credentials.source": "USER_INFO"}]
)
def test_options_that_name_no_registry_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="missing"):
        connect(options)


def test_references_are_found_by_subject_and_version(registry: SchemaRegistry) -> None:
    client = SchemaRegistryClient({"url": registry.url})
    used = client.register_schema("used", Schema("one", "PROTOBUF"))
    schemas = connect({"schema.registry.url": registry.url})

    assert client.get_latest_version("used").schema_id == used
    assert schemas.referred(("used.proto", "used", 1)).text == "one"
    with pytest.raises(Unreadable, match="version 2"):
        schemas.referred(("used.proto", "used", 2))


@pytest.mark.parametrize("data", [b"", b"\0\0\0\1", b"\1\0\0\0\1"])
def test_what_no_serialiser_wrote_is_refused(data: bytes) -> None:
    with pytest.raises(Unreadable, match="magic byte"):
        parted(data)
