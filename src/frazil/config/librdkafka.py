"""Let librdkafka judge a configuration, without a connection: it alone knows all its keys and their bounds.

A client is made and closed again, which takes about a millisecond. It has no broker to connect to, fetches no token and
logs nothing.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaException

from frazil.secrets import is_secret

_NO_SUCH_KEY = "No such configuration property"
_PREFIX = re.compile(r"^Failed to create consumer: ")

_GOES_WITH: Mapping[str, tuple[str, ...]] = {
    "sasl.mechanisms": ("security.protocol",),
    "ssl.certificate.location": ("ssl.key.location",),
    "ssl.certificate.pem": ("ssl.key.pem",),
}
"""Without the one, librdkafka would only complain that the others are there alone."""

_SILENT = logging.getLogger("frazil.librdkafka")
_SILENT.disabled = True


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing librdkafka has against a configuration."""

    key: str
    """The key it is about, empty if librdkafka does not say."""

    unknown: bool
    """Whether it knows no such key."""

    text: str
    """What it says, without any secret."""


def findings(client: Mapping[str, str]) -> Iterator[Finding]:
    """What librdkafka has against `client`, one finding for each key."""
    remaining = dict(client)
    while (said := _refusal(remaining)) is not None:
        key = _key(said, remaining)
        yield Finding(key, said.startswith(_NO_SUCH_KEY), _without_secrets(said, client))
        others = {name: value for name, value in remaining.items() if name not in (key, *_GOES_WITH.get(key, ()))}
        if others == remaining:
            return
        remaining = others


def _refusal(client: Mapping[str, str]) -> str | None:
    """What librdkafka says against `client`, None if it takes it."""
    configuration = {"log_level": 0, **client, "group.id": "frazil"}
    if configuration.get("sasl.oauthbearer.method") == "oidc":
        # Under SASL it would fetch a token at once; its keys are checked without that too.
        configuration["security.protocol"] = "ssl"
    try:
        consumer = Consumer(configuration, logger=_SILENT)
    except KafkaException as error:
        return _PREFIX.sub("", str(error.args[0].str())).strip()
    consumer.close()
    return None


def _key(said: str, client: Mapping[str, str]) -> str:
    if "SASL mechanism" in said:
        return "sasl.mechanisms"  # also where it is the default
    return max((name for name in client if name in said), key=len, default="")  # names are parts of longer ones


def _without_secrets(text: str, client: Mapping[str, str]) -> str:
    # To blank out a word of a sentence would tell the word.
    if any(value and value in text for key, value in client.items() if is_secret(key)):
        return "its words hold the value of a secret key, and are not shown"
    return text
