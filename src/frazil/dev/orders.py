"""Make up the orders of a web shop as JSON, faster than a broker takes them.

An order is assembled from pieces that are JSON text already: items, addresses and customers come from pools, the
note is a window into a long random text, so that records differ (and compress) as real ones do.
"""

from __future__ import annotations

import string
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from random import Random

import orjson

CITIES = (
    ("New York", 40.7128, -74.006),
    ("Gdańsk", 54.352, 18.6466),
    ("São Paulo", -23.5505, -46.6333),
    ("Lagos", 6.5244, 3.3792),
    ("Osaka", 34.6937, 135.5023),
    ("Tromsø", 69.6492, 18.9553),
    ("Wellington", -41.2866, 174.7756),
)
FIRST_NAMES = ("John", "Ana", "Łukasz", "Wei", "Fatima", "Olu", "Ingrid", "José")
LAST_NAMES = ("Smith", "García", "Kowalski", "Zhang", "Haddad", "Adeyemi", "Hansen", "Silva")
STATUSES = (b"new", b"paid", b"shipped", b"returned")
PAID = (b"false", b"true", b"true", b"true")

NOTE_LENGTH = 400
FIRST_MOMENT = datetime(2026, 11, 1, tzinfo=UTC)

# Powers of two, so that the bits of one random number pick from all of them.
ITEMS, ADDRESSES, CUSTOMERS, MOMENTS, WINDOWS = 1 << 16, 1 << 16, 1 << 12, 1 << 16, 1 << 23


@dataclass(frozen=True, slots=True)
class Pools:
    """The pieces orders are made of."""

    items: list[tuple[bytes, int]]
    """An item as JSON and what it costs, in cents."""

    addresses: list[bytes]
    customers: list[bytes]
    moments: list[bytes]
    notes: bytes


def order(number: int, rng: Random, moment: bytes | None = None) -> bytes:
    """Make up order `number`: about 780 bytes of JSON.

    Args:
        number: Becomes `order_id`; equal numbers and equally seeded `rng` give equal orders.
        rng: Where the chance comes from.
        moment: `order_date`, in ISO 8601; without it, a second per order from `FIRST_MOMENT`, for 18 hours.
    """
    pools = _pools()
    bits = rng.getrandbits(101)
    first, first_cents = pools.items[bits & 0xFFFF]
    second, second_cents = pools.items[bits >> 16 & 0xFFFF]
    third, third_cents = pools.items[bits >> 32 & 0xFFFF]
    euros, cents = divmod(first_cents + second_cents + third_cents, 100)
    status = bits >> 48 & 3
    note = bits >> 78
    return (
        b'{"order_id":%d,"customer_name":"%b","order_total":%d.%02d,"isPaid":%b,"order_date":"%b","status":"%b",'
        b'"items":[%b,%b,%b],"address":%b,"note":"%b"}'
    ) % (
        number,
        pools.customers[bits >> 50 & 0xFFF],
        euros,
        cents,
        PAID[status],
        moment or pools.moments[number & 0xFFFF],
        STATUSES[status],
        first,
        second,
        third,
        pools.addresses[bits >> 62 & 0xFFFF],
        pools.notes[note : note + NOTE_LENGTH],
    )


def moment_now() -> bytes:
    """The present in ISO 8601 with milliseconds and zone Z."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z").encode()


@cache
def _pools() -> Pools:
    rng = Random(20261101)  # noqa: S311 (made-up orders are no secrets)
    return Pools(
        items=[_item(rng) for _ in range(ITEMS)],
        addresses=[_address(rng) for _ in range(ADDRESSES)],
        customers=[f"{rng.choice(FIRST_NAMES)} {rng.choice(LAST_NAMES)}".encode() for _ in range(CUSTOMERS)],
        moments=[f"{FIRST_MOMENT + timedelta(seconds=n):%Y-%m-%dT%H:%M:%SZ}".encode() for n in range(MOMENTS)],
        notes=text(rng, WINDOWS + NOTE_LENGTH),
    )


def _item(rng: Random) -> tuple[bytes, int]:
    quantity, cents = rng.randint(1, 9), rng.randint(99, 9999)
    text = b'{"sku":"SKU-%05d","qty":%d,"price":%d.%02d}' % (rng.randrange(100_000), quantity, *divmod(cents, 100))
    return text, quantity * cents


def _address(rng: Random) -> bytes:
    city, latitude, longitude = rng.choice(CITIES)
    position = {"lat": latitude + rng.gauss(0, 0.05), "lon": longitude + rng.gauss(0, 0.05)}
    return orjson.dumps({"city": city, "zip": f"{rng.randrange(100_000):05d}", "geo": position})


def text(rng: Random, length: int) -> bytes:
    """Random letters and blanks, as notes are made of; `length` bytes."""
    letters = (string.ascii_lowercase + " " * 5).encode()
    return rng.randbytes(length).translate(bytes(letters[byte % len(letters)] for byte in range(256)))
