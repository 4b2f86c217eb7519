"""What the service refuses requests with, by the names AWS gives them; clients see these, not users of frazil."""

from __future__ import annotations

from frazil.dev.kinesis.model import Shard, Stream


class Refused(Exception):
    """An answer that is an error.

    Args:
        code: The exception's name in the API.
        message: What the client is told.
        status: The HTTP status; 400 says that it is the client's doing.
    """

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status


def invalid(message: str) -> Refused:
    """The request cannot be carried out as it is."""
    return Refused("InvalidArgumentException", message)


def validation(*problems: str) -> Refused:
    """Values break the constraints that the API's model has."""
    errors = "error" if len(problems) == 1 else "errors"
    return Refused("ValidationException", f"{len(problems)} validation {errors} detected: {'; '.join(problems)}")


def not_found(message: str) -> Refused:
    """What the request names is not there."""
    return Refused("ResourceNotFoundException", message)


def in_use(message: str) -> Refused:
    """What the request names is not in a state for it."""
    return Refused("ResourceInUseException", message)


def limit_exceeded(message: str) -> Refused:
    """More than the account or the stream may have or do."""
    return Refused("LimitExceededException", message)


def throughput_exceeded(stream: Stream, shard: Shard, account: str) -> Refused:
    """The shard has given or taken what it may for now."""
    return Refused(
        "ProvisionedThroughputExceededException",
        f"Rate exceeded for shard {shard.id} in stream {stream.name} under account {account}.",
    )
