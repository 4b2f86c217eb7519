from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.config.security.jaas import MalformedJaas, parse

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


def options(text: str) -> dict[str, str]:
    return dict(parse(f"{PLAIN} required {text};").options)


def test_a_login_module_is_its_class_and_its_options() -> None:
    module = parse(f'{PLAIN} required username="alice" password="a b;=";')

    assert module.name == PLAIN
    assert module.options == {"username": "alice", "password": "a b;="}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("useKeyTab=true keyTab='/etc/k'", {"useKeyTab": "true", "keyTab": "/etc/k"}),
        ('a = "1"\n  b\t=\r\n "2"', {"a": "1", "b": "2"}),
        (r'p="a\"b\\c" q="it' + "'" + 's"', {"p": 'a"b\\c', "q": "it's"}),
        (r'p="\x\t\101\7\400"', {"p": "x\tA\a 0"}),
        ("user-name=ann.o-1$ ümlaut=ß", {"user-name": "ann.o-1$", "ümlaut": "ß"}),
        ('a="1" // a comment; p="x"\n/* another\none */ b="2" / and one', {"a": "1", "b": "2"}),
        ('a="//no comment"', {"a": "//no comment"}),
        ('a="1" a="2"', {"a": "2"}),
    ],
)
def test_options_are_read_as_java_reads_them(text: str, expected: dict[str, str]) -> None:
    assert options(text + "\n") == expected


@pytest.mark.parametrize("flag", ["required", "REQUISITE", "sufficient", "Optional"])
def test_any_control_flag_will_do(flag: str) -> None:
    assert parse(f"{PLAIN} {flag};").name == PLAIN


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "at character 1 the class of a login module is expected"),
        (" // nothing", "class of a login module"),
        (PLAIN, "a control flag is expected"),
        (f"{PLAIN};", "a control flag is expected"),
        (f'{PLAIN} hush="hush";', "`required` is expected"),
        (f'{PLAIN} required password="hush"', "a semicolon is expected"),
        (f"{PLAIN} required password=hush hush;", "an = is expected after the name of an option"),
        (f"{PLAIN} required password=;", "the value of an option is expected"),
        (f"{PLAIN} required password=12hush;", "has to be in double quotes"),
        (f"{PLAIN} required password=hu+sh;", "has to be in double quotes"),
        (f"{PLAIN} required password=hu/sh;", "a semicolon is expected"),
        (f'{PLAIN} required password="hush;', "a quote opens that is not closed on its line"),
        (f'{PLAIN} required password="hu\nsh";', "a quote opens that is not closed on its line"),
        (rf'{PLAIN} required password="hush\0";', "a zero character"),
        (f'{PLAIN} required a="hush"; {PLAIN} required;', "goes on after its semicolon"),
    ],
)
def test_a_malformed_text_is_named_without_its_words(text: str, why: str) -> None:
    with pytest.raises(MalformedJaas) as caught:
        parse(text)

    assert why in str(caught.value)
    assert "hush" not in str(caught.value)


def test_a_login_module_hides_its_options() -> None:
    assert "hush" not in repr(parse(f'{PLAIN} required password="hush";'))


@given(st.text(st.characters(exclude_characters="\0")))
def test_any_password_survives_its_quotes(password: str) -> None:
    escapes = {"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r"}
    quoted = "".join(escapes.get(each, each) for each in password)

    assert options(f'password="{quoted}"') == {"password": password}


@given(st.text(alphabet="ab=;\"'\\/* \n$-.1+") | st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(MalformedJaas):
        parse(text)
