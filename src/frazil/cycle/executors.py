"""Whether executors can run frazil's tasks: each task looks around before it begins, and says what is missing there.

A task's function comes to an executor as a name to import. Where frazil is not installed that fails, four times, with a
traceback. So what is sent is a function by value that needs nothing but Python, looks, and imports the rest itself. An
executor that joins later is looked at like the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from frazil.errors import ExecutorUnfit
from frazil.version import VERSION

LIBRARIES: Final = ("confluent_kafka", "duckdb", "mmh3", "msgspec", "numpy", "orjson", "pyarrow")
"""What a task imports beside frazil and Python's own library."""

_UNFIT: Final = "frazil: unfit"
"""The key under which a task says what it misses, for it has no class of ours to say it with."""

_LOST: Final = re.compile(r"\((\S+) executor \S+\)")
"""How Spark names the host of a task that failed."""

_SAID_BY_SPARK: Final = re.compile(r"(Python in worker has different version.*?), PySpark|(Cannot run program \".*)")
"""What Spark itself finds wrong with an executor's Python, before it calls any function."""


def looking_first(name: str, *arguments: Any) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The generator `name` of `frazil.staging.task`, called with a partition and `arguments` where that is possible.

    What it yields from a later attempt at a task says so, where it can (`frazil.model.Staged.repeated`).
    """
    version, libraries, unfit = VERSION, LIBRARIES, _UNFIT

    # A function within a function is pickled by value, with what it closes over; nothing else of ours may be in it.
    def run(partition: Iterator[Any]) -> Iterator[Any]:
        import dataclasses
        import importlib.util
        import socket
        import sys

        from pyspark import TaskContext

        problem = None
        try:
            tasks = importlib.import_module("frazil.staging.task")
            found = sys.modules["frazil"].__version__
            if found != version:
                problem = f"has frazil {found}, the driver has {version}"
        except ModuleNotFoundError as error:
            missing = [each for each in ("frazil", *libraries) if importlib.util.find_spec(each) is None]
            problem = f"lacks {', '.join(missing or [str(error.name)])}"
        except Exception as error:  # noqa: BLE001 (whatever ails the executor's libraries, the driver must hear it)
            problem = f"cannot import frazil: {error!r}"
        if problem:
            yield {unfit: f"{sys.executable} on {socket.gethostname()} {problem}"}
            return
        context = TaskContext.get()
        again = context is not None and context.attemptNumber() > 0
        for answer in getattr(tasks, name)(partition, *arguments):
            yield dataclasses.replace(answer, repeated=True) if again and hasattr(answer, "repeated") else answer

    return run


def require_fit(answers: Sequence[Any]) -> None:
    """Look through what tasks answered for executors that could not run them.

    Raises:
        ExecutorUnfit: there are some.
    """
    found = sorted({each[_UNFIT] for each in answers if isinstance(each, dict) and _UNFIT in each})
    if found:
        raise ExecutorUnfit(found)


def unfit_python(failure: str) -> ExecutorUnfit | None:
    """What Spark's own words on a failed job say of an executor's Python; None if they say nothing of it."""
    said = _SAID_BY_SPARK.search(failure)
    if said is None:
        return None
    host = _LOST.search(failure)
    return ExecutorUnfit([f"{host[1] if host else 'an executor'}: {said[1] or said[2]}"])
