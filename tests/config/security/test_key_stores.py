from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption as Encrypted
from cryptography.hazmat.primitives.serialization import Encoding, PrivateFormat, pkcs12
from cryptography.x509 import load_pem_x509_certificates
from tests.support import certificates
from tests.support.certificates import PASSWORD, Holder

from frazil.config.security.key_stores import Identity, Unusable, identity, trusted

ROOT = certificates.root()
ALICE = ROOT.issue("agency", authority=True).issue("alice")
KEY_PASSWORD = "hush-key"


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with Alice's key stores and with trust stores for the root."""
    here = tmp_path_factory.mktemp("stores")
    certificates.pkcs12_trust(here / "trust.p12", ROOT.certificate)
    certificates.pkcs12_identity(here / "alice.p12", ALICE)
    certificates.jks(here / "trust.jks", here / "trust.p12")
    certificates.jks(here / "alice.jks", here / "alice.p12", KEY_PASSWORD)
    certificates.write(here / "trust.pem", certificates.pem(ROOT.certificate))
    certificates.write(here / "alice.pem", ALICE.key_pem(KEY_PASSWORD) + ALICE.chain)
    return here


def names(pem: str) -> list[str]:
    return [each.subject.rfc4514_string() for each in load_pem_x509_certificates(pem.encode())]


def reason(content: bytes, password: str | None = None, key_password: str | None = None, *, pem: bool = False) -> str:
    """Why the content cannot be an identity."""
    with pytest.raises(Unusable) as caught:
        identity(content, password, key_password, pem=pem)
    return str(caught.value)


def reason_not_to_trust(content: bytes, password: str | None = None, *, pem: bool = False) -> str:
    with pytest.raises(Unusable) as caught:
        trusted(content, password, pem=pem)
    return str(caught.value)


@pytest.mark.parametrize(
    ("file", "password"), [("trust.jks", PASSWORD), ("trust.jks", None), ("trust.p12", PASSWORD), ("trust.pem", None)]
)
def test_a_trust_store_gives_its_certificates(stores: Path, file: str, password: str | None) -> None:
    assert trusted((stores / file).read_bytes(), password, pem=file.endswith("pem")) == certificates.pem(
        ROOT.certificate
    )


@pytest.mark.parametrize(
    ("file", "password", "key_password"),
    [("alice.jks", PASSWORD, KEY_PASSWORD), ("alice.p12", PASSWORD, None), ("alice.pem", None, KEY_PASSWORD)],
)
def test_a_key_store_gives_its_key_open_and_its_chain_in_order(
    stores: Path, file: str, password: str | None, key_password: str | None
) -> None:
    found = identity((stores / file).read_bytes(), password, key_password, pem=file.endswith("pem"))

    assert found == Identity(ALICE.chain, ALICE.key_pem())
    assert names(found.certificates) == ["CN=alice", "CN=agency", "CN=root"]


def test_the_password_of_a_store_opens_the_key_too_if_the_key_has_none_of_its_own(stores: Path, tmp_path: Path) -> None:
    store = certificates.jks(tmp_path / "one.jks", stores / "alice.p12")

    assert identity(store.read_bytes(), PASSWORD, None, pem=False).key == ALICE.key_pem()


def test_an_identity_hides_its_key() -> None:
    assert "PRIVATE" not in repr(Identity(ALICE.chain, ALICE.key_pem()))


def test_pem_may_stand_on_one_line_and_between_other_text() -> None:
    text = f"subject: alice\n{ALICE.chain.replace(chr(10), ' ')}\nkey {ALICE.key_pem().replace(chr(10), ' ')}"

    assert identity(text.encode(), None, None, pem=True) == Identity(ALICE.chain, ALICE.key_pem())


def test_a_key_in_openssls_own_form_is_read_too() -> None:
    key = ALICE.key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, Encrypted(b"hush"))

    assert identity(key + ALICE.chain.encode(), None, "hush", pem=True).key == ALICE.key_pem()


def test_a_key_without_a_password_is_read_where_one_is_given() -> None:
    assert identity((ALICE.key_pem() + ALICE.chain).encode(), None, "hush", pem=True).key == ALICE.key_pem()


def test_a_trust_store_without_a_password_needs_none(tmp_path: Path) -> None:
    store = certificates.pkcs12_trust(tmp_path / "open.p12", ROOT.certificate, None)

    assert trusted(store.read_bytes(), None, pem=False) == certificates.pem(ROOT.certificate)


@pytest.mark.parametrize("file", ["trust.jks", "trust.p12"])
def test_a_wrong_password_of_a_trust_store_is_named(stores: Path, file: str) -> None:
    assert "does not open with its password" in reason_not_to_trust((stores / file).read_bytes(), "wrong")


