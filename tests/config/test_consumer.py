"""Consumer keys as Java's client takes them, in librdkafka's terms."""

from __future__ import annotations

import re
import socket
import subprocess
from pathlib import Path

import psutil
import pytest
from tests.support import certificates
from tests.support.certificates import PASSWORD

from frazil.config import consumer
from frazil.dev.jars import kafka_jars
from frazil.dev.java import require_java

Texts = dict[str, str]

ALICE = 'required username="alice" password="hush";'
PLAIN = f"org.apache.kafka.common.security.plain.PlainLoginModule {ALICE}"
SCRAM = f"org.apache.kafka.common.security.scram.ScramLoginModule {ALICE}"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
OAUTH_CLASSES = "org.apache.kafka.common.security.oauthbearer"
BY_ID = f'{OAUTH} clientId="me" clientSecret="hush" scope="all" extension_a="1" extension_b="2";'
ENDPOINT = "sasl.oauthbearer.token.endpoint.url"
TOKENS = {"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER", ENDPOINT: "https://id/token"}

ROOT = certificates.root()
CLIENT = ROOT.issue("client")
TRUST = "ssl.truststore"
STORE = "ssl.keystore"


def overriding(keys: Texts) -> Texts:
    return {f"consumer.override.{key}": value for key, value in keys.items()}


def translated(keys: Texts) -> Texts:
    """What `keys` become, `security.protocol` aside."""
    done = consumer.read(overriding(keys))
    assert done.problems == []
    return {key: value for key, value in done.client.items() if key != "security.protocol"}


def problems(keys: Texts) -> Texts:
    """What is wrong with `keys`, by key; never a secret."""
    found = {problem.key: problem.text for problem in consumer.read(overriding(keys)).problems}
    assert "hush" not in str(found)
    return {key.removeprefix("consumer.override."): text for key, text in found.items()}


def sasl(mechanism: str | None, jaas: str, **others: str) -> Texts:
    given = {"security.protocol": "SASL_SSL", "sasl.jaas.config": jaas, **others}
    return given if mechanism is None else {**given, "sasl.mechanism": mechanism}


def tls(**keys: str) -> Texts:
    return {"security.protocol": "SSL", **{key.replace("_", "."): value for key, value in keys.items()}}


@pytest.mark.parametrize(
    ("mechanism", "jaas"), [("PLAIN", PLAIN), ("SCRAM-SHA-256", SCRAM), (" SCRAM-SHA-512 ", SCRAM)]
)
def test_a_login_module_becomes_a_user_and_a_password(mechanism: str, jaas: str) -> None:
    assert translated(sasl(mechanism, jaas)) == {
        "sasl.mechanisms": mechanism.strip(),
        "sasl.username": "alice",
        "sasl.password": "hush",
    }


@pytest.mark.parametrize("protocol", ["SASL_SSL", "sasl_plaintext", "Ssl", "PLAINTEXT"])
def test_a_protocol_is_read_in_any_case(protocol: str) -> None:
    done = consumer.read(overriding(sasl("PLAIN", PLAIN) | {"security.protocol": protocol}))

    assert done.problems == []
    assert done.client["security.protocol"] == protocol.upper()


def test_librdkafkas_own_keys_pass() -> None:
    own = {"sasl.mechanisms": "PLAIN", "sasl.username": "alice", "sasl.password": " hush "}

    assert translated({"security.protocol": "SASL_SSL", **own}) == own


def test_security_keys_mean_nothing_where_the_protocol_asks_for_none() -> None:
    given = sasl(None, "hush") | tls(ssl_truststore_location="/nowhere") | {"security.protocol": "PLAINTEXT"}

    done = consumer.read(overriding(given))

    assert (done.client, done.problems) == ({"security.protocol": "PLAINTEXT"}, [])
    assert done.no_effect == [
        ("consumer.override.sasl.jaas.config", "security.protocol asks for no SASL"),
        ("consumer.override.ssl.truststore.location", "security.protocol asks for no TLS"),
    ]


