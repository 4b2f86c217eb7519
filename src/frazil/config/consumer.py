"""Consumer keys, written for Kafka's Java client, become the configuration of librdkafka.

The two share most names; those pass through, and so do names known to neither list here, for librdkafka to judge.
`consumer.override.*` goes over `consumer.*`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from frazil.errors import Problem

PREFIXES = ("consumer.", "consumer.override.")
"""In rising precedence."""

_OFFSETS = "offset tokens live in the tables, the group's offsets are published after each commit"
_SELF_ASSIGNED = "frazil assigns partitions itself, without group membership"
_BY_BYTES = "reads are sized by bytes"
_CONVERTERS = "key.converter and value.converter decide"
_JAVA_METRICS = "it is for the Java client's own metrics"

NO_EFFECT: Mapping[str, str] = {
    "auto.commit.interval.ms": _OFFSETS,
    "auto.include.jmx.reporter": _JAVA_METRICS,
    "default.api.timeout.ms": "frazil bounds its own calls",
    "enable.auto.commit": _OFFSETS,
    "enable.auto.offset.store": _OFFSETS,
    "enable.partition.eof": "always on: it tells when a range is complete",
    "exclude.internal.topics": "internal topics are only read when `topics` names them",
    "group.instance.id": _SELF_ASSIGNED,
    "group.protocol": _SELF_ASSIGNED,
    "group.remote.assignor": _SELF_ASSIGNED,
    "heartbeat.interval.ms": _SELF_ASSIGNED,
    "key.deserializer": _CONVERTERS,
    "max.poll.interval.ms": _SELF_ASSIGNED,
    "max.poll.records": _BY_BYTES,
    "metric.reporters": _JAVA_METRICS,
    "metrics.num.samples": _JAVA_METRICS,
    "metrics.recording.level": _JAVA_METRICS,
    "metrics.sample.window.ms": _JAVA_METRICS,
    "partition.assignment.strategy": _SELF_ASSIGNED,
    "session.timeout.ms": _SELF_ASSIGNED,
    "socket.connection.setup.timeout.max.ms": "librdkafka has one bound, socket.connection.setup.timeout.ms",
    "value.deserializer": _CONVERTERS,
}
"""Keys frazil owns, or that mean nothing outside of the Java client."""

SETTINGS = ("auto.offset.reset", "bootstrap.servers", "group.id", "isolation.level")
"""Keys with a setting of their own."""

RENAMED: Mapping[str, str] = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "request.timeout.ms": "socket.timeout.ms",
    "sasl.mechanism": "sasl.mechanisms",
    "send.buffer.bytes": "socket.send.buffer.bytes",
}
"""Java's name, librdkafka's name."""

_PEM = "librdkafka reads PEM files, not Java key stores."
_CA = f"{_PEM} Write ssl.ca.location=<file with the CA certificates> instead"
_CLIENT_KEY = f"{_PEM} Write ssl.certificate.location, ssl.key.location and, if needed, ssl.key.password instead"
_OPENSSL = "OpenSSL's own defaults apply. Remove the key"
_JAVA_CLASS = "it names a Java class, and no JVM reads from Kafka. Remove the key"

REFUSED: Mapping[str, str] = {
    "config.providers": "values from config providers are not built yet. Write the values themselves",
    "interceptor.classes": _JAVA_CLASS,
    "plugin.library.paths": "it would load foreign code into Spark's workers. Remove the key",
    "sasl.client.callback.handler.class": _JAVA_CLASS,
    "sasl.jaas.config": "librdkafka knows no JAAS. Write sasl.username and sasl.password instead",
    "sasl.login.callback.handler.class": _JAVA_CLASS,
    "sasl.login.class": _JAVA_CLASS,
    "security.providers": _JAVA_CLASS,
    "ssl.enabled.protocols": _OPENSSL,
    "ssl.engine.factory.class": _JAVA_CLASS,
    "ssl.keymanager.algorithm": _OPENSSL,
    "ssl.keystore.certificate.chain": "librdkafka calls it ssl.certificate.pem. Write that instead",
    "ssl.keystore.key": "librdkafka calls it ssl.key.pem. Write that instead",
    "ssl.keystore.location": _CLIENT_KEY,
    "ssl.keystore.password": _CLIENT_KEY,
    "ssl.keystore.type": _CLIENT_KEY,
    "ssl.protocol": _OPENSSL,
    "ssl.provider": _OPENSSL,
    "ssl.secure.random.implementation": _OPENSSL,
    "ssl.trustmanager.algorithm": _OPENSSL,
    "ssl.truststore.certificates": "librdkafka calls it ssl.ca.pem. Write that instead",
    "ssl.truststore.location": _CA,
    "ssl.truststore.password": f"{_PEM} Remove the key: CA certificates in PEM need no password",
    "ssl.truststore.type": f"{_PEM} Remove the key",
}
"""Keys that have to be written in librdkafka's terms, and how."""


@dataclass(slots=True)
class Consumer:
    """What became of a connector's consumer keys."""

    client: dict[str, str] = field(default_factory=dict, repr=False)
    """In librdkafka's terms, without the keys that have a setting of their own."""

    no_effect: list[tuple[str, str]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def read(given: Mapping[str, str]) -> Consumer:
    """Sort the consumer keys among `given`."""
    consumer = Consumer()
    for key in sorted(given, key=_precedence):
        name = bare(key)
        if name is None or name in SETTINGS:
            continue
        if name in NO_EFFECT:
            consumer.no_effect.append((key, NO_EFFECT[name]))
        elif name in REFUSED:
            consumer.problems.append(Problem(key, f"cannot be used: {REFUSED[name]}."))
        else:
            consumer.client[RENAMED.get(name, name)] = _value(name, given[key])
    return consumer


def bare(key: str) -> str | None:
    """`key` without its `consumer.` or `consumer.override.`, or None if it has neither."""
    return next((key.removeprefix(prefix) for prefix in reversed(PREFIXES) if key.startswith(prefix)), None)


def _precedence(key: str) -> tuple[bool, str]:
    return key.startswith(PREFIXES[1]), key


def _value(name: str, value: str) -> str:
    if name == "ssl.endpoint.identification.algorithm" and not value.strip():
        return "none"  # Java's way to say it is to write nothing
    if name in ("receive.buffer.bytes", "send.buffer.bytes") and value.strip() == "-1":
        return "0"  # both mean the operating system's own size
    return value
