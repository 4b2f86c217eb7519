"""Which processes can be looked at from here: those of the same machine and the same space of process ids.

Containers may share a host name and still not see each other's processes: both may run process 1.
"""

from __future__ import annotations

import socket
from functools import cache
from pathlib import Path
from typing import Final

_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_SPACE: Final = Path("/proc/self/ns/pid")


def host() -> str:
    """The name of this machine."""
    return socket.gethostname()


@cache
def process_space() -> str:
    """What tells this space of process ids from those of other containers and other boots; empty if nothing does."""
    try:
        return f"{_BOOT.read_text().strip()}-{_SPACE.stat().st_ino}"
    except OSError:  # not Linux
        return ""
