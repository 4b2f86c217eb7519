r"""Regular expressions and their replacement templates as Java writes them, read for Python.

Both languages share most of the syntax. Here is what differs and occurs in patterns of names: named groups
(`(?<name>…)`, `\k<name>`), quoted stretches (`\Q…\E`), and sets within sets, which Python would misread in silence.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

_JAVA_ONLY = re.compile(
    r"\\Q(?P<quoted>.*?)(?:\\E|\Z)"
    r"|\\k<(?P<reference>\w+)>"
    r"|(?P<escaped>\\.)"
    r"|(?P<set>\[\^?\]?(?:\\.|[^\]\\])*\])"
    r"|\(\?<(?P<group>[a-zA-Z]\w*)>",
    re.DOTALL,
)
_SET_WITHIN = re.compile(r"\[\^?\]?(?:\\.|[^\[\\&]|&(?!&))*(?:\[|&&)", re.DOTALL)

_PIECE = re.compile(
    r"\\(?P<escaped>.)|\$(?P<number>[0-9]+)|\$\{(?P<name>\w+)\}|(?P<text>[^\\$]+)|(?P<wrong>.)", re.DOTALL
)


def compiled(text: str) -> re.Pattern[str]:
    r"""The pattern that Java's `text` describes.

    >>> compiled(r"(?<env>.*)_\Qa.b\E").fullmatch("prod_a.b")["env"]
    'prod'

    Raises:
        ValueError: it is not a regular expression, or none that Python can read.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # Python warns where a set means another thing in Java
            return re.compile(_JAVA_ONLY.sub(_in_python, text))
    except (re.error, OverflowError, RecursionError, Warning) as error:
        raise ValueError(
            f"{text!r} is not a regular expression frazil understands: {error}; use what Java and Python share"
        ) from error


def _in_python(found: re.Match[str]) -> str:
    if found["quoted"] is not None:
        return re.escape(found["quoted"])
    if found["reference"]:
        return f"(?P={found['reference']})"
    if found["group"]:
        return f"(?P<{found['group']}>"
    if found["set"] and _SET_WITHIN.match(found["set"]):
        raise re.error("it has a set within a set")
    return found[0]


@dataclass(frozen=True, slots=True)
class Template:
    """Text with references to the groups of a pattern."""

    pieces: tuple[str | int, ...]
    """Text as it is, and numbers of groups."""

    @classmethod
    def read(cls, text: str, pattern: re.Pattern[str]) -> Template:
        r"""The template with `$1`, `${name}` and `\` before a character that stands for itself.

        As in Java, `$12` is group 1 and the digit 2 where the pattern has less than twelve groups.

        Raises:
            ValueError: a reference is malformed, or `pattern` has no such group.
        """
        return cls(tuple(_pieces(text, pattern)))

    def filled(self, match: re.Match[str]) -> str:
        """The text with what the groups matched; a group that took no part matched nothing."""
        return "".join(piece if isinstance(piece, str) else match[piece] or "" for piece in self.pieces)

    def filled_with(self, text: str) -> str:
        """The text as if every group had matched `text`."""
        return "".join(piece if isinstance(piece, str) else text for piece in self.pieces)


def _pieces(text: str, pattern: re.Pattern[str]) -> Iterator[str | int]:
    for found in _PIECE.finditer(text):
        if found["number"]:
            yield from _numbered(found["number"], text, pattern)
        elif found["name"]:
            if found["name"] not in pattern.groupindex:
                raise _no_group(text, f"${{{found['name']}}}", pattern)
            yield pattern.groupindex[found["name"]]
        elif found["wrong"]:
            raise ValueError(
                f"{text!r} has a {found['wrong']!r} that begins no reference; write $1, ${{name}}, or "
                rf"\{found['wrong']} for the character itself"
            )
        else:
            yield found["escaped"] or found["text"]


def _numbered(digits: str, text: str, pattern: re.Pattern[str]) -> Iterator[str | int]:
    """The longest number that is a group, and the digits behind it."""
    length = max((n for n in range(1, len(digits) + 1) if int(digits[:n]) <= pattern.groups), default=0)
    if length == 0:
        raise _no_group(text, f"${digits}", pattern)
    yield int(digits[:length])
    if digits[length:]:
        yield digits[length:]


def _no_group(text: str, reference: str, pattern: re.Pattern[str]) -> ValueError:
    known = ["$0", *(f"${number}" for number in range(1, pattern.groups + 1))]
    known += [f"${{{name}}}" for name in pattern.groupindex]
    return ValueError(f"{text!r} refers to {reference}, which its pattern does not have; write {', '.join(known)}")
