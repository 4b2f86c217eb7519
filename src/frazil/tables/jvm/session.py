"""The Spark session a connector runs in, and which of its catalogs holds the tables."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pyspark
from py4j.java_gateway import JavaPackage
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from frazil.errors import (
    CatalogNotIceberg,
    CatalogUnavailable,
    IcebergRuntimeUnfit,
    SparkConnectRefused,
    SparkEnded,
    SparkVersionRefused,
)
from frazil.secrets import HIDDEN, IN_VALUES, remember
from frazil.tables.defaults import CATALOGS
from frazil.tables.defaults import COMPILER as COMPILER
from frazil.tables.defaults import DEFAULT_NAMESPACE as DEFAULT_NAMESPACE
from frazil.tables.defaults import EMBEDDED as EMBEDDED
from frazil.tables.defaults import PACKAGES as PACKAGES
from frazil.tables.defaults import embedded_catalog as embedded_catalog
from frazil.tables.iceberg.catalog_failures import is_misfit, is_outage
from frazil.tables.iceberg.java import java_errors, java_message
from frazil.tables.iceberg.local_files import write_no_checksum_files
from frazil.tables.jvm import class_archive, launching, local_workers, spark_defaults
from frazil.tables.jvm.catalog_choice import catalogs, chosen

JVM_OPTIONS: Final = "spark.driver.extraJavaOptions"
_REDACTION: Final = "spark.redaction.regex"
_EXTENSIONS: Final = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
_SQLITE: Final = "jdbc:sqlite:"
_WAITS: Final = "busy_timeout="
_AT_ONCE: Final = 16
"""A commit mostly waits for the catalog and the storage; each at a time takes a thread here and one in the JVM."""


def open_session(home: Path, master: str | None, extra: Mapping[str, str]) -> SparkSession:
    """Start a Spark session of our own, or return the one that runs.

    Args:
        home: where the embedded catalog lives.
        master: Spark's master URL; when None, what Spark was given by others, else all local cores.
        extra: the user's `spark.*` settings, which win.

    Raises:
        SparkConnectRefused: Spark is configured to make a Spark Connect session.
    """
    home.mkdir(parents=True, exist_ok=True)
    theirs = {**spark_defaults.settings(), **extra, **({"spark.master": master} if master else {})}
    if spark_defaults.means_connect(theirs):
        raise SparkConnectRefused
    remember(theirs)
    ours = {
        "spark.jars.packages": PACKAGES,
        "spark.sql.extensions": _EXTENSIONS,
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.memory": "1g",
        JVM_OPTIONS: f"{COMPILER} {class_archive.using(class_archive.archive(PACKAGES))}".strip(),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.scheduler.mode": "FAIR",
        # Through TCP, Spark and its Python workers wait for each other's delayed acknowledgements, 40 ms a job.
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.master": "local[*]",
        "spark.app.name": "frazil",
        **({} if CATALOGS + EMBEDDED in theirs else embedded_catalog(home)),
        **local_workers.preloading(theirs),
    }
    if theirs.get("spark.master", "local").startswith("local"):
        # Spark's own servers listen where this says; the default is every interface, which a cluster needs.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    hidden = {_REDACTION: redaction(theirs.get(_REDACTION))}
    launching.launch({**ours, **theirs, **hidden})
    builder = SparkSession.builder
    # What Spark was given elsewhere its JVM knows.
    for key, value in [
        *((key, value) for key, value in ours.items() if key not in theirs),
        *extra.items(),
        *hidden.items(),
    ]:
        builder = builder.config(key, value)
    if master:
        builder = builder.master(master)
    session = builder.getOrCreate()
    context = session.sparkContext
    context.setLogLevel("ERROR")
    if local_workers.are_ours(context.getConf().get):
        context.pythonExec = sys.executable
    write_no_checksum_files(session._jvm, context._jsc.hadoopConfiguration())  # noqa: SLF001 (no public way there)
    # Spark takes the jars of `spark.jars.packages` for Python packages as well, and has each task look into them.
    context._python_includes[:] = [name for name in context._python_includes if not name.endswith(".jar")]  # noqa: SLF001
    return session


def redaction(theirs: str | None) -> str:
    """A pattern, Java's, for what Spark hides on its pages and in event logs: more than its default, and the user's.

    Spark's default shows a catalog's credential and a SAS token.
    """
    return f"(?i:{HIDDEN}|{IN_VALUES})" + (f"|(?:{theirs})" if theirs else "")


def require_usable(session: SparkSession) -> None:
    """Refuse a session that frazil cannot commit through.

    Raises:
        SparkConnectRefused: the session has no JVM in reach.
        SparkVersionRefused: the JVM is another Spark than the one pyspark belongs to.
        SparkEnded: the JVM is gone.
    """
    if not hasattr(session, "_jsparkSession"):
        raise SparkConnectRefused
    if not answers(session):
        raise SparkEnded
    ours = pyspark.__version__
    if _release(session.version) != _release(ours):
        raise SparkVersionRefused(session.version, ours)


def _release(version: str) -> list[str]:
    return version.split(".")[:2]


def answers(session: SparkSession) -> bool:
    """Whether the session's JVM still lives."""
    try:
        session._jvm.java.lang.System.nanoTime()  # noqa: SLF001 (pyspark has no public way to its JVM)
    except (Py4JError, OSError):
        return False
    return True


