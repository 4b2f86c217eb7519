"""The settings of the files that a command is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from frazil.config import ConnectorSettings, load, refuse_conflicts
from frazil.errors import InvalidConfiguration, Problem


def load_all(files: Sequence[Path], worker: Path | None, overrides: Mapping[str, str]) -> list[ConnectorSettings]:
    """The settings of all files.

    Raises:
        InvalidConfiguration: with the problems of all of them.
    """
    loaded: list[ConnectorSettings] = []
    found: list[InvalidConfiguration] = []
    for file in files:
        try:
            loaded.append(load(file, worker, overrides))
        except InvalidConfiguration as error:
            found.append(error)
    if len(found) == 1:
        raise found[0]
    if found:
        problems = [Problem(f"{error.subject}: {each.key}", each.text) for error in found for each in error.problems]
        raise InvalidConfiguration("the configuration", problems)
    refuse_conflicts(loaded)
    return loaded
