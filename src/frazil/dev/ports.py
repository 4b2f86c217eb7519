"""Find a port that stays free while a server restarts."""

from __future__ import annotations

import random
import socket

LOOPBACK = "127.0.0.1"

SAFE_PORTS = range(20000, 32000)
"""Below the range the system picks client ports from. A client that retries against a dead server in that range is
one day given the server's own port as its source, connects to itself, and the server cannot come back."""


def free_port(*other_than: int) -> int:
    """Return a port on the loopback address that nobody listens on."""
    candidates = random.SystemRandom().sample(SAFE_PORTS, k=200)
    return next(port for port in candidates if port not in other_than and is_free(port))


def is_free(port: int) -> bool:
    """Whether a server could bind to `port` now."""
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            server.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def answers(port: int) -> bool:
    """Whether somebody accepts connections on `port`."""
    with socket.socket() as client:
        client.settimeout(1)
        return client.connect_ex((LOOPBACK, port)) == 0
