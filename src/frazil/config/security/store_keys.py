"""Find the trust store and the key store that `ssl.*` keys describe, in a file or written into the configuration.

Which keys go together is Java's rule (`DefaultSslEngineFactory`), and so is the default type, JKS.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

TRUST = "ssl.truststore"
IDENTITY = "ssl.keystore"

_INLINE: Mapping[str, tuple[str, ...]] = {
    TRUST: ("ssl.truststore.certificates",),
    IDENTITY: ("ssl.keystore.key", "ssl.keystore.certificate.chain"),
}
"""The keys that hold a store's content as PEM text."""

KEYS = frozenset(
    key for kind, inline in _INLINE.items() for key in (*inline, f"{kind}.location", f"{kind}.password", f"{kind}.type")
)
"""All keys of stores."""


class Refused(Exception):
    """Keys cannot be used as they are given."""

    def __init__(self, key: str, text: str) -> None:
        super().__init__(f"{key} {text}")
        self.key = key
        """The one to change."""

        self.text = text


@dataclass(frozen=True, slots=True)
class Store:
    """The content of a trust store or key store, not opened yet."""

    key: str
    """The configuration key it comes from."""

    where: str
    """The file's path, empty if the content stands in the configuration."""

    pem: bool
    content: bytes = field(repr=False)
    password: str | None = field(repr=False)

    def refused(self, reason: str) -> Refused:
        """This store cannot be used."""
        return Refused(self.key, f"names {self.where}, which {reason}." if self.where else f"{reason}.")


def find(given: Mapping[str, str], kind: str) -> Store | None:
    """The store that the keys of `kind` describe, None if there are none.

    Raises:
        Refused: keys contradict each other, one is missing, or the file cannot be read.
    """
    location, password = f"{kind}.location", f"{kind}.password"
    pem = _is_pem(given, f"{kind}.type")
    if any(key in given for key in _INLINE[kind]):
        return _inline(given, kind, pem)
    if password in given:
        _need(given, password, location)
        if pem:
            hint = "" if kind == TRUST else "; that of the private key in it is ssl.key.password"
            raise Refused(password, f"is given, and a PEM file has no password{hint}. Remove the key.")
    if location not in given:
        return None
    if kind == IDENTITY and not pem:
        _need(given, location, password)
    path = given[location]
    return Store(location, path, pem, _bytes_of(location, path), given.get(password))


def _is_pem(given: Mapping[str, str], key: str) -> bool:
    # The content says which of JKS and PKCS#12 it is: under either name Java opens both.
    kind = given.get(key, "JKS").strip().upper()
    if kind not in ("JKS", "PKCS12", "PEM"):
        raise Refused(key, f"is {given[key]!r}, a type frazil does not read. Write JKS, PKCS12 or PEM.")
    return kind == "PEM"


def _inline(given: Mapping[str, str], kind: str, pem: bool) -> Store:
    first, *others = keys = _INLINE[kind]
    for key in keys:
        if key not in given:
            raise Refused(next(each for each in keys if each in given), f"is given without {key}. Write that too.")
    if not pem:
        raise Refused(first, f"is for stores of type PEM. Write {kind}.type=PEM.")
    for other in (f"{kind}.location", f"{kind}.password"):
        if other in given:
            raise Refused(other, f"is given together with {first}. Keep one of them.")
    return Store(first, "", pem, "\n".join(given[key] for key in (first, *others)).encode(), None)


def _need(given: Mapping[str, str], key: str, other: str) -> None:
    if other not in given:
        raise Refused(key, f"is given without {other}. Write that too.")


def _bytes_of(key: str, path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no path"
        raise Refused(key, f"names {path}, which cannot be read: {reason}. Check the path on the driver.") from error
