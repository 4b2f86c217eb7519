"""Schemas from a registry over HTTP, through confluent-kafka's own client."""

from __future__ import annotations

import gzip
import json
import ssl
import struct
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from tests.support import certificates

from frazil.config.converters import no_effect, problems, spec
from frazil.errors import RegistryRefused, RegistryUnavailable
from frazil.model import ConverterSpec
from frazil.records.connect import registry as module
from frazil.records.connect.avro import avro_decoder
from frazil.records.connect.registry import RegisteredSchema, parted
from frazil.records.connect.registry import registry as connect
from frazil.records.connect.unreadable import Unreadable
from frazil.records.decoders import decoder, schemas_of
from frazil.testing.schema_registry import SchemaRegistry, served
from frazil.testing.topics import wait_until


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


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503])
def test_a_registry_that_fails_is_asked_again(registry: SchemaRegistry, status: int) -> None:
    number = registry.register("orders-value", '"int"')
    schemas = connect({"schema.registry.url": registry.url})
    registry.failing = status
    with pytest.raises(RegistryUnavailable, match=str(status)):
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


@pytest.mark.parametrize("user", ["anna:wrong-secret", "anna%3Aa:wrong-secret"])
def test_a_refusal_shows_no_secret(user: str) -> None:
    with served("anna:secret") as guarded:
        schemas = connect({"schema.registry.url": guarded.url.replace("//", f"//{user}@")})
        with pytest.raises(RegistryRefused) as refused:
            schemas.schema(1)

    assert "wrong-secret" not in f"{refused.value} {refused.value!r} {schemas!r}"


def test_an_outage_shows_no_secret_of_any_address() -> None:
    with served() as first, served() as second:
        urls = ",".join(each.url.replace("//", "//anna:secret@") for each in (first, second))
    schemas = connect({"schema.registry.url": urls})
    with pytest.raises(RegistryUnavailable) as unavailable:
        schemas.schema(1)

    assert "secret" not in f"{unavailable.value} {unavailable.value!r} {schemas!r}"


@pytest.fixture
def authority() -> certificates.Holder:
    return certificates.root()


def shown_by(directory: Path, authority: certificates.Holder) -> ssl.SSLContext:
    """What a server shows whom the authority vouches for."""
    server = authority.issue("registry")
    chain = certificates.write(directory / "server.pem", server.chain + server.key_pem())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain)
    return context


def trust(form: str, directory: Path, authority: certificates.Holder) -> dict[str, str]:
    match form:
        case "PEM":
            path = certificates.write(directory / "trust.pem", certificates.pem(authority.certificate))
            return {"schema.registry.ssl.truststore.location": str(path), "schema.registry.ssl.truststore.type": form}
        case "PKCS12" | "JKS":
            path = certificates.pkcs12_trust(directory / "trust.p12", authority.certificate)
            path = path if form == "PKCS12" else certificates.jks(directory / "trust.jks", path)
            return {
                "schema.registry.ssl.truststore.location": str(path),
                "schema.registry.ssl.truststore.password": certificates.PASSWORD,
                "schema.registry.ssl.truststore.type": form,
            }
        case _:
            path = certificates.write(directory / "ca.pem", certificates.pem(authority.certificate))
            return {"schema.registry.ssl.ca.location": str(path)}


@pytest.mark.parametrize("form", ["PEM", "PKCS12", "JKS", "ca"])
def test_a_registry_of_an_authority_of_ones_own_is_trusted(
    form: str, tmp_path: Path, authority: certificates.Holder
) -> None:
    with served(tls=shown_by(tmp_path, authority)) as registry:
        number = registry.register("orders-value", '"int"')
        given = {"schema.registry.url": registry.url, **trust(form, tmp_path, authority)}
        options = spec(
            "value.converter", "avro", {f"value.converter.{key}": each for key, each in given.items()}
        ).options
        if form != "ca":
            (tmp_path / Path(given["schema.registry.ssl.truststore.location"]).name).unlink()  # workers do not have it

        assert connect(options).schema(number).text == '"int"'


def test_a_registry_that_nobody_known_vouches_for_is_not_asked(tmp_path: Path, authority: certificates.Holder) -> None:
    with served(tls=shown_by(tmp_path, authority)) as registry:
        schemas = connect({"schema.registry.url": registry.url})
        with pytest.raises(RegistryUnavailable, match="CERTIFICATE_VERIFY_FAILED"):
            schemas.schema(1)


@pytest.mark.parametrize("form", ["PEM", "PKCS12"])
def test_a_registry_that_wants_to_know_who_asks_is_shown_a_certificate(
    form: str, tmp_path: Path, authority: certificates.Holder
) -> None:
    wanted = shown_by(tmp_path, authority)
    wanted.verify_mode = ssl.CERT_REQUIRED
    wanted.load_verify_locations(certificates.write(tmp_path / "ca.pem", certificates.pem(authority.certificate)))
    anna = authority.issue("anna")
    if form == "PEM":
        own = certificates.write(tmp_path / "anna.pem", anna.key_pem(certificates.PASSWORD) + anna.chain)
        password = "schema.registry.ssl.key.password"
    else:
        own = certificates.pkcs12_identity(tmp_path / "anna.p12", anna)
        password = "schema.registry.ssl.keystore.password"
    with served(tls=wanted) as registry:
        number = registry.register("orders-value", '"int"')
        given = {
            "schema.registry.url": registry.url,
            "schema.registry.ssl.keystore.location": str(own),
            "schema.registry.ssl.keystore.type": form,
            password: certificates.PASSWORD,
            **trust("PEM", tmp_path, authority),
        }
        options = spec(
            "value.converter", "avro", {f"value.converter.{key}": each for key, each in given.items()}
        ).options

        assert connect(options).schema(number).text == '"int"'
        assert certificates.PASSWORD not in options.values()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("ssl.truststore.location", "/nowhere"),
        ("ssl.truststore.type", "BKS"),
        ("ssl.cipher.suites", "TLS_RSA_WITH_AES_128_GCM_SHA256"),
        ("ssl.endpoint.identification.algorithm", ""),
    ],
)
def test_tls_keys_that_cannot_be_used_are_found_before_the_start(key: str, value: str) -> None:
    given = {
        "value.converter": "avro",
        "value.converter.schema.registry.url": "https://registry:8081",
        f"value.converter.schema.registry.{key}": value,
        "value.converter.schema.registry.ssl.truststore.location": "/nowhere",
    }
    found = [problem.key for problem in problems({**given, f"value.converter.schema.registry.{key}": value})]

    assert f"value.converter.schema.registry.{key}" in found


