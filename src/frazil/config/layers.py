"""Lay the worker file, the connector file and the command line over each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from frazil.config import connector_classes, converters, providers
from frazil.secrets import is_secret

_FROM_WORKER = ("frazil.", "spark.")
_CLIENT = ("sasl.", "security.", "ssl.")
_CONNECTOR = ("buffer.", "errors.", "predicates", "snowflake.", "tasks.max", "topics", "transforms")

_CONNECTOR_KEY = "it is a connector's key; it counts in a connector file only"
_WORKER = "it is for the Kafka Connect worker, which takes no part"
_WORKER_CLIENT = "it is for the worker's own connections; for reading write it with `consumer.` before it"


@dataclass(frozen=True, slots=True)
class Layers:
    """One connector's keys, whoever gave them."""

    given: dict[str, str] = field(repr=False)
    """Later layers over earlier ones, without blanks around values; a key with a blank value counts as not written."""

    no_effect: tuple[tuple[str, str], ...]
    """Keys of the worker file that are not used, with the reason."""


def lay(connector: Mapping[str, str], worker: Mapping[str, str], overrides: Mapping[str, str]) -> Layers:
    """The keys of `overrides` over those of `connector` over those of `worker` that are meant for connectors."""
    own = written({**connector, **overrides})
    defaults = written(worker)
    inherited = converters.inherit(own, defaults)
    source = connector_classes.settings_of(own.get("connector.class"))
    for key, value in defaults.items():
        if source.inherits(key) or key.startswith(_FROM_WORKER):
            inherited[key] = value
    reasons = {key: _why_unused(key, defaults) for key in sorted(defaults) if key not in inherited}
    return Layers(
        given={**inherited, **own},
        no_effect=tuple((key, reason) for key, reason in reasons.items() if reason),
    )


def written(layer: Mapping[str, str]) -> dict[str, str]:
    """`layer` without keys that have a blank value, and without blanks around values, except those of secrets."""
    trimmed = {key: value if is_secret(key) else value.strip() for key, value in layer.items()}
    return {key: value for key, value in trimmed.items() if value or _may_be_blank(key)}


def _is_converter(key: str) -> bool:
    return any(converters.is_of(group, key) for group in converters.GROUPS)


def _may_be_blank(key: str) -> bool:
    return key.startswith("consumer.") and key.endswith("ssl.endpoint.identification.algorithm")


def _why_unused(key: str, worker: Mapping[str, str]) -> str | None:
    """Why `key` of the worker file changes nothing; None where its part in the whole is clear."""
    if providers.is_declaration(key):
        return providers.why_unused(key, worker)
    if _is_converter(key):
        return None  # the connector has a converter of its own
    if key.startswith(_CLIENT):
        return _WORKER_CLIENT
    if key.startswith(_CONNECTOR):
        return _CONNECTOR_KEY
    return _WORKER
