"""The headers of messages, also where a name is not valid UTF-8: the client fails on it, and Java's would not."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from contextlib import suppress
from operator import methodcaller
from typing import Any, Final

from confluent_kafka import Message, version

UNREADABLE: Final = "\N{REPLACEMENT CHARACTER}"
"""What a header is called whose name is not valid UTF-8; Java's clients put one such character for each bad byte."""

_LEAVES_HOLES: Final = ("2.16.",)
"""How the versions of the client begin that are known to leave a hole where a name would be; tests look at them."""

Headers = list[tuple[str, bytes | None]]

# The client returns a result and fails at once. Python's quick way of calling methods takes the result and trips over
# the failure somewhere later; this way raises it here.
_ask: Callable[[Message], Headers | None] = methodcaller("headers")


def headers_of(messages: Sequence[Message]) -> list[Headers | None]:
    """The headers of each message, None where it has none; each message is to be asked for them once.

    Raises:
        SystemError: a name is not valid UTF-8, and what this version of the client does about it is not known.
    """
    try:
        return list(map(_ask, messages))
    except SystemError:
        if not version().startswith(_LEAVES_HOLES):
            raise
        return [_mended(message) for message in messages]


def _mended(message: Message) -> Headers | None:
    # The first call fails; all later ones give what it made: a tuple with nothing, not even None, for the bad name.
    with suppress(SystemError):
        _ask(message)
    found = _ask(message)
    return None if found is None else [_without_hole(header) for header in found]


def _without_hole(header: Any) -> tuple[str, bytes | None]:
    # To look at the hole would end the process; the garbage collector knows to leave it out.
    there = gc.get_referents(header)
    return header if len(there) == 2 else (UNREADABLE, there[0])
