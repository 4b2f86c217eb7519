"""A local stream: what Kinesis Data Streams does, on this machine, for programs that have no AWS to talk to."""

from frazil.dev.kinesis.server import LocalKinesis

__all__ = ["LocalKinesis"]
