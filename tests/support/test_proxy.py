"""The proxy does to a connection what it was told, at once, and nothing after it was told to forward again."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress

import pytest
from tests.support.proxy import Cut, Delay, Forward, LoseAnswer, Proxy, Refuse, Reset, Swallow, Trickle

from frazil.dev.ports import LOOPBACK
from frazil.testing.topics import wait_until


class Echo:
    """A server that answers each line with the same in capitals, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []
        self._socket = socket.create_server((LOOPBACK, 0))
        self.address = f"{LOOPBACK}:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)  # else the thread that accepts keeps it open
        self._socket.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(client,), daemon=True).start()

    def _answer(self, client: socket.socket) -> None:
        with suppress(OSError), client, client.makefile("rwb") as lines:
            for line in lines:
                self.asked.append(line)
                lines.write(line.upper())
                lines.flush()


@pytest.fixture
def echo() -> Iterator[Echo]:
    with closing(Echo()) as server:
        yield server


@pytest.fixture
def proxy(echo: Echo) -> Iterator[Proxy]:
    with Proxy(echo.address) as running:
        yield running


def connect(proxy: Proxy) -> socket.socket:
    return socket.create_connection((LOOPBACK, proxy.port), timeout=10)


def ask(client: socket.socket, line: bytes) -> bytes:
    """Send a line and read its answer; less than a line if the connection ends before."""
    client.sendall(line)
    answer = b""
    while not answer.endswith(b"\n") and (piece := client.recv(1 << 16)):
        answer += piece
    return answer


def proxy_ends(client: socket.socket) -> bool:
    """Read until the connection is reset; whether it was."""
    try:
        while client.recv(1):
            pass
    except ConnectionResetError:
        return True
    return False


def test_it_forwards_both_ways_and_passes_on_the_end(proxy: Proxy, echo: Echo) -> None:
    large = b"x" * 3_000_000 + b"\n"
    with connect(proxy) as client:
        assert ask(client, b"hello\n") == b"HELLO\n"
        assert ask(client, large) == large.upper()
        client.shutdown(socket.SHUT_WR)
        assert client.recv(1) == b""

    wait_until(lambda: proxy.open == 0, "the connection to end")
    assert echo.asked == [b"hello\n", large]


def test_what_is_delayed_comes_late_and_whole(proxy: Proxy) -> None:
    with connect(proxy) as client, proxy.behaving(Delay(0.1)):
        began = time.monotonic()
        assert ask(client, b"hello\n") == b"HELLO\n"
        assert 0.2 <= time.monotonic() - began < 5


def test_a_long_delay_ends_when_it_is_told_to_forward(proxy: Proxy) -> None:
    with connect(proxy) as client:
        proxy.behave(Delay(3600))
        client.sendall(b"hello\n")
        proxy.behave(Forward())
        assert ask(client, b"you\n").startswith(b"HELLO\n")


def test_a_trickle_comes_byte_by_byte_until_it_is_told_to_forward(proxy: Proxy) -> None:
    with connect(proxy) as client:
        proxy.behave(Trickle(seconds=0.02))
        began = time.monotonic()
        assert ask(client, b"abc\n") == b"ABC\n"
        assert time.monotonic() - began >= 0.08
        proxy.behave(Trickle(seconds=3600))
        client.sendall(b"abc\n")
        proxy.behave(Forward())
        assert ask(client, b"") == b"ABC\n"


def test_a_black_hole_takes_everything_and_resets_what_it_tore(proxy: Proxy, echo: Echo) -> None:
    with connect(proxy) as torn, connect(proxy) as quiet:
        assert ask(quiet, b"before\n") == b"BEFORE\n"
        with proxy.behaving(Swallow()), connect(proxy) as late:
            torn.sendall(b"lost\n")
            late.sendall(b"lost\n")
            torn.settimeout(0.2)
            with pytest.raises(TimeoutError):
                torn.recv(1)
        torn.settimeout(10)
        with pytest.raises(ConnectionResetError):
            torn.recv(1)
        assert ask(quiet, b"after\n") == b"AFTER\n"

    assert echo.asked == [b"before\n", b"after\n"]


def test_connections_are_reset_the_open_and_the_new(proxy: Proxy) -> None:
    with connect(proxy) as client:
        assert ask(client, b"hello\n") == b"HELLO\n"
        with proxy.behaving(Reset()):
            with pytest.raises(ConnectionResetError):
                client.recv(1)
            with pytest.raises(ConnectionError), connect(proxy) as late:
                ask(late, b"hello\n")
    with connect(proxy) as client:
        assert ask(client, b"again\n") == b"AGAIN\n"


def test_it_can_be_as_if_it_were_not_there(proxy: Proxy) -> None:
    with proxy.behaving(Refuse()), pytest.raises(ConnectionRefusedError):
        connect(proxy)
    with connect(proxy) as client:
        assert ask(client, b"again\n") == b"AGAIN\n"


def test_a_connection_is_cut_after_so_many_bytes(proxy: Proxy) -> None:
    with connect(proxy) as client:
        proxy.behave(Cut(after=9))
        client.sendall(b"hello\n")
        assert proxy_ends(client)


def test_a_lost_answer_is_to_a_request_that_arrived(proxy: Proxy, echo: Echo) -> None:
    with connect(proxy) as client:
        proxy.behave(LoseAnswer(to=b"commit", times=1))
        assert ask(client, b"prepare\n") == b"PREPARE\n"
        with pytest.raises(ConnectionResetError):
            ask(client, b"commit 1\n")

    with connect(proxy) as client:
        assert ask(client, b"commit 2\n") == b"COMMIT 2\n"
    assert echo.asked == [b"prepare\n", b"commit 1\n", b"commit 2\n"]
    assert proxy.lost == 1


def test_answers_are_lost_until_it_is_told_to_forward(proxy: Proxy, echo: Echo) -> None:
    with proxy.behaving(LoseAnswer()):
        for _ in range(3):
            with pytest.raises(ConnectionResetError), connect(proxy) as client:
                ask(client, b"commit\n")
    with connect(proxy) as client:
        assert ask(client, b"look\n") == b"LOOK\n"

    assert len(echo.asked) == 4


def test_without_a_server_connections_end() -> None:
    with closing(Echo()) as gone:
        pass

    with Proxy(gone.address) as proxy, pytest.raises(ConnectionError), connect(proxy) as client:
        ask(client, b"hello\n")


def test_it_ends_with_its_block_whatever_is_open(echo: Echo) -> None:
    with Proxy(echo.address) as proxy:
        client = connect(proxy)
        assert ask(client, b"hello\n") == b"HELLO\n"
        proxy.behave(Trickle(seconds=3600))
        client.sendall(b"hello\n")

    with client, pytest.raises(ConnectionResetError):
        client.recv(1)
    assert f"proxy-{proxy.port}" not in [thread.name for thread in threading.enumerate()]
    with pytest.raises(ConnectionRefusedError):
        connect(proxy)