@pytest.mark.parametrize("strategy", ["key.subject.name.strategy", "value.subject.name.strategy"])
def test_strategies_of_names_are_taken_and_said_to_change_nothing(strategy: str) -> None:
    given = {
        "value.converter": "avro",
        "value.converter.schema.registry.url": "http://registry:8081",
        f"value.converter.{strategy}": "io.confluent.kafka.serializers.subject.RecordNameStrategy",
    }
    assert not list(problems(given))
    assert [key for key, _ in no_effect(given)] == [f"value.converter.{strategy}"]


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


@pytest.mark.parametrize(
    ("answer", "because"),
    [
        ({}, "has no schema"),
        ({"schema": 5}, "has no schema"),
        ({"schema": None}, "has no schema"),
        ({"schema": '"int"', "schemaType": 7}, "has no schema"),
        ({"schema": '"int"', "references": "x"}, "not a schema in JSON"),
        (None, "not a schema in JSON"),
        ([1, 2], "not a schema in JSON"),
        (b"<html>a proxy</html>", "not a schema in JSON"),
        (b'{"schema": "\\"in', "not a schema in JSON"),
        (b" " * (17 << 20), "larger than 16,777,216 bytes"),
    ],
    ids=["nothing", "number", "null", "type", "references", "JSON null", "list", "page", "half", "large"],
)
def test_an_answer_that_is_not_a_schema_is_asked_for_again(
    registry: SchemaRegistry, answer: object, because: str
) -> None:
    number = registry.register("orders-value", '"int"')
    schemas = connect({"schema.registry.url": registry.url})
    registry.answer = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    with pytest.raises(RegistryUnavailable, match=because):
        schemas.schema(number)
    registry.answer = None

    assert schemas.schema(number).text == '"int"'


def test_a_slow_answer_is_waited_for(registry: SchemaRegistry) -> None:
    number = registry.register("orders-value", '"int"')
    registry.answers = threading.Event()
    read = avro_decoder({"schema.registry.url": registry.url})

    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(read.text, struct.pack(">bi", 0, number) + b"\x02")
        wait_until(lambda: bool(registry.requests), "the registry to be asked")
        assert not found.done()
        registry.answers.set()

        assert found.result() == "1"


def test_a_compressed_answer_is_not_unpacked(registry: SchemaRegistry) -> None:
    number = registry.register("orders-value", '"int"')
    registry.answer, registry.encoding = gzip.compress(b" " * (100 << 20), 1), "gzip"

    with pytest.raises(RegistryUnavailable, match="compressed, which was not asked for"):
        connect({"schema.registry.url": registry.url}).schema(number)


def test_an_answer_that_takes_too_long_ends(registry: SchemaRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    number = registry.register("orders-value", '"int"')
    monkeypatch.setattr(module, "_MOST_SECONDS", -1.0)

    with pytest.raises(RegistryUnavailable, match="takes longer than"):
        connect({"schema.registry.url": registry.url}).schema(number)


def test_a_page_that_repeats_the_credentials_is_not_quoted(registry: SchemaRegistry) -> None:
    registry.failing, registry.answer = 500, b"<html>Authorization: Basic YW5uYTpzZWNyZXQ=</html>"
    with pytest.raises(RegistryUnavailable, match="HTTP status 500") as raised:
        connect({"schema.registry.url": registry.url, **USER}).schema(1)

    assert "YW5uYTpzZWNyZXQ" not in str(raised.value)


def test_a_path_that_leads_nowhere_does_not_make_schemas_unknown(registry: SchemaRegistry) -> None:
    number = registry.register("orders-value", '"int"')

    with pytest.raises(RegistryUnavailable, match="404"):
        connect({"schema.registry.url": f"{registry.url}/elsewhere"}).schema(number)


def test_a_schema_is_told_from_others_however_it_is_written(registry: SchemaRegistry) -> None:
    number = registry.register("orders-value", '{"type": "record", "name": "R", "fields": []}')

    def found() -> dict[str, dict[int, str]]:
        read = avro_decoder({"schema.registry.url": registry.url})
        read.decode(struct.pack(">bi", 0, number))
        return schemas_of([read])

    first = found()
    registry.schemas[number] = {**registry.schemas[number], "schema": '{"name":"R","fields":[],"type":"record"}'}
    again = found()
    registry.schemas[number] = {**registry.schemas[number], "schema": '{"type": "record", "name": "S", "fields": []}'}

    assert list(first) == [registry.url]
    assert first == again != found()


def test_decoders_without_a_registry_tell_no_schemas() -> None:
    assert schemas_of([decoder(ConverterSpec("json")), decoder(ConverterSpec("string"))]) == {}
