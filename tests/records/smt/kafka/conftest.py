"""One JVM with Kafka's transforms for all tests here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.records.smt.kafka.jvm import KafkasTransforms, kafkas_transforms


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkasTransforms]:
    """Kafka's transforms, in a JVM of their own."""
    with kafkas_transforms(tmp_path_factory.mktemp("kafka") / "java.log") as found:
        yield found
