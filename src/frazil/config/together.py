"""Which connectors cannot run together: two of one key, and a ring in which each reads what another one writes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from graphlib import CycleError, TopologicalSorter

from frazil.config.settings import ConnectorSettings
from frazil.config.source import SourceSettings
from frazil.errors import InvalidConfiguration, Problem


def refuse_conflicts(connectors: Iterable[ConnectorSettings]) -> None:
    """Check that connectors may run together.

    Raises:
        InvalidConfiguration: two names are sanitised to the same key; or the rejected or accepted records of some
            connectors would go round between them for ever.
    """
    all_ = list(connectors)
    problems = [*_shared_keys(all_), *_rings(all_)]
    if problems:
        raise InvalidConfiguration("the set of connectors", problems)


def _shared_keys(connectors: Sequence[ConnectorSettings]) -> Iterable[Problem]:
    names: dict[str, str] = {}
    for settings in connectors:
        if settings.key in names:
            text = f"{settings.name!r} and {names[settings.key]!r} both become {settings.key}."
            way_on = "Rename one application." if settings.source.identity else "Rename one connector."
            yield Problem("name", f"{text} {way_on}")
        names[settings.key] = settings.name


def _rings(connectors: Sequence[ConnectorSettings]) -> Iterable[Problem]:
    by_key = {each.key: each for each in connectors}
    readers = {key: [other.key for other in connectors if _feeds(each, other)] for key, each in by_key.items()}
    try:
        TopologicalSorter(readers).prepare()
    except CycleError as error:
        ring = [by_key[key].name for key in dict.fromkeys(error.args[1])]
        yield Problem(
            "name",
            f"{' and '.join(map(repr, ring))} read what they write for each other, so records would go round for ever. "
            "Have one of them write to another topic or stream, or not read it.",
        )


def _feeds(writer: ConnectorSettings, reader: ConnectorSettings) -> bool:
    """Whether a connector reads what another one writes; what feeds itself was refused when it was loaded."""
    if writer.key == reader.key or not _same_place(writer.source, reader.source):
        return False
    written = [writer.source.output, writer.source.dead_letters if writer.errors_tolerance == "all" else None]
    return any(name is not None and reader.source.takes(name) for name in written)


def _same_place(one: SourceSettings, other: SourceSettings) -> bool:
    return one.kind == other.kind and not {*one.address.split(",")}.isdisjoint(other.address.split(","))
