"""What values the keys take that are no settings: they change nothing here, and a wrong value is still a mistake.

A key that is in no table here takes any text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from frazil.config import consumer, values
from frazil.errors import Problem
from frazil.secrets import shown


@dataclass(frozen=True, slots=True)
class Bound:
    """The values a key takes."""

    takes: str
    """What to write, in words."""

    read: Callable[[str], object]
    """Raises ValueError for any other value."""

    def accepts(self, value: str) -> bool:
        """Whether `value` is one of them."""
        try:
            self.read(value)
        except ValueError:
            return False
        return True


def _words(*words: str) -> Bound:
    return Bound(values.listed(words), values.choice({word: word for word in words}))


def _number(at_least: int, at_most: int | None = None) -> Bound:
    bounds = f"of at least {at_least}" if at_most is None else f"from {at_least} to {at_most}"
    return Bound(f"a whole number {bounds}", values.integer(at_least, at_most))


def _matching(takes: str, pattern: str) -> Bound:
    compiled = re.compile(pattern, re.ASCII | re.IGNORECASE)

    def read(text: str) -> str:
        if not compiled.fullmatch(text):
            raise ValueError(f"{text!r} is not possible; write {takes}")
        return text

    return Bound(takes, read)


_FLAG = Bound("true or false", values.boolean)
_POSITIVE = _number(1)
_PORT = _number(1, 65535)
_PAIRS = Bound("key:value pairs separated by commas, without further colons", values.pairs)

OF_KEYS: Mapping[str, Bound] = {
    "config.action.reload": _words("none", "restart"),
    "enable.mdc.logging": _FLAG,
    "enable.streaming.channel.offset.migration": _FLAG,
    "enable.streaming.channel.offset.verification": _FLAG,
    "enable.streaming.client.optimization": _FLAG,
    "enable.task.fail.on.authorization.errors": _FLAG,
    "errors.retry.delay.max.ms": _number(0),
    "errors.retry.timeout": _number(-1),
    "jmx": _FLAG,
    "jvm.proxy.port": _PORT,
    "provider": _words("unknown", "self_hosted", "confluent"),
    "snowflake.authenticator": _words("snowflake_jwt", "oauth"),
    "snowflake.cache.pipe.exists": _FLAG,
    "snowflake.cache.pipe.exists.expire.ms": _POSITIVE,
    "snowflake.cache.table.exists": _FLAG,
    "snowflake.cache.table.exists.expire.ms": _POSITIVE,
    "snowflake.feature.assert.partition.assignment": _FLAG,
    "snowflake.feature.normalize.time": _FLAG,
    "snowflake.feature.precommit.client.recovery": _FLAG,
    "snowflake.feature.validation.error.table.name": _FLAG,
    "snowflake.ingestion.method": _words("snowpipe_streaming", "snowpipe"),
    "snowflake.jdbc.map": _PAIRS,
    "snowflake.oauth.include.scope": _FLAG,
    "snowflake.oauth.token.endpoint": _matching(
        "an address such as https://host/oauth/token", r"(https?://)?[\w-]+(\.[\w-]+)*(:\d{1,5})?(/[\w.-]*)*"
    ),
    "snowflake.open.channel.io.threads": _POSITIVE,
    "snowflake.snowpipe.stageFileNameExtensionEnabled": _FLAG,
    "snowflake.snowpipe.v1Cleaner.enable.reprocessFiles.cleanup": _FLAG,
    "snowflake.snowpipe.v2CleanerEnabled": _FLAG,
    "snowflake.snowpipe.v2CleanerIntervalSeconds": _POSITIVE,
    "snowflake.snowpipe.v2CleanerThreads": _POSITIVE,
    "snowflake.streaming.channel.name.include.connector.name": _FLAG,
    "snowflake.streaming.classic.offset.migration": _words("skip", "best_effort", "strict"),
    "snowflake.streaming.classic.offset.migration.include.connector.name": _FLAG,
    "snowflake.streaming.closeChannelsInParallel.enabled": _FLAG,
    "snowflake.streaming.iceberg.enabled": _FLAG,
    "snowflake.streaming.max.memory.limit.bytes": _number(-1),
    "snowflake.streaming.metrics.prometheus.enable": _FLAG,
    "snowflake.streaming.metrics.prometheus.port": _PORT,
    "snowflake.test.rebalancing": _FLAG,
    "snowflake.url.name": _matching(
        "an address such as account.region.snowflakecomputing.com:443",
        r"(https?://)?[\w-]+(\.[\w-]+){2,}(:\d{1,5})?/?",
    ),
    "task_id": _number(0),
    "tasks.max.enforce": _FLAG,
}

OF_CONSUMER_KEYS: Mapping[str, Bound] = {
    "auto.commit.interval.ms": _number(0),
    "enable.auto.commit": _FLAG,
    "exclude.internal.topics": _FLAG,
    "heartbeat.interval.ms": _number(0),
    "max.poll.interval.ms": _POSITIVE,
    "max.poll.records": _POSITIVE,
    "session.timeout.ms": _number(0),
}
"""By the name without `consumer.` or `consumer.override.`."""

_PROXY = ("jvm.proxy.host", "jvm.proxy.port")
_PROXY_USER = ("jvm.proxy.username", "jvm.proxy.password")


def of(key: str) -> Bound | None:
    """The bound of `key`, None if it takes any text."""
    return OF_KEYS.get(key) or OF_CONSUMER_KEYS.get(consumer.bare(key) or "")


def problem(key: str, value: str) -> Problem | None:
    """What is wrong with `value`, if something is."""
    bound = of(key)
    if bound is None or bound.accepts(value):
        return None
    return Problem(key, f"{shown(key, value)!r} is not possible. Write {bound.takes}, or remove the key.")


def among(given: Mapping[str, str]) -> Iterator[Problem]:
    """What is wrong with keys that only make sense beside others."""
    yield from _together(_PROXY, given)
    if _PROXY[0] in given:
        yield from _together(_PROXY_USER, given)
    if "snowflake.oauth.scope" in given and given.get("snowflake.oauth.include.scope", "").lower() != "true":
        yield Problem(
            "snowflake.oauth.scope",
            "is given, and snowflake.oauth.include.scope is not true. Write that too, or remove the scope.",
        )


def _together(keys: tuple[str, str], given: Mapping[str, str]) -> Iterator[Problem]:
    if (keys[0] in given) != (keys[1] in given):
        for key, other in (keys, reversed(keys)):
            yield Problem(key, f"must be given together with {other}. Write both, or neither.")
