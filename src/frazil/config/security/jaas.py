"""Read the one login module of a `sasl.jaas.config`, by the rules of Kafka's Java client.

    org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="…";

Java cuts the text with a `StreamTokenizer`; so do we. A word begins with a letter, an underscore or a dollar sign and
goes on with digits, dots and dashes too; anything else has to stand in quotes. A slash outside of quotes begins a
comment. Messages tell positions and never quote the text: any part of it may be the password.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

_FLAGS = ("required", "requisite", "sufficient", "optional")

_TOKEN = re.compile(
    r"""
      (?P<blank>[\x00-\x20]+ | /\*.*?(?:\*/|\Z) | /[^\r\n]*)
    | (?P<word>[A-Za-z_$\u00A0-\U0010FFFF][\w.$\u00A0-\U0010FFFF-]*)
    | "(?P<double>(?:[^"\\\r\n]|\\[^\r\n])*)"
    | '(?P<single>(?:[^'\\\r\n]|\\[^\r\n])*)'
    | (?P<mark>[=;])
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_ESCAPE = re.compile(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|.)")
_ESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


@dataclass(frozen=True, slots=True)
class LoginModule:
    """What a JAAS configuration says."""

    name: str
    """The full class name."""

    options: Mapping[str, str] = field(repr=False)


class MalformedJaas(ValueError):
    """The text is no JAAS configuration; says where and why, without its words."""


@dataclass(frozen=True, slots=True)
class _Token:
    kind: Literal["text", "mark", "end"]
    text: str = field(repr=False)
    position: int

    def __str__(self) -> str:
        return f"at character {self.position + 1}"


def parse(text: str) -> LoginModule:
    """The login module that `text` configures.

    Raises:
        MalformedJaas: the text cannot be read, or configures none or several.
    """
    tokens = _tokens(text)
    module = _text(next(tokens), "the class of a login module is expected")
    flag = _text(next(tokens), "a control flag is expected: required, requisite, sufficient or optional")
    if flag.lower() not in _FLAGS:
        raise MalformedJaas("after the class of the login module, `required` is expected")
    options: dict[str, str] = {}
    while (token := next(tokens)).kind == "text":
        equals = next(tokens)
        if (equals.kind, equals.text) != ("mark", "="):
            raise MalformedJaas(f"{equals} an = is expected after the name of an option; quote values that hold blanks")
        options[token.text] = _text(next(tokens), "the value of an option is expected")
    if (token.kind, token.text) != ("mark", ";"):
        raise MalformedJaas(f"{token} a semicolon is expected, which ends the login module")
    if (rest := next(tokens)).kind != "end":
        raise MalformedJaas(f"{rest} the text goes on after its semicolon; Kafka takes one login module")
    return LoginModule(module, options)


def _text(token: _Token, expected: str) -> str:
    if token.kind != "text":
        raise MalformedJaas(f"{token} {expected}")
    if "\0" in token.text:
        raise MalformedJaas(f"{token} stands a zero character, which ends texts in librdkafka")
    return token.text


def _tokens(text: str) -> Iterator[_Token]:
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise MalformedJaas(_why_no_token(text[position], position))
        if match.lastgroup == "mark":
            yield _Token("mark", match[0], position)
        elif match.lastgroup == "word":
            yield _Token("text", match[0], position)
        elif match.lastgroup != "blank":
            yield _Token("text", _ESCAPE.sub(_unescaped, match[0][1:-1]), position)
        position = match.end()
    end = _Token("end", "", position)
    while True:
        yield end


def _why_no_token(character: str, position: int) -> str:
    if character in "\"'":
        return f"at character {position + 1} a quote opens that is not closed on its line"
    return f"at character {position + 1} stands what has to be in double quotes: words begin with a letter"


def _unescaped(match: re.Match[str]) -> str:
    escaped = match[1]
    return chr(int(escaped, 8)) if escaped[0] in "01234567" else _ESCAPED.get(escaped, escaped)
