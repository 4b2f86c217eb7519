"""Whether a catalog cannot be reached just now, or never will be the way it is configured."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from frazil.tables.iceberg.java import java_exception

_OUTAGES: Final = frozenset(
    {
        "java.io.IOException",
        "java.sql.SQLException",
        "org.apache.iceberg.exceptions.RESTException",
        "org.apache.iceberg.exceptions.RuntimeIOException",
        "org.apache.thrift.transport.TTransportException",
        "org.apache.iceberg.shaded.org.apache.hc.core5.http.HttpException",
    }
)
"""Classes of Java that speak of networks and servers; their subclasses do, too."""

_REFUSALS: Final = frozenset(
    {
        "org.apache.iceberg.exceptions.BadRequestException",
        "org.apache.iceberg.exceptions.ForbiddenException",
        "org.apache.iceberg.exceptions.NotAuthorizedException",
    }
)
"""What servers answer that are well."""

_MISFIT: Final = "java.lang.LinkageError"
"""What Java raises where one jar was compiled against another version of a second one."""

_WRONG_CREDENTIALS: Final = "28"
"""How the states begin that SQL has for them."""


def is_outage(error: Exception) -> bool:
    """Whether opening a catalog failed for a reason that goes away by itself."""
    found = False
    for exception in _causes(java_exception(error)):
        classes = set(_classes(exception))
        if classes & _REFUSALS or ("java.sql.SQLException" in classes and _is_refused(exception)):
            return False
        found = found or bool(classes & _OUTAGES)
    return found


def is_misfit(error: Exception) -> bool:
    """Whether opening a catalog failed because Iceberg's jar was made for another Spark or Scala."""
    return any(_MISFIT in _classes(exception) for exception in _causes(java_exception(error)))


def _is_refused(exception: Any) -> bool:
    state, message = exception.getSQLState() or "", exception.getMessage() or ""
    return str(state).startswith(_WRONG_CREDENTIALS) or "No suitable driver" in str(message)


def _causes(exception: Any) -> Iterator[Any]:
    while exception is not None:
        yield exception
        exception = exception.getCause()


def _classes(exception: Any) -> Iterator[str]:
    found = exception.getClass()
    while found is not None:
        yield str(found.getName())
        found = found.getSuperclass()
