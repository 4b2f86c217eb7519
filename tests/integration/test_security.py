"""Java's security keys, against a broker that asks for TLS certificates and a login."""

from __future__ import annotations

import base64
import json
import re
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from tests.support import certificates
from tests.support.brokers import short_lived
from tests.support.certificates import PASSWORD
from tests.support.waiting import caught_up, until_state

from frazil.dev.kafka import KafkaBroker
from frazil.dev.secured import Secured
from frazil.errors import BrokerRefused
from frazil.testing.records import produce
from frazil.testing.topics import create_topic

LOGIN = 'hush "login" \\ß'
KEY_PASSWORD = "hush-key"
ROOT = certificates.root()
CLIENT = ROOT.issue("agency", authority=True).issue("client")
KAFKA = "org.apache.kafka.common.security"


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a client's stores in every form, and the broker's own."""
    here = tmp_path_factory.mktemp("stores")
    server = ROOT.issue("broker")
    certificates.write(here / "broker.pem", server.key_pem() + server.chain)
    certificates.write(here / "trust.PEM", certificates.pem(ROOT.certificate))
    certificates.write(here / "client.PEM", CLIENT.key_pem(KEY_PASSWORD) + CLIENT.chain)
    trust = certificates.pkcs12_trust(here / "trust.PKCS12", ROOT.certificate)
    identity = certificates.pkcs12_identity(here / "client.PKCS12", CLIENT)
    certificates.jks(here / "trust.JKS", trust)
    certificates.jks(here / "client.JKS", identity, KEY_PASSWORD)
    return here


@pytest.fixture(scope="module")
def secured(stores: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A broker that takes nobody on its second listener without a certificate of the root's and a login."""
    listener = Secured(stores / "broker.pem", {"alice": LOGIN}, clients=stores / "trust.PEM")
    with short_lived(tmp_path_factory.mktemp("secured"), secured=listener) as running:
        yield running


@pytest.fixture
def filled(secured: KafkaBroker, request: pytest.FixtureRequest) -> str:
    """A topic on the secured broker with two records."""
    topic = create_topic(secured.bootstrap_servers, "".join(filter(str.isalnum, request.node.name))[:80])
    produce(secured.bootstrap_servers, topic, ['{"id": 1}', '{"id": 2}'])
    return topic


def login(mechanism: str, module: str, options: str) -> dict[str, str]:
    return {
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f"{KAFKA}.{module} required\n  {options};",
    }


def by_password(mechanism: str, password: str = LOGIN) -> dict[str, str]:
    module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
    quoted = password.replace("\\", r"\\").replace('"', r"\"")
    return login(mechanism, module, f'username="alice" password="{quoted}"')


def by_store(stores: Path, kind: str) -> dict[str, str]:
    """Keys of stores as one writes them for Java."""
    keys = {
        "ssl.truststore.type": kind,
        "ssl.truststore.location": str(stores / f"trust.{kind}"),
        "ssl.keystore.type": kind,
        "ssl.keystore.location": str(stores / f"client.{kind}"),
        "ssl.key.password": PASSWORD if kind == "PKCS12" else KEY_PASSWORD,
    }
    passwords = {"ssl.truststore.password": PASSWORD, "ssl.keystore.password": PASSWORD}
    return keys if kind == "PEM" else {**keys, **passwords}


def as_written(secured: KafkaBroker, *keys: dict[str, str]) -> dict[str, str]:
    """A connector's own keys for the secured listener."""
    given = {"bootstrap.servers": secured.secured_servers, "security.protocol": "SASL_SSL"}
    for each in keys:
        given |= each
    return {f"consumer.override.{key}": value for key, value in given.items()}


def files_with(directory: Path, *secrets: str) -> list[Path]:
    """Files that hold one of the secrets."""
    files = [path for path in directory.rglob("*") if path.is_file()]
    return [path for path in files if any(secret.encode() in path.read_bytes() for secret in secrets)]


@pytest.mark.parametrize(
    ("kind", "mechanism"), [("JKS", "PLAIN"), ("PKCS12", "SCRAM-SHA-512"), ("PEM", "SCRAM-SHA-512")]
)
def test_a_connector_with_javas_keys_lands_what_a_secured_broker_holds(
    connect, rows, lake: Path, secured: KafkaBroker, filled: str, stores: Path, kind: str, mechanism: str
):
    keys = as_written(secured, by_password(mechanism), by_store(stores, kind))

    caught_up(connect(filled, **keys))

    assert [row["id"] for row in rows(filled)] == [1, 2]
    assert files_with(lake, LOGIN, PASSWORD, KEY_PASSWORD, CLIENT.key_pem().splitlines()[1]) == []


def test_a_connector_fetches_a_token_where_java_would(
    connect, rows, secured: KafkaBroker, filled: str, stores: Path, tokens: str
):
    module = "oauthbearer.OAuthBearerLoginModule"
    keys = login("OAUTHBEARER", module, 'clientId="me" clientSecret="hush" scope="orders"')
    endpoint = {"sasl.oauthbearer.token.endpoint.url": tokens}

    caught_up(connect(filled, **as_written(secured, keys, endpoint, by_store(stores, "PEM"))))

    assert [row["id"] for row in rows(filled)] == [1, 2]


def test_a_wrong_password_is_refused_by_name_and_shown_nowhere(
    connect, secured: KafkaBroker, filled: str, stores: Path, lake: Path, capfd: pytest.CaptureFixture[str]
):
    keys = as_written(secured, by_password("PLAIN", "hush-wrong"), by_store(stores, "PEM"))

    connector = connect(filled, **keys)
    until_state(connector, "FAILED")

    assert isinstance(connector.error, BrokerRefused)
    assert "Invalid username or password" in str(connector.error)
    said = [str(connector.error), repr(connector.settings), *capfd.readouterr(), secured.log.read_text()]
    assert [text for text in said if "hush" in text] == []


def test_a_client_without_a_certificate_is_refused_by_name(connect, secured: KafkaBroker, filled: str, stores: Path):
    trust = {key: value for key, value in by_store(stores, "PEM").items() if "truststore" in key}

    connector = connect(filled, **as_written(secured, by_password("PLAIN"), trust))
    until_state(connector, "FAILED")

    assert isinstance(connector.error, BrokerRefused)
    assert "alert" in str(connector.error)


def test_a_broker_that_is_not_trusted_is_refused_by_name(connect, secured: KafkaBroker, filled: str, stores: Path):
    stranger = certificates.pem(certificates.root("stranger").certificate)
    trust = {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": stranger}

    connector = connect(filled, **as_written(secured, by_password("PLAIN"), trust))
    until_state(connector, "FAILED")

    assert isinstance(connector.error, BrokerRefused)
    assert re.search(r"certificate (could not be verified|verify failed)", str(connector.error))


@pytest.fixture
def tokens() -> Iterator[str]:
    """The address of a service that gives unsigned tokens to a client called me, whose secret is hush."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Tokens) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/token"
        server.shutdown()


class Tokens(BaseHTTPRequestHandler):
    """OAuth's grant by client credentials."""

    def do_POST(self) -> None:
        asked = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        known = self.headers["Authorization"] == f"Basic {base64.b64encode(b'me:hush').decode()}"
        right = asked == {"grant_type": ["client_credentials"], "scope": ["orders"]}
        self.send_response(200 if known and right else 401)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps({"access_token": token("me")}).encode())

    def log_message(self, *_: object) -> None:
        """Stay silent."""


def token(subject: str) -> str:
    now = int(time.time())
    parts = ({"alg": "none"}, {"sub": subject, "iat": now, "exp": now + 3600})
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
    return ".".join([*encoded, ""])
