"""The files that take longest, by about how many seconds: a run begins with them, so that its processes end together."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[1]

SECONDS: Final = {
    "tests/integration/cluster/test_submit.py": 157,
    "tests/integration/test_rollbacks.py": 128,
    "tests/integration/test_command.py": 127,
    "tests/integration/test_table_changes.py": 112,
    "tests/integration/test_stream_kills.py": 110,
    "tests/integration/test_topics.py": 101,
    "tests/integration/outages/test_broker.py": 99,
    "tests/integration/test_without_spark.py": 95,
    "tests/integration/test_object_stores.py": 85,
    "tests/integration/test_orphans.py": 83,
    "tests/integration/test_table_gone.py": 82,
    "tests/snowflake/test_query.py": 72,
    "tests/integration/outages/test_catalog.py": 72,
    "tests/integration/test_reset.py": 65,
    "tests/integration/test_kills.py": 60,
    "tests/integration/test_following.py": 58,
    "tests/dev/test_kafka.py": 56,
    "tests/sources/test_truncation.py": 56,
    "tests/integration/test_buffers.py": 52,
    "tests/staging/test_law.py": 50,
    "tests/integration/test_security.py": 46,
    "tests/tables/jvm/test_preparing.py": 46,
    "tests/integration/test_owners.py": 45,
    "tests/integration/test_streams.py": 42,
    "tests/integration/test_tables_replaced.py": 39,
    "tests/integration/test_rejected.py": 39,
    "tests/snowflake/test_query_hostile.py": 38,
    "tests/integration/test_pruned.py": 36,
    "tests/integration/test_stream_faults.py": 36,
    "tests/sources/test_skipping.py": 34,
    "tests/tables/jvm/test_launching.py": 34,
    "tests/integration/test_fan_out_kills.py": 32,
    "tests/integration/outages/test_storage.py": 32,
    "tests/sources/test_reader.py": 28,
    "tests/integration/test_volume.py": 28,
    "tests/integration/test_spark_ends.py": 28,
    "tests/integration/test_stream_losses.py": 27,
    "tests/integration/test_branches.py": 27,
    "tests/integration/test_landing.py": 26,
    "tests/integration/test_metadata.py": 25,
    "tests/mutants/test_mutants.py": 21,
    "tests/integration/test_hostile.py": 20,
    "tests/sources/kinesis/test_roles.py": 19,
    "tests/staging/test_sizes.py": 16,
    "tests/integration/test_zeros.py": 14,
    "tests/integration/test_naming.py": 14,
    "tests/integration/test_types.py": 14,
    "tests/testing/test_records.py": 14,
    "tests/integration/outages/test_lock.py": 13,
    "tests/records/smt/kafka/test_against_kafka.py": 13,
    "tests/integration/test_stream_applications.py": 11,
    "tests/tables/jvm/test_sessionless.py": 11,
    "tests/integration/test_variant.py": 10,
    "tests/integration/test_left_out.py": 10,
    "tests/integration/test_executors.py": 9,
    "tests/staging/test_attempts.py": 8,
    "tests/tables/jvm/test_plain_jvm.py": 7,
    "tests/injection/test_lock_down.py": 7,
    "tests/staging/test_worker.py": 6,
    "tests/sources/test_headers.py": 6,
    "tests/staging/test_large.py": 6,
}


def sort(items: list[pytest.Item]) -> None:
    """Sort tests by the cost of their files; those of one file stay together, in their order."""
    items.sort(key=lambda item: -SECONDS.get(item.path.relative_to(ROOT).as_posix(), 0))
