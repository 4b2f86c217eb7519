"""Where the commands speak to people: standard error, so that standard output is for results."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.text import Text

from frazil.cli.visible import visible
from frazil.errors import FrazilError


def people() -> Console:
    """The console for people; its own copy of standard error, which stays when the JVM's is sent to a file."""
    return Console(file=os.fdopen(os.dup(2), "w", encoding="utf-8"), stderr=True)


def complain(error: FrazilError) -> None:
    """Say what went wrong and what to do."""
    Console(stderr=True).print(Text(f"frazil: {visible(str(error))}", style="red"), soft_wrap=True)


@contextmanager
def jvm_output_to(path: Path) -> Iterator[None]:
    """Give the processes started in this block `path` as their standard error, and keep ours.

    Spark's launcher prints dozens of lines before its log level can be set, and its JVM keeps the stream it was born
    with.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    sys.stderr.flush()
    ours = os.dup(2)
    with path.open("ab") as log:
        os.dup2(log.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(ours, 2)
        os.close(ours)
