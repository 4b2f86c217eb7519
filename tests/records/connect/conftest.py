"""A schema registry for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from frazil.testing.schema_registry import SchemaRegistry, served


@pytest.fixture
def registry() -> Iterator[SchemaRegistry]:
    with served() as found:
        yield found
