"""Keep secrets out of everything a person or a log can read.

A secret is known by its key (`is_secret`), by its place in an address (`without_users`), or because it opened a store
or a catalog of this process (`remember`). `cleaned` removes all of them from a message; every error passes it.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from typing import Final

MASK = "****"
"""What stands where a secret was."""

HIDDEN: Final = (
    r"passw|passphrase|\bpwd\b|private[._ -]?key|secret|token|jaas|credential|sasl\.(?!mechanisms?$)|\bsas\b|signature"
    r"|basic\.auth|bearer\.auth|auth\.basic|user\.?info|access[._ -]?key|external[._-]?id|api[._-]?key|[._-]key\b"
    r"|connection[._-]?string|authorization|cookie|(override|jdbc)\.map"
)
"""A pattern for the keys of secrets, in any case; Python and Java read it alike."""

IN_VALUES: Final = r"://[^/@\s]+@|[?&;](sig|X-Amz-[\w-]+)="
"""A pattern for values that hold a secret whatever their key is; Python and Java read it alike."""

_SECRET_KEY = re.compile(HIDDEN, re.IGNORECASE)

_SIGNATURE: Final = r"sig|X-Amz-[\w-]+|AccountKey|SharedAccessSignature"
_CALLED: Final = rf"{_SIGNATURE}|[\w.-]*(?:passw|pwd|secret|token|signature|credential)[\w.-]*"
_VALUE: Final = r"=)[^&;\s'\"]+"
_PARAMETER: Final = re.compile(rf"((?:(?<=[?&;,\s])|^)(?:{_CALLED}){_VALUE}", re.IGNORECASE)
# The keys of frazil's own advice (`….token=…`) stay: what is no signature counts in addresses alone.
_PARAMETER_IN_TEXT: Final = re.compile(
    rf"((?:(?<=[?&;])(?:{_CALLED})|(?<![\w.-])(?:{_SIGNATURE})){_VALUE}", re.IGNORECASE
)
_ADDRESSES: Final = re.compile(r",(?=\s*[a-z][\w+.-]*://)", re.IGNORECASE)
_USER: Final = re.compile(r"(?<=://).+(?=@)", re.DOTALL)
_USER_WITHOUT_SCHEME: Final = re.compile(r"\A.+(?=@)", re.DOTALL)
_USER_IN_TEXT: Final = re.compile(r"(?<=://)[^/\s'\"@]+(?=@)")

LONG: Final = 8
"""Letters of a secret that is masked in messages wherever it stands; shorter ones are parts of ordinary words."""

_MOST: Final = 256
"""Secrets that are remembered: a catalog may give out new ones every few minutes."""

_remembered: dict[str, None] = {}
_lock = threading.Lock()


def is_secret(key: str) -> bool:
    """Whether the value of `key` may never be shown. Errs on the side of hiding."""
    return _SECRET_KEY.search(key) is not None


def shown(key: str, value: str) -> str:
    """`value` as it may be shown: hidden if `key` is a secret, without the user part of an address."""
    return MASK if is_secret(key) else without_users(value)


def without_users(value: str) -> str:
    """A configured value without the users, passwords and signatures of addresses in it, malformed ones included."""
    for user in users(value):
        value = value.replace(f"{user}@", f"{MASK}@")
    return _PARAMETER.sub(rf"\1{MASK}", value)


def users(value: str) -> list[str]:
    """User and password of each address in a configured value.

    A password may hold any letter: whatever stands before the last `@` of an address counts.
    """
    if "://" not in value:
        return _USER_WITHOUT_SCHEME.findall(value)
    return [user for address in _ADDRESSES.split(value) for user in _USER.findall(address)]


def mask(mapping: Mapping[str, str]) -> dict[str, str]:
    """A copy of `mapping` fit for a log."""
    return {key: shown(key, value) for key, value in mapping.items()}


def remember(properties: Mapping[str, str]) -> None:
    """Have `cleaned` take the secrets among `properties` out of all messages of this process.

    Args:
        properties: what opens a store or a catalog.
    """
    found = [value for key, value in properties.items() if len(value) >= LONG and is_secret(key)]
    with _lock:
        for value in found:
            _remembered.pop(value, None)
            _remembered[value] = None
        for oldest in list(_remembered)[:-_MOST]:
            del _remembered[oldest]


def cleaned(text: str) -> str:
    """A message without remembered secrets, and without users and signatures of the addresses in it."""
    with _lock:
        secrets = sorted(_remembered, key=len, reverse=True)  # one may be a part of another
    for secret in secrets:
        text = text.replace(secret, MASK)
    return _PARAMETER_IN_TEXT.sub(rf"\1{MASK}", _USER_IN_TEXT.sub(MASK, text))
