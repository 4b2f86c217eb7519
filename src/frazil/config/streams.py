"""The names and ARNs of Kinesis streams, as text in a configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_NAME = re.compile(r"[a-zA-Z0-9_.-]{1,128}")
_REGION = re.compile(r"[a-z]{2,4}(-[a-z]+)+-[0-9]{1,2}")
_ARN = re.compile(
    rf"arn:(?P<partition>aws[a-z-]*):kinesis:(?P<region>{_REGION.pattern}):(?P<account>[0-9]{{12}})"
    rf":stream/(?P<name>{_NAME.pattern})"
)


@dataclass(frozen=True, slots=True)
class StreamArn:
    """The ARN of a stream, in its parts."""

    partition: str
    """Of AWS: `aws`, `aws-cn`, …"""

    region: str
    account: str
    name: str

    def __str__(self) -> str:
        return f"arn:{self.partition}:kinesis:{self.region}:{self.account}:stream/{self.name}"


def arns(text: str) -> Iterator[StreamArn]:
    """The ARNs in a list of streams; what is none is left out."""
    for each in _listed(text):
        if match := _ARN.fullmatch(each):
            yield StreamArn(match["partition"], match["region"], match["account"], match["name"])


def names(text: str) -> tuple[str, ...]:
    """The names of streams that are listed by names or ARNs, separated by commas; one given twice counts once.

    Raises:
        ValueError: something in the list is neither, or two ARNs have the same name.
    """
    given = list(_listed(text))
    wrong = [each for each in given if not _NAME.fullmatch(each) and not _ARN.fullmatch(each)]
    if not given:
        raise ValueError(f"{text!r} names no stream; write names of streams, or ARNs, separated by commas")
    if wrong:
        raise ValueError(
            f"{', '.join(map(repr, wrong))} cannot be a stream; write up to 128 letters, digits, '.', '_' and '-', or "
            "an ARN like arn:aws:kinesis:eu-central-1:123456789012:stream/orders, separated by commas (for a pattern "
            "use frazil.kinesis.streams.regex)"
        )
    found = [match["name"] if (match := _ARN.fullmatch(each)) else each for each in given]
    if twice := sorted({each for each in found if found.count(each) > 1}):
        raise ValueError(
            f"{', '.join(map(repr, twice))} is the name of several of its streams; write a connector for each of them"
        )
    return tuple(found)


def name(text: str) -> str:
    """The name of one stream."""
    if not _NAME.fullmatch(text):
        raise ValueError(f"{text!r} cannot be a stream; write up to 128 letters, digits, '.', '_' and '-'")
    return text


def region(text: str) -> str:
    """The name of a region."""
    if not _REGION.fullmatch(text):
        raise ValueError(f"{text!r} is no region; write one like eu-central-1")
    return text


def _listed(text: str) -> Iterator[str]:
    """What is in a list, each once."""
    yield from dict.fromkeys(each for part in text.split(",") if (each := part.strip()))
