"""Settings of a stream: retention, encryption, record size, mode, monitoring."""

from __future__ import annotations

from typing import Any, Final

from frazil.dev.kinesis.engine import Engine
from frazil.dev.kinesis.failures import invalid, validation
from frazil.dev.kinesis.model import Stream
from frazil.dev.kinesis.operations.naming import stream_of

LEAST_RETENTION: Final = 24
MOST_RETENTION: Final = 8760
"""Hours."""

_ALL_METRICS: Final = (
    "IncomingBytes",
    "IncomingRecords",
    "IteratorAgeMilliseconds",
    "OutgoingBytes",
    "OutgoingRecords",
    "ReadProvisionedThroughputExceeded",
    "WriteProvisionedThroughputExceeded",
)


def increase_retention(engine: Engine, given: dict[str, Any]) -> None:
    """Keep records for longer; what is gone stays gone."""
    stream, hours = _to_retain(engine, given)
    if hours < stream.retention_hours:
        raise invalid(
            f"Requested retention period ({hours} hours) for stream {stream.name} can not be shorter than existing "
            f"retention period ({stream.retention_hours} hours). Use DecreaseRetentionPeriod API."
        )
    _retain(engine, stream, hours)


def decrease_retention(engine: Engine, given: dict[str, Any]) -> None:
    """Keep records for less long."""
    stream, hours = _to_retain(engine, given)
    if hours > stream.retention_hours:
        raise invalid(
            f"Requested retention period ({hours} hours) for stream {stream.name} can not be longer than existing "
            f"retention period ({stream.retention_hours} hours). Use IncreaseRetentionPeriod API."
        )
    _retain(engine, stream, hours)


def start_encryption(engine: Engine, given: dict[str, Any]) -> None:
    """Say of the records that come that they are encrypted with a key; nothing is."""
    if given["EncryptionType"] != "KMS":
        raise invalid("EncryptionType must be KMS.")
    stream = engine.active(stream_of(engine, given))
    stream.key_id = given["KeyId"]
    engine.change(stream, "UPDATING")


def stop_encryption(engine: Engine, given: dict[str, Any]) -> None:
    """Say it no more of the records that come."""
    if given["EncryptionType"] != "KMS":
        raise invalid("EncryptionType must be KMS.")
    stream = engine.active(stream_of(engine, given))
    stream.key_id = None
    engine.change(stream, "UPDATING")


def update_max_record_size(engine: Engine, given: dict[str, Any]) -> None:
    """Let records be larger, or no longer so large."""
    stream = engine.active(stream_of(engine, given))
    stream.max_record_kib = given["MaxRecordSizeInKiB"]
    engine.change(stream, "UPDATING")


def update_stream_mode(engine: Engine, given: dict[str, Any]) -> None:
    """Change who decides on the number of shards."""
    stream = engine.active(stream_of(engine, given))
    stream.mode = given["StreamModeDetails"]["StreamMode"]
    stream.warm_mib = given.get("WarmThroughputMiBps")
    if stream.mode == "PROVISIONED":
        stream.distribution = "USER_PARTITION_KEY"
    engine.change(stream, "UPDATING")


def update_distribution(engine: Engine, given: dict[str, Any]) -> None:
    """Change whether partition keys decide on shards."""
    stream = engine.active(stream_of(engine, given))
    if stream.mode != "ON_DEMAND":
        raise validation("RecordDistributionStrategy is for on-demand streams")
    stream.distribution = given["RecordDistributionStrategy"]
    engine.change(stream, "UPDATING")


def update_warm_throughput(engine: Engine, given: dict[str, Any]) -> dict[str, Any]:
    """Note what an on-demand stream is to be ready for."""
    stream = engine.active(stream_of(engine, given))
    if stream.mode != "ON_DEMAND":
        raise validation("Warm throughput is for on-demand streams")
    stream.warm_mib = given["WarmThroughputMiBps"]
    engine.change(stream, "UPDATING")
    warm = {"TargetMiBps": stream.warm_mib, "CurrentMiBps": stream.warm_mib}
    return {"StreamARN": stream.arn, "StreamName": stream.name, "WarmThroughput": warm}


def enable_monitoring(engine: Engine, given: dict[str, Any]) -> dict[str, Any]:
    """Note which metrics are wanted of shards; none are kept."""
    stream = stream_of(engine, given)
    return _monitor(engine, stream, sorted({*stream.metrics, *_metrics(given)}))


def disable_monitoring(engine: Engine, given: dict[str, Any]) -> dict[str, Any]:
    """Note which metrics are wanted no more."""
    stream = stream_of(engine, given)
    return _monitor(engine, stream, sorted({*stream.metrics} - {*_metrics(given)}))


def _to_retain(engine: Engine, given: dict[str, Any]) -> tuple[Stream, int]:
    hours = given["RetentionPeriodHours"]
    if not LEAST_RETENTION <= hours <= MOST_RETENTION:
        raise invalid(f"RetentionPeriodHours is {LEAST_RETENTION} to {MOST_RETENTION}, not {hours}.")
    return engine.active(stream_of(engine, given)), hours


def _retain(engine: Engine, stream: Stream, hours: int) -> None:
    for shard in engine.shards(stream):
        engine.trim_shard(stream, shard)
    stream.retention_hours = hours
    engine.change(stream, "UPDATING")


def _metrics(given: dict[str, Any]) -> tuple[str, ...]:
    named = tuple(given["ShardLevelMetrics"])
    return _ALL_METRICS if "ALL" in named else named


def _monitor(engine: Engine, stream: Stream, wanted: list[str]) -> dict[str, Any]:
    before, stream.metrics = stream.metrics, wanted
    engine.save(stream)
    return {
        "StreamName": stream.name,
        "StreamARN": stream.arn,
        "CurrentShardLevelMetrics": before,
        "DesiredShardLevelMetrics": wanted,
    }


OPERATIONS: Final = {
    "IncreaseStreamRetentionPeriod": increase_retention,
    "DecreaseStreamRetentionPeriod": decrease_retention,
    "StartStreamEncryption": start_encryption,
    "StopStreamEncryption": stop_encryption,
    "UpdateMaxRecordSize": update_max_record_size,
    "UpdateStreamMode": update_stream_mode,
    "UpdateStreamRecordDistributionStrategy": update_distribution,
    "UpdateStreamWarmThroughput": update_warm_throughput,
    "EnableEnhancedMonitoring": enable_monitoring,
    "DisableEnhancedMonitoring": disable_monitoring,
}
