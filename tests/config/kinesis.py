"""The least configuration of a connector for Kinesis, and what is wrong with others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from frazil.config import ConnectorSettings, load
from frazil.config.kinesis import KinesisSettings
from frazil.errors import InvalidConfiguration

Texts = dict[str, str]

CLASS = "frazil.KinesisConnector"

LEAST = {
    "name": "orders-sink",
    "connector.class": CLASS,
    "frazil.kinesis.streams": "orders",
    "frazil.kinesis.region": "eu-central-1",
}

ARN = "arn:aws:kinesis:eu-central-1:123456789012:stream/orders"


def loaded(changes: Mapping[str, Any], without: Sequence[str] = ()) -> ConnectorSettings:
    return load({key: value for key, value in {**LEAST, **changes}.items() if key not in without})


def source(changes: Mapping[str, Any], without: Sequence[str] = ()) -> KinesisSettings:
    """The source's settings of the least configuration with `changes` and `without` some keys."""
    found = loaded(changes, without).source
    assert isinstance(found, KinesisSettings)
    return found


def problems(changes: Mapping[str, Any], worker: Texts | None = None, without: Sequence[str] = ()) -> Texts:
    """Its problems, by key."""
    given = {key: value for key, value in {**LEAST, **changes}.items() if key not in without}
    return problems_of(given, worker)


def problems_of(given: Mapping[str, Any] | Path, worker: Texts | None = None) -> Texts:
    with pytest.raises(InvalidConfiguration) as caught:
        load(given, worker)
    return {problem.key: problem.text for problem in caught.value.problems}
