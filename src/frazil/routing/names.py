"""What the table of a value is called."""

from __future__ import annotations

from frazil.names import refusal, sanitise


def generated_name(own: str, value: str) -> str:
    """The name of the table for a value, given the name of the topic's own table.

    >>> generated_name("ORDERS", "de"), generated_name("ORDERS", "1")
    ('ORDERS_DE', 'ORDERS_1')
    """
    return sanitise(f"{own}_{value}")


def unusable(name: str) -> str | None:
    """Why no table can have a generated name, or None."""
    return refusal(name)
