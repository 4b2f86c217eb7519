"""Texts that have left the place they were put into, somewhere, once."""

from __future__ import annotations

from typing import Final

NAMES: Final = (
    # what ends a quotation, a statement, a path
    '"', '""', "'", "''", '\\"', "\\'", "\\", "\\\\", "`", "$$", "$a$", ";", "--", "/*", "*/", "#", "%", "%s", "{0}",
    'a"; DROP TABLE x; --', "' OR 1=1", "x') UNION SELECT 1 --", '"."', "a.b", ".", "..", "../../etc", "/etc/passwd", "C:\\x",
    # what means something in a JSON path, a JSON pointer, a structure of from_json, a prepared statement
    "*", "[0]", "[*]", "$", "$.a", "/", "~0", "~1", "a/b", "-1", "0", "\\u0041", "{", "}", "?", "$1", "$twice", ":x", "@x", ":=",
    # names of our own and of DuckDB's
    "topic", "partition", "offset", "key", "value", "headers", "schema_id", "key is JSON", "structured headers", "CreateTime",
    "parsed 0", "parsed 1", "row", "chunk", "kind", "names", "each_0", "default", "struct_pack",
    "rowid", "__index", "filename", "file_row_number", "element", "list", "metadata", "typed_value", "main", "temp", "memory",
    "select", "from", "null", "true", "false", "json", "case", "end", "order", "group", "lambda", "unnest", "all", "1e5",
    # names of Python's
    "class", "self", "None", "__init__", "__struct_fields__", "column_0_0", "unknown_0", "field_0",
    # blanks and look-alikes
    " ", " a", "a ", "k v", "\u00a0", "\u3000", "\u2028", "\u200b", "\u202e", "\ufeff", "\uff07", "\uff02", "\u02bc", "\u037e",
    "e\u0301", "\u00e9", "ı", "ß", "ς", "😀", "👩\u200d👩\u200d👧", "\U0010ffff", "\ufffe", "x" * 255, "é" * 255,
)  # fmt: skip
"""Names a column can have, no two of them equal ignoring case."""

FRAGMENTS: Final = (
    *NAMES, "E'", "U&'", "X'", "\x00", "\ud800", "\udc00", "\x01", "\x1b[31m", "\t", "\n", "\r", "\x7f", "\x85", "\x9b", "a", "1",
)  # fmt: skip
"""Pieces of texts, of which some cannot be said in SQL at all."""
