"""CREATE, ALTER and DROP TABLE, read word by word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from frazil.errors import InvalidQuery
from frazil.snowflake.definitions.altering import read_change
from frazil.snowflake.definitions.columns import read_columns
from frazil.snowflake.definitions.layout import read_keys
from frazil.snowflake.definitions.options import read_option
from frazil.snowflake.definitions.values import AlterTable, CreateTable, Definition, DropTable, LayoutKey
from frazil.snowflake.pipes import interactive_pipe
from frazil.snowflake.words import Words

_TABLE: Final = "the name of the table"
_KINDS: Final = (
    "TRANSIENT",
    "TEMPORARY",
    "TEMP",
    "VOLATILE",
    "HYBRID",
    "DYNAMIC",
    "EXTERNAL",
    "EVENT",
    "LOCAL",
    "GLOBAL",
)


def read_definition(text: str, words: Sequence[Token]) -> Definition | None:
    """Read a statement that defines a table; None if it is about something else.

    Raises:
        InvalidQuery: it is about a table, and wrong.
    """
    w = Words(text, words)
    if w.take("CREATE"):
        replaces = w.take("OR", "REPLACE")
        place = w.pointed_next()
        if kind := next((each for each in _KINDS if w.take(each)), None):
            raise InvalidQuery(f"CREATE {kind} is not supported; a table is an Iceberg table: CREATE TABLE", place)
        interactive = w.take("INTERACTIVE", "TABLE")
        return _create(w, replaces=replaces, interactive=interactive) if interactive or _is_table(w) else None
    if w.take("ALTER"):
        return _alter(w) if _is_table(w) else None
    if w.take("DROP"):
        return _drop(w) if _is_table(w) or w.take("INTERACTIVE", "TABLE") else None
    return None


def _is_table(w: Words) -> bool:
    return w.take("TABLE") or w.take("ICEBERG", "TABLE")


def _create(w: Words, *, replaces: bool, interactive: bool) -> CreateTable:
    place = w.pointed_next()
    if_missing = w.take("IF", "NOT", "EXISTS")
    if if_missing and replaces:
        raise InvalidQuery("OR REPLACE and IF NOT EXISTS exclude each other", place)
    name = w.table(_TABLE)
    columns = read_columns(w)
    partition: tuple[LayoutKey, ...] = ()
    order: tuple[LayoutKey, ...] = ()
    properties: dict[str, str] = {}
    no_effect: list[tuple[str, str]] = []
    while not w.is_at_end and not w.comes("AS"):
        if w.take("PARTITION BY"):
            partition = read_keys(w, "PARTITION BY")
        elif w.take("CLUSTER BY"):
            order = read_keys(w, "CLUSTER BY")
        else:
            option = read_option(w)
            properties |= option.properties
            no_effect += option.no_effect
            w.take(",")
    pipe = None
    if interactive:
        pipe = interactive_pipe(w, name)
    elif w.comes("AS"):
        raise InvalidQuery(
            "CREATE TABLE … AS SELECT is not supported: rows come from topics; give the columns, without AS",
            w.pointed_next(),
        )
    return CreateTable(
        w.text, name, columns, partition, order, properties, tuple(no_effect), pipe, replaces, if_missing
    )


def _alter(w: Words) -> AlterTable:
    if_there = w.take("IF", "EXISTS")
    name = w.table(_TABLE)
    change = read_change(w)
    w.end()
    return AlterTable(w.text, name, change, if_there)


def _drop(w: Words) -> DropTable:
    if_there = w.take("IF", "EXISTS")
    name: exp.Table = w.table(_TABLE)
    w.end()
    return DropTable(w.text, name, if_there)
