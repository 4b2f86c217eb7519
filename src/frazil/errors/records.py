"""Records that cannot become rows; they end a connector whose `errors.tolerance` is none."""

from __future__ import annotations

from collections.abc import Mapping

from frazil.errors.tree import Terminal


class InvalidRecord(Terminal):
    """A record cannot be converted: it is not text, not valid JSON, or not a JSON object."""

    code = "5015"

    way_on = "Correct the producer or the converter, or set errors.tolerance=all to set such records aside."
    """What to do next."""

    def __init__(self, place: Mapping[str, object], reason: str, start_of_value: str) -> None:
        """Describe one record.

        Args:
            place: its `topic`, `partition` and `offset`, and the `column` if it was one.
            reason: why it cannot become a row.
            start_of_value: the first characters of what was read.
        """
        column = f", column {place['column']}" if place.get("column") is not None else ""
        super().__init__(
            f"the record at topic {place['topic']}, partition {place['partition']}, offset {place['offset']}{column} "
            f"cannot become a row: {reason}; its value starts with {start_of_value!r}. Everything before it is "
            f"committed. {self.way_on}"
        )
        self.place = dict(place)
        self.reason = reason


class UnfitValue(InvalidRecord):
    """A record is a JSON object, but a value of it does not fit its column."""

    code = "5030"

    way_on = (
        "Give the table a column that takes the value, correct the producer, or set errors.tolerance=all to set such "
        "records aside."
    )
