"""The Spark session a connector runs in, and which of its catalogs holds the tables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from frazil.errors import CatalogNotIceberg, CatalogUnavailable, SparkConnectRefused
from frazil.tables import classes
from frazil.tables.jvm import JAVA_ERRORS, java_message
from frazil.tables.reaching import is_outage

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
        master: Spark's master URL; all local cores when None.
        extra: the user's `spark.*` settings, which win.
    """
    home.mkdir(parents=True, exist_ok=True)
    # Spark's own servers listen where this says; the default is every interface.
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings = {
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
        **embedded_catalog(home),
        **extra,
    }
    builder = SparkSession.builder.appName("frazil")
    for key, value in settings.items():
        builder = builder.config(key, value)
    if master or "spark.master" not in extra:
        builder = builder.master(master or "local[*]")
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


def require_classic(session: SparkSession) -> None:
    """Refuse a Spark Connect session.

    Raises:
        SparkConnectRefused: the session has no JVM in reach.
    """
    if not hasattr(session, "_jsparkSession"):
        raise SparkConnectRefused


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
        CatalogNotIceberg: there is no such catalog, or it is not Iceberg's.
        CatalogUnavailable: it does not answer.
    """
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
        raise CatalogNotIceberg(name, java_message(error)) from error
    return _uncached(found)


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
