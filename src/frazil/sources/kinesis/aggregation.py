"""Aggregated records, as Amazon's Kinesis Producer Library makes them: many user records in the data of one record.

The data begin with four bytes that mark them, and end with the MD5 of what is between: a protobuf message of partition
keys, explicit hash keys, and records that name theirs by index. Whatever is not exactly that is a plain record, and so
is one with a partition key that Kinesis does not take.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

MAGIC: Final = b"\xf3\x89\x9a\xc2"
_DIGEST: Final = 16
_HASH_KEYS: Final = 2**128

LONGEST_KEY: Final = 256
"""Characters of a partition key; Kinesis takes no longer one, so no producer aggregates records under such a key."""


class UserRecord(NamedTuple):
    """A record as its producer gave it to the library."""

    partition_key: str
    explicit_hash_key: int | None
    """What it is placed by; None: the MD5 of the partition key."""

    data: bytes

    @property
    def hash_key(self) -> int:
        """The hash key by which it is placed in a shard."""
        return hash_key_of(self.partition_key) if self.explicit_hash_key is None else self.explicit_hash_key


def hash_key_of(partition_key: str) -> int:
    """The hash key of a partition key."""
    digest = hashlib.md5(partition_key.encode(errors="surrogatepass"), usedforsecurity=False).digest()
    return int.from_bytes(digest, "big")


class Aggregate:
    """The user records of one aggregated record, in order. They are made while they are read.

    They name their keys by index, so they may be many times as large as what they are in.
    """

    def __init__(self, message: Any) -> None:
        """Take a complete message.

        Raises:
            IndexError: a user record names a key that is not in its table.
            ValueError: a key cannot be one.
        """
        self._records = message.records
        self._keys = message.partition_key_table
        self._places = message.explicit_hash_key_table
        self._used = self._used_keys()
        """The index of each partition key by which user records are placed."""

        self._used_places = self._used_hash_keys()

    def __len__(self) -> int:
        """How many user records there are."""
        return len(self._records)

    def __iter__(self) -> Iterator[UserRecord]:
        """Make the user records."""
        has_places = bool(self._places)
        for each in self._records:
            placed = has_places and each.HasField("explicit_hash_key_index")
            place = _hash_key(self._places[each.explicit_hash_key_index]) if placed else None
            yield UserRecord(self._keys[each.partition_key_index].decode(), place, each.data)

    def belongs(self, lowest: int, highest: int) -> bool:
        """Whether the hash keys of all user records are within a shard's, both ends included."""
        places = (hash_key_of(self._keys[each].decode()) for each in self._used)
        return all(lowest <= each <= highest for each in itertools.chain(self._used_places, places))

    def _used_hash_keys(self) -> set[int]:
        used = {each.explicit_hash_key_index for each in self._records if each.HasField("explicit_hash_key_index")}
        if used and max(used) >= len(self._places):
            raise IndexError("a user record names a hash key that is not in the table")
        return {_hash_key(self._places[each]) for each in used}

    def _used_keys(self) -> set[int]:
        used = {each.partition_key_index for each in self._records}
        if max(used) >= len(self._keys):
            raise IndexError("a user record names a partition key that is not in the table")
        for index in used:
            if len(self._keys[index].decode()) > LONGEST_KEY:
                raise ValueError("no stream takes such a partition key")
        return {each.partition_key_index for each in self._records if not each.HasField("explicit_hash_key_index")}


def split(data: bytes) -> Aggregate | None:
    """The user records of an aggregated record's data; None where they are those of a plain record."""
    if data[:4] != MAGIC or len(data) <= len(MAGIC) + _DIGEST:
        return None
    message, digest = data[len(MAGIC) : -_DIGEST], data[-_DIGEST:]
    if hashlib.md5(message, usedforsecurity=False).digest() != digest:
        return None
    try:
        found = _Message.FromString(message)
        return Aggregate(found) if found.IsInitialized() and found.records else None
    except (DecodeError, IndexError, ValueError):
        return None


def _field(name: str, number: int, kind: str, *, label: str, of: str | None = None) -> FieldDescriptorProto:
    return FieldDescriptorProto(
        name=name,
        number=number,
        type=FieldDescriptorProto.Type.Value(f"TYPE_{kind}"),
        label=FieldDescriptorProto.Label.Value(f"LABEL_{label}"),
        type_name=of,
    )


def _message() -> Any:
    """The class of the message, of whose records the tags are left unread."""
    record = DescriptorProto(
        name="Record",
        field=[
            _field("partition_key_index", 1, "UINT64", label="REQUIRED"),
            _field("explicit_hash_key_index", 2, "UINT64", label="OPTIONAL"),
            _field("data", 3, "BYTES", label="REQUIRED"),
        ],
    )
    aggregated = DescriptorProto(
        name="AggregatedRecord",
        field=[
            _field("partition_key_table", 1, "BYTES", label="REPEATED"),
            _field("explicit_hash_key_table", 2, "BYTES", label="REPEATED"),
            _field("records", 3, "MESSAGE", label="REPEATED", of=".frazil.kinesis.Record"),
        ],
    )
    pool = DescriptorPool()
    pool.Add(FileDescriptorProto(name="aggregated", package="frazil.kinesis", message_type=[record, aggregated]))
    return GetMessageClass(pool.FindMessageTypeByName("frazil.kinesis.AggregatedRecord"))


_Message: Final = _message()


def _hash_key(text: bytes) -> int:
    if not text.isdigit() or len(text) > 39 or int(text) >= _HASH_KEYS:
        raise ValueError("no hash key")
    return int(text)
