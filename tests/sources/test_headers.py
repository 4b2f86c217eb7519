"""Headers with names that no client would have written, from a real broker."""

from __future__ import annotations

import time

import pytest
from tests.injection.wire import Header, produce_raw

from frazil.dev.kafka import KafkaBroker
from frazil.sources.kafka.headers import UNREADABLE, headers_of
from frazil.testing.records import read


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([(b"\xff\xfe", b"v")], [(UNREADABLE, b"v")]),
        ([(b"a", b"1"), (b"\xc3", None), (b"b", None), (b"\xed\xa0\x80", b"")], [("a", b"1"), (UNREADABLE, None), ("b", None), (UNREADABLE, b"")]),
        ([(b"", b"v"), (b"a\nb", b"\xff")], [("", b"v"), ("a\nb", b"\xff")]),
        # librdkafka's names end at a zero.
        ([(b"a\0b", b"v")], [("a", b"v")]),
        ([], None),
    ],
)  # fmt: skip
def test_a_header_whose_name_is_no_text_keeps_its_value(
    topic: str, broker: KafkaBroker, headers: list[Header], expected: list[tuple[str, bytes | None]] | None
) -> None:
    records = [
        (None, b"{}", [(b"x", b"y")]),
        (None, b"{}", headers),
        (None, b"{}", [(b"\x80", b"z")]),
        (None, b"{}", []),
    ]
    produce_raw(broker.bootstrap_servers, topic, records, int(time.time() * 1000))

    found = headers_of(read(broker.bootstrap_servers, topic))

    assert found == [[("x", b"y")], expected, [(UNREADABLE, b"z")], None]
