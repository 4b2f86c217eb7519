"""Where the values of config providers stand: properties files, whole files, environment variables.

Every `value` raises a ValueError where there is none, or none that may be read. Its message names the place, and never
quotes what stands there.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from frazil.config import properties

ALLOWLIST = "allowlist.pattern"
"""The parameter with the names of variables that may be read."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """The directories that files may be read from."""

    key: str
    """The configuration key that lists them."""

    directories: tuple[Path, ...]

    def text(self, path: Path) -> str:
        """What the file at `path` holds.

        Raises:
            ValueError: it cannot or may not be read.
        """
        real = self._real(path)
        try:
            return properties.decode(real.read_bytes())
        except OSError as error:
            raise ValueError(f"{str(path)!r} cannot be read: {error.strerror}. Check the path.") from error

    def _real(self, path: Path) -> Path:
        try:
            real = path.resolve()
        except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a path no system has
            raise ValueError(f"{str(path)!r} is no path. Correct it.") from error
        # Links and `..` are followed before the comparison, so that neither leads out of the directories.
        if not any(real.is_relative_to(directory) for directory in self.directories):
            raise ValueError(f"{str(path)!r} is in no directory of {self.key}. Add its own there.")
        return real


@dataclass(frozen=True, slots=True)
class Files:
    """`${file:/path/of.properties:key}`."""

    allowed: Allowed

    def value(self, path: str, key: str) -> str:
        """The value of `key` in the file at `path`."""
        if not path:
            raise ValueError("no path is in it. Write ${<provider>:<path of a properties file>:<key>}.")
        text = self.allowed.text(Path(path))
        try:
            found = dict(properties.java_pairs(text))
        except ValueError as error:
            raise ValueError(f"{path!r} {error}.") from error
        if key not in found:
            raise ValueError(f"{path!r} has no key {key!r}. Add it there, or correct the placeholder.")
        return found[key]


@dataclass(frozen=True, slots=True)
class Directories:
    """`${directory:/path:file}`: the whole file is the value, as Kubernetes mounts secrets."""

    allowed: Allowed

    def value(self, path: str, key: str) -> str:
        """What the file `key` in the directory `path` holds."""
        if not path or not key or key != Path(key).name:
            raise ValueError("it names no file in a directory. Write ${<provider>:<directory>:<name of a file>}.")
        return self.allowed.text(Path(path) / key)


@dataclass(frozen=True, slots=True)
class Environment:
    """`${env:NAME}`."""

    pattern: re.Pattern[str]

    def value(self, path: str, key: str) -> str:
        """The variable `key`; there is no path."""
        if path:
            raise ValueError("variables have no path. Write ${<provider>:<name of a variable>}.")
        if not self.pattern.fullmatch(key):
            raise ValueError(f"its {ALLOWLIST} does not allow {key!r}. Widen the pattern, or use another variable.")
        if key not in os.environ:
            raise ValueError(f"there is no environment variable {key!r}. Set it before the start.")
        return os.environ[key]
