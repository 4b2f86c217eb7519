"""Keep secrets out of everything a person or a log can read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

MASK = "****"
"""What stands where a secret was."""

HIDDEN: Final = (
    r"password|passphrase|private[. ]?key|secret|token|jaas|credential|sasl\.(?!mechanisms?$)"
    r"|basic\.auth|bearer\.auth|user\.info"
    r"|access[. ]?key|external\.id|api\.?key|[.-]key\b|connection-string|authorization|(override|jdbc)\.map"
)
"""What is in the keys of secrets, in any case; a pattern of Java's as well."""

_SECRET_KEY = re.compile(HIDDEN, re.IGNORECASE)
_PASSWORD_IN_URL = re.compile(r"(?<=://)[^/@\s]+(?=@)|(?<=password=)[^&;\s]+", re.IGNORECASE)


def is_secret(key: str) -> bool:
    """Whether the value of `key` may never be shown. Errs on the side of hiding."""
    return _SECRET_KEY.search(key) is not None


def shown(key: str, value: str) -> str:
    """`value` as it may be shown: hidden if `key` is a secret, without the user part of an address."""
    return MASK if is_secret(key) else _PASSWORD_IN_URL.sub(MASK, value)


def mask(mapping: Mapping[str, str]) -> dict[str, str]:
    """A copy of `mapping` fit for a log."""
    return {key: shown(key, value) for key, value in mapping.items()}
