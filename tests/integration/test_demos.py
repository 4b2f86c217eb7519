import pytest
from tests.support.processes import frazil

from frazil.dev.kinesis import LocalKinesis
from frazil.sources.kinesis.streams import listed

pytestmark = pytest.mark.slow


def test_the_demo_of_a_stream_proves_what_it_landed_across_a_split_and_a_merge_and_goes_on(tmp_path):
    for _ in range(2):
        done = frazil("dev", "demo", "--source", "kinesis", "--seconds", "3", "--rate", "300", "--home", tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stderr.count("✓") == 6
    with LocalKinesis(tmp_path / "demo-kinesis" / "kinesis") as local:
        shards = listed(local.client(), {"StreamName": "orders"})
    assert len(shards) == 4 + 2 * 3
