"""Aggregated records, as Amazon's Kinesis Producer Library makes them: many user records in the data of one record.

The data begin with four bytes that mark them, and end with the MD5 of what is between: a protobuf message of partition
keys, explicit hash keys, and records that name theirs by index. Whatever is not exactly that is a plain record.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

MAGIC: Final = b"\xf3\x89\x9a\xc2"
_DIGEST: Final = 16
_HASH_KEYS: Final = 2**128


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


def split(data: bytes) -> Sequence[UserRecord] | None:
    """The user records of an aggregated record's data; None where they are those of a plain record."""
    if data[:4] != MAGIC or len(data) <= len(MAGIC) + _DIGEST:
        return None
    message, digest = data[len(MAGIC) : -_DIGEST], data[-_DIGEST:]
    if hashlib.md5(message, usedforsecurity=False).digest() != digest:
        return None
    try:
        return _records(message)
    except (DecodeError, IndexError, ValueError):
        return None


def belongs(records: Sequence[UserRecord], lowest: int, highest: int) -> bool:
    """Whether the hash keys of all records are within a shard's, both ends included."""
    keys = {(each.partition_key, each.explicit_hash_key): each for each in records}
    return all(lowest <= each.hash_key <= highest for each in keys.values())


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


def _records(message: bytes) -> list[UserRecord] | None:
    """The user records of a message; raises DecodeError, IndexError or ValueError where it is none."""
    found = _Message.FromString(message)
    if not found.IsInitialized():
        return None
    keys = [key.decode() for key in found.partition_key_table]
    hash_keys = [_hash_key(text) for text in found.explicit_hash_key_table]
    if not hash_keys:
        records = [UserRecord(keys[each.partition_key_index], None, each.data) for each in found.records]
    else:
        records = [
            UserRecord(
                keys[each.partition_key_index],
                hash_keys[each.explicit_hash_key_index] if each.HasField("explicit_hash_key_index") else None,
                each.data,
            )
            for each in found.records
        ]
    if not hash_keys and any(each.HasField("explicit_hash_key_index") for each in found.records):
        return None
    return records or None


def _hash_key(text: bytes) -> int:
    if not text.isdigit() or len(text) > 39 or int(text) >= _HASH_KEYS:
        raise ValueError("no hash key")
    return int(text)
