"""Chains of transforms, as a connector's keys name them.

    transforms=route,drop
    transforms.route.type=org.apache.kafka.connect.transforms.RegexRouter
    transforms.drop.type=org.apache.kafka.connect.transforms.Filter
    transforms.drop.predicate=old
    predicates=old
    predicates.old.type=org.apache.kafka.connect.transforms.predicates.TopicNameMatches

A type is the Java class of one of Kafka's, with its package or without, or the Python path of a user's own
(`package.module:Class`), which is made with its options.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from frazil.errors import InvalidConfiguration, Problem
from frazil.model import TransformSpec
from frazil.records.connect.data import Record
from frazil.records.smt.cast import Cast
from frazil.records.smt.fields import ExtractField, HoistField, MaskField, ValueToKey
from frazil.records.smt.flatten import Flatten
from frazil.records.smt.headers import DropHeaders, HeaderFrom, InsertHeader
from frazil.records.smt.insert_field import InsertField
from frazil.records.smt.options import Options
from frazil.records.smt.predicates import PACKAGE as PREDICATES_PACKAGE
from frazil.records.smt.predicates import PREDICATES, Predicate
from frazil.records.smt.refusal import CannotTransform
from frazil.records.smt.replace_field import ReplaceField
from frazil.records.smt.routers import Filter, RegexRouter, TimestampRouter
from frazil.records.smt.schema_metadata import SetSchemaMetadata
from frazil.records.smt.timestamp_converter import TimestampConverter
from frazil.records.smt.transformation import Part, Transformation

PACKAGE: Final = "org.apache.kafka.connect.transforms."

_OF_PARTS: Final = (
    *(Cast, ExtractField, Flatten, HeaderFrom, HoistField, InsertField, MaskField, ReplaceField),
    *(SetSchemaMetadata, TimestampConverter),
)
_OF_RECORDS: Final = (DropHeaders, Filter, InsertHeader, RegexRouter, TimestampRouter, ValueToKey)


def _of_part(made: Callable[[Part, Options], Transformation], part: Part) -> Callable[[Options], Transformation]:
    return lambda options: made(part, options)


TRANSFORMS: Final[Mapping[str, Callable[[Options], Transformation]]] = {
    **{f"{each.__name__}$Key": _of_part(each, "key") for each in _OF_PARTS},
    **{f"{each.__name__}$Value": _of_part(each, "value") for each in _OF_PARTS},
    **{each.__name__: each for each in _OF_RECORDS},
}
"""Kafka's, by their names without the package."""


@dataclass(frozen=True, slots=True)
class Step:
    """A transform of a chain."""

    name: str
    transformation: Transformation
    predicate: Predicate | None = None
    negated: bool = False

    def apply(self, record: Record) -> Record | None:
        """The record as it goes on; None drops it.

        Raises:
            CannotTransform: it cannot be transformed.
        """
        if self.predicate is not None and self.predicate.test(record) == self.negated:
            return record
        return self.transformation.apply(record)


@dataclass(frozen=True, slots=True)
class Chain:
    """Transforms in their order."""

    steps: tuple[Step, ...]

    @classmethod
    def of(cls, configuration: Mapping[str, str], subject: str = "the configuration") -> Chain:
        """The chain that a connector's keys describe.

        Raises:
            InvalidConfiguration: something is wrong; all of it is listed.
        """
        chain, problems = read(configuration)
        if problems:
            raise InvalidConfiguration(subject, problems)
        return chain

    def apply(self, record: Record) -> Record | None:
        """The record that leaves the chain; None if one dropped it.

        Raises:
            CannotTransform: one could not transform it; the message names which.
        """
        current: Record | None = record
        for step in self.steps:
            if current is None:
                break
            try:
                current = step.apply(current)
            except CannotTransform as error:
                raise CannotTransform(f"the transform {step.name}: {error}") from error
        return current


def step_of(spec: TransformSpec) -> Step:
    """The step that a spec names, as `specs` made it.

    Raises:
        InvalidConfiguration: it cannot be made here, as where a user's own is not installed on a worker.
    """
    (step,) = Chain.of(spec.options, f"the transform {spec.name}").steps
    return step


def specs(configuration: Mapping[str, str]) -> tuple[TransformSpec, ...]:
    """The transforms that a connector's keys name, each with its own keys and those of its predicate."""
    found = []
    for name in _names(configuration, "transforms", []):
        predicate = configuration.get(f"transforms.{name}.predicate")
        prefixes = (f"transforms.{name}.", *([f"predicates.{predicate}."] if predicate else []))
        own = {key: text for key, text in configuration.items() if key.startswith(prefixes)}
        lists = {"transforms": name, **({"predicates": predicate} if predicate else {})}
        found.append(TransformSpec(name, own.get(f"transforms.{name}.type", ""), {**own, **lists}))
    return tuple(found)


