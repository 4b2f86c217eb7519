"""Which records a transform is for."""

from __future__ import annotations

import pytest
from tests.records.smt.records import header, plain, record

from frazil.records.connect.data import Record
from frazil.records.smt.chain import Chain, read

PACKAGE = "org.apache.kafka.connect.transforms.predicates."


def drops(given: Record, kind: str, options: dict[str, str] | None = None, *, negate: str | None = None) -> bool:
    """Whether a filter with the predicate drops a record."""
    chain = Chain.of(
        {
            "transforms": "drop",
            "transforms.drop.type": "Filter",
            "transforms.drop.predicate": "which",
            **({} if negate is None else {"transforms.drop.negate": negate}),
            "predicates": "which",
            "predicates.which.type": kind,
            **{f"predicates.which.{key}": text for key, text in (options or {}).items()},
        }
    )
    return chain.apply(given) is None


@pytest.mark.parametrize("kind", ["RecordIsTombstone", f"{PACKAGE}RecordIsTombstone"])
def test_a_tombstone_has_no_value(kind: str):
    assert drops(record(), kind)
    assert not drops(record(plain("")), kind)


def test_a_header_is_looked_for_by_its_name():
    assert drops(record(headers=(header("a"), header("b"))), "HasHeaderKey", {"name": "b"})
    assert not drops(record(headers=(header("a"),)), "HasHeaderKey", {"name": "A"})


def test_a_topic_is_matched_as_a_whole():
    assert drops(record(topic="orders_1"), "TopicNameMatches", {"pattern": "orders_[0-9]"})
    assert not drops(record(topic="orders_12"), "TopicNameMatches", {"pattern": "orders_[0-9]"})


@pytest.mark.parametrize(("negate", "dropped"), [("true", False), ("false", True), (None, True)])
def test_a_predicate_is_negated(negate: str | None, dropped: bool):
    assert drops(record(), "RecordIsTombstone", negate=negate) is dropped
    assert drops(record(plain(1)), "RecordIsTombstone", negate=negate) is not dropped


def test_all_that_is_wrong_with_predicates_is_found():
    _, problems = read(
        {
            "transforms": "a,b",
            "transforms.a.type": "Filter",
            "transforms.a.predicate": "unknown",
            "transforms.b.type": "Filter",
            "transforms.b.negate": "true",
            "predicates": "c,d,e,f",
            "predicates.c.type": "Tombstone",
            "predicates.d.type": "HasHeaderKey",
            "predicates.e.type": "TopicNameMatches",
            "predicates.e.pattern": "(",
        }
    )

    assert [f"{each.key}: {each.text}" for each in problems] == [
        f"predicates.c.type: 'Tombstone' is no predicate frazil knows. Write one of {PACKAGE}HasHeaderKey, {PACKAGE}RecordIsTombstone, {PACKAGE}TopicNameMatches.",
        "predicates.d.name: is missing, and has no default value. Write predicates.d.name=<text>.",
        "predicates.e.pattern: '(' is not a regular expression frazil understands: missing ), unterminated subpattern at position 0; use what Java and Python share",
        "predicates: names 'f', which has no type. Write predicates.f.type=<class>, or remove the name.",
        "transforms.a.predicate: 'unknown' is none of predicates. Add it there, with its type.",
        "transforms.b.negate: has no predicate beside it that it could negate. Write one, or remove the key.",
    ]
