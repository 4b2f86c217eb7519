"""A transform as users write them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from frazil.records.connect.data import Record, SchemaAndValue


class Doubled:
    """Doubles a field; 150 is dropped."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._field = options["field"]

    def apply(self, record: Record) -> Record | None:
        number = int(record.value.value[self._field])
        if number == 150:
            return None
        return replace(record, value=SchemaAndValue(None, {**record.value.value, self._field: 2 * number}))
