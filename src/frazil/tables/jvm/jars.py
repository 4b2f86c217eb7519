"""Where the jars of `spark.jars.packages` are: a list that is kept once they were resolved."""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import structlog

from frazil.tables.defaults import PACKAGES
from frazil.tables.jvm.class_archive import cache_directory
from frazil.tables.jvm.spark_home import spark_home

_KEYS: Final = ("excludes", "repositories", "ivy", "ivySettings")
"""What decides, below `spark.jars`, which jars they are."""

_MOVING: Final = re.compile(r"SNAPSHOT|latest\.|[+\[\](]")
"""In a version that means other jars another day."""

_log = structlog.get_logger(__name__)


class Packages:
    """The packages that settings ask for."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self.coordinates = settings.get("spark.jars.packages", PACKAGES)
        self.options = {key: settings.get(f"spark.jars.{key}") or None for key in _KEYS}
        """What else decides which jars they are."""

        facts = repr((self.coordinates, self.options, str(spark_home())))
        self._list = cache_directory() / f"jars-{hashlib.sha256(facts.encode()).hexdigest()[:16]}.json"

    def jars(self) -> tuple[str, ...] | None:
        """Their jars; None where they were not resolved yet, or some are gone."""
        if not self.coordinates:
            return ()
        try:
            found: list[str] = json.loads(self._list.read_bytes())
        except (OSError, ValueError):
            return None
        return tuple(found) if all(Path(each).exists() for each in found) else None

    def keep(self, jars: Sequence[str]) -> None:
        """Note where the jars are, unless they may be others another day."""
        if _MOVING.search(self.coordinates):
            return
        try:
            self._list.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=self._list.parent, delete=False) as file:
                json.dump(jars, file)
            Path(file.name).replace(self._list)
        except OSError as error:
            _log.warning("where jars are is not kept, and asked for again", file=str(self._list), cause=str(error))
