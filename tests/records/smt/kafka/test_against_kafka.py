"""frazil's transforms make of records what Kafka's own make of them, or refuse what those refuse.

Generated: how many examples of each transform there are, FRAZIL_TRANSFORM_EXAMPLES says. What differs on purpose stands
in `test_differences.py`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.records.smt.kafka import encoding, strategies
from tests.records.smt.kafka.jvm import KafkasTransforms
from tests.records.smt.records import FLOAT32, FLOAT64, configured, plain, record

from frazil.records.connect.data import Moment, Record, Schema, SchemaAndValue
from frazil.records.smt.chain import PACKAGE, TRANSFORMS, read
from frazil.records.smt.literals import literal
from frazil.records.smt.refusal import CannotTransform

pytestmark = pytest.mark.slow

EXAMPLES: Final = int(os.environ.get("FRAZIL_TRANSFORM_EXAMPLES", "30"))
CONVERTER: Final = "TimestampConverter$Value"
generated = settings(
    max_examples=EXAMPLES,
    derandomize=EXAMPLES <= 30,
    database=None,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)


ALIKE: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "Cast$Key": encoding.alike,
    "Cast$Value": encoding.alike,
    "InsertHeader": lambda ours, theirs: encoding.loose(ours) == encoding.loose(theirs),
}
"""Where results need not be equal, what they have to be."""


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_transform_makes_of_records_what_kafkas_makes_of_them(kafka: KafkasTransforms, name: str):
    @generated
    @given(
        strategies.OPTIONS[name.partition("$")[0]],
        st.lists(strategies.records_for(name), min_size=1, max_size=4),
    )
    def compare(options: dict[str, str], records: list[Record]) -> None:
        ours, theirs = frazils(name, options, records), kafkas(kafka, name, options, records)
        if ours is None and theirs is not None:  # found before there are records
            ours = ["refused" for _ in records]
        assert ours == theirs or (name in ALIKE and ALIKE[name](ours, theirs))

    compare()


def test_a_literal_stands_for_what_kafka_takes_it_for(kafka: KafkasTransforms):
    @settings(generated, max_examples=EXAMPLES * 10)
    @given(strategies.literals)
    def compare(text: str) -> None:
        ours, theirs = (encoding.comparable(each) for each in (encoding.both(literal(text)), kafka.literal(text)))

        assert (ours["schema"], encoding.loose(ours["value"])) == (theirs["schema"], encoding.loose(theirs["value"]))

    compare()


def test_a_moment_is_written_and_read_as_kafkas_java_does(kafka: KafkasTransforms):
    @settings(generated, max_examples=EXAMPLES * 10)
    @given(strategies.patterns, st.lists(strategies.moments, min_size=1, max_size=4), st.data())
    def compare(pattern: str, moments: list[Moment], data: st.DataObject) -> None:
        written = [record(plain(each)) for each in moments]
        texts = frazils(CONVERTER, {"target.type": "string", "format": pattern}, written)
        if texts is None:
            return
        assert texts == kafkas(kafka, CONVERTER, {"target.type": "string", "format": pattern}, written)

        altered = [data.draw(strategies.altered(each["value"]["value"][1])) for each in texts]
        read = [record(plain(each)) for each in altered]
        options = {"target.type": "unix", "format": pattern}
        assert frazils(CONVERTER, options, read) == kafkas(kafka, CONVERTER, options, read), altered

    compare()


@pytest.mark.parametrize("schema", [FLOAT32, FLOAT64])
def test_a_number_is_written_with_kafkas_digits_or_fewer_of_the_same_number(kafka: KafkasTransforms, schema: Schema):
    width: Any = 32 if schema is FLOAT32 else 64

    @settings(generated, max_examples=EXAMPLES)
    @given(st.lists(st.floats(width=width), min_size=20, max_size=100))
    def compare(numbers: list[float]) -> None:
        records = [record(SchemaAndValue(schema, number)) for number in numbers]
        ours, theirs = (
            [each["value"]["value"][1] for each in found or ()]
            for found in (
                frazils("Cast$Value", {"spec": "string"}, records),
                kafkas(kafka, "Cast$Value", {"spec": "string"}, records),
            )
        )

        assert len(ours) == len(theirs) == len(numbers)
        assert not [
            (our, their)
            for our, their in zip(ours, theirs, strict=True)
            if our != their and not encoding.shorter(our, their)
        ]

    compare()


def frazils(name: str, options: dict[str, str], records: Sequence[Record]) -> list[Any] | None:
    """What becomes of each record; None if the options are refused."""
    chain, problems = read(configured(name, options))
    if problems:
        return None
    done: list[Any] = []
    for each in records:
        try:
            after = chain.apply(each)
        except CannotTransform:
            done.append("refused")
        else:
            done.append("dropped" if after is None else encoding.comparable(encoding.encoded(after)))
    return done


def kafkas(kafka: KafkasTransforms, name: str, options: dict[str, str], records: Sequence[Record]) -> list[Any] | None:
    """The same of Kafka's."""
    results = kafka.results(f"{PACKAGE}{name}", options, records)
    if results is None:
        return None
    return [
        "refused" if "error" in each else "dropped" if "dropped" in each else encoding.comparable(each["record"])
        for each in results
    ]
