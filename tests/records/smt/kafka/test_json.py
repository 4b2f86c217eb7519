"""frazil reads JSON as Kafka's JsonConverter does, with schemas and without: what transforms get is the same."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.records.smt.kafka import encoding, strategies
from tests.records.smt.kafka.jvm import KafkasTransforms
from tests.records.smt.kafka.test_against_kafka import generated

from frazil.records.connect.data import SchemaAndValue
from frazil.records.connect.json_converter import EnvelopeDecoder, JsonDecoder
from frazil.records.connect.unreadable import Unreadable
from frazil.records.smt.kinds import single

pytestmark = pytest.mark.slow


def test_what_kafka_writes_with_schemas_is_read_as_kafka_reads_it(kafka: KafkasTransforms):
    @generated
    @given(st.lists(strategies.typed_values(), min_size=1, max_size=4))
    def compare(contents: list[SchemaAndValue]) -> None:
        decoder = EnvelopeDecoder()
        for data, read in kafka.envelopes([each for each in contents if _is_finite(each)]):
            ours, theirs = (encoding.comparable(each) for each in (encoding.both(decoder.decode(data)), read))
            assert _comparable(ours) == _comparable(theirs), data

    compare()


documents = st.recursive(
    st.one_of(st.sampled_from(["null", "true", "false"]), st.text(max_size=5).map(json.dumps), strategies.json_numbers),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda found: f"[{', '.join(found)}]"),
        st.lists(st.tuples(st.text(max_size=3).map(json.dumps), inner), max_size=3).map(
            lambda found: f"{{{','.join(f'{name}:{value}' for name, value in found)}}}"
        ),
    ),
    max_leaves=8,
)


def test_documents_without_schemas_are_read_as_kafka_reads_them(kafka: KafkasTransforms):
    @generated
    @given(st.lists(documents, min_size=1, max_size=10))
    def compare(found: list[str]) -> None:
        data = [each.encode() for each in found]

        ours = [_read(each) for each in data]

        assert ours == [encoding.comparable(each) for each in kafka.documents(data)]

    compare()


def _is_finite(content: SchemaAndValue) -> bool:
    """Kafka reads the NaN and the infinities that it writes as 0, and frazil as what they are."""
    text = json.dumps(encoding.both(content))
    return not any(bits in text for bits in (encoding.NAN, "7ff0000000000000", "fff0000000000000"))


def _comparable(encoded: Any) -> Any:
    """Without the sign of zeros, which Kafka loses, and the digits beyond 32 bits, which frazil keeps."""
    if isinstance(encoded, list):
        if len(encoded) == 2 and encoded[0] in ("float32", "float64"):
            (number,) = struct.unpack(">d", bytes.fromhex(encoded[1].zfill(16)))
            return [encoded[0], (single(number) if encoded[0] == "float32" else number) or 0.0]
        return [_comparable(each) for each in encoded]
    if isinstance(encoded, dict):
        return {key: _comparable(each) for key, each in encoded.items()}
    return encoded


def _read(document: bytes) -> Any:
    """What frazil reads of a document without a schema; None of what it refuses."""
    try:
        return encoding.comparable(encoding.both(JsonDecoder().decode(document)))
    except Unreadable:
        return None
