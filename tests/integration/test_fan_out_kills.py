"""The same kills of a connector whose streams send it their records."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.integration.surviving import Survivors, survive_all

from frazil.dev.kinesis import LocalKinesis

SENT = {"frazil.kinesis.consumer.type": "ENHANCED_FAN_OUT", "frazil.kinesis.fan.out.window.ms": "5000"}
"""Records are sent to a consumer, for as short as may be."""


@pytest.mark.long
def test_kills_of_one_that_is_sent_records_while_shards_are_split_and_merged(
    kinesis: LocalKinesis, tmp_path: Path
) -> None:
    survive_all(Survivors(kinesis, tmp_path, **SENT))


@pytest.mark.slow
def test_some_kills_of_one_that_is_sent_records_while_a_shard_is_split(kinesis: LocalKinesis, tmp_path: Path) -> None:
    world = Survivors(kinesis, tmp_path, **SENT)
    world.producer.start()
    world.producer.more()

    world.killed_at("after_stage", during=world.shards.split)
    world.killed_at("after_swap")

    world.require_all()
