"""The Spark session a connector runs in, and which of its catalogs holds the tables."""

from __future__ import annotations

import os
from collections.abc import Mapping
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
from frazil.tables import classes, given
from frazil.tables.jvm import JAVA_ERRORS, java_message
from frazil.tables.reaching import is_misfit, is_outage

EMBEDDED: Final = "frazil"
"""The catalog used when the user configured none: Iceberg's JDBC catalog on a SQLite file."""

DEFAULT_NAMESPACE: Final = "public"
PACKAGES: Final = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0,org.xerial:sqlite-jdbc:3.50.3.0"
JVM_OPTIONS: Final = "spark.driver.extraJavaOptions"
COMPILER: Final = "-XX:TieredStopAtLevel=1"
"""This JVM schedules and commits; the work is in Python and DuckDB. The quick compiler starts seconds sooner and leaves
the cores to the tasks."""

_EXTENSIONS: Final = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
_SPARK_CATALOG: Final = "org.apache.iceberg.spark.SparkCatalog"
_PREFIX: Final = "spark.sql.catalog."
_ONE_WRITER: Final = "jdbc:sqlite:"
_AT_ONCE: Final = 16
"""A commit mostly waits for the catalog and the storage; each at a time takes a thread here and one in the JVM."""


def embedded_catalog(home: Path) -> dict[str, str]:
    """The Spark configuration of the embedded catalog below `home`."""
    root = home.resolve()
    catalog = _PREFIX + EMBEDDED
    return {
        catalog: _SPARK_CATALOG,
        f"{catalog}.type": "jdbc",
        # Readers and rival writers in other processes wait for the lock instead of failing at once.
        f"{catalog}.uri": f"jdbc:sqlite:{root / 'catalog.db'}?journal_mode=WAL&busy_timeout=20000",
        f"{catalog}.warehouse": f"file://{root / 'warehouse'}",
        f"{catalog}.jdbc.schema-version": "V1",
        # Another process may commit at any time: a cached table would answer with what was.
        f"{catalog}.cache-enabled": "false",
    }


def open_session(home: Path, master: str | None, extra: Mapping[str, str]) -> SparkSession:
    """Start a Spark session of our own, or return the one that runs.

    Args:
        home: where the embedded catalog lives.
        master: Spark's master URL; when None, what Spark was given by others, else all local cores.
        extra: the user's `spark.*` settings, which win.

    Raises:
        SparkConnectRefused: Spark was told to make a Spark Connect session.
    """
    home.mkdir(parents=True, exist_ok=True)
    theirs = {**given.settings(), **extra, **({"spark.master": master} if master else {})}
    if given.means_connect(theirs):
        raise SparkConnectRefused
    ours = {
        "spark.jars.packages": PACKAGES,
        "spark.sql.extensions": _EXTENSIONS,
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.memory": "1g",
        JVM_OPTIONS: f"{COMPILER} {classes.using(classes.archive(PACKAGES))}".strip(),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.scheduler.mode": "FAIR",
        # Through TCP, Spark and its Python workers wait for each other's delayed acknowledgements, 40 ms a job.
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.master": "local[*]",
        "spark.app.name": "frazil",
        **({} if _PREFIX + EMBEDDED in theirs else embedded_catalog(home)),
    }
    if theirs.get("spark.master", "local").startswith("local"):
        # Spark's own servers listen where this says; the default is every interface, which a cluster needs.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder
    # What Spark was given elsewhere it knows; told again it would stand on the JVM's command line, secrets and all.
    for key, value in [*((key, value) for key, value in ours.items() if key not in theirs), *extra.items()]:
        builder = builder.config(key, value)
    if master:
        builder = builder.master(master)
    session = builder.getOrCreate()
    context = session.sparkContext
    context.setLogLevel("ERROR")
    _write_no_checksum_files(session)
    # Spark takes the jars of `spark.jars.packages` for Python packages as well, and has each task look into them.
    context._python_includes[:] = [name for name in context._python_includes if not name.endswith(".jar")]  # noqa: SLF001
    return session


def _write_no_checksum_files(session: SparkSession) -> None:
    """Have Hadoop write local files, such as the embedded catalog's metadata, without a checksum file beside each.

    It starts a `chmod` process for every file it writes: six of them in a commit, and three without checksums.
    """
    local = session._jvm.org.apache.hadoop.fs.FileSystem.getLocal(session.sparkContext._jsc.hadoopConfiguration())  # noqa: SLF001
    local.setWriteChecksum(False)


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


def choose_catalog(
    session: SparkSession, asked: str | None, database: str | None, configured: Mapping[str, str]
) -> str:
    """Which Spark catalog holds the tables.

    `frazil.catalog` if set; else the catalog named like `snowflake.database.name` if there is one; else the only
    Iceberg catalog among the settings the user gave; else the embedded one.
    """
    known = _catalogs(session)
    if asked:
        return _existing(known, asked) or asked
    if database and (named := _existing(known, database)):
        return named
    theirs = {
        key.removeprefix(_PREFIX)
        for key in configured
        if key.startswith(_PREFIX) and "." not in key.removeprefix(_PREFIX)
    }
    return theirs.pop() if len(theirs) == 1 else EMBEDDED


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
    except JAVA_ERRORS as error:
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
    """How many tables of a catalog may be committed to at a time: SQLite has one writer, all others have many."""
    uri = session.conf.get(f"{_PREFIX}{catalog}.uri", "") or ""
    return 1 if uri.startswith(_ONE_WRITER) else _AT_ONCE


def _uncached(catalog: Any) -> Any:
    """The catalog behind Iceberg's cache, which answers with tables as they were and knows no namespaces."""
    if catalog.getClass().getSimpleName() != "CachingCatalog":
        return catalog
    field = catalog.getClass().getDeclaredField("catalog")
    field.setAccessible(True)
    return field.get(catalog)


def _catalogs(session: SparkSession) -> set[str]:
    keys = (key.removeprefix(_PREFIX) for key in session.conf.getAll if key.startswith(_PREFIX))
    return {key for key in keys if "." not in key}


def _existing(known: set[str], name: str) -> str | None:
    return name if name in known else next((each for each in sorted(known) if each.lower() == name.lower()), None)
