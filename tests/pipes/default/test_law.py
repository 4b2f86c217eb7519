"""The law of the two tiers, over generated tables and records.

Every record either lands with exactly the values that an independent reading of its text gives, or is rejected; what
the fast tier accepts is what the exact tier accepts, with the same row; and no record's fate depends on the others'.

`LAW_TIMES=30` in the environment tries thirty times as many examples.
"""

from __future__ import annotations

import datetime as dt
import math
import os
from collections import Counter
from collections.abc import Iterable
from typing import Any
from unittest import mock

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from frazil.pipes.default.exact_validation import ExactValidation
from frazil.pipes.default.fast_validation import FastValidation
from frazil.pipes.default.projection import Projection

from .chunks import Landing, Table, Worker
from .generated import Chunk, chunks
from .reading import REJECT, expected

TIMES = int(os.environ.get("LAW_TIMES", "1"))
LAW = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def comparable(value: Any) -> Any:
    """Values that are equal exactly when they are the same for a reader: NaN equals itself, 1 is not 1.0."""
    if isinstance(value, float):
        return ("float", "nan" if math.isnan(value) else value)
    if isinstance(value, dict):
        return {key: comparable(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [comparable(each) for each in value]
    if isinstance(value, dt.datetime) and value.tzinfo:
        return value.astimezone(dt.UTC)
    return (type(value), value)


def rows_of(landing: Landing, chunk: Chunk) -> Any:
    return comparable(landing.rows if len(chunk.shape) > 1 else [(row,) for row in landing.rows])


@given(chunks)
@settings(LAW, max_examples=200 * TIMES)
def test_a_record_lands_with_exactly_its_values_or_is_rejected(worker: Worker, chunk: Chunk) -> None:
    should = [expected(chunk.shape, text, chunk.conversion) for text in chunk.texts]

    landed = Table(worker, chunk.shape, chunk.conversion).land(*chunk.texts)

    assert sorted(landed.rejects) == [number for number, row in enumerate(should) if row is REJECT], landed.reasons
    assert rows_of(landed, chunk) == comparable([row for row in should if row is not REJECT])


_refused = FastValidation.refused


def every_row(validation: FastValidation, values: Iterable[bytes | None], unknown: Counter[str]) -> list[int]:
    """Have fast validation learn what it does, and exact validation look at all rows."""
    texts = list(values)
    _refused(validation, texts, unknown)
    return [*range(len(texts))]


@given(chunks)
@settings(LAW, max_examples=120 * TIMES)
def test_the_fast_tier_accepts_only_what_the_exact_tier_accepts_with_the_same_row(worker: Worker, chunk: Chunk) -> None:
    validation = FastValidation(Projection(chunk.shape), chunk.conversion)
    texts = [None if text is None else text.encode() for text in chunk.texts]
    refused = set(validation.refused(texts, Counter()))
    exact_validation = ExactValidation(Projection(chunk.shape), chunk.conversion)
    accepted = [text for number, text in enumerate(chunk.texts) if number not in refused]
    verdicts = [exact_validation.diagnose(text) for text in accepted]

    fast = Table(worker, chunk.shape, chunk.conversion).land(*accepted)
    with mock.patch.object(FastValidation, "refused", every_row):
        exact = Table(worker, chunk.shape, chunk.conversion).land(
            *(text for text, verdict in zip(accepted, verdicts, strict=True) if verdict is None)
        )

    # What the decoder cannot see, keys that come twice, is found before the file is written.
    assert sorted(fast.rejects) == [number for number, verdict in enumerate(verdicts) if verdict is not None]
    assert comparable(fast.rows) == comparable(exact.rows)
    assert exact.rejects == {}


@given(chunks, st.integers(0, 6))
@settings(LAW, max_examples=80 * TIMES)
def test_records_fare_together_as_each_alone(worker: Worker, chunk: Chunk, first: int) -> None:
    """In one chunk, in two of the same task, and each by itself."""
    together = Table(worker, chunk.shape, chunk.conversion).land(*chunk.texts)
    task = Table(worker, chunk.shape, chunk.conversion)
    parts = [task.land(*texts) for texts in (chunk.texts[:first], chunk.texts[first:])]

    alone = [Table(worker, chunk.shape, chunk.conversion).land(text) for text in chunk.texts]

    rows = comparable([row for each in alone for row in each.rows])
    unknown = sum((Counter(each.unknown) for each in alone), Counter())
    assert together.reasons == {number: reason for number, each in enumerate(alone) for reason in each.reasons.values()}
    assert (comparable(together.rows), together.unknown) == (rows, unknown)
    assert comparable([row for each in parts for row in each.rows]) == rows
    assert sum((Counter(each.unknown) for each in parts), Counter()) == unknown
