"""What commands need once per Java, Spark and set of packages: the jars, and an archive of the classes in them."""

from __future__ import annotations

import os
import subprocess
import tempfile
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import structlog
from py4j.protocol import Py4JError

from frazil.errors import FrazilError
from frazil.model import Conversion, TableName
from frazil.tables.defaults import DEFAULT_NAMESPACE, EMBEDDED, embedded_catalog
from frazil.tables.iceberg.catalog import Catalog
from frazil.tables.iceberg.syncing import syncing_by
from frazil.tables.jvm import class_archive
from frazil.tables.jvm.catalog_settings import catalog_definition
from frazil.tables.jvm.class_path import ClassPath, class_path
from frazil.tables.jvm.jars import Packages
from frazil.tables.jvm.plain_jvm import PlainJvm, jvm_options
from frazil.tables.jvm.resolving import resolved
from frazil.tables.jvm.sessionless import open_catalog

_WITHIN: Final = 120.0
"""Seconds a JVM may take to write an archive."""

_log = structlog.get_logger(__name__)


def prepare(settings: Mapping[str, str], log: Path) -> ClassPath:
    """The class path that settings ask for, with all that can be made once.

    Raises:
        NeedsSpark: only Spark can.
        ProgramMissing: there is no Java.
    """
    packages = Packages(settings)
    jars = packages.jars()
    path = class_path(settings, jars if jars is not None else resolved(packages, log))
    if not path.is_prepared:
        _archive(path, log)
    return path


def _archive(path: ClassPath, log: Path) -> None:
    """Write the archive; where that cannot be done it is said once, and the JVM starts without."""
    draft = path.archive.with_suffix(f".{uuid.uuid4().hex}")
    try:
        draft.parent.mkdir(parents=True, exist_ok=True)
        _rehearse(path, draft, log)
        _require_use(path, draft, log)
        draft.replace(path.archive)
    except (OSError, FrazilError, subprocess.SubprocessError, Py4JError) as error:
        _log.warning("commands start without an archive of classes: it cannot be made", cause=str(error))
        if draft.parent.is_dir() and os.access(draft.parent, os.W_OK):
            path.given_up.touch()
    finally:
        draft.unlink(missing_ok=True)


def _rehearse(path: ClassPath, draft: Path, log: Path) -> None:
    """Do in a JVM what commands do; when it ends, it writes down the classes it loaded."""
    jvm = PlainJvm(path.jars, jvm_options({}, class_archive.making(draft)), log)
    try:
        with tempfile.TemporaryDirectory(prefix="frazil-archive-") as home:
            definition = catalog_definition(embedded_catalog(Path(home)), {}, EMBEDDED)
            java, configuration = open_catalog(jvm.gateway, definition)
            sync_below = syncing_by(jvm.gateway, configuration, definition.warehouse)
            catalog = Catalog(java, jvm.gateway, EMBEDDED, sync_below=sync_below)
            table = catalog.open(TableName((DEFAULT_NAMESPACE,), "T"), {}, Conversion())
            swap = table.begin()
            swap.build((), "frazil.rehearsal", "{}", {})
            swap.swap()
            for name in catalog.list_tables((DEFAULT_NAMESPACE,)):
                current = catalog.table(name).state().current
                if current is not None:
                    current.summary("frazil.rehearsal")
        jvm.finish(_WITHIN)
    finally:
        jvm.end()


def _require_use(path: ClassPath, draft: Path, log: Path) -> None:
    """See that a JVM starts with the archive; it ends at once where it cannot use it."""
    jvm = PlainJvm(path.jars, jvm_options({}, f"-Xshare:on {class_archive.using(draft)}"), log)
    try:
        _ = jvm.gateway
    finally:
        jvm.end()