@pytest.mark.parametrize(
    ("keys", "key", "text"),
    [
        (sasl("PLAIN", "hush"), "sasl.jaas.config", "is malformed: at character 5 a control flag"),
        (sasl(None, PLAIN), "sasl.jaas.config", "Write sasl.mechanism=PLAIN beside it"),
        (sasl(None, SCRAM), "sasl.jaas.config", "sasl.mechanism=SCRAM-SHA-256 or sasl.mechanism=SCRAM-SHA-512"),
        (sasl("PLAIN", SCRAM), "sasl.jaas.config", "PlainLoginModule or another sasl.mechanism"),
        (sasl("PLAIN", PLAIN.replace("username", "user")), "sasl.jaas.config", "has no username"),
        (sasl("PLAIN", PLAIN.replace("password", "pass")), "sasl.jaas.config", "has no password"),
        (sasl("SCRAM-SHA-256", SCRAM.replace(";", " tokenauth=true;")), "sasl.jaas.config", "delegation tokens"),
        (sasl("PLAIN", f"com.acme.Login {ALICE}"), "sasl.jaas.config", "names a login module that frazil cannot translate"),
        (
            sasl("GSSAPI", "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true;"),
            "sasl.jaas.config",
            "no Kerberos (GSSAPI)",
        ),
        (sasl("AWS_MSK_IAM", "hush"), "sasl.mechanism", "only Amazon's library for Java speaks"),
        (sasl("DIGEST-MD5", "hush"), "sasl.mechanism", "is DIGEST-MD5, which librdkafka does not speak"),
        (sasl("PLAIN", PLAIN) | {"sasl.username": "bob"}, "sasl.username", "together with sasl.jaas.config"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}, "sasl.mechanism", "needs sasl.jaas.config"),
        ({"security.protocol": "SASL_SSL"}, "security.protocol", "GSSAPI (Kerberos) is its default"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "GSSAPI"}, "sasl.mechanism", "it is GSSAPI"),
        ({"security.protocol": "TLS"}, "security.protocol", "Write one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        (
            sasl("PLAIN", PLAIN) | {"sasl.login.callback.handler.class": "com.acme.Handler"},
            "sasl.login.callback.handler.class",
            "names a Java class",
        ),
        (sasl("PLAIN", PLAIN) | {"sasl.client.callback.handler.class": "x"}, "sasl.client.callback.handler.class", "Java"),
    ],
)  # fmt: skip
def test_a_login_that_cannot_be_translated_is_named(keys: Texts, key: str, text: str) -> None:
    found = problems(keys)

    assert list(found) == [key]
    assert text in found[key]


def test_a_login_module_that_fetches_tokens_becomes_librdkafkas_method_for_that() -> None:
    assert translated({**TOKENS, "sasl.jaas.config": BY_ID}) == {
        "sasl.mechanisms": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": "https://id/token",
        "sasl.oauthbearer.client.id": "me",
        "sasl.oauthbearer.client.secret": "hush",
        "sasl.oauthbearer.scope": "all",
        "sasl.oauthbearer.extensions": "a=1,b=2",
    }


def test_the_newer_keys_for_tokens_win_over_the_options() -> None:
    keys = {
        **TOKENS,
        "sasl.jaas.config": f"{OAUTH} clientId=old clientSecret=old;",
        "sasl.login.callback.handler.class": f"{OAUTH_CLASSES}.OAuthBearerLoginCallbackHandler",
        "sasl.oauthbearer.jwt.retriever.class": f"{OAUTH_CLASSES}.ClientCredentialsJwtRetriever",
        "sasl.oauthbearer.client.credentials.client.id": "new",
        "sasl.oauthbearer.client.credentials.client.secret": "hush",
    }

    found = translated(keys)

    assert (found["sasl.oauthbearer.client.id"], found["sasl.oauthbearer.client.secret"]) == ("new", "hush")
    assert found["sasl.oauthbearer.grant.type"] == "client_credentials"


