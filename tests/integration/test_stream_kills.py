"""kill -9 of a connector on a stream while its shards are split and merged: each record once, each key in order."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.integration.surviving import Survivors, survive_all

from frazil.dev.kinesis import LocalKinesis


@pytest.mark.slow
def test_kills_while_shards_are_split_and_merged(kinesis: LocalKinesis, tmp_path: Path) -> None:
    survive_all(Survivors(kinesis, tmp_path))


@pytest.mark.slow
def test_kills_of_one_that_starts_at_the_latest_record(kinesis: LocalKinesis, tmp_path: Path) -> None:
    world = Survivors(kinesis, tmp_path, **{"frazil.kinesis.initial.position": "LATEST"})

    world.killed_at("after_plan")
    world.producer.start()
    world.producer.more()
    world.shards.split()
    world.killed_at("before_swap", 2)
    world.killed_at("after_swap", 2, during=world.shards.split)

    world.require_all()
