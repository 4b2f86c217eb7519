"""Open trust stores and key stores (JKS, PKCS#12, PEM) and give what they hold as PEM text, in memory only.

Messages say what is wrong with a store; they hold no password and nothing of a key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_der_private_key,
    load_pem_private_key,
    pkcs12,
)
from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates
from cryptography.x509 import Certificate, load_der_x509_certificate, load_pem_x509_certificate

from frazil.config.security import jks

_DER_SEQUENCE = b"\x30"
_JCEKS = b"\xce\xce\xce\xce"

# PKCS#12's name for "a private key, encrypted", in DER. `load_pkcs12` gives the first key and is silent on others.
_SHROUDED_KEY = bytes.fromhex("060b2a864886f70d010c0a0102")

_PEM_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)

_UNREADABLE_KEY = "holds a private key that cannot be read"
_WRONG_PASSWORD = "does not open with its password: that is wrong, or the file is damaged"  # noqa: S105
_WRONG_KEY_PASSWORD = "holds a private key that does not open with ssl.key.password, or without it the store's"  # noqa: S105


class Unusable(ValueError):
    """A store cannot be used; the message goes on after its name."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What a client shows to brokers, in PEM."""

    certificates: str
    """The client's own, then its issuers'."""

    key: str = field(repr=False)
    """The private key, unencrypted."""


def trusted(content: bytes, password: str | None, *, pem: bool) -> str:
    """The certificates a store trusts, in PEM.

    Raises:
        Unusable: it cannot be opened, or trusts none that librdkafka could.
    """
    if pem:
        certificates = _pem_certificates(content)
    elif _is_jks(content):
        # Of a private key, Java trusts the certificate, not its issuers.
        certificates = _certificates(entry.certificates[0] for entry in _entries(content, password))
    else:
        store = _open_pkcs12(content, password)
        certificates = [each.certificate for each in (store.cert, *store.additional_certs) if each]
    if not certificates:
        raise Unusable("holds no certificate to trust")
    if not any(each.issuer == each.subject for each in certificates):
        raise Unusable(
            "holds no root certificate: Java trusts any certificate by itself, librdkafka trusts the root behind it. "
            "Add that"
        )
    return _as_pem(certificates)


def identity(content: bytes, password: str | None, key_password: str | None, *, pem: bool) -> Identity:
    """The one private key in a store, with its certificates.

    Raises:
        Unusable: it cannot be opened, or does not hold exactly one key.
    """
    if pem:
        return _identity_in_pem(content, key_password)
    if _is_jks(content):
        return _identity_in_jks(content, password, key_password or password)
    return _identity_in_pkcs12(content, password)


def _is_jks(content: bytes) -> bool:
    if content.startswith(jks.MAGIC):
        return True
    if content.startswith(_DER_SEQUENCE):
        return False
    if content.startswith(_JCEKS):
        raise Unusable("is a JCEKS store. Make a PKCS#12 one: keytool -importkeystore -deststoretype PKCS12")
    if b"-----BEGIN " in content:
        raise Unusable("is PEM text. Write PEM as its type")
    raise Unusable("is neither a JKS nor a PKCS#12 store")


def _entries(content: bytes, password: str | None) -> list[jks.Entry]:
    try:
        return [entry for entry in jks.read(content, password) if entry.certificates]
    except jks.WrongPassword as error:
        raise Unusable(_WRONG_PASSWORD) from error
    except jks.Damaged as error:
        raise Unusable("is a damaged JKS store") from error


def _identity_in_jks(content: bytes, password: str | None, key_password: str | None) -> Identity:
    found = [(entry, entry.protected_key) for entry in _entries(content, password) if entry.protected_key]
    _one_key(len(found))
    [(entry, protected)] = found
    try:
        key = load_der_private_key(jks.unprotect(protected, key_password or ""), None)
    except jks.WrongPassword as error:
        raise Unusable(_WRONG_KEY_PASSWORD) from error
    except (jks.Damaged, ValueError, UnsupportedAlgorithm) as error:
        raise Unusable(_UNREADABLE_KEY) from error
    return _identity(key, _certificates(entry.certificates))


def _open_pkcs12(content: bytes, password: str | None) -> PKCS12KeyAndCertificates:
    try:
        return pkcs12.load_pkcs12(content, password.encode() if password else None)
    except (ValueError, UnsupportedAlgorithm) as error:
        encrypted = "is encrypted, and its password is not given"
        raise Unusable(_WRONG_PASSWORD if password else encrypted) from error


def _identity_in_pkcs12(content: bytes, password: str | None) -> Identity:
    store = _open_pkcs12(content, password)
    _one_key(max(content.count(_SHROUDED_KEY), 1 if store.key else 0))
    own = [store.cert.certificate] if store.cert else []
    return _identity(store.key, [*own, *_issuers(own, [each.certificate for each in store.additional_certs])])


def _issuers(of: Sequence[Certificate], among: list[Certificate]) -> Iterator[Certificate]:
    """The issuer, the issuer's issuer and so on, as far as `among` reaches."""
    last, waiting = of[-1] if of else None, list(among)
    while last and (issuer := next((each for each in waiting if each.subject == last.issuer), None)):
        waiting.remove(issuer)
        yield (last := issuer)


def _identity_in_pem(content: bytes, key_password: str | None) -> Identity:
    keys = [block for label, block in _pem_blocks(content) if label.endswith("PRIVATE KEY")]
    _one_key(len(keys))
    try:
        key = load_pem_private_key(keys[0], key_password.encode() if key_password else None)
    except TypeError as error:  # it is encrypted and there is no password, or the other way round
        if key_password is None:
            raise Unusable("holds an encrypted private key, and ssl.key.password is not given") from error
        return _identity_in_pem(content, None)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise Unusable(_WRONG_KEY_PASSWORD if key_password else _UNREADABLE_KEY) from error
    return _identity(key, _pem_certificates(content))


def _pem_blocks(content: bytes) -> Iterator[tuple[str, bytes]]:
    for label, body in _PEM_BLOCK.findall(content.decode("utf-8", "replace")):
        # Java takes PEM on one line, blanks for line ends; a block with headers (they have colons) needs its lines.
        lines = body if ":" in body else "\n" + "\n".join(body.split()) + "\n"
        yield label, f"-----BEGIN {label}-----{lines}-----END {label}-----\n".encode()


def _pem_certificates(content: bytes) -> list[Certificate]:
    blocks = (block for label, block in _pem_blocks(content) if label == "CERTIFICATE")
    return _read(blocks, load_pem_x509_certificate)


def _certificates(der: Iterable[bytes]) -> list[Certificate]:
    return _read(der, load_der_x509_certificate)


def _read(encoded: Iterable[bytes], load: Callable[[bytes], Certificate]) -> list[Certificate]:
    try:
        return [load(each) for each in encoded]
    except ValueError as error:
        raise Unusable("holds a certificate that cannot be read") from error


def _one_key(count: int) -> None:
    if count == 0:
        raise Unusable("holds no private key, which is what a client shows to brokers")
    if count > 1:
        raise Unusable(f"holds {count} private keys, and librdkafka takes one. Leave only that one in")


def _identity(key: PrivateKeyTypes | None, certificates: list[Certificate]) -> Identity:
    if key is None:
        raise Unusable(_UNREADABLE_KEY)
    if not certificates:
        raise Unusable("holds a private key without its certificate")
    plain = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return Identity(_as_pem(certificates), plain.decode("ascii"))


def _as_pem(certificates: list[Certificate]) -> str:
    return "".join(each.public_bytes(Encoding.PEM).decode("ascii") for each in certificates)
