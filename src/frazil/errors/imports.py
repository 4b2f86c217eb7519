"""Checkpoints of others that `frazil channels import` cannot take over."""

from __future__ import annotations

from collections.abc import Collection

from frazil.errors.tree import Terminal


class CheckpointTableMissing(Terminal):
    """There is no such table in DynamoDB."""

    code = "checkpoint_table_missing"

    def __init__(self, table: str, region: str) -> None:
        super().__init__(
            f"there is no table {table!r} in DynamoDB in {region}. A table of checkpoints is called like the "
            "application that keeps them; check the name, the region and the account."
        )


class CheckpointTableRefused(Terminal):
    """A table of DynamoDB cannot be read."""

    code = "checkpoint_table_refused"

    def __init__(self, table: str, region: str, cause: str) -> None:
        super().__init__(
            f"the table {table!r} of DynamoDB in {region} cannot be read: {cause}. Reading needs the right "
            "dynamodb:Scan; if it is there, give the command again."
        )


class NoCheckpoints(Terminal):
    """A table has no checkpoint that the connector could go on from."""

    code = "no_checkpoints"

    def __init__(self, table: str, reason: str, remedy: str) -> None:
        super().__init__(f"the table {table!r} of DynamoDB {reason}. {remedy}")


class CheckpointUnreadable(Terminal):
    """A checkpoint says nothing that could be gone on from."""

    code = "checkpoint_unreadable"

    def __init__(self, shard: str, reason: str, remedy: str) -> None:
        super().__init__(f"the checkpoint of {shard} {reason}. {remedy}")


class CheckpointOfOtherStream(Terminal):
    """The stream was made again after its checkpoints were written."""

    code = "checkpoint_of_other_stream"

    def __init__(self, stream: str, then: str, now: str) -> None:
        super().__init__(
            f"the checkpoints of {stream} are of a stream made at {then}, and the one that is there was made at {now}: "
            "its records are others. Nothing of the old one can be gone on with; start the connector without."
        )


class CheckpointExpired(Terminal):
    """A shard is gone before it was read to its end."""

    code = "checkpoint_expired"

    def __init__(self, shards: Collection[str]) -> None:
        super().__init__(
            f"the stream has dropped {', '.join(sorted(shards))}, not read to the end: retention has deleted the "
            "records behind the checkpoint. They are lost; with --force the import goes on without them."
        )


class ChannelAhead(Terminal):
    """Channels are further on than the checkpoints they would be set to."""

    code = "channel_ahead"

    def __init__(self, channel: str, held: str, checkpoint: str, others: int) -> None:
        more = f", and so are {others} more" if others else ""
        super().__init__(
            f"the channel of {channel} is at {held}, which is after the checkpoint {checkpoint}{more}: records would "
            "land twice. With --force it goes back there all the same."
        )
