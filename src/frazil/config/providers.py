"""Values that stand elsewhere: `${provider:path:key}` in a value, as Kafka Connect's config providers read them.

The worker file declares the providers, and nobody else can: `config.providers` has their names, and
`config.providers.<name>.class` one of the three classes below. Files are read from the directories in
`config.providers.<name>.param.allowed.paths` only; links and `..` do not lead out of them. What a provider yields is a
secret whatever key it is for, so nothing here ever quotes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from frazil.config import values
from frazil.config.provider_backends import ALLOWLIST, Allowed, Directories, Environment, Files
from frazil.errors import Problem

NAMES = "config.providers"

FILE = "org.apache.kafka.common.config.provider.FileConfigProvider"
DIRECTORY = "org.apache.kafka.common.config.provider.DirectoryConfigProvider"
ENVIRONMENT = "org.apache.kafka.common.config.provider.EnvVarConfigProvider"
CLASSES = (FILE, DIRECTORY, ENVIRONMENT)

_PATHS = "allowed.paths"
_READ = ("class", f"param.{_PATHS}", f"param.{ALLOWLIST}")
_PLACEHOLDER = re.compile(r"\$\{(?P<provider>[^}:]+):(?:(?P<path>[^}:]*):)?(?P<key>[^}]*)\}")


@dataclass(slots=True)
class Resolved:
    """Keys and values after the placeholders were looked up."""

    values: dict[str, str] = field(repr=False)
    """With what the placeholders stand for; a value with one that cannot be looked up is as it was."""

    keys: frozenset[str] = frozenset()
    """Those whose values came from a provider."""

    failed: frozenset[str] = frozenset()
    """Those with a placeholder that cannot be looked up."""

    problems: list[Problem] = field(default_factory=list)


Provider = Callable[[str, str], str]
"""Gives the value of a key at a path, or raises a ValueError that says why not."""


def is_declaration(key: str) -> bool:
    """Whether `key` is about config providers."""
    return key == NAMES or key.startswith(f"{NAMES}.")


def why_unused(key: str, worker: Mapping[str, str]) -> str | None:
    """Why a declaration in the worker file changes nothing, or None if it is read."""
    name, _, parameter = key.removeprefix(f"{NAMES}.").partition(".")
    if key == NAMES or (name in _names(worker) and parameter in _READ and _class(name, worker) in CLASSES):
        return None
    return "it belongs to no config provider that frazil has, or that config.providers names"


def has_placeholder(value: str) -> bool:
    """Whether a config provider is asked for a part of `value`."""
    return _PLACEHOLDER.search(value) is not None


def resolve(given: Mapping[str, str], worker: Mapping[str, str], optional: Callable[[str], bool]) -> Resolved:
    """Look up every placeholder among the values of `given`, with the providers that `worker` declares.

    Args:
        given: a connector's keys.
        worker: the keys of the worker file.
        optional: whether a key is not read by frazil; then a provider that nobody declared is no problem.
    """
    providers = _Providers(worker)
    texts, came, failed = dict(given), set(), set()
    problems: dict[Problem, None] = {}
    for key, value in given.items():
        if not has_placeholder(value) or (optional(key) and not providers.know_all_of(value)):
            continue
        lookup = _Lookup(key, providers)
        text = _PLACEHOLDER.sub(lookup.part, value)
        if lookup.problems:
            failed.add(key)
            problems |= dict.fromkeys(lookup.problems)
        else:
            came.add(key)
            texts[key] = text
    return Resolved(texts, frozenset(came), frozenset(failed), list(problems))


class _Providers:
    """The providers that a worker file declares."""

    def __init__(self, worker: Mapping[str, str]) -> None:
        self._worker = worker
        self._names = _names(worker)
        self._built: dict[str, Provider] = {}

    def know_all_of(self, value: str) -> bool:
        """Whether every provider that `value` asks for is declared."""
        return all(found["provider"] in self._names for found in _PLACEHOLDER.finditer(value))

    def named(self, name: str) -> Provider:
        """The provider `name`.

        Raises:
            ValueError: it is not declared.
            _Misdeclared: it cannot be used.
        """
        if name not in self._names:
            raise ValueError(
                f"the worker file declares no config provider {name!r}. Write {NAMES}={name} and {NAMES}.{name}.class "
                "there, or the value itself here."
            )
        if name not in self._built:
            self._built[name] = self._build(name)
        return self._built[name]

    def _build(self, name: str) -> Provider:
        class_key = f"{NAMES}.{name}.class"
        provider = _class(name, self._worker)
        if provider == FILE:
            return Files(self._allowed(name)).value
        if provider == DIRECTORY:
            return Directories(self._allowed(name)).value
        if provider == ENVIRONMENT:
            return Environment(self._pattern(name)).value
        what = f"{provider!r} is not built in" if provider else "is missing in the worker file"
        raise _Misdeclared(class_key, f"{what}. Write {values.listed(CLASSES)}.")

    def _allowed(self, name: str) -> Allowed:
        key = f"{NAMES}.{name}.param.{_PATHS}"
        paths = [path.strip() for path in self._worker.get(key, "").split(",") if path.strip()]
        if not paths:
            raise _Misdeclared(
                key,
                f"is missing in the worker file, and the provider {name!r} reads from listed directories only. Write "
                f"{key}=<absolute paths of directories, separated by commas>.",
            )
        if relative := [path for path in paths if not Path(path).is_absolute()]:
            raise _Misdeclared(key, f"{', '.join(map(repr, relative))} is relative. Write absolute paths.")
        return Allowed(key, tuple(Path(path).resolve() for path in paths))

    def _pattern(self, name: str) -> re.Pattern[str]:
        key = f"{NAMES}.{name}.param.{ALLOWLIST}"
        try:
            return re.compile(values.regex(self._worker.get(key, ".*").strip()))
        except ValueError as error:
            raise _Misdeclared(key, f"{error}.") from error


class _Misdeclared(Exception):
    """A declaration in the worker file cannot be used."""

    def __init__(self, key: str, text: str) -> None:
        super().__init__(text)
        self.problem = Problem(key, text)


class _Lookup:
    """One value on its way: gives the parts that its placeholders stand for, and keeps what went wrong."""

    def __init__(self, key: str, providers: _Providers) -> None:
        self._key = key
        self._providers = providers
        self.problems: list[Problem] = []

    def part(self, found: re.Match[str]) -> str:
        try:
            return self._providers.named(found["provider"])(found["path"] or "", found["key"])
        except _Misdeclared as error:
            self.problems.append(error.problem)
        except ValueError as error:
            self.problems.append(Problem(self._key, f"holds {found[0]}, and {error}"))
        return ""


def _names(worker: Mapping[str, str]) -> list[str]:
    return [name.strip() for name in worker.get(NAMES, "").split(",")]


def _class(name: str, worker: Mapping[str, str]) -> str:
    return worker.get(f"{NAMES}.{name}.class", "").strip()
