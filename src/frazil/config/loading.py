"""The way from files to settings, with every problem found on it.

Parameters of Openflow's become keys (`openflow`), the files are laid over each other (`layers`), placeholders are
looked up (`providers`), every key gets its place (`classify`), and the values are read (`settings`, `values`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from frazil.config import classify, connector_classes, hiding, known_keys, layers, openflow, properties, providers
from frazil.config.settings import TABLE_OPTIONS, ConnectorSettings
from frazil.config.settings_base import keys_of
from frazil.config.source import SourceSettings
from frazil.errors import InvalidConfiguration, Problem

Input = Mapping[str, Any] | Path | str
"""Keys and values, or the path of the file that holds them."""


def load(
    connector: Input, worker: Input | None = None, overrides: Mapping[str, str] | None = None
) -> ConnectorSettings:
    """The settings that `overrides` over the `connector` file over the `worker` file describe.

    Raises:
        InvalidConfiguration: with every problem found.
    """
    declared = _read("worker", worker)
    told = openflow.translate(_read("connector", connector), _read("overrides", overrides), declared)
    laid = layers.lay(told.connector, declared, told.overrides)
    resolved = providers.resolve(laid.given, declared, known_keys.is_optional)
    given = layers.written(resolved.values)
    settings, problems = _settings(given)
    problems = hiding.without_secrets(problems, given, resolved.keys, lambda masked: _settings(masked)[1])
    problems = resolved.problems + [problem for problem in problems if problem.key not in resolved.failed]
    problems = [*told.problems, *map(told.retold, problems)]
    if settings is None or problems:
        raise InvalidConfiguration(_subject("connector", connector), sorted(problems, key=lambda problem: problem.key))
    options = ((f"{TABLE_OPTIONS}: {name}", reason) for name, reason in settings.table_options.no_effect)
    own = [(told.names.get(key, key), reason) for key, reason in (*settings.no_effect, *settings.void_keys())]
    no_effect = (*laid.no_effect, *told.no_effect, *own, *options)
    not_needed = tuple(sorted((*told.not_needed, *settings.not_needed)))
    hidden = {"from_providers": resolved.keys}
    source = settings.source.model_copy(update=hidden)
    found = {"no_effect": tuple(sorted(no_effect)), "not_needed": not_needed, "source": source}
    return settings.model_copy(update={**hidden, **found})


def worker_keys(worker: Input) -> dict[str, str]:
    """The `frazil.*` and `spark.*` keys of a worker file, for commands that need no connector; placeholders looked up.

    Raises:
        InvalidConfiguration: the file cannot be read, or a placeholder cannot be looked up.
    """
    given = _read("worker", worker)
    own = {key: value for key, value in given.items() if key.startswith(("frazil.", "spark."))}
    resolved = providers.resolve(own, given, known_keys.is_optional)
    if resolved.problems:
        raise InvalidConfiguration(_subject("worker", worker), resolved.problems)
    return layers.written(resolved.values)


def _read(what: str, source: Input | None) -> dict[str, str]:
    if source is None:
        return {}
    if isinstance(source, Mapping):
        return properties.texts(_subject(what, source), source)
    return properties.read(Path(source))


def _subject(what: str, source: Input) -> str:
    return f"the {what} configuration" if isinstance(source, Mapping) else f"the {what} file {source}"


def _settings(given: Mapping[str, str]) -> tuple[ConnectorSettings | None, list[Problem]]:
    """The settings that `given` describes, if it does, and all that is wrong with it."""
    source = connector_classes.settings_of(given.get("connector.class"))
    given = source.complete(given)
    sorted_keys = classify.sort(given, ConnectorSettings.setting_keys(), source)
    fields = {
        **sorted_keys.settings,
        "source": sorted_keys.source,
        "spark.*": sorted_keys.spark,
        "plugins": sorted_keys.plugins,
        "not_needed": tuple(sorted(sorted_keys.not_needed)),
        "no_effect": tuple(sorted_keys.no_effect),
    }
    try:
        settings = ConnectorSettings.model_validate(fields)
    except ValidationError as error:
        return None, [*sorted_keys.problems, *_problems(error, given, source)]
    return settings, sorted_keys.problems


def _problems(error: ValidationError, given: Mapping[str, str], source: type[SourceSettings]) -> Iterator[Problem]:
    """Pydantic's findings in frazil's words."""
    fields = [*ConnectorSettings.model_fields.values(), *source.model_fields.values()]
    by_key = {key: field for field in fields for key in keys_of(field)}
    for detail in error.errors(include_url=False):
        if detail["type"] == "default_factory_not_called":
            continue  # the field it depends on has a problem of its own
        key = str(detail["loc"][-1])
        if key in ConnectorSettings.model_fields:  # what is wrong with a default is told by the field's name
            key = keys_of(ConnectorSettings.model_fields[key])[-1]
        context = detail.get("ctx", {})
        if detail["type"] == "missing":
            yield from _missing(by_key[key], given)
        elif detail["type"] == "literal_error":
            yield Problem(key, f"{given[key]!r} is not possible; write {context['expected']}.")
        else:
            yield Problem(key, f"{context.get('error', detail['msg'])}.")


def _missing(field: FieldInfo, given: Mapping[str, str]) -> Iterator[Problem]:
    *others, plain = keys_of(field)
    if not any(key in given for key in (*others, plain)):  # a given value that was refused has its problem already
        example = (field.examples or ["…"])[0]
        yield Problem(plain, f"is missing. Write {plain}={example}.")
