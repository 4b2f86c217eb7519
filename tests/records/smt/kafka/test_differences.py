"""Where frazil's transforms differ from Kafka's on purpose; each is named in docs/transforms.md."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.records.smt.kafka import encoding
from tests.records.smt.kafka.jvm import KafkasTransforms
from tests.records.smt.records import INT32, STRING, plain, problems, record, struct, valued

from frazil.records.connect.data import Record, SchemaAndValue
from frazil.records.smt.chain import PACKAGE

pytestmark = pytest.mark.slow


def test_a_group_that_a_pattern_lacks_is_a_problem_of_the_configuration_and_not_of_every_record(
    kafka: KafkasTransforms,
):
    options = {"regex": "(orders)", "replacement": "$2"}

    assert refuses(kafka, "RegexRouter", options, record(topic="orders"))
    assert problems("RegexRouter", options) == [
        "replacement '$2' refers to $2, which its pattern does not have; write $0, $1"
    ]


@pytest.mark.parametrize("regex", [r"\p{Lu}.*", "[a-z&&[^o]]+"])
def test_expressions_that_python_cannot_read_as_java_does_are_a_problem(kafka: KafkasTransforms, regex: str):
    options = {"regex": regex, "replacement": "x"}

    assert not refuses(kafka, "RegexRouter", options, record(topic="orders"))
    assert [each.partition(" ")[0] for each in problems("RegexRouter", options)] == ["regex"]


@pytest.mark.parametrize("letter", "GYwWuFz")
def test_letters_of_eras_weeks_and_names_of_zones_are_a_problem(kafka: KafkasTransforms, letter: str):
    options = {"timestamp.format": f"yyyy-{letter}"}

    assert not refuses(kafka, "TimestampRouter", options, record())
    assert f"has the letter {letter}, which is not supported" in problems("TimestampRouter", options)[0]


def test_a_new_name_that_one_struct_has_already_is_no_trouble_for_others(kafka: KafkasTransforms):
    options = {"renames": "old:name,older:name"}
    given = struct(old=(INT32, 1))

    assert refuses(kafka, "ReplaceField$Value", options, record(given))
    assert valued("ReplaceField$Value", given, options) == struct(name=(INT32, 1))


def test_a_field_stays_itself_where_another_that_is_left_out_would_get_its_name(kafka: KafkasTransforms):
    options = {"exclude": "a", "renames": "a:b"}
    given = struct(a=(INT32, 1), b=(INT32, 2))

    (theirs,) = kafka.results(f"{PACKAGE}ReplaceField$Value", options, [record(given)]) or []

    assert theirs["record"]["value"] == encoding.both(struct(b=(INT32, 1)))
    assert valued("ReplaceField$Value", given, options) == struct(b=(INT32, 2))


def test_schemas_of_no_struct_get_names_too(kafka: KafkasTransforms):
    options = {"schema.name": "Line"}
    given = SchemaAndValue(STRING, "x")

    assert refuses(kafka, "SetSchemaMetadata$Value", options, record(given))
    assert valued("SetSchemaMetadata$Value", given, options) == SchemaAndValue(replace(STRING, name="Line"), "x")


def test_a_literal_with_very_many_brackets_is_a_problem(kafka: KafkasTransforms):
    options = {"header": "a", "value.literal": "[" * 1000}

    assert not refuses(kafka, "InsertHeader", options, record(plain(1)))
    assert problems("InsertHeader", options) == ["value.literal is nested too deep. Take out some of its brackets."]


def refuses(kafka: KafkasTransforms, name: str, options: dict[str, str], given: Record) -> bool:
    """Whether Kafka's refuses the options, or the record."""
    results = kafka.results(f"{PACKAGE}{name}", options, [given])
    return results is None or "error" in results[0]
