"""Keep secrets out of everything a person or a log can read."""

from __future__ import annotations

import re
from collections.abc import Mapping

MASK = "****"
"""What stands where a secret was."""

_SECRET_KEY = re.compile(
    r"password|passphrase|private\.?key|secret|token|jaas|credential|sasl\.(?!mechanisms?$)|basic\.auth|bearer\.auth|user\.info"
    r"|access\.?key|api\.?key|account\.key|keystore\.key|ssl\.key\b|(override|jdbc)\.map",
    re.IGNORECASE,
)
_PASSWORD_IN_URL = re.compile(r"(?<=://)[^/@\s]+(?=@)")


def is_secret(key: str) -> bool:
    """Whether the value of `key` may never be shown. Errs on the side of hiding."""
    return _SECRET_KEY.search(key) is not None


def shown(key: str, value: str) -> str:
    """`value` as it may be shown: hidden if `key` is a secret, without the user part of an address."""
    return MASK if is_secret(key) else _PASSWORD_IN_URL.sub(MASK, value)


def mask(mapping: Mapping[str, str]) -> dict[str, str]:
    """A copy of `mapping` fit for a log."""
    return {key: shown(key, value) for key, value in mapping.items()}