def read(configuration: Mapping[str, str]) -> tuple[Chain, list[Problem]]:
    """The chain that a connector's keys describe, and what is wrong with it."""
    problems: list[Problem] = []
    predicates = dict(_predicates(configuration, problems))
    steps = []
    for name in _names(configuration, "transforms", problems):
        options = _below(configuration, f"transforms.{name}.")
        if "type" not in options.given:
            problems.append(_untyped("transforms", name))
            continue
        transformation = made(options)
        alias, negated = options.maybe("predicate"), options.flag("negate", default=False)
        if alias is None and "negate" in options.given:
            options.refuse("negate", "has no predicate beside it that it could negate. Write one, or remove the key.")
        if alias is not None and alias not in predicates:
            options.refuse("predicate", f"{alias!r} is none of predicates. Add it there, with its type.")
        problems += options.problems
        if transformation is not None:
            steps.append(Step(name, transformation, None if alias is None else predicates.get(alias), negated))
    return Chain(tuple(steps)), problems


def _untyped(key: str, name: str) -> Problem:
    return Problem(key, f"names {name!r}, which has no type. Write {key}.{name}.type=<class>, or remove the name.")


def made(options: Options) -> Transformation | None:
    """The transform of a `type`; None, and a problem, where there is none."""
    kind = options.text("type", filled=True)
    if ":" in kind:
        return _own(kind, options)
    make = TRANSFORMS.get(kind.removeprefix(PACKAGE))
    if make is not None:
        return make(options)
    if kind:
        parts = [name for name in TRANSFORMS if name.startswith(f"{kind.removeprefix(PACKAGE)}$")]
        own = "one of Kafka's, or package.module:Class of your own"
        known = " or ".join(f"{PACKAGE}{name}" for name in parts) or own
        options.refuse("type", f"{kind!r} is no transform frazil knows. Write {known}.")
    return None


class OwnTransformation:
    """A user's own, whose errors are those of the record it was given."""

    def __init__(self, path: str, inner: Any) -> None:
        """Call `inner`, which was found at `path`."""
        self._path = path
        self._inner = inner
        self.changes_topics = bool(getattr(inner, "changes_topics", False))
        """Whether it says that it gives records other topics."""

    def apply(self, record: Record) -> Record | None:
        """What it makes of a record."""
        try:
            done = self._inner.apply(record)
        except Exception as error:
            raise CannotTransform(f"{self._path} failed with {type(error).__name__}: {error}") from error
        if done is not None and not isinstance(done, Record):
            raise CannotTransform(f"{self._path} gave a {type(done).__name__}, which is no record")
        if done is not None and done.topic != record.topic and not self.changes_topics:
            raise CannotTransform(
                f"{self._path} gave it the topic {done.topic!r}; a transform that does so says changes_topics = True"
            )
        return done


def _own(path: str, options: Options) -> Transformation | None:
    module, _, name = path.partition(":")
    given = {key: value for key, value in options.given.items() if key not in ("type", "predicate", "negate")}
    try:
        found: Any = importlib.import_module(module)
        for step in name.split("."):
            found = getattr(found, step)
        inner = found(given)
    except Exception as error:  # noqa: BLE001 (whatever a user's code raises is what is wrong with it)
        options.refuse("type", f"{path!r} cannot be made: {type(error).__name__}: {error}. Check it, and its options.")
        return None
    if not callable(getattr(inner, "apply", None)):
        options.refuse("type", f"{path!r} has no method apply. Add apply(record), which gives a record or None.")
        return None
    return OwnTransformation(path, inner)


def _predicates(configuration: Mapping[str, str], problems: list[Problem]) -> Iterator[tuple[str, Predicate | None]]:
    for name in _names(configuration, "predicates", problems):
        options = _below(configuration, f"predicates.{name}.")
        if "type" not in options.given:
            problems.append(_untyped("predicates", name))
            yield name, None
            continue
        kind = options.text("type", filled=True)
        make = PREDICATES.get(kind.removeprefix(PREDICATES_PACKAGE))
        if make is None and kind:
            known = ", ".join(f"{PREDICATES_PACKAGE}{each}" for each in PREDICATES)
            options.refuse("type", f"{kind!r} is no predicate frazil knows. Write one of {known}.")
        yield name, None if make is None else make(options)
        problems += options.problems


def _names(configuration: Mapping[str, str], key: str, problems: list[Problem]) -> tuple[str, ...]:
    options = Options(configuration)
    names = options.names(key)
    problems += options.problems
    return tuple(dict.fromkeys(name for name in names if name))


def _below(configuration: Mapping[str, str], prefix: str) -> Options:
    below = {key.removeprefix(prefix): text for key, text in configuration.items() if key.startswith(prefix)}
    return Options(below, prefix)
