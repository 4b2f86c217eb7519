"""Which topics transforms give records: known beforehand, or only when the record is there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from frazil.model import TransformSpec
from frazil.records.connect.data import Record, SchemaAndValue
from frazil.records.smt.chain import OwnTransformation, Step, step_of
from frazil.records.smt.predicates import TopicNameMatches
from frazil.records.smt.routers import RegexRouter, TimestampRouter

_NOTHING: Final = SchemaAndValue(None, None)


def routers(specs: Sequence[TransformSpec]) -> tuple[TransformSpec, ...] | None:
    """Those of a chain's transforms that rename topics; None if something else than the topic's name decides on it."""
    found = []
    for spec in specs:
        step = step_of(spec)
        if not _renames(step):
            continue
        if not _goes_by_name(step):
            return None
        found.append(spec)
    return tuple(found)


def routed(topic: str, specs: Sequence[TransformSpec]) -> str:
    """The topic that a record of `topic` has behind transforms that `routers` gave."""
    record = Record(topic, 0, 0, None, _NOTHING, _NOTHING)
    for spec in specs:
        record = step_of(spec).apply(record) or record
    return record.topic


def _renames(step: Step) -> bool:
    match step.transformation:
        case RegexRouter() | TimestampRouter():
            return True
        case OwnTransformation() as own:
            return own.changes_topics
        case _:
            return False


def _goes_by_name(step: Step) -> bool:
    is_fixed = step.predicate is None or isinstance(step.predicate, TopicNameMatches)
    return is_fixed and isinstance(step.transformation, RegexRouter)
