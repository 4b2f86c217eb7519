"""No statement for DuckDB or SQLite is put together from text that did not pass a door of `frazil.sql`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.injection.flow import Flow

import frazil

ROOT = Path(frazil.__file__).parent
RENDERED = "frazil.snowflake"
"""Where queries are made as trees, and become text in one module, whose texts and names go through the doors."""

MADE_THERE = "compiled.text (frazil.queries.engine"
"""Where such a text is run."""

COMPILER = "frazil.pipes.sql.compiling"
"""Where users' pipes become trees, which become text where those of queries do."""

COMPILED = {
    "frazil.pipes.sql.pipe": ("sql", "source", "condition_source", "volatile"),
    "frazil.connector.trying": ("sql",),
    "frazil.staging.partitioned": ("sql", "sql_type", "is_missing"),
    "frazil.layout.partitions": ("sql",),
}
"""Where texts are run that were made before, and what they are called there: compiled pipes, keys of
partitions and what they are made of."""

TESTING = "frazil.testing"
"""What only tests import: its statements are about tables of its own."""

MODULES = {
    ".".join(("frazil", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__"): path.read_text()
    for path in sorted(ROOT.rglob("*.py"))
}


def test_statements_are_made_of_constants_and_of_what_doors_return() -> None:
    sources = {name: text for name, text in MODULES.items() if not name.startswith((RENDERED, TESTING))}

    assert [each for each in Flow(sources, COMPILED).foreign() if MADE_THERE not in each] == []


def test_users_pipes_are_compiled_in_one_place() -> None:
    makers = {name for name, text in MODULES.items() for made in ("PipeItem(", "PipeSpec(") if made in text}

    assert makers - {"frazil.model.tasks"} == {COMPILER}
    assert "rendered(" in MODULES["frazil.pipes.sql.record"]


def test_texts_and_names_of_queries_are_rendered_by_the_doors() -> None:
    rendering = MODULES["frazil.snowflake.rendering"]

    assert "return ident(expression.name)" in rendering
    assert "return literal(expression.name)" in rendering


OURS = """
from frazil.sql import ident, literal, pointer
import frazil.other as other

TABLE = "t"
KINDS = {"long": "BIGINT"}

class Column:
    id: int
    name: str

class Statement:
    def of(self, columns, kind):
        made = [f"{ident(each)} AS {ident(each.lower())}" for each in columns]
        made.append(f"CAST({literal(kind)} AS {KINDS[kind]})")
        return f"SELECT {', '.join(made)} FROM {TABLE}"

def with_number(column):
    match column:
        case Column(id=number, name=name):
            return f"{ident(name)}: {number}"

def of_parameter(source):
    return f"SELECT * FROM {source}"

def run(connection, columns, text, flag: bool):
    connection.execute("SELECT ?", [text])
    connection.execute(Statement().of(columns, text))
    connection.execute(of_parameter(TABLE) + " WHERE " + with_number(columns[0]))
    ids = ((each, ident(each)) for each in columns)
    for number, (_, name) in enumerate(ids):
        connection.execute(f"SELECT {number} AS {literal(text) if flag else 'NULL'}")
"""


@pytest.mark.parametrize(
    "outside",
    [
        "text",
        'f"SELECT {text}"',
        '"SELECT " + text',
        '"SELECT {}".format(text)',
        '"SELECT %s" % text',
        "f\"SELECT '{text}'\"",
        "f\"SELECT {text.replace(chr(39), '')}\"",
        'f"SELECT {pointer([text])}"',
        'f"SELECT {ident(text)}, {columns[0]}"',
        'f"SELECT {columns[0].name}"',
        "', '.join(columns)",
        'of_parameter(f"{text}")',
        "of_parameter(source=text)",
        "of_parameter(**text)",
        "of_parameter(*columns)",
        "other.unknown()",
        'literal("") or text',
        'text if flag else ""',
        '(lambda: f"SELECT {text}")()',
        '[f"{name} {text}" for name in KINDS][0]',
        "(made := text)",
        '(text := f"{text};")',
        "with_number(columns[0]) if flag else next(iter(columns))",
    ],
)
def test_a_text_from_outside_is_found(outside: str) -> None:
    theirs = f"\ndef more(connection, columns, text, flag):\n    connection.sql({outside})\n"

    assert list(Flow({"ours": OURS}).foreign()) == []
    assert list(Flow({"ours": OURS + theirs}).foreign())
