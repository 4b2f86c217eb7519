"""Consumer keys, written for Kafka's Java client, become the configuration of librdkafka.

The two share most names; those pass through. `sasl` and `tls` translate what is said in other terms, and librdkafka
itself judges the result, so a key that neither knows is refused. `consumer.override.*` goes over `consumer.*`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping

from frazil.config import librdkafka
from frazil.config.librdkafka import Finding
from frazil.config.security import oauth, sasl, tls
from frazil.config.translation import Translation
from frazil.errors import Problem
from frazil.secrets import shown

PREFIXES = ("consumer.", "consumer.override.")
"""In rising precedence."""

_OFFSETS = "offset tokens live in the tables, the group's offsets are published after each commit"
_SELF_ASSIGNED = "frazil assigns partitions itself, without group membership"
_BY_BYTES = "reads are sized by bytes"
_CONVERTERS = "key.converter and value.converter decide"
_JAVA_METRICS = "it is for the Java client's own metrics"
_LOGIN = "librdkafka renews tickets and tokens at a pace of its own"
_VALIDATION = "it is for brokers, which validate tokens"
_SHARE_GROUPS = "frazil is in no share group"

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
    "sasl.kerberos.ticket.renew.jitter": _LOGIN,
    "sasl.kerberos.ticket.renew.window.factor": _LOGIN,
    "sasl.login.connect.timeout.ms": _LOGIN,
    "sasl.login.read.timeout.ms": _LOGIN,
    "sasl.login.refresh.buffer.seconds": _LOGIN,
    "sasl.login.refresh.min.period.seconds": _LOGIN,
    "sasl.login.refresh.window.factor": _LOGIN,
    "sasl.login.refresh.window.jitter": _LOGIN,
    "sasl.login.retry.backoff.max.ms": _LOGIN,
    "sasl.login.retry.backoff.ms": _LOGIN,
    "sasl.oauthbearer.clock.skew.seconds": _VALIDATION,
    "sasl.oauthbearer.expected.audience": _VALIDATION,
    "sasl.oauthbearer.expected.issuer": _VALIDATION,
    "sasl.oauthbearer.jwks.endpoint.refresh.ms": _VALIDATION,
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": _VALIDATION,
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms": _VALIDATION,
    "sasl.oauthbearer.jwks.endpoint.url": _VALIDATION,
    "sasl.oauthbearer.scope.claim.name": _VALIDATION,
    "session.timeout.ms": _SELF_ASSIGNED,
    "share.acknowledgement.mode": _SHARE_GROUPS,
    "share.acquire.mode": _SHARE_GROUPS,
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

_OPENSSL = "OpenSSL's own defaults apply. Remove the key"
_JAVA_CLASS = "it names a Java class, and no JVM reads from Kafka. Remove the key"
_FOREIGN_CODE = "it would load foreign code into Spark's workers. Remove the key"
_CALLBACK = "it is not text but a function, for programs that use librdkafka. Remove the key"
_STAND_IN = "it has librdkafka talk to stand-ins for brokers. Remove the key"

REFUSED: Mapping[str, str] = {
    "config.providers": "providers are the worker's: write config.providers without `consumer.` in its file",
    "default.topic.config": _CALLBACK,
    "error_cb": _CALLBACK,
    "interceptor.classes": _JAVA_CLASS,
    "log_cb": _CALLBACK,
    "logger": _CALLBACK,
    "metadata.broker.list": "it is another name of bootstrap.servers. Write that",
    "oauth_cb": _CALLBACK,
    "on_commit": _CALLBACK,
    "plugin.library.paths": _FOREIGN_CODE,
    "sasl.client.callback.handler.class": _JAVA_CLASS,
    "sasl.login.class": _JAVA_CLASS,
    "sasl.oauthbearer.jwt.validator.class": _JAVA_CLASS,
    "security.providers": _JAVA_CLASS,
    "ssl.engine.factory.class": _JAVA_CLASS,
    "ssl.engine.location": _FOREIGN_CODE,
    "ssl.keymanager.algorithm": _OPENSSL,
    "ssl.provider": _OPENSSL,
    "ssl.secure.random.implementation": _OPENSSL,
    "ssl.trustmanager.algorithm": _OPENSSL,
    "stats_cb": _CALLBACK,
    "test.mock.broker.rtt": _STAND_IN,
    "test.mock.num.brokers": _STAND_IN,
    "throttle_cb": _CALLBACK,
}
"""Keys that have to be written in librdkafka's terms, and how."""


PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
"""What `security.protocol` can be, in any case."""

