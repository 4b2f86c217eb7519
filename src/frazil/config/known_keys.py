"""Every key of the Kafka Connect and Snowflake worlds that is no setting of frazil, and what becomes of it.

Three things can: the key is not needed (Snowflake accounts), it has no effect on what lands (with the reason), or it
asks for what is not built yet, and then only the values are accepted that ask for what frazil does anyway. A key that
is in no table here and no field of `ConnectorSettings` is unknown, and an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NotYet:
    """A key of which only some values can be run."""

    what: str
    """What the other values ask for."""

    accepts: tuple[str, ...] = ()
    """The values that ask for what frazil does anyway; their case does not matter."""

    instead: str = ""
    """What to write; empty: an accepted value, or nothing."""

    def takes(self, value: str) -> bool:
        """Whether `value` can be run."""
        return value.lower() in map(str.lower, self.accepts)

    def refusal(self, value: str) -> str:
        """Why `value` cannot be run and what to write."""
        return f"{value!r} is refused: {self.what} not built yet. {self.way_on}"

    @property
    def way_on(self) -> str:
        """The sentence that says what to write."""
        if self.instead:
            return self.instead
        return f"Write {' or '.join(self.accepts)}, or remove the key." if self.accepts else "Remove the key."


NOT_NEEDED = (
    "jvm.nonProxy.hosts",
    "jvm.proxy.host",
    "jvm.proxy.password",
    "jvm.proxy.port",
    "jvm.proxy.username",
    "snowflake.authenticator",
    "snowflake.jdbc.map",
    "snowflake.oauth.client.id",
    "snowflake.oauth.client.secret",
    "snowflake.oauth.include.scope",
    "snowflake.oauth.refresh.token",
    "snowflake.oauth.scope",
    "snowflake.oauth.token.endpoint",
    "snowflake.private.key",
    "snowflake.private.key.passphrase",
    "snowflake.role.name",
    "snowflake.url.name",
    "snowflake.user.name",
)
"""Account keys: no Snowflake account takes part, the Spark catalog brings its own credentials."""

_SNOWFLAKE_CACHE = "tables are looked up in the catalog, nothing is cached by time"
_SNOWFLAKE_CLIENT = "it tunes the Snowflake client, which takes no part"
_SNOWPIPE_FILES = "it belongs to Snowpipe's staged files, which do not exist here"
_PROMETHEUS = "frazil serves no metrics over HTTP; `frazil channels` shows counters and lag"
_PRODUCER = "what writes the dead-letter topic connects as the consumer does"
_CHANNELS = "channels always belong to the connector of their name"

NO_EFFECT: Mapping[str, str] = {
    "config.action.reload": "a connector is started again by hand",
    "connector.plugin.version": "frazil has one version of each connector class",
    "enable.mdc.logging": "every log line names its connector",
    "enable.streaming.channel.offset.migration": _CHANNELS,
    "enable.streaming.channel.offset.verification": "offsets are always verified, in every commit",
    "enable.streaming.client.optimization": _SNOWFLAKE_CLIENT,
    "enable.task.fail.on.authorization.errors": "no Snowflake session takes part that could expire",
    "errors.retry.delay.max.ms": "frazil paces its own retries",
    "errors.retry.timeout": "what may go well later, as with a schema registry that does not answer, is tried for as "
    "long as it takes, and what cannot is rejected at once",
    "jmx": "there are no JMX beans; `frazil channels` shows counters and lag",
    "provider": "it only let Snowflake know who runs Kafka",
    "snowflake.cache.pipe.exists": _SNOWFLAKE_CACHE,
    "snowflake.cache.pipe.exists.expire.ms": _SNOWFLAKE_CACHE,
    "snowflake.cache.table.exists": _SNOWFLAKE_CACHE,
    "snowflake.cache.table.exists.expire.ms": _SNOWFLAKE_CACHE,
    "snowflake.feature.assert.partition.assignment": "frazil assigns partitions itself",
    "snowflake.feature.normalize.time": "JSON without schemas has no Time type",
    "snowflake.feature.precommit.client.recovery": _SNOWFLAKE_CLIENT,
    "snowflake.feature.validation.error.table.name": "errors always name their table",
    "snowflake.open.channel.io.threads": "opening all channels of a table is one commit",
    "snowflake.snowpipe.stageFileNameExtensionEnabled": _SNOWPIPE_FILES,
    "snowflake.snowpipe.v1Cleaner.enable.reprocessFiles.cleanup": _SNOWPIPE_FILES,
    "snowflake.snowpipe.v2CleanerEnabled": _SNOWPIPE_FILES,
    "snowflake.snowpipe.v2CleanerIntervalSeconds": _SNOWPIPE_FILES,
    "snowflake.snowpipe.v2CleanerThreads": _SNOWPIPE_FILES,
    "snowflake.streaming.channel.name.include.connector.name": _CHANNELS,
    "snowflake.streaming.classic.offset.migration.include.connector.name": _CHANNELS,
    "snowflake.streaming.closeChannelsInParallel.enabled": "closing a channel takes no time",
    "snowflake.streaming.iceberg.enabled": "tables are always Iceberg tables",
    "snowflake.streaming.max.memory.limit.bytes": "tasks stream chunks of bounded size",
    "snowflake.streaming.metrics.prometheus.enable": _PROMETHEUS,
    "snowflake.streaming.metrics.prometheus.host": _PROMETHEUS,
    "snowflake.streaming.metrics.prometheus.port": _PROMETHEUS,
    "task_id": "Kafka Connect sets it for its own tasks",
    "tasks.max.enforce": "tasks.max is always kept",
}

NO_EFFECT_PREFIXES: Mapping[str, str] = {
    "admin.override.": "it is for an admin client of Kafka Connect, which takes no part",
    "producer.override.": _PRODUCER,
}

NOT_YET: Mapping[str, NotYet] = {
    "snowflake.ingestion.method": NotYet(
        "loading by Snowpipe files is", ("SNOWPIPE_STREAMING",), "Write SNOWPIPE_STREAMING."
    ),
    "snowflake.streaming.classic.offset.migration": NotYet(
        "insisting on the offsets of Snowflake's channels is",
        ("skip", "best_effort"),
        "Write skip, or remove the key; the consumer group's offsets are where reading starts.",
    ),
    "snowflake.test.rebalancing": NotYet("a hook for the connector's own tests is", ("false",)),
}


def is_optional(key: str) -> bool:
    """Whether frazil does without the value of `key`: it has no effect, or is for Spark to read."""
    return key in NOT_NEEDED or key.startswith("spark.") or no_effect_of(key) is not None


def no_effect_of(key: str) -> str | None:
    """Why `key` has no effect on what lands, or None if that is not known."""
    by_prefix = (reason for prefix, reason in NO_EFFECT_PREFIXES.items() if key.startswith(prefix))
    return NO_EFFECT.get(key) or next(by_prefix, None)