def test_an_assertion_takes_the_place_of_a_secret(tmp_path: Path) -> None:
    keys = {
        **TOKENS,
        "sasl.jaas.config": f"{OAUTH};",
        "sasl.oauthbearer.jwt.retriever.class": f"{OAUTH_CLASSES}.JwtBearerJwtRetriever",
        "sasl.oauthbearer.assertion.private.key.file": str(tmp_path),
        "sasl.oauthbearer.assertion.template.file": str(tmp_path),
    }

    found = translated(keys)

    assert found["sasl.oauthbearer.grant.type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
    assert found["sasl.oauthbearer.assertion.jwt.template.file"] == str(tmp_path)


@pytest.mark.parametrize(
    ("changes", "key", "text"),
    [
        ({ENDPOINT: "file:///token"}, ENDPOINT, "no http:// or https:// address"),
        ({"sasl.jaas.config": f"{OAUTH} clientId=me;"}, "sasl.jaas.config", "goes without clientSecret"),
        ({"sasl.jaas.config": f"{OAUTH} clientSecret=hush;"}, "sasl.jaas.config", "goes without clientId"),
        ({"sasl.jaas.config": BY_ID.replace("scope", "ssl.truststore.location")}, "sasl.jaas.config", "https.ca.location"),
        ({"sasl.login.callback.handler.class": "com.acme.H"}, "sasl.login.callback.handler.class", "is com.acme.H"),
        ({"sasl.oauthbearer.jwt.retriever.class": "com.acme.R"}, "sasl.oauthbearer.jwt.retriever.class", "is com.acme.R"),
        ({"sasl.oauthbearer.header.urlencode": "true"}, "sasl.oauthbearer.header.urlencode", "as they are"),
    ],
)  # fmt: skip
def test_a_way_to_tokens_that_cannot_be_translated_is_named(changes: Texts, key: str, text: str) -> None:
    found = problems({**TOKENS, "sasl.jaas.config": BY_ID, **changes})

    assert list(found) == [key]
    assert text in found[key]


def test_tokens_without_an_endpoint_are_refused_for_java_would_sign_none() -> None:
    keys = {key: value for key, value in TOKENS.items() if key != ENDPOINT}

    assert ENDPOINT in problems({**keys, "sasl.jaas.config": BY_ID})["sasl.jaas.config"]
    own = {"sasl.oauthbearer.client.id": "me", "sasl.oauthbearer.client.secret": "hush"}
    assert ENDPOINT in problems({**keys, **own})["sasl.mechanism"]


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a trust store and a key store, in PKCS#12 and in PEM."""
    here = tmp_path_factory.mktemp("stores")
    certificates.pkcs12_trust(here / "trust.p12", ROOT.certificate)
    certificates.pkcs12_identity(here / "client.p12", CLIENT)
    certificates.write(here / "trust.pem", certificates.pem(ROOT.certificate))
    certificates.write(here / "client.pem", CLIENT.key_pem("hush") + CLIENT.chain)
    return here


IN_PEM = {
    "ssl.ca.pem": certificates.pem(ROOT.certificate),
    "ssl.certificate.pem": CLIENT.chain,
    "ssl.key.pem": CLIENT.key_pem(),
}


@pytest.mark.parametrize("kind", [None, "JKS", "pkcs12"])
def test_stores_travel_as_values_and_say_themselves_what_they_are(stores: Path, kind: str | None) -> None:
    keys = tls(
        ssl_truststore_location=str(stores / "trust.p12"),
        ssl_truststore_password=PASSWORD,
        ssl_keystore_location=str(stores / "client.p12"),
        ssl_keystore_password=PASSWORD,
        ssl_key_password=PASSWORD,
    )
    kinds = {} if kind is None else tls(ssl_truststore_type=kind, ssl_keystore_type=kind)

    assert translated({**keys, **kinds}) == IN_PEM


def test_stores_can_be_pem_files(stores: Path) -> None:
    keys = tls(
        ssl_truststore_type="PEM",
        ssl_truststore_location=str(stores / "trust.pem"),
        ssl_keystore_type="PEM",
        ssl_keystore_location=str(stores / "client.pem"),
        ssl_key_password="hush",
    )

    assert translated(keys) == IN_PEM


def test_stores_can_stand_in_the_configuration() -> None:
    keys = tls(
        ssl_truststore_type="PEM",
        ssl_truststore_certificates=certificates.pem(ROOT.certificate),
        ssl_keystore_type="PEM",
        ssl_keystore_key=CLIENT.key_pem("hush"),
        ssl_keystore_certificate_chain=CLIENT.chain,
        ssl_key_password="hush",
    )

    assert translated(keys) == IN_PEM


def test_librdkafkas_own_files_pass(stores: Path) -> None:
    own = {"ssl.ca.location": str(stores / "trust.pem"), "ssl.key.password": "hush"}

    assert translated({"security.protocol": "SSL", **own}) == own


@pytest.mark.parametrize(
    ("keys", "key", "text"),
    [
        ({f"{TRUST}.location": "/nowhere"}, f"{TRUST}.location", "names /nowhere, which cannot be read: No such file"),
        ({f"{TRUST}.location": "{trust}"}, f"{TRUST}.location", "which is encrypted, and its password is not given"),
        ({f"{TRUST}.location": "{trust}", f"{TRUST}.password": "hush"}, f"{TRUST}.location", "does not open"),
        ({f"{TRUST}.password": "hush"}, f"{TRUST}.password", f"is given without {TRUST}.location"),
        ({f"{TRUST}.location": "{trust}", f"{TRUST}.type": "BCFKS"}, f"{TRUST}.type", "Write JKS, PKCS12 or PEM"),
        ({f"{TRUST}.certificates": "hush"}, f"{TRUST}.certificates", f"Write {TRUST}.type=PEM"),
        ({f"{TRUST}.certificates": "hush", f"{TRUST}.type": "PEM"}, f"{TRUST}.certificates", "holds no certificate"),
        (
            {f"{TRUST}.location": "{trust}", f"{TRUST}.password": "hush", f"{TRUST}.type": "PEM"},
            f"{TRUST}.password",
            "a PEM file has no password",
        ),
        ({f"{TRUST}.location": "{trust}", "ssl.ca.location": "{trust}"}, "ssl.ca.location", "together with"),
        ({f"{STORE}.location": "{client}"}, f"{STORE}.location", f"is given without {STORE}.password"),
        ({f"{STORE}.location": "{client}", f"{STORE}.password": "hush"}, f"{STORE}.location", "does not open"),
        ({f"{STORE}.location": "{trust}", f"{STORE}.password": PASSWORD}, f"{STORE}.location", "holds no private key"),
        ({f"{STORE}.key": "hush", f"{STORE}.type": "PEM"}, f"{STORE}.key", f"without {STORE}.certificate.chain"),
        (
            {f"{STORE}.key": "hush", f"{STORE}.certificate.chain": "hush", f"{STORE}.location": "/x", f"{STORE}.type": "PEM"},
            f"{STORE}.location",
            "together with",
        ),
        (
            {f"{STORE}.location": "{client}", f"{STORE}.password": PASSWORD, "ssl.key.pem": "hush"},
            "ssl.key.pem",
            "together with",
        ),
        (
            {f"{STORE}.type": "PEM", f"{STORE}.key": ROOT.key_pem(), f"{STORE}.certificate.chain": CLIENT.chain},
            f"{STORE}.key",
            "key values mismatch",
        ),
        ({"ssl.cipher.suites": "TLS_RSA_WITH_RC4_128_MD5"}, "ssl.cipher.suites", "TLS_RSA_WITH_RC4_128_MD5, which"),
        ({"ssl.enabled.protocols": "TLSv1.3"}, "ssl.enabled.protocols", "speaks TLS 1.2 and 1.3"),
        ({"ssl.protocol": "SSLv3"}, "ssl.protocol", "speaks TLS 1.2 and 1.3"),
        ({"ssl.engine.factory.class": "com.acme.Factory"}, "ssl.engine.factory.class", "names a Java class"),
    ],
)  # fmt: skip
def test_a_store_that_cannot_be_used_is_named(stores: Path, keys: Texts, key: str, text: str) -> None:
    files = {"trust": stores / "trust.p12", "client": stores / "client.p12"}
    found = problems({"security.protocol": "SSL", **{name: value.format(**files) for name, value in keys.items()}})

    assert list(found) == [key]
    assert text in found[key]


def test_host_names_are_not_checked_where_the_algorithm_is_blank() -> None:
    key = "ssl.endpoint.identification.algorithm"

    assert translated({key: " "}) == {key: "none"}
    assert translated({key: "HTTPS"}) == {key: "https"}


def test_cipher_suites_get_openssls_names() -> None:
    java = (
        "TLS_AES_256_GCM_SHA384, TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,"
        "TLS_RSA_WITH_AES_128_CBC_SHA,TLS_DHE_RSA_WITH_AES_128_CBC_SHA256,ECDHE-RSA-AES128-GCM-SHA256"
    )

    done = consumer.read(overriding(tls(ssl_cipher_suites=java)))

    assert done.client["ssl.cipher.suites"].split(":") == [
        "ECDHE-RSA-AES256-GCM-SHA384",
        "ECDHE-ECDSA-CHACHA20-POLY1305",
        "AES128-SHA",
        "DHE-RSA-AES128-SHA256",
        "ECDHE-RSA-AES128-GCM-SHA256",
    ]
    assert done.no_effect == [
        ("consumer.override.ssl.cipher.suites", "as for suites of TLS 1.3: librdkafka offers all of them")
    ]


def test_versions_of_tls_that_librdkafka_speaks_anyway_are_accepted() -> None:
    done = consumer.read(overriding(tls(ssl_enabled_protocols="TLSv1.2, TLSv1.3", ssl_protocol="TLSv1.3")))

    assert done.problems == []
    assert [key for key, _ in done.no_effect] == [
        "consumer.override.ssl.enabled.protocols",
        "consumer.override.ssl.protocol",
    ]


def test_a_key_that_neither_java_nor_librdkafka_knows_is_refused_with_the_nearest() -> None:
    found = problems({"fetch.min.byte": "1", "ssl.truststore.loction": "x", "zzz": "hush", "sasl.mechansim": "hush"})

    assert "neither of Kafka's Java consumer nor of librdkafka" in found["zzz"]
    assert "Did you mean ssl.truststore.location?" in found["ssl.truststore.loction"]
    assert "Did you mean sasl.mechanism?" in found["sasl.mechansim"]
    assert list(found) == ["fetch.min.byte", "zzz", "sasl.mechansim", "ssl.truststore.loction"]


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("fetch.min.bytes", "0", "is '0', which librdkafka refuses"),
        ("request.timeout.ms", "1", "outside allowed range 10..300000"),
        ("client.dns.lookup", "maybe", "Invalid value"),
        ("sasl.oauthbearer.method", "hush", "is '****'"),
        ("ssl.ca.location", "/nowhere", "ssl.ca.location failed"),
        ("error_cb", "print", "is not text but a function"),
        ("client.id", "\ud800", "half a character"),
        ("test.mock.num.brokers", "3", "stand-ins for brokers"),
    ],
)
def test_a_value_that_librdkafka_refuses_is_refused_at_once(key: str, value: str, text: str) -> None:
    assert text in problems({"security.protocol": "SSL", key: value})[key]


