"""Certificates of an authority of one's own, in the three forms that Kafka's clients take them."""

from __future__ import annotations

import ipaddress
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import NameOID

PASSWORD = "hush-store"
"""Opens every store made here."""

_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Holder:
    """Somebody with a key, a certificate, and the certificates of those who vouch for it."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate
    issuers: tuple[x509.Certificate, ...] = ()

    @property
    def chain(self) -> str:
        """The certificates in PEM, the holder's own first."""
        return "".join(pem(each) for each in (self.certificate, *self.issuers))

    def key_pem(self, password: str | None = None) -> str:
        """The key in PKCS#8."""
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, _encryption(password)).decode()

    def issue(self, name: str, *, authority: bool = False) -> Holder:
        """Vouch for somebody new, who can be a server on this machine."""
        issuers = (self.certificate, *self.issuers)
        return _certified(name, self, authority=authority, issuers=issuers)


def root(name: str = "root") -> Holder:
    """An authority nobody else vouches for."""
    return _certified(name, None, authority=True, issuers=())


def pem(certificate: x509.Certificate) -> str:
    """The certificate in PEM."""
    return certificate.public_bytes(Encoding.PEM).decode()


def write(path: Path, content: str | bytes) -> Path:
    """Write a file and return its path."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def pkcs12_trust(path: Path, certificate: x509.Certificate, password: str | None = PASSWORD) -> Path:
    """A trust store as `keytool -importcert` makes it."""
    entry = pkcs12.PKCS12Certificate(certificate, b"ca")
    return write(path, pkcs12.serialize_java_truststore([entry], _encryption(password)))


def pkcs12_identity(path: Path, holder: Holder, password: str = PASSWORD) -> Path:
    """A key store."""
    store = pkcs12.serialize_key_and_certificates(
        b"own", holder.key, holder.certificate, holder.issuers, _encryption(password)
    )
    return write(path, store)


def jks(path: Path, store: Path, key_password: str | None = None) -> Path:
    """The PKCS#12 `store` as JKS, converted by Java's own tool; of a single key, the password can be another one."""
    keys = ["-srcalias", "own", "-destkeypass", key_password] if key_password else []
    keytool(
        "-importkeystore", "-srckeystore", store, "-srcstoretype", "PKCS12", "-srcstorepass", PASSWORD,
        "-destkeystore", path, "-deststoretype", "JKS", "-deststorepass", PASSWORD, *keys,
    )  # fmt: skip
    return path


def keytool(*arguments: str | Path) -> None:
    """Run Java's tool for key stores."""
    subprocess.run(["keytool", "-noprompt", *map(str, arguments)], check=True, capture_output=True)


def _certified(name: str, issuer: Holder | None, *, authority: bool, issuers: tuple[x509.Certificate, ...]) -> Holder:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    here = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    unsigned = (
        x509.CertificateBuilder(issuer.certificate.subject if issuer else subject, subject, key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _DAY)
        .not_valid_after(now + _DAY)
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(here), critical=False)
    )
    return Holder(key, unsigned.sign(issuer.key if issuer else key, hashes.SHA256()), issuers)


def _encryption(password: str | None) -> KeySerializationEncryption:
    return BestAvailableEncryption(password.encode()) if password else NoEncryption()
