"""What DuckDB says when a query fails, as errors for the person who wrote it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import duckdb
import pyarrow as pa

from frazil.errors import FrazilError, InvalidQuery, QueryCancelled, StorageUnavailable

_LONGEST_VALUE: Final = 80
_LONGEST: Final = 400
_LINE: Final = re.compile(r"\n+LINE \d+:.*", re.DOTALL)
_KIND: Final = re.compile(r"^[A-Z][A-Za-z -]{1,40} Error: ")
_QUOTED: Final = re.compile(r"(['\"])(.{80})(?:(?!\1).)*(\1|$)", re.DOTALL)
_ADVICE: Final = re.compile(
    r"(?<=[.!?\"')\n])\s*[^.!?\n]*\b(?:try_cast|TRY_CAST|TRY\(|SET [a-z_]+|explicit(?:ly)? (?:type )?cast)[^\n]*"
)
"""Advice in DuckDB's own words, about its own SQL and settings."""

_TRACEBACK: Final = "Traceback (most recent call last)"
_GONE: Final = re.compile(r"No files found|No such file|FileNotFoundError|does not exist|NO_SUCH_KEY")


class FileGone(InvalidQuery):
    """A planned file is not there any more: another plan may do without it."""


@contextmanager
def explained() -> Iterator[None]:
    """Raise what DuckDB raises as an error of ours.

    Raises:
        QueryCancelled: it was interrupted.
        FileGone: a planned file is not there.
        StorageUnavailable: a file cannot be read.
        InvalidQuery: a value does not allow what was asked, or there is not the memory for it.
    """
    try:
        yield
    except FrazilError:
        raise
    except duckdb.InterruptException as error:
        raise QueryCancelled from error
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        raise _error(error) from None


def _error(error: Exception) -> FrazilError:
    if "INTERRUPT" in str(error)[:100]:
        return QueryCancelled()
    # What a file system in Python raises comes with its traceback; the last line is the exception.
    whole, is_pythons = str(error), _TRACEBACK in str(error)[:200]
    said = readable(whole.rstrip().splitlines()[-1] if is_pythons else whole)
    if is_pythons or isinstance(error, duckdb.IOException | OSError):
        if _GONE.search(said):
            return FileGone(
                "a file of the table is not there: maintenance has removed what this snapshot had, or the table is "
                f"damaged ({said}). Run the query again, for the current snapshot"
            )
        return StorageUnavailable(said)
    if isinstance(error, duckdb.OutOfMemoryException):
        return InvalidQuery(f"the query needs more memory or room for temporary files than there is: {said}")
    return InvalidQuery(said)


def readable(said: str) -> str:
    """A message of DuckDB's without its place in a text nobody wrote, its advice, and more of values than is needed."""
    text = _KIND.sub("", _LINE.sub("", said))
    text = _QUOTED.sub(lambda found: f"{found[1]}{found[2][:_LONGEST_VALUE]}…{found[1]}", text)
    text = " ".join(_ADVICE.sub("", text).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
