"""The tree's root and its two branches, and the error for what is no error of the tree."""

from __future__ import annotations

from frazil.secrets import cleaned


class FrazilError(Exception):
    """The root: catch this to catch everything frazil raises on purpose."""

    code: str = "frazil"
    """Stable identifier; `docs/errors.md` has a section of this name."""

    def __init__(self, *parts: object) -> None:
        """Keep the message without secrets: what a store, a catalog or a library says may quote them."""
        super().__init__(*(cleaned(part) if isinstance(part, str) else part for part in parts))

    def __str__(self) -> str:
        return f"[{self.code}] {super().__str__()}"

    @property
    def message(self) -> str:
        """The sentence without the code."""
        return super().__str__()


class Terminal(FrazilError):
    """Trying again cannot help: somebody has to change something."""


class Transient(FrazilError):
    """Trying again can help: the connector plans again from the tokens."""


class Unexpected(Terminal):
    """A bug in frazil, or an exception nobody foresaw."""

    code = "unexpected"

    def __init__(self, error: Exception) -> None:
        super().__init__(
            f"an error nobody foresaw ended the connector: {type(error).__name__}: {error}. Nothing uncommitted is in "
            "the tables; start it again, and please report the traceback in the log."
        )
