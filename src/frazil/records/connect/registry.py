"""Schemas by id, from a schema registry: each is asked for once."""

from __future__ import annotations

import hashlib
import json
import struct
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

from authlib.common.errors import AuthlibBaseError
from confluent_kafka.schema_registry import SchemaRegistryClient, SchemaRegistryError
from confluent_kafka.schema_registry.common._httpx_compat import httpx
from confluent_kafka.schema_registry.error import OAuthTokenError

from frazil.errors import RegistryRefused, RegistryUnavailable
from frazil.records.connect.unreadable import Unreadable, shown

_HEAD: Final = struct.Struct(">bi")
_MOST_BYTES: Final = 16 << 20
"""The largest answer of a registry that is read."""

_MOST_SECONDS: Final = 15.0
"""How long an answer may take to arrive."""

_REFUSALS: Final = (401, 403)
_NOT_FOUND: Final = 404
_UNKNOWN: Final = (40401, 40402, 40403)
"""The codes by which a registry says that it has no such subject, version or schema; a wrong path is 404 as well."""

_PASSED_ON: Final = (
    "bearer.auth.credentials.source",
    "bearer.auth.token",
    "bearer.auth.logical.cluster",
    "bearer.auth.identity.pool.id",
    "bearer.auth.client.id",
    "bearer.auth.client.secret",
    "bearer.auth.scope",
    "bearer.auth.issuer.endpoint.url",
)
_PEM: Final = {
    "ssl.ca.pem": "ssl.ca.location",
    "ssl.certificate.pem": "ssl.certificate.location",
    "ssl.key.pem": "ssl.key.location",
}
"""Options that hold a file's content, and those that name such a file."""

_FINGERPRINT: Final = 16
"""Hexadecimal digits that tell schemas apart: they are compared id by id."""

_TLS: Final = ("ssl.ca.location", "ssl.certificate.location", "ssl.key.location", "ssl.key.password")


def parted(data: bytes) -> tuple[int, bytes]:
    """The schema id and the body of what a registry's serialiser wrote.

    Raises:
        Unreadable: nothing says that one wrote it.
    """
    if len(data) < _HEAD.size or data[0] != 0:
        raise Unreadable(
            "does not begin with the magic byte 00 of a schema registry and a schema's id of four bytes: "
            f"{shown(data[:20])}"
        )
    return _HEAD.unpack_from(data)[1], data[_HEAD.size :]


def schema_id(data: bytes) -> int | None:
    """The schema id in front of what a registry's serialiser wrote, if that is what it is."""
    return _HEAD.unpack_from(data)[1] if len(data) >= _HEAD.size and data[0] == 0 else None


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema as its registry has it."""

    kind: str
    """AVRO, JSON or PROTOBUF."""

    text: str
    references: tuple[tuple[str, str, int], ...] = ()
    """Name, subject and version of the schemas that it uses."""

    @property
    def fingerprint(self) -> str:
        """What tells it from other schemas, however its registry writes it."""
        form: Any = self.text
        with suppress(ValueError):
            form = json.loads(self.text)
        written = json.dumps([self.kind, form, sorted(self.references)], sort_keys=True)
        return hashlib.sha256(written.encode()).hexdigest()[:_FINGERPRINT]


@dataclass(slots=True)
class Registry:
    """Schemas by id or by subject and version; what is known of them stays known, also that there is none."""

    url: str
    client: SchemaRegistryClient
    form: str | None = None
    """What to ask for instead of the text, such as `serialized`."""

    known: dict[int, RegisteredSchema | None] = field(default_factory=dict)

    def schema(self, number: int) -> RegisteredSchema:
        """The schema of that id.

        Raises:
            Unreadable: there is none.
            RegistryUnavailable: the registry does not answer, so nobody knows.
            RegistryRefused: it may not be read.
        """
        if number not in self.known:
            self.known[number] = self._asked(number, lambda: self.client.get_schema(number, fmt=self.form))
        found = self.known[number]
        if found is None:
            raise Unreadable(f"has the schema id '{number}', which the schema registry at {self.url} does not know")
        return found

    def fingerprints(self) -> dict[int, str]:
        """What tells the schemas that were given from others, by id."""
        return {number: found.fingerprint for number, found in self.known.items() if found is not None}

    def require_reachable(self) -> None:
        """Raise unless the registry answers; a refusal is an answer, and so is that it does not know a schema.

        Raises:
            RegistryUnavailable: it does not answer.
        """
        with suppress(RegistryRefused):
            self._asked(1, lambda: self.client.get_schema(1))

    def referred(self, reference: tuple[str, str, int]) -> RegisteredSchema:
        """A schema that another one uses.

        Raises:
            Unreadable: there is none.
            RegistryUnavailable: the registry does not answer.
            RegistryRefused: it may not be read.
        """
        name, subject, version = reference
        found = self._asked(
            f"{subject} version {version}", lambda: self.client.get_version(subject, version, True, self.form).schema
        )
        if found is None:
            raise Unreadable(
                f"has a schema that uses {name!r}, and the schema registry at {self.url} does not know version "
                f"{version} of {subject!r}"
            )
        return found

    def _asked(self, what: int | str, ask: Any) -> RegisteredSchema | None:
        try:
            found = ask()
        except SchemaRegistryError as error:
            if error.http_status_code == _NOT_FOUND and error.error_code in _UNKNOWN:
                return None
            if error.http_status_code in _REFUSALS:
                raise RegistryRefused(self._asking(what, _answer(error))) from error
            raise RegistryUnavailable(self._asking(what, _answer(error))) from error
        except (httpx.HTTPError, OAuthTokenError, AuthlibBaseError, OSError) as error:
            raise RegistryUnavailable(self._asking(what, f"{type(error).__name__}: {error}")) from error
        except (ValueError, TypeError, AttributeError, LookupError) as error:
            # The client reads any JSON as an answer: a proxy's page or half of a document ends here.
            raise RegistryUnavailable(self._asking(what, "the answer is not a schema in JSON")) from error
        if not isinstance(found.schema_str, str) or not isinstance(found.schema_type, str):
            self.client.clear_caches()  # it keeps such an answer, and would give it again
            raise RegistryUnavailable(self._asking(what, "the answer has no schema"))
        references = tuple((each.name, each.subject, each.version) for each in found.references or ())
        return RegisteredSchema(found.schema_type, found.schema_str, references)

    def _asking(self, what: int | str, cause: object) -> str:
        return f"{self.url}, asked for {what}: {cause}"


def registry(options: Mapping[str, str], form: str | None = None) -> Registry:
    """The registry that a converter's options name.

    Args:
        options: the converter's, without its prefix: `schema.registry.url` and those of authentication and TLS.
        form: what to ask for instead of a schema's text, such as `serialized`.

    Raises:
        ValueError: they name none, or contradict each other.
    """
    urls = options.get("schema.registry.url", "")
    # The client reads files only, and only once: what comes as text is in files for as long as that takes.
    with TemporaryDirectory() as directory:
        named = {name: _written(directory, name, text) for key, name in _PEM.items() if (text := _tls(options, key))}
        try:
            client = SchemaRegistryClient(_client(options, urls) | named)
        except OSError as error:
            raise ValueError(f"the TLS keys of the schema registry cannot be used: {error}") from error
    _bound(client)
    return Registry(",".join(map(_without_secrets, urls.split(","))), client, form)


class _Bounded(httpx.SyncByteStream):  # type: ignore[misc]
    """An answer that must arrive in time and within a size."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        until, left = time.monotonic() + _MOST_SECONDS, _MOST_BYTES
        for chunk in self._stream:
            left -= len(chunk)
            if left < 0:
                raise httpx.DecodingError(f"the answer is larger than {_MOST_BYTES:,} bytes")
            if time.monotonic() > until:
                raise httpx.ReadTimeout(f"the answer takes longer than {_MOST_SECONDS:.0f} s")
            yield chunk

    def close(self) -> None:
        """Close the connection, or give it back."""
        self._stream.close()


