"""Partition specs and sort orders, as Iceberg is told of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from frazil.tables.iceberg.java import elements, java_class, java_errors, java_message, java_type
from frazil.tables.rules.created_layout import ColumnKey, Keys

REFUSALS: Final = frozenset({"ValidationException", "IllegalArgumentException", "UnsupportedOperationException"})
"""What Iceberg throws when it is asked for what cannot be."""


def lay_out(jvm: Any, java: Any, keys: Keys, property_done: str) -> str | None:
    """Have a table's files partitioned and sorted from now on, and forget the property that asked for it.

    What Iceberg has against these keys, such as a day and an hour of one column, comes back; then nothing happened.
    """
    partition, order = keys
    transaction = java.newTransaction()
    try:
        if partition:
            partitioned(jvm, java.spec(), transaction.updateSpec(), partition).commit()
        if order:
            sorted_by(jvm, transaction.replaceSortOrder(), order).commit()
    except java_errors() as error:
        if java_class(error) in REFUSALS:
            return java_message(error)
        raise
    transaction.updateProperties().remove(property_done).commit()
    transaction.commitTransaction()
    return None


def partitioned(jvm: Any, before: Any, update: Any, keys: Sequence[ColumnKey]) -> Any:
    """Change a partition spec that was `before` to these keys."""
    for each in elements(before.fields()):
        update = update.removeField(each.name())
    for key in keys:
        update = update.addField(_term(jvm, key))
    return update


def sorted_by(jvm: Any, order: Any, keys: Sequence[ColumnKey]) -> Any:
    """Have a builder of sort orders sort by these keys, NULLs first."""
    nulls_first = java_type(jvm, "org.apache.iceberg.NullOrder").NULLS_FIRST
    for key in keys:
        order = order.asc(_term(jvm, key), nulls_first)
    return order


def _term(jvm: Any, key: ColumnKey) -> Any:
    name, transform = key
    expressions = java_type(jvm, "org.apache.iceberg.expressions.Expressions")
    if transform.name == "identity":
        return expressions.ref(name)
    make = getattr(expressions, transform.name)
    return make(name, transform.parameter) if transform.parameter else make(name)
