"""Which places rejected records are read back from."""

from __future__ import annotations

import pytest

from frazil.config import load
from frazil.connector.rejected.reading import of_topic
from frazil.errors import ReplayRefused


@pytest.mark.parametrize("named", ["dead", None])
def test_a_dead_letter_stream_is_not_read_back_and_the_error_table_is_named(named: str | None) -> None:
    settings = load(
        {
            "name": "orders-sink",
            "connector.class": "frazil.KinesisConnector",
            "frazil.kinesis.region": "eu-central-1",
            "frazil.kinesis.streams": "orders",
            "errors.tolerance": "all",
            "errors.deadletterqueue.stream.name": "dead",
        }
    )

    with pytest.raises(
        ReplayRefused, match=r"orders-sink reads streams, and nothing in a dead-letter stream .*--table"
    ):
        next(of_topic(settings, named))
