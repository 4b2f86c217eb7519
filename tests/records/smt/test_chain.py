"""Chains of transforms, and transforms of a user's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from tests.records.smt.records import configured, plain, record

from frazil.errors import InvalidConfiguration
from frazil.records.connect.data import Record
from frazil.records.smt.chain import PACKAGE, TRANSFORMS, Chain, read
from frazil.records.smt.refusal import CannotTransform


class Shouting:
    """A user's own: topics in capitals, with a mark that is its option."""

    changes_topics = True

    def __init__(self, options: Mapping[str, str]) -> None:
        self.options = options

    def apply(self, given: Record) -> Record | None:
        if given.value.value is None:
            return None
        return replace(given, topic=f"{given.topic.upper()}{self.options['mark']}")


class Failing:
    def __init__(self, options: Mapping[str, str]) -> None:
        if "broken" in options:
            raise ValueError("no options are good options")

    def apply(self, given: Record) -> str:
        if given.value.value is None:
            raise KeyError("id")
        return "done"


class Moving:
    """Changes topics, and has not said so."""

    def __init__(self, options: Mapping[str, str]) -> None:
        pass

    def apply(self, given: Record) -> Record:
        return replace(given, topic="elsewhere")


class Idle:
    def __init__(self, options: Mapping[str, str]) -> None:
        pass


OWN = f"{__name__}:"


def chain(*steps: tuple[str, Mapping[str, str]]) -> Chain:
    names = [f"step{number}" for number, _ in enumerate(steps)]
    keys = {"transforms": ", ".join(names)}
    for name, (kind, options) in zip(names, steps, strict=True):
        keys |= {f"transforms.{name}.{key}": text for key, text in {"type": kind, **options}.items()}
    return Chain.of(keys)


def test_transforms_run_in_their_order():
    insert = ("InsertField$Value", {"topic.field": "a"})
    route = ("RegexRouter", {"regex": ".*", "replacement": "new"})

    first, last = chain(insert, route), chain(route, insert)

    assert first.apply(record(plain({}))) == record(plain({"a": "orders"}), topic="new")
    assert last.apply(record(plain({}))) == record(plain({"a": "new"}), topic="new")


def test_what_is_dropped_is_not_transformed_any_further():
    assert chain(("Filter", {}), ("TimestampRouter", {})).apply(record(timestamp=None)) is None


def test_no_transforms_leave_a_record_alone():
    assert Chain.of({}).apply(record()) == record()


def test_an_error_names_the_transform():
    with pytest.raises(CannotTransform, match=r"^the transform step1: a record without a timestamp"):
        chain(("Flatten$Value", {}), ("TimestampRouter", {})).apply(record(timestamp=None))


@pytest.mark.parametrize("name", TRANSFORMS)
def test_every_transform_is_known_with_its_package_and_without(name: str):
    for kind in (name, f"{PACKAGE}{name}"):
        _, problems = read(configured(kind))

        assert not [each for each in problems if "is no transform" in each.text]


def test_all_sixteen_of_kafkas_are_there():
    assert {name.partition("$")[0] for name in TRANSFORMS} == {
        *("Cast", "DropHeaders", "ExtractField", "Filter", "Flatten", "HeaderFrom", "HoistField", "InsertField"),
        *("InsertHeader", "MaskField", "RegexRouter", "ReplaceField", "SetSchemaMetadata", "TimestampConverter"),
        *("TimestampRouter", "ValueToKey"),
    }


def test_a_users_own_gets_its_options_and_changes_or_drops_records():
    own = chain((f"{OWN}Shouting", {"mark": "!"}))

    assert own.apply(record(plain(1))) == record(plain(1), topic="ORDERS!")
    assert own.apply(record()) is None


def test_what_a_users_own_fails_with_is_an_error_of_its_record():
    own = chain((f"{OWN}Failing", {}))

    with pytest.raises(CannotTransform, match=r"^the transform step0: .*:Failing failed with KeyError: 'id'$"):
        own.apply(record())
    with pytest.raises(CannotTransform, match="gave a str, which is no record"):
        own.apply(record(plain(1)))


def test_a_users_own_that_changes_topics_has_to_say_so():
    with pytest.raises(CannotTransform, match=r"gave it the topic 'elsewhere'; .* says changes_topics = True"):
        chain((f"{OWN}Moving", {})).apply(record())


@pytest.mark.parametrize(
    ("kind", "options", "because"),
    [
        ("no.such.module:Class", {}, "cannot be made: ModuleNotFoundError"),
        (f"{OWN}Missing", {}, "cannot be made: AttributeError"),
        (f"{OWN}Failing", {"broken": "yes"}, "cannot be made: ValueError: no options are good options"),
        (f"{OWN}Idle", {}, "has no method apply"),
    ],
)
def test_a_users_own_that_cannot_be_made_is_a_problem(kind: str, options: dict[str, str], because: str):
    _, problems = read(configured(kind, options))

    assert [each.key for each in problems] == ["transforms.it.type"]
    assert because in problems[0].text


@pytest.mark.parametrize(
    ("kind", "because"),
    [
        ("Cast", f"'Cast' is no transform frazil knows. Write {PACKAGE}Cast$Key or {PACKAGE}Cast$Value."),
        ("Own", "Write one of Kafka's, or package.module:Class of your own."),
        ("", "is empty. Write a text."),
    ],
)
def test_a_type_that_is_not_known_is_a_problem(kind: str, because: str):
    _, problems = read(configured(kind))

    assert [each.key for each in problems] == ["transforms.it.type"]
    assert because in problems[0].text


def test_all_that_is_wrong_is_found_at_once():
    with pytest.raises(InvalidConfiguration) as caught:
        Chain.of(
            {
                "transforms": "a,,b,b",
                "transforms.a.type": "HoistField$Value",
                "transforms.b.type": "Cast$Key",
                "transforms.b.spec": "x:y",
            }
        )

    assert [each.key for each in caught.value.problems] == [
        "transforms",
        "transforms",
        "transforms.a.field",
        "transforms.b.spec",
    ]
