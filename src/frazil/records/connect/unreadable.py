"""Records that a converter cannot read."""

from __future__ import annotations

from typing import Final

_MOST_SHOWN: Final = 100


class Unreadable(ValueError):
    """Why a record cannot be read, as what is said of it: `is not valid JSON: …`; what it shows of it is in quotes."""


class Unfit(Unreadable):
    """A value that its schema does not allow, and where in the record it is."""

    def __init__(self, reason: str, path: tuple[str, ...] = ()) -> None:
        where = f"in field {'.'.join(path)!r} " if path else ""
        super().__init__(f"has {where}{reason}")
        self.reason = reason
        self.path = path

    def inside(self, name: str) -> Unfit:
        """The same, seen from what has it as its field."""
        return Unfit(self.reason, (name, *self.path))


def shown(value: object) -> str:
    """The start of a value, in quotes."""
    text = value if isinstance(value, str) else bytes(value).hex() if isinstance(value, bytes) else repr(value)
    return repr(text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…")
