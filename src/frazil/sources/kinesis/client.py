"""Clients of AWS's services, from what the settings say of region, endpoint and credentials."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from typing import Any, Final

import boto3
from botocore.config import Config

from frazil.sources.kinesis.answers import check_answers
from frazil.sources.kinesis.roles import with_role

_CONNECT: Final = 10
"""Seconds until a connection is given up."""

_ANSWER: Final = 30
"""Seconds without a byte of an answer until it is given up."""

_AT_ONCE: Final = 32
"""Connections that one client keeps."""

_NO_TOKEN: Final = re.compile(r"[^!-~]")
"""What no header takes as part of a word."""

_kept: dict[tuple[tuple[str, str], ...], tuple[boto3.Session, Any]] = {}
_keeping = threading.Lock()


def session(client: Mapping[str, str]) -> boto3.Session:
    """A session with the region and the credentials that are configured: given keys, a profile, or AWS's own chain.

    Where a role is given, it is assumed with those, and again before its credentials expire.
    """
    own = boto3.Session(
        aws_access_key_id=client.get("access_key_id"),
        aws_secret_access_key=client.get("secret_access_key"),
        aws_session_token=client.get("session_token"),
        region_name=client.get("region"),
        profile_name=client.get("profile"),
    )
    role = client.get("role_arn")
    if role is None:
        return own
    return with_role(own, role, client, Config(connect_timeout=_CONNECT, read_timeout=_ANSWER))


def connect(client: Mapping[str, str], service: str = "kinesis") -> Any:
    """A client of a service, which tries nothing twice: its users know what may be tried again, and when."""
    return _connected(session(client), client, service)


def kept(client: Mapping[str, str]) -> Any:
    """A client of Kinesis that tasks with the same configuration share; it may be used by several threads."""
    return _kept_for(client)[1]


def kept_session(client: Mapping[str, str]) -> boto3.Session:
    """The session of that client, for requests that it cannot make."""
    return _kept_for(client)[0]


def evict(client: Mapping[str, str]) -> None:
    """Forget the client of a configuration: it failed, and the next task gets a new one."""
    with _keeping:
        _kept.pop(_key(client), None)


def _kept_for(client: Mapping[str, str]) -> tuple[boto3.Session, Any]:
    with _keeping:
        key = _key(client)
        if key not in _kept:
            own = session(client)
            _kept[key] = own, _connected(own, client, "kinesis")
        return _kept[key]


def _connected(own: boto3.Session, client: Mapping[str, str], service: str) -> Any:
    endpoint = client.get("endpoint") if service == "kinesis" else client.get(f"{service}_endpoint")
    config = Config(
        retries={"total_max_attempts": 1, "mode": "standard"},
        connect_timeout=_CONNECT,
        read_timeout=_ANSWER,
        max_pool_connections=_AT_ONCE,
        user_agent_extra=f"frazil/{_NO_TOKEN.sub('-', client.get('application', ''))}",
    )
    client_ = own.client(service, endpoint_url=endpoint, config=config)
    check_answers(client_)
    return client_


def _key(client: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(client.items()))
