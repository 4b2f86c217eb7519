"""Which single message transforms change records, and where those that rename topics send them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from frazil.errors import Problem
from frazil.model import TransformSpec

LISTS: Final[Mapping[str, str]] = {"transforms.": "transforms", "predicates.": "predicates"}
"""Settings of transforms and predicates, and the key that has to name them for them to mean anything."""


def is_key(key: str) -> bool:
    """Whether `key` is about transforms or predicates."""
    return key in LISTS.values() or key.startswith(tuple(LISTS))


def no_effect(given: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The settings of transforms and predicates that nobody names, with the reason."""
    for prefix, names in LISTS.items():
        named = {name.strip() for name in given.get(names, "").split(",")}
        for key in given:
            if key.startswith(prefix) and key.removeprefix(prefix).partition(".")[0] not in named:
                yield key, f"`{names}` names none" if names not in given else f"`{names}` does not name it"


def problems(given: Mapping[str, str]) -> list[Problem]:
    """What is wrong with the transforms and their predicates."""
    if "transforms" not in given:
        return []
    # Only who has transforms needs what they are made of.
    from frazil.records.smt.chain import read

    return read(_own(given))[1]


def specs(given: Mapping[str, str]) -> tuple[TransformSpec, ...]:
    """What a worker makes the transforms of, in their order."""
    if "transforms" not in given:
        return ()
    from frazil.records.smt.chain import specs as specs_of

    return specs_of(_own(given))


def routers(specs: Sequence[TransformSpec]) -> tuple[TransformSpec, ...] | None:
    """Those that rename topics; None if it takes the records to know what topics they give them."""
    if not specs:
        return ()
    from frazil.records.smt.topics import routers as routers_of

    return routers_of(specs)


def routed(topic: str, routers: Sequence[TransformSpec]) -> str:
    """The topic that records of `topic` have behind transforms that rename topics."""
    if not routers:
        return topic
    from frazil.records.smt.topics import routed as routed_by

    return routed_by(topic, routers)


def _own(given: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in given.items() if is_key(key)}