def test_an_encrypted_store_needs_its_password(stores: Path) -> None:
    assert "its password is not given" in reason_not_to_trust((stores / "trust.p12").read_bytes())


@pytest.mark.parametrize(
    ("file", "password", "key_password", "why"),
    [
        ("alice.jks", "wrong", KEY_PASSWORD, "does not open with its password"),
        ("alice.jks", PASSWORD, "wrong", "does not open with ssl.key.password"),
        ("alice.jks", PASSWORD, None, "does not open with ssl.key.password"),
        ("alice.p12", "wrong", None, "does not open with its password"),
        ("alice.pem", None, "wrong", "does not open with ssl.key.password"),
        ("alice.pem", None, None, "ssl.key.password is not given"),
        ("trust.jks", PASSWORD, None, "holds no private key"),
        ("trust.p12", PASSWORD, None, "holds no private key"),
        ("trust.pem", None, None, "holds no private key"),
    ],
)
def test_what_is_wrong_with_a_key_store_is_named(
    stores: Path, file: str, password: str | None, key_password: str | None, why: str
) -> None:
    assert why in reason((stores / file).read_bytes(), password, key_password, pem=file.endswith("pem"))


@pytest.mark.parametrize("kind", ["JKS", "PKCS12"])
def test_two_keys_are_refused_for_nobody_can_tell_which_is_meant(tmp_path: Path, kind: str) -> None:
    store = tmp_path / "two"
    for name in ("one", "two"):
        certificates.keytool(
            "-genkeypair", "-alias", name, "-dname", f"CN={name}", "-keyalg", "EC",
            "-keystore", store, "-storetype", kind, "-storepass", PASSWORD, "-keypass", PASSWORD,
        )  # fmt: skip

    assert "holds 2 private keys" in reason(store.read_bytes(), PASSWORD)


def test_of_a_key_java_trusts_the_certificate_itself(stores: Path, tmp_path: Path) -> None:
    server = certificates.root("server")
    store = certificates.jks(tmp_path / "s.jks", certificates.pkcs12_identity(tmp_path / "s.p12", server))

    assert trusted(store.read_bytes(), PASSWORD, pem=False) == certificates.pem(server.certificate)


def test_a_store_without_a_root_is_refused_for_librdkafka_would_trust_nobody() -> None:
    assert "holds no root certificate" in reason_not_to_trust(ALICE.issuers[0].public_bytes(Encoding.PEM), pem=True)


def test_issuers_are_put_in_order_and_strangers_left_out(tmp_path: Path) -> None:
    agency, root = ALICE.issuers
    stranger = certificates.root("stranger").certificate
    store = certificates.pkcs12_identity(
        tmp_path / "mixed.p12", Holder(ALICE.key, ALICE.certificate, (root, stranger, agency))
    )

    assert names(identity(store.read_bytes(), PASSWORD, None, pem=False).certificates) == [
        "CN=alice",
        "CN=agency",
        "CN=root",
    ]


def test_a_key_without_a_certificate_is_refused() -> None:
    bare = pkcs12.serialize_key_and_certificates(b"own", ALICE.key, None, None, Encrypted(PASSWORD.encode()))

    assert "without its certificate" in reason(bare, PASSWORD)
    assert "without its certificate" in reason(ALICE.key_pem().encode(), pem=True)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "neither a JKS nor a PKCS#12 store"),
        (b"hush", "neither a JKS nor a PKCS#12 store"),
        (b"\xce\xce\xce\xce\0\0\0\2", "JCEKS"),
        (b"\n-----BEGIN CERTIFICATE-----\n", "is PEM text"),
        (b"0hush", "does not open"),
        (b"\xfe\xed\xfe\xed\0\0\0\2\0\0\0\1", "does not open"),
    ],
)
def test_what_is_no_store_is_named(content: bytes, why: str) -> None:
    assert why in reason(content, PASSWORD)
    assert why in reason_not_to_trust(content, PASSWORD)


def test_a_store_cut_short_is_damaged_wherever_it_is_cut(stores: Path) -> None:
    store = (stores / "trust.jks").read_bytes()

    assert {reason_not_to_trust(store[:length], None) for length in range(12, len(store) - 20)} == {
        "is a damaged JKS store"
    }


def test_pem_without_a_certificate_trusts_none() -> None:
    assert reason_not_to_trust(b"hush", pem=True) == "holds no certificate to trust"
    broken = b"-----BEGIN CERTIFICATE-----\nhush\n-----END CERTIFICATE-----"
    assert reason_not_to_trust(broken, pem=True) == "holds a certificate that cannot be read"