def _bound(client: SchemaRegistryClient) -> None:
    """Bound what a client reads of an answer; the answer comes as it is, since a few bytes may unpack to gigabytes."""
    session = client._rest_client.session  # noqa: SLF001 (the client has no public way to it; a test holds this)

    def on_answer(response: Any) -> None:
        if "content-encoding" in response.headers:
            raise httpx.DecodingError("the answer is compressed, which was not asked for")
        response.stream = _Bounded(response.stream)

    session.headers["Accept-Encoding"] = "identity"
    session.event_hooks["response"] = [on_answer]


def _answer(error: SchemaRegistryError) -> str:
    """What a registry said; the body of another server's error page may repeat the request's credentials."""
    status = f"HTTP status {error.http_status_code}"
    if error.error_code in (-1, None):
        return status
    return f"{status}, error code {error.error_code}, {shown(error.error_message)}"


def _client(options: Mapping[str, str], urls: str) -> dict[str, Any]:
    if not urls.strip():
        raise ValueError("schema.registry.url is missing: the converter asks a schema registry for its schemas")
    # Two tries in short order; what fails longer is the cycle's to try again.
    found: dict[str, Any] = {"url": urls, "timeout": 10, "max.retries": 1, "retries.wait.ms": 100}
    source = options.get("basic.auth.credentials.source", "URL")
    user = options.get("basic.auth.user.info") or options.get("schema.registry.basic.auth.user.info")
    if source == "USER_INFO":
        if not user:
            raise ValueError("basic.auth.user.info is missing, and basic.auth.credentials.source=USER_INFO needs it")
        found["basic.auth.user.info"] = user
    elif source == "SASL_INHERIT":
        raise ValueError("basic.auth.credentials.source=SASL_INHERIT is not built: write USER_INFO and the user's info")
    found |= {key: options[key] for key in _PASSED_ON if key in options}
    if "bearer.auth.credentials.source" in found:
        found.setdefault("bearer.auth.logical.cluster", "")
    return found | {key: value for key in _TLS if (value := _tls(options, key)) is not None}


def _tls(options: Mapping[str, str], key: str) -> str | None:
    return options.get(f"schema.registry.{key}", options.get(key))


def _written(directory: str, name: str, text: str) -> str:
    path = Path(directory, name)
    path.touch(0o600)
    path.write_text(text)
    return str(path)


def _without_secrets(url: str) -> str:
    parts = urlsplit(url.strip())
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
