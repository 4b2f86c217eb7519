from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from frazil.config import properties
from frazil.errors import InvalidConfiguration

Write = Callable[[str, bytes | str], Path]


@pytest.fixture
def written(tmp_path: Path) -> Write:
    def write(name: str, content: bytes | str) -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_a_properties_file_is_read_as_java_reads_it(written: Write) -> None:
    path = written("c.properties", "# note\nname = orders\ntopics:a,\\\n  b\nx\\ y=\\u00e9\nempty=\n")

    assert properties.read(path) == {"name": "orders", "topics": "a,b", "x y": "é", "empty": ""}


@pytest.mark.parametrize(
    "content", ["snowflake.topic2table.map=a:é", "snowflake.topic2table.map=a:é".encode("latin-1")]
)
def test_a_properties_file_may_be_utf_8_or_latin_1(written: Write, content: bytes | str) -> None:
    assert properties.read(written("c.properties", content)) == {"snowflake.topic2table.map": "a:é"}


@pytest.mark.parametrize("name", ["c.json", "c.properties"])
def test_json_values_become_the_texts_kafka_connect_makes_of_them(written: Write, name: str) -> None:
    path = written(name, '{"name": "n", "config": {"a": true, "b": 10, "c": 1.50, "d": null, "e": "x"}, "tasks": []}')

    assert properties.read(path) == {"name": "n", "a": "true", "b": "10", "c": "1.50", "e": "x"}


def test_json_may_be_one_flat_object(written: Write) -> None:
    assert properties.read(written("c.json", '{"name": "n", "topics": "t"}')) == {"name": "n", "topics": "t"}


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("c.json", '{"name": ', "file: is not valid JSON"),
        ("c.json", "[1]", "file: is not a JSON object"),
        ("c.json", '{"config": {"a": [1]}}', "a: is a list or an object"),
        ("c.json", '{"name": "x", "config": {"name": "y"}}', "name: is given twice"),
        ("c.json", '{"config": {}, "initial_state": "PAUSED"}', "initial_state: stands outside of config"),
        ("c.properties", "a=\\uZZZZ", "file: has a \\u without"),
        ("c.properties", "a=1\na=2", "a: is given twice"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_the_reason(
    written: Write, name: str, content: bytes | str, problem: str
) -> None:
    with pytest.raises(InvalidConfiguration) as caught:
        properties.read(written(name, content))

    assert name in str(caught.value)
    assert problem in str(caught.value)


def test_a_missing_file_is_an_invalid_configuration(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfiguration, match="No such file"):
        properties.read(tmp_path / "none.properties")
