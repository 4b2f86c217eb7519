"""Read key stores in Java's own format, JKS.

The format has not changed since 1998 and is small, hence read here: the only library for it (pyjks) has had no release
since 2020 and compiles C for a cipher that JKS does not use, and Java's `keytool` hands out a private key only by
writing it to a file. Integers are big-endian; a keyed SHA-1 over everything ends the store.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from typing import Final

MAGIC: Final = b"\xfe\xed\xfe\xed"
"""How a JKS store begins."""

_PRIVATE_KEY, _TRUSTED_CERTIFICATE = 1, 2
_DIGEST_BYTES = 20

# Two ASN.1 headers apart, a protected key is the name of Sun's own cipher and an octet string up to the end.
_SUN_CIPHER = bytes.fromhex("300e060a2b060104012a021101010500")


class WrongPassword(Exception):
    """The password does not open the store, or the key in it."""


class Damaged(Exception):
    """The bytes are no JKS store."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A private key with its certificates, or one trusted certificate."""

    certificates: tuple[bytes, ...]
    """In DER; of a private key first its own, then its issuers'."""

    protected_key: bytes | None = field(repr=False)
    """Open it with `unprotect`; None for a trusted certificate."""


def read(store: bytes, password: str | None) -> list[Entry]:
    """The entries of `store`, in its order; its digest is only compared if there is a password, as Java does.

    Raises:
        WrongPassword: the digest is not the one that the password gives.
        Damaged: the store does not follow the format.
    """
    content = store[:-_DIGEST_BYTES]
    if password is not None and not hmac.compare_digest(_digest(password, content), store[-_DIGEST_BYTES:]):
        raise WrongPassword
    source = _Source(content)
    if source.take(4) != MAGIC:
        raise Damaged
    version = source.integer()
    return [_entry(source, version) for _ in range(source.integer())]


def unprotect(key: bytes, password: str) -> bytes:
    """The private key in PKCS#8.

    Raises:
        WrongPassword: the password does not open it.
        Damaged: it is not protected as JKS stores protect keys.
    """
    _, found, octets = key.partition(_SUN_CIPHER)
    if not found or len(octets) < 2:
        raise Damaged
    salted = octets[2 if octets[1] < 0x80 else 2 + (octets[1] & 0x7F) :]
    salt, hidden, check = salted[:_DIGEST_BYTES], salted[_DIGEST_BYTES:-_DIGEST_BYTES], salted[-_DIGEST_BYTES:]
    secret = password.encode("utf-16-be")
    stream, block = b"", salt
    while len(stream) < len(hidden):
        block = _sha1(secret + block)
        stream += block
    plain = bytes(one ^ other for one, other in zip(hidden, stream, strict=False))
    if not hmac.compare_digest(_sha1(secret + plain), check):
        raise WrongPassword
    return plain


class _Source:
    """Bytes, taken from the front."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._position = 0

    def take(self, count: int) -> bytes:
        taken = self._content[self._position : self._position + count]
        if len(taken) < count:
            raise Damaged
        self._position += count
        return taken

    def integer(self) -> int:
        return int.from_bytes(self.take(4))

    def text(self) -> bytes:
        return self.take(int.from_bytes(self.take(2)))

    def block(self) -> bytes:
        return self.take(self.integer())


def _entry(source: _Source, version: int) -> Entry:
    kind = source.integer()
    source.text()  # its alias
    source.take(8)  # when it was made
    if kind == _TRUSTED_CERTIFICATE:
        return Entry((_certificate(source, version),), None)
    if kind != _PRIVATE_KEY:
        raise Damaged
    key = source.block()
    return Entry(tuple(_certificate(source, version) for _ in range(source.integer())), key)


def _certificate(source: _Source, version: int) -> bytes:
    if version > 1:
        source.text()  # its type, always X.509
    return source.block()


def _digest(password: str, content: bytes) -> bytes:
    return _sha1(password.encode("utf-16-be") + b"Mighty Aphrodite" + content)


def _sha1(data: bytes) -> bytes:
    return hashlib.sha1(data).digest()  # noqa: S324 (the format's own)