_NAMES = (*NO_EFFECT, *SETTINGS, *RENAMED, *REFUSED, *sasl.JAVA_KEYS, *tls.JAVA_KEYS, "security.protocol")

_NO_TEXT = re.compile("[\0\ud800-\udfff]")

_PROTOCOL = "security.protocol"
_SECURITY = (_PROTOCOL, "sasl.", "ssl.")

_MADE_FROM: Mapping[str, tuple[str, ...]] = {
    "ssl.ca.pem": ("ssl.truststore.location", "ssl.truststore.certificates"),
    "ssl.certificate.pem": ("ssl.keystore.location", "ssl.keystore.key"),
    "ssl.key.pem": ("ssl.keystore.location", "ssl.keystore.key"),
}
"""Keys of librdkafka's that are made here, and the given ones they come from."""


def read(given: Mapping[str, str]) -> Translation:
    """Sort the consumer keys among `given`."""
    done = Translation()
    written: dict[str, str] = {}
    for key in sorted(given, key=_precedence):
        name = bare(key)
        if name is None or name in SETTINGS:
            continue
        if name in NO_EFFECT:
            done.ignore(key, NO_EFFECT[name])
        elif name in REFUSED:
            done.refuse(key, f"cannot be used: {REFUSED[name]}.")
        elif _NO_TEXT.search(name + given[key]):
            done.refuse(key, "holds a zero character or half a character, which librdkafka cannot take. Leave it out.")
        else:
            written[RENAMED.get(name, name)] = key
    found = _translated({name: given[key] for name, key in written.items()})
    done.client = found.client
    done.no_effect += [(_as_written(name, written), reason) for name, reason in found.no_effect]
    done.problems += [Problem(_as_written(problem.key, written), problem.text) for problem in found.problems]
    return done


def _translated(given: Mapping[str, str]) -> Translation:
    """`given`, keys without their prefix, in librdkafka's terms and judged by it."""
    done = Translation({name: _value(name, value) for name, value in given.items() if not name.startswith(_SECURITY)})
    protocol = given.get(_PROTOCOL, PROTOCOLS[0]).strip().upper()
    if protocol not in PROTOCOLS:
        done.refuse(_PROTOCOL, f"is {given[_PROTOCOL]!r}, which is no protocol. Write one of {', '.join(PROTOCOLS)}.")
    else:
        if _PROTOCOL in given:
            done.client[_PROTOCOL] = protocol
        done.add(sasl.translate(given, asked=protocol.startswith("SASL")))
        done.add(tls.translate(given, asked=protocol.endswith("SSL")))
    # Where security has problems already, librdkafka would only miss what is missing for want of it.
    leads = (_PROTOCOL, sasl.MECHANISM, oauth.METHOD) if done.problems else ()
    judged = {key: value for key, value in done.client.items() if key not in leads}
    done.problems += [_problem(finding, given) for finding in librdkafka.findings(judged)]
    return done


def _as_written(name: str, written: Mapping[str, str]) -> str:
    """The given key that is behind `name`."""
    behind = (name, *_MADE_FROM.get(name, ()), sasl.JAAS, sasl.MECHANISM, _PROTOCOL)
    return next((written[each] for each in behind if each in written), "consumer.*")


def _problem(finding: Finding, given: Mapping[str, str]) -> Problem:
    key = finding.key
    if finding.unknown:
        nearest = difflib.get_close_matches(key, _NAMES, n=1, cutoff=0.75)
        way_on = f"Did you mean {nearest[0]}?" if nearest else "Remove it."
        return Problem(key, f"is a key neither of Kafka's Java consumer nor of librdkafka. {way_on}")
    if key == sasl.MECHANISM:
        why = "GSSAPI (Kerberos) is its default" if key not in given else f"it is {given[key]}"
        return Problem(key, f"needs another sasl.mechanism: {why}, and this librdkafka has none of that. {sasl.OTHERS}")
    value = f"is {shown(key, given[key])!r}, which librdkafka refuses" if key in given else "is refused by librdkafka"
    return Problem(key, f"{value}: {finding.text}. Correct it, or remove the key.")


def bare(key: str) -> str | None:
    """`key` without its `consumer.` or `consumer.override.`, or None if it has neither."""
    return next((key.removeprefix(prefix) for prefix in reversed(PREFIXES) if key.startswith(prefix)), None)


def _precedence(key: str) -> tuple[bool, str]:
    return key.startswith(PREFIXES[1]), key


def _value(name: str, value: str) -> str:
    if name in ("socket.receive.buffer.bytes", "socket.send.buffer.bytes") and value.strip() == "-1":
        return "0"  # both mean the operating system's own size
    return value