def test_judging_connects_to_nobody_and_leaves_no_thread() -> None:
    threads = psutil.Process().num_threads()

    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        address = f"127.0.0.1:{server.getsockname()[1]}"
        for keys in (sasl("OAUTHBEARER", BY_ID), sasl("PLAIN", PLAIN)):
            assert problems({**keys, ENDPOINT: f"http://{address}/", "bootstrap.servers": address}) == {}
        with pytest.raises(BlockingIOError):
            server.accept()

    assert psutil.Process().num_threads() == threads


def test_judging_logs_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    assert problems({**sasl("PLAIN", PLAIN), "debug": "all"}) == {}

    assert capfd.readouterr() == ("", "")


def test_every_key_of_javas_consumer_is_known() -> None:
    """As Kafka's own jar lists them."""
    command = [require_java(), "-cp", f"{kafka_jars()}/*", "org.apache.kafka.clients.consumer.ConsumerConfig"]
    page = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    keys = re.findall(r'<h4><a id="([a-z0-9.]+)">', page)

    assert len(keys) > 100
    assert [key for key in keys if "nor of librdkafka" in problems({key: "1"}).get(key, "")] == []


def test_no_secret_is_in_a_repr() -> None:
    assert "hush" not in repr(consumer.read(overriding(sasl("PLAIN", PLAIN))))
