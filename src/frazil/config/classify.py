"""Decide for every given key what it is: a setting, not needed, without effect, not built yet, or unknown.

Nothing falls through: a key that no table has is a problem, with the nearest known key as a suggestion.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from frazil.config import bounds, compatibility, converters, known_keys, providers, transforms
from frazil.config.kafka import SINK
from frazil.config.source import SourceSettings
from frazil.errors import Problem
from frazil.secrets import shown


@dataclass(slots=True)
class Classified:
    """The given keys, each in its place."""

    settings: dict[str, str] = field(default_factory=dict, repr=False)
    """Keys that are settings, still as text."""

    source: dict[str, object] = field(default_factory=dict, repr=False)
    """What the settings of the source are read from."""

    spark: dict[str, str] = field(default_factory=dict, repr=False)
    plugins: dict[str, str] = field(default_factory=dict, repr=False)
    """Keys of converters and transforms, which those read themselves."""

    not_needed: list[str] = field(default_factory=list)
    no_effect: list[tuple[str, str]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def sort(given: Mapping[str, str], settings: Collection[str], source: type[SourceSettings]) -> Classified:
    """Put every key of `given` in its place.

    Args:
        given: the keys and values of one connector.
        settings: the keys of the connector's settings, whatever its source.
        source: the settings of its source.
    """
    own = source.read(given)
    found = Classified(source=own.fields, no_effect=own.no_effect, problems=own.problems)
    known = (*settings, *source.setting_keys())
    for key, value in given.items():
        if not providers.has_placeholder(value) and (problem := bounds.problem(key, value)):
            found.problems.append(problem)
        elif not source.reads(key):
            _place(found, key, value, known)
    others = {key: value for key, value in given.items() if not source.reads(key)}
    found.no_effect += converters.no_effect(others)
    found.no_effect += transforms.no_effect(given)
    found.problems += converters.problems(others)
    found.problems += transforms.problems(given)
    found.problems += compatibility.problems(given)
    found.problems += bounds.among(given)
    found.problems += _not_default(given)
    return found


def _place(found: Classified, key: str, value: str, settings: Collection[str]) -> None:
    if key in known_keys.NOT_NEEDED:
        found.not_needed.append(key)
    elif reason := known_keys.no_effect_of(key):
        found.no_effect.append((key, reason))
    elif key.startswith("spark."):
        found.spark[key] = value
    elif providers.is_declaration(key):
        found.problems.append(
            Problem(key, "counts in the worker file only. Move it there; frazil takes that file with --worker.")
        )
    elif key in known_keys.NOT_YET and not known_keys.NOT_YET[key].takes(value):
        found.problems.append(Problem(key, known_keys.NOT_YET[key].refusal(shown(key, value))))
    elif key in settings:
        found.settings[key] = value
    elif _is_plugins(key):
        found.plugins[key] = value
    elif key not in known_keys.NOT_YET:
        found.problems.append(_unknown(key, settings))


def _is_plugins(key: str) -> bool:
    """Whether `key` is a converter's, a transform's or a predicate's."""
    return converters.is_setting(key) or transforms.is_key(key)


def _not_default(given: Mapping[str, str]) -> Iterator[Problem]:
    """Keys that have to be given, for what a connector does without them is not built yet."""
    if given.get("connector.class") == SINK and "snowflake.ingestion.method" not in given:
        yield Problem(
            "snowflake.ingestion.method",
            "is missing, and this connector's default is SNOWPIPE: loading by Snowpipe files, which is not built "
            "yet. Write snowflake.ingestion.method=SNOWPIPE_STREAMING.",
        )


def _unknown(key: str, settings: Collection[str]) -> Problem:
    candidates = {
        other.lower(): other
        for other in (*settings, *known_keys.NOT_YET, *known_keys.NO_EFFECT, *known_keys.NOT_NEEDED)
    }
    nearest = difflib.get_close_matches(key.lower(), candidates, n=1, cutoff=0.75)
    if nearest:
        return Problem(key, f"is not a key frazil knows. Did you mean {candidates[nearest[0]]}?")
    return Problem(key, "is not a key frazil knows, nor one like it. Remove it; docs/configuration.md lists all keys.")
