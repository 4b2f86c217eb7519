"""Rejected records in groups: by where they came from and by what is wrong, not by the value."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from frazil.connector.rejected.listing import groups
from frazil.model import SourcePartition

START = dt.datetime(2026, 11, 20, tzinfo=dt.UTC)
rows = st.lists(
    st.fixed_dictionaries(
        {
            "connector": st.just("shop"),
            "topic": st.sampled_from(["orders", "returns", None]),
            "partition": st.integers(0, 11),
            "offset": st.integers(0, 50),
            "timestamp": st.none(),
            "stage": st.just("project"),
            "code": st.sampled_from(["5015", "5030"]),
            "column": st.sampled_from([None, "n"]),
            "message": st.sampled_from(["'1.5' is no number", "'x' is no number", "it is no JSON"]),
            "rejected_at": st.integers(0, 99).map(lambda seconds: START + dt.timedelta(seconds=seconds)),
        }
    ),
    max_size=30,
)
SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("connector", "topic", "stage", "code", "column", "message")),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("rejected_at", pa.timestamp("us", "UTC")),
    ]
)


@given(rows, st.integers(1, 5))
def test_every_record_is_in_one_group_with_its_offset_and_time_within_its_bounds(found, size: int) -> None:
    batches = pa.Table.from_pylist(found, SCHEMA).to_batches(max_chunksize=size)

    def even(table: str, connector: str, place: tuple[SourcePartition, int | str]) -> bool:
        return int(place[1]) % 2 == 0

    made = groups(batches, "public.ORDERS", even)

    assert sum(each.count for each in made) == len(found)
    assert sum(each.replayed for each in made) == sum(
        row["topic"] is not None and row["offset"] % 2 == 0 for row in found
    )
    keys = {(row["topic"], row["partition"], row["code"], row["column"], row["message"][-9:]) for row in found}
    assert len(made) == len(keys)
    assert "1.5" not in "".join(each.reason or "" for each in made)
    for row in found:
        assert any(
            each.first_offset <= row["offset"] <= each.last_offset
            and each.first_time <= row["rejected_at"].timestamp() * 1000 <= each.last_time
            for each in made
            if (each.topic, each.partition, each.code) == (row["topic"], row["partition"], row["code"])
        )
    assert [each.partition for each in made if each.topic == "orders"] == sorted(
        each.partition for each in made if each.topic == "orders"
    )


def test_texts_are_the_first_and_the_last_of_their_group_in_the_order_in_which_they_come() -> None:
    schema = SCHEMA.set(SCHEMA.get_field_index("partition"), pa.field("partition", pa.string()))
    schema = schema.set(schema.get_field_index("offset"), pa.field("offset", pa.string()))
    row = {"connector": "shop", "topic": "orders", "partition": "shardId-000000000000", "message": "it is no JSON"}
    batch = pa.RecordBatch.from_pylist([{**row, "offset": each} for each in ("99", "100:9", "100:10")], schema)

    (made,) = groups([batch], "public.ORDERS", lambda *_: False)

    assert (made.partition, made.first_offset, made.last_offset) == ("shardId-000000000000", "99", "100:10")
