from __future__ import annotations

import pickle

import pytest

from frazil.config import load
from frazil.model import Buffer

from .connector import LEAST, Texts, problems

OVERRIDES = "snowflake.streaming.client.provider.override.map"


def buffer(**keys: str) -> Buffer | None:
    return load({**LEAST, **{key.replace("_", "."): value for key, value in keys.items()}}).buffer


def interval(keys: Texts) -> int:
    return load({**LEAST, **keys}).commit_interval_ms


def test_without_keys_of_the_buffer_nothing_is_delayed() -> None:
    assert load(LEAST).buffer is None
    assert load({**LEAST, "snowflake.streaming.max.client.lag": "5"}).buffer is None


def test_one_key_of_the_buffer_brings_the_defaults_of_the_others() -> None:
    assert buffer(buffer_flush_time="60") == Buffer(seconds=60, records=10_000, bytes=20_000_000)
    assert buffer(buffer_count_records="7") == Buffer(seconds=10, records=7, bytes=20_000_000)
    assert buffer(buffer_size_bytes="7") == Buffer(seconds=10, records=10_000, bytes=7)


def test_a_single_buffer_leaves_time_and_count_out() -> None:
    single = {"snowflake_streaming_enable_single_buffer": "true"}

    assert buffer(**single) is None
    assert buffer(**single, buffer_flush_time="60", buffer_count_records="7") is None
    assert buffer(**single, buffer_flush_time="60", buffer_size_bytes="7") == Buffer(seconds=1, bytes=7)
    lag = {"snowflake_streaming_max_client_lag": "30"}
    assert buffer(**single, **lag, buffer_size_bytes="7") == Buffer(seconds=30, bytes=7)


def test_a_commit_interval_of_its_own_goes_over_buffer_and_lag() -> None:
    keys = {
        "frazil.commit.interval.ms": "250",
        "buffer.flush.time": "60",
        "snowflake.streaming.max.client.lag": "9",
        OVERRIDES: "a:b",
    }

    settings = load({**LEAST, **keys})

    assert (settings.commit_interval_ms, settings.buffer) == (250, None)
    assert [key for key, reason in settings.no_effect if "frazil.commit.interval.ms" in reason] == [
        "buffer.flush.time",
        OVERRIDES,
        "snowflake.streaming.max.client.lag",
    ]


def test_a_commit_interval_of_nothing_is_one_too() -> None:
    assert interval({"frazil.commit.interval.ms": "0", "snowflake.streaming.max.client.lag": "9"}) == 0


def test_the_clients_lag_is_the_commit_interval() -> None:
    assert interval({}) == 1000
    assert interval({"snowflake.streaming.max.client.lag": "9"}) == 9000


@pytest.mark.parametrize(
    ("lag", "milliseconds"), [("30", 30_000), ("30 second", 30_000), ("1 Minute", 60_000), ("10 MINUTES", 600_000)]
)
def test_the_clients_lag_may_be_among_its_other_settings(lag: str, milliseconds: int) -> None:
    assert interval({OVERRIDES: f"MAX_CHANNEL_SIZE_IN_BYTES:1, Max_Client_Lag : {lag},"}) == milliseconds


def test_the_key_of_the_lag_goes_over_the_clients_settings() -> None:
    settings = load({**LEAST, OVERRIDES: "max_client_lag:30", "snowflake.streaming.max.client.lag": "9"})

    assert settings.commit_interval_ms == 9000
    assert [key for key, _ in settings.no_effect] == [OVERRIDES]


@pytest.mark.parametrize("lag", ["0", "601", "11 minutes", "1 hour", "30 s x", "-1", "1.5"])
def test_a_lag_out_of_bounds_is_refused_there_too(lag: str) -> None:
    assert "max_client_lag" in problems({OVERRIDES: f"max_client_lag:{lag}"})[OVERRIDES]


@pytest.mark.parametrize("text", ["a", "a:", ":b", "a:b:c", "a:b,,c:d", "a:b;c:d"])
def test_settings_of_the_client_that_are_no_pairs_are_refused(text: str) -> None:
    assert "key:value" in problems({OVERRIDES: text})[OVERRIDES]


def test_what_another_key_makes_void_is_listed_with_the_reason() -> None:
    settings = load(
        {
            **LEAST,
            "snowflake.streaming.enable.single.buffer": "true",
            "buffer.flush.time": "60",
            "buffer.count.records": "7",
            "buffer.size.bytes": "7",
            OVERRIDES: "a:b",
        }
    )

    assert [key for key, _ in settings.no_effect] == ["buffer.count.records", "buffer.flush.time", OVERRIDES]


def test_the_pace_survives_pickling() -> None:
    settings = load({**LEAST, "frazil.commit.interval.ms": "250", "buffer.flush.time": "60"})

    assert pickle.loads(pickle.dumps(settings)).buffer is None
