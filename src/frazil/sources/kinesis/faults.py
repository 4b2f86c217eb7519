"""Which of the service's errors pass by themselves, which hold up one shard, and what the others mean to us."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionError,  # noqa: A004 (botocore's, of which those of TLS and of proxies are)
    CredentialRetrievalError,
    HTTPClientError,
    NoCredentialsError,
    PartialCredentialsError,
)

from frazil.errors import FrazilError, StreamCredentialsMissing, StreamRefused, StreamUnavailable
from frazil.sources.kinesis.answers import UnreadableAnswer

THROTTLED: Final = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "LimitExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
        "KMSThrottlingException",
    }
)
"""Errors that say: not so fast."""

HELD: Final = frozenset(
    {
        "KMSAccessDeniedException",
        "KMSDisabledException",
        "KMSNotFoundException",
        "KMSInvalidStateException",
        "KMSOptInRequired",
        "AccessDeniedException",
    }
)
"""Errors by which the records of a shard cannot be had until somebody sees to its key or to our rights."""

GONE: Final = "ResourceNotFoundException"
EXPIRED: Final = "ExpiredIteratorException"
UNFIT: Final = "InvalidArgumentException"

_PASSING: Final = frozenset(
    {
        "InternalFailure",
        "InternalFailureException",
        "ServiceUnavailable",
        "RequestTimeout",
        "RequestTimeoutException",
    }
)
_PASSING_STATUS: Final = frozenset({408, 429})
"""A request that took too long to arrive, and one too many, whoever answered it."""

_SERVER: Final = 500
_UNTRUSTED: Final = "certificate verify failed"
"""What TLS says of a certificate that our settings do not trust."""


def code(error: Exception) -> str:
    """The service's name for an error; empty for one that did not come from it."""
    return str(error.response["Error"].get("Code", "")) if isinstance(error, ClientError) else ""


def passes(error: Exception) -> bool:
    """Whether an error goes away by itself.

    The service does not answer, has trouble of its own, or is busy; or what answered was not the service.
    """
    if isinstance(error, (HTTPClientError, ConnectionError)):
        return not _is_unsendable(error) and _UNTRUSTED not in str(error).lower()
    # What gives credentials to a machine, or runs to get some, may be there again a minute later.
    if isinstance(error, (UnreadableAnswer, CredentialRetrievalError)):
        return True
    if not isinstance(error, ClientError):
        return False
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    is_passing = status >= _SERVER or status in _PASSING_STATUS
    return is_passing or code(error) in THROTTLED or code(error) in _PASSING


def cause(error: Exception) -> str:
    """What an error says, in one line, and nothing of credentials."""
    if isinstance(error, ClientError):
        return f"{code(error)}: {error.response['Error'].get('Message', '')}".rstrip(":. ")
    if _is_unsendable(error):
        return "a header of the request cannot be sent: the credentials hold a line break or the like"
    return str(error)


def _is_unsendable(error: Exception) -> bool:
    """Whether there is no such request in HTTP. What is said then has the header, with what it is signed with."""
    return isinstance(error, HTTPClientError) and isinstance(error.kwargs.get("error"), ValueError)


def translate(error: Exception, address: str, action: str) -> FrazilError:
    """Our error for a failed request."""
    if isinstance(error, (NoCredentialsError, PartialCredentialsError)):
        return StreamCredentialsMissing(address, action, cause(error))
    kind = StreamUnavailable if passes(error) else StreamRefused
    return kind(address, action, cause(error))


@contextmanager
def asking(address: str, action: str) -> Iterator[None]:
    """Have what a request raises as our error."""
    try:
        yield
    except (ClientError, BotoCoreError) as error:
        raise translate(error, address, action) from error


def address_of(client: Mapping[str, Any]) -> str:
    """Where the service is, for messages."""
    return str(client.get("endpoint") or client.get("region") or "the default region")
