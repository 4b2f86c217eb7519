"""What an account has and may have."""

from __future__ import annotations

from typing import Any, Final

from frazil.dev.kinesis.engine import SHARD_LIMIT, Engine

ON_DEMAND_LIMIT: Final = 50

_COMMITMENT: Final = {"MinimumThroughputBillingCommitment": {"Status": "DISABLED"}}


def describe_limits(engine: Engine, _: dict[str, Any]) -> dict[str, Any]:
    """How many shards and streams there are, and how many AWS would have."""
    streams = engine.streams()
    return {
        "ShardLimit": SHARD_LIMIT,
        "OpenShardCount": sum(len(stream.open_shards) for stream in streams if stream.mode == "PROVISIONED"),
        "OnDemandStreamCount": sum(stream.mode == "ON_DEMAND" for stream in streams),
        "OnDemandStreamCountLimit": ON_DEMAND_LIMIT,
    }


def describe_account_settings(_: Engine, __: dict[str, Any]) -> dict[str, Any]:
    """How the account is billed: not at all."""
    return _COMMITMENT


def update_account_settings(_: Engine, __: dict[str, Any]) -> dict[str, Any]:
    """How the account is billed stays as it is."""
    return _COMMITMENT


OPERATIONS: Final = {
    "DescribeLimits": describe_limits,
    "DescribeAccountSettings": describe_account_settings,
    "UpdateAccountSettings": update_account_settings,
}
