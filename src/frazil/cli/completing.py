"""What can be typed next at the prompt: keywords, functions, tables, and columns of the tables that are named."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from prompt_toolkit.completion import CompleteEvent, Completer
from prompt_toolkit.completion import Completion as Found
from prompt_toolkit.document import Document

from frazil.errors import FrazilError
from frazil.model import TableName
from frazil.snowflake.functions import KNOWN
from frazil.snowflake.lake import Lake

_KEYWORDS: Final = """
    ALL AND AS ASC AT BEFORE BETWEEN BY CASE CAST CHANGES CROSS DESC DESCRIBE DISTINCT ELSE END EXCEPT EXCLUDE EXISTS
    EXPLAIN FALSE FLATTEN FROM FULL GROUP HAVING ILIKE IN INNER INPUT INTERSECT INTO IS JOIN LATERAL LEFT LIKE LIMIT
    NOT NULL NULLS FIRST LAST OFFSET ON OR ORDER OUTER OVER PARTITION PIVOT QUALIFY RENAME RIGHT SAMPLE SCHEMAS SELECT
    SHOW TABLE TABLES COLUMNS THEN TIMESTAMP TRUE TRY_CAST UNION UNPIVOT USING VALUES VERSION WHEN WHERE WINDOW WITH
""".split()  # noqa: SIM905 (a list of 60 lines says no more)

_COMMANDS: Final = ("\\d", "\\timing", "\\q", "\\?")
_WORD: Final = re.compile(r"\\?\w*$")
_PLAIN: Final = re.compile(r"[A-Za-z_]\w*")


class Completion(Completer):
    """Completes the word before the cursor."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Found]:  # noqa: ARG002
        """What begins like the word, ignoring case: names of the catalog before keywords and functions."""
        found = _WORD.search(document.text_before_cursor)
        typed = found[0] if found else ""
        for word, kind in candidates(self._lake, document.text):
            if word.strip('"').upper().startswith(typed.upper()):
                yield Found(word, start_position=-len(typed), display_meta=kind)


def candidates(lake: Lake, text: str) -> Iterator[tuple[str, str]]:
    """The words that may be meant in a text, each with its kind."""
    seen: set[str] = set()
    for word, kind in _all(lake, text):
        if word not in seen:
            seen.add(word)
            yield word, kind


def _all(lake: Lake, text: str) -> Iterator[tuple[str, str]]:
    yield from ((word, "command") for word in _COMMANDS)
    try:
        tables = [table for namespace in lake.namespaces() for table in lake.tables(namespace)]
        named = {word.upper() for word in _PLAIN.findall(text)}
        yield from _columns(lake, (table for table in tables if table.name.upper() in named))
        yield from ((_spelled(table.name), "table") for table in tables)
        yield from ((_spelled(level), "schema") for namespace in lake.namespaces() for level in namespace)
    except FrazilError:
        # The statement will say what is wrong with the catalog.
        pass
    yield from ((word, "keyword") for word in _KEYWORDS)
    yield from ((function, "function") for function in sorted(KNOWN))


def _columns(lake: Lake, tables: Iterable[TableName]) -> Iterator[tuple[str, str]]:
    for table in tables:
        yield from ((_spelled(column.name), f"column of {table.name}") for column in lake.columns(table))


def _spelled(name: str) -> str:
    """A name as it is written in a statement."""
    return name if _PLAIN.fullmatch(name) else '"' + name.replace('"', '""') + '"'
