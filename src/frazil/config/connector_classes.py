"""The connector classes that a file may name, and whose settings each brings for its source."""

from __future__ import annotations

from frazil.config import values
from frazil.config.kafka import KafkaSettings
from frazil.config.kinesis import KinesisSettings
from frazil.config.source import SourceSettings

_settings: dict[str, type[SourceSettings]] = {
    **dict.fromkeys(KafkaSettings.classes, KafkaSettings),
    **dict.fromkeys(KinesisSettings.classes, KinesisSettings),
}


def register(settings: type[SourceSettings]) -> None:
    """Have connector classes of one's own, for a kind of source that `frazil.sources.kinds` knows."""
    _settings.update(dict.fromkeys(settings.classes, settings))


def known() -> list[str]:
    """All of them."""
    return [*_settings]


def all_settings() -> list[type[SourceSettings]]:
    """The settings they bring, one for each kind of source."""
    return [*dict.fromkeys(_settings.values())]


def settings_of(connector_class: str | None) -> type[SourceSettings]:
    """The settings that a connector class brings; Kafka's where it is missing or unknown, which is a problem anyway."""
    return _settings.get(connector_class or "", KafkaSettings)


def connector_class(text: str) -> str:
    """The name of a class that is known."""
    if text not in _settings:
        raise ValueError(f"{text!r} is not possible; write {values.listed(map(repr, _settings))}")
    return text