def stop_session(session: SparkSession) -> None:
    """Stop a session whose JVM may have died before, or dies meanwhile."""
    with suppress(Py4JError, OSError):
        session.stop()


def choose_catalog(
    session: SparkSession, asked: str | None, database: str | None, configured: Mapping[str, str]
) -> str:
    """Which Spark catalog holds the tables; see `frazil.tables.jvm.catalog_choice.chosen`."""
    return chosen(_catalogs(session), asked, database, configured)


def iceberg_catalog(session: SparkSession, name: str, home: Path) -> Any:
    """Iceberg's Java Catalog behind a Spark catalog; the embedded one is added to a session that lacks it.

    Raises:
        IcebergRuntimeUnfit: the session has no Iceberg, or one for another Spark.
        CatalogNotIceberg: there is no such catalog, or it is not Iceberg's.
        CatalogUnavailable: it does not answer.
    """
    _require_iceberg(session)
    if name == EMBEDDED and EMBEDDED not in _catalogs(session):
        home.mkdir(parents=True, exist_ok=True)
        for key, value in embedded_catalog(home).items():
            session.conf.set(key, value)
    # Spark looks configuration up in the session of the calling thread, and this may be a new one.
    session._jvm.SparkSession.setActiveSession(session._jsparkSession)  # noqa: SLF001
    try:
        found = session._jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergCatalog(session._jsparkSession, name)  # noqa: SLF001
    except java_errors() as error:
        if is_outage(error):
            raise CatalogUnavailable(f"open the catalog {name}", java_message(error)) from error
        if is_misfit(error):
            raise _unfit(session, f"has an Iceberg runtime that does not fit it ({java_message(error)})") from error
        raise CatalogNotIceberg(name, java_message(error)) from error
    return _uncached(found)


def _require_iceberg(session: SparkSession) -> None:
    # What py4j does not find among the classes it takes for a package.
    if isinstance(session._jvm.org.apache.iceberg.spark.Spark3Util, JavaPackage):  # noqa: SLF001
        raise _unfit(session, "has no Iceberg runtime on its class path")


def _unfit(session: SparkSession, found: str) -> IcebergRuntimeUnfit:
    scala = session._jvm.scala.util.Properties.versionNumberString()  # noqa: SLF001
    return IcebergRuntimeUnfit(f"(Spark {session.version}, Scala {scala}) {found}", PACKAGES.partition(",")[0])


def tables_at_once(session: SparkSession, catalog: str) -> int:
    """How many tables of a catalog may be committed to at a time: one in SQLite unless its writers wait for another."""
    uri = session.conf.get(f"{CATALOGS}{catalog}.uri", "") or ""
    return 1 if uri.startswith(_SQLITE) and _WAITS not in uri else _AT_ONCE


def _uncached(catalog: Any) -> Any:
    """The catalog behind Iceberg's cache, which answers with tables as they were and knows no namespaces."""
    if catalog.getClass().getSimpleName() != "CachingCatalog":
        return catalog
    field = catalog.getClass().getDeclaredField("catalog")
    field.setAccessible(True)
    return field.get(catalog)


def _catalogs(session: SparkSession) -> set[str]:
    return catalogs(session.conf.getAll)
