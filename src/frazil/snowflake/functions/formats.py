"""Snowflake's formats: those of dates and times as the words of DuckDB's, those of numbers as digits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from frazil.snowflake.functions.meanings import literal
from frazil.snowflake.kinds import TEXT
from frazil.snowflake.places import Refused
from frazil.snowflake.templates import template
from frazil.sql import literal as literal_text

_WORDS: Final = {
    "YYYY": "%Y", "YY": "%y", "MMMM": "%B", "MON": "%b", "MM": "%m", "DD": "%d", "DY": "%a", "HH24": "%H",
    "HH12": "%I", "HH": "%H", "AM": "%p", "PM": "%p", "MI": "%M", "SS": "%S", "TZH:TZM": "%z", "TZHTZM": "%z",
    "TZH": "%z",
}  # fmt: skip
_OFFSETS: Final = {"TZH:TZM": "+00:00", "TZHTZM": "+0000", "TZH": "+00"}
"""How the zone of a query, UTC, is shown."""

_FORMAT: Final = re.compile(
    r'"(?P<quoted>[^"]*)"|FF(?P<digits>[0-9]?)|(?P<word>'
    + "|".join(sorted(_WORDS, key=len, reverse=True))
    + r")|(?P<other>[^A-SU-Za-su-z])",
    re.IGNORECASE,
)
_NUMBER: Final = re.compile(
    r"(?P<fill>FM)?(?P<sign>S)?(?P<dollar>\$)?(?P<whole>[90,G]*)(?:[.D](?P<part>[90]*))?(?P<after>MI|S)?", re.IGNORECASE
)


def parsing(name: str, node: exp.Expr) -> str:
    """A format of dates and times as the one of DuckDB's strptime.

    Raises:
        Refused: it is no literal, or has a word that means nothing.
    """
    pieces = (("%n" if piece else "") if isinstance(piece, int) else piece for piece in _pieces(name, node))
    return "".join(pieces)


def shown_in(name: str, node: exp.Expr, value: exp.Expr) -> exp.Expr:
    """A date or time as a text in a format.

    Raises:
        Refused: it is no literal, or has a word that means nothing.
    """
    parts: list[str] = []
    for piece in _pieces(name, node, _WORDS | _OFFSETS):
        if isinstance(piece, int):
            parts.append(
                {0: "''", 3: "strftime(a, '%g')", 6: "strftime(a, '%f')"}.get(
                    piece, f"left(strftime(a, '%n'), {piece})"
                )
            )
        else:
            parts.append("strftime(a, " + literal_text(piece) + ")")
    return template(" || ".join(parts) or "''", [value], TEXT)


def _pieces(name: str, node: exp.Expr, words: Mapping[str, str] = _WORDS) -> list[str | int]:
    """Runs of DuckDB's words, and between them how many digits of a second."""
    written = rest = literal(name, node, "a format of dates and times")
    found: list[str | int] = []
    while rest:
        match = _FORMAT.match(rest)
        if not match:
            word = re.match(r"[A-Za-z]+|.", rest, re.DOTALL)
            unknown = word[0] if word else rest
            raise Refused(
                f"{name}: {unknown[:20]!r} in the format {written[:60]!r} is no element of a date or time", node
            )
        rest = rest[match.end() :]
        if match["digits"] is not None:
            found.append(int(match["digits"] or 9))
            continue
        word_ = match["word"]
        piece = words[word_.upper()] if word_ else (match["quoted"] or match["other"] or "").replace("%", "%%")
        if found and isinstance(found[-1], str):
            found[-1] += piece
        else:
            found.append(piece)
    return found


@dataclass(frozen=True, slots=True)
class _Digits:
    """A format of numbers, taken apart."""

    fill: bool
    dollar: bool
    sign: str
    after: str
    whole: str
    part: str | None

    @property
    def width(self) -> int:
        """How long the digits with their points are."""
        return len(self.whole) + (0 if self.part is None else len(self.part) + 1)


def is_number_format(node: exp.Expr) -> bool:
    """Whether a format is one of numbers."""
    found = _NUMBER.fullmatch(node.name) if isinstance(node, exp.Literal) else None
    return bool(found and (found["whole"] or found["part"]))


def number_in(name: str, node: exp.Expr, value: exp.Expr) -> exp.Expr:
    """A number as a text in a format like '999,990.00'.

    Raises:
        Refused: it is no literal, or has an element that is not there.
    """
    written = literal(name, node, "a format of numbers")
    found = _NUMBER.fullmatch(written)
    if not found or not (found["whole"] or found["part"]) or (found["sign"] and found["after"]):
        raise Refused(
            f"{name}: {written[:40]!r} is no format of numbers; there are 9, 0, the point, commas, $, FM, S and MI",
            node,
        )
    whole = found["whole"].upper().replace("G", ",")
    digits = _Digits(
        bool(found["fill"]),
        bool(found["dollar"]),
        (found["sign"] or "").upper(),
        (found["after"] or "").upper(),
        whole,
        found["part"],
    )
    if whole.startswith(","):
        raise Refused(f"{name}: a format of numbers begins with a digit", node)
    return _number(digits, value)


def _number(form: _Digits, value: exp.Expr) -> exp.Expr:
    scale = len(form.part or "")
    places = form.whole.replace(",", "")
    # Digits from the first 0 on are written in any case.
    least = len(places) - places.index("0") if "0" in places else 0
    bare = template(f"CAST(round(abs(a), {scale}) AS DECIMAL(38, {scale}))", [value])
    digits = "split_part(CAST(a AS VARCHAR), '.', 1)"
    least_text = f"CASE WHEN {digits} = '0' THEN '' ELSE {digits} END"
    if least:
        left = f"lpad({least_text}, CAST(greatest({least}, length({least_text})) AS INTEGER), '0')"
    else:
        left = digits if form.part is None or not scale else least_text
        left = digits if form.whole.endswith("9") else left
    if "," in form.whole:
        left = _grouped(form.whole, left)
    right = "" if form.part is None else " || '.' || split_part(CAST(a AS VARCHAR), '.', 2)" if scale else " || '.'"
    before = "CASE WHEN b < 0 AND a <> 0 THEN '-' ELSE {} END".format("'+'" if form.sign or form.after == "S" else "''")
    dollar = "'$' || " if form.dollar else ""
    shown = f"{before} || {dollar}{left}{right}" if not form.after else f"{dollar}{left}{right} || {before}"
    width = form.width + int(form.dollar) + 1
    most = len(places)
    if form.after == "MI":
        shown = f"{dollar}{left}{right} || CASE WHEN b < 0 AND a <> 0 THEN '-' ELSE {chr(39) + chr(39) if form.fill else chr(39) + ' ' + chr(39)} END"  # noqa: E501
    padded = shown if form.fill else f"lpad({shown}, {width}, ' ')"
    overflow = "'" + "#" * width + "'"
    return template(
        f"CASE WHEN length({digits}) > {most} AND {digits} <> '0' THEN {overflow} ELSE {padded} END",
        [bare, value.copy()],
        TEXT,
    )


def _grouped(form: str, left: str) -> str:
    """The digits with the commas of the format among them."""
    pieces, taken = [], 0
    for size in reversed([len(each) for each in form.split(",")[1:]]):
        rest = f"left({left}, greatest(length({left}) - {taken}, 0))"
        comma = f"CASE WHEN length({left}) > {taken + size} THEN ',' ELSE '' END"
        pieces.append(f"{comma} || right({rest}, {size})")
        taken += size
    head = f"left({left}, greatest(length({left}) - {taken}, 0))"
    return " || ".join([f"({each})" for each in [head, *reversed(pieces)]])
