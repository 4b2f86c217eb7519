"""The local stream, on a clock that tests move."""

from tests.dev.kinesis.conftest import clock, local

__all__ = ["clock", "local"]
