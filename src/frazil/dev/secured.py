"""A second listener of a local broker: SASL over TLS, for those who try their security settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from frazil.dev.ports import LOOPBACK

SCRAM = "SCRAM-SHA-512"

_LISTENER = "listener.name.secured"
_KAFKA = "org.apache.kafka.common.security"
_ITERATIONS = 4096
_WITHIN = 30.0


@dataclass(frozen=True, slots=True)
class Secured:
    """What the secured listener shows to clients and asks of them."""

    identity: Path
    """A PEM file with the broker's private key, unencrypted, and its certificates."""

    users: Mapping[str, str] = field(repr=False)
    """Passwords by user; each may log in by PLAIN and by SCRAM-SHA-512."""

    clients: Path | None = None
    """A PEM file with the authorities of clients' certificates. With it, every client has to show one."""

    def properties(self, port: int, plain: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """Broker settings that add the listener on `port` to those of the `plain` broker."""
        address = f"SECURED://{LOOPBACK}:{port}"
        for key in ("listeners", "advertised.listeners"):
            yield key, f"{plain[key]},{address}"
        yield "listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURED:SASL_SSL"
        yield f"{_LISTENER}.ssl.keystore.type", "PEM"
        yield f"{_LISTENER}.ssl.keystore.location", str(self.identity)
        if self.clients:
            yield f"{_LISTENER}.ssl.client.auth", "required"
            yield f"{_LISTENER}.ssl.truststore.type", "PEM"
            yield f"{_LISTENER}.ssl.truststore.location", str(self.clients)
        users = "".join(f" user_{name}={_quoted(password)}" for name, password in self.users.items())
        unsigned = f"{_KAFKA}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub=broker;"
        yield f"{_LISTENER}.sasl.enabled.mechanisms", f"PLAIN,{SCRAM},OAUTHBEARER"
        yield f"{_LISTENER}.plain.sasl.jaas.config", f"{_KAFKA}.plain.PlainLoginModule required{users};"
        yield f"{_LISTENER}.{SCRAM.lower()}.sasl.jaas.config", f"{_KAFKA}.scram.ScramLoginModule required;"
        yield f"{_LISTENER}.oauthbearer.sasl.jaas.config", unsigned

    def add_users(self, admin: AdminClient) -> None:
        """Give the users their SCRAM credentials, which the cluster keeps; PLAIN has them in the settings."""
        info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, _ITERATIONS)
        wanted = [UserScramCredentialUpsertion(name, info, word.encode()) for name, word in self.users.items()]
        for done in admin.alter_user_scram_credentials(wanted, request_timeout=_WITHIN).values():
            done.result(_WITHIN)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
