"""A catalog opened without Spark, from the settings that Spark would have."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from frazil.tables.defaults import CATALOGS, EMBEDDED, embedded_catalog
from frazil.tables.jvm import class_archive, spark_defaults
from frazil.tables.jvm.asked import Asked
from frazil.tables.jvm.catalog_choice import catalogs, chosen
from frazil.tables.jvm.catalog_settings import NeedsSpark, catalog_definition
from frazil.tables.jvm.class_path import ClassPath, class_path
from frazil.tables.jvm.jars import Packages

if TYPE_CHECKING:
    from frazil.tables.iceberg.catalog import Catalog
    from frazil.tables.jvm.sessionless import Sessionless


def begin(wanted: Asked) -> Sessionless | None:
    """A catalog that is being opened; None where that is to be prepared first.

    Raises:
        NeedsSpark: only a session can open it.
        CatalogNotIceberg: there is no such catalog.
        ProgramMissing: there is no Java.
    """
    settings = _settings(wanted)
    jars = Packages(settings).jars()
    path = class_path(settings, jars) if jars is not None else None
    return _start(wanted, settings, path) if path and path.is_prepared else None


def begin_prepared(wanted: Asked) -> Sessionless:
    """A catalog that is being opened, after all is made that can be made once.

    Raises:
        NeedsSpark: only a session can open it.
        CatalogNotIceberg: there is no such catalog.
        ProgramMissing: there is no Java.
    """
    from frazil.tables.jvm.preparing import prepare

    settings = _settings(wanted)
    return _start(wanted, settings, prepare(settings, _log_of(wanted)))


def opened(opening: Sessionless, *, to_write: bool) -> Catalog:
    """The catalog, once it is open.

    Args:
        opening: what `begin` gave.
        to_write: whether tables are to be committed to, so that what is written to local disks has to be synced.

    Raises:
        NeedsSpark: only a session can open it.
        CatalogUnavailable: it does not answer.
        CatalogNotIceberg: Iceberg does not take what is configured.
        ProgramMissing: the JVM did not start; the message names the log.
    """
    java, gateway = opening.catalog, opening.gateway
    from frazil.tables.iceberg.catalog import Catalog

    if not to_write:
        return Catalog(java, gateway, opening.definition.name)
    from frazil.tables.iceberg.syncing import syncing_by

    sync_below = syncing_by(gateway, opening.configuration, opening.definition.warehouse)
    return Catalog(java, gateway, opening.definition.name, sync_below=sync_below)


def _settings(wanted: Asked) -> dict[str, str]:
    """What Spark would be given.

    Raises:
        NeedsSpark: it is given something else than a plain session.
    """
    if spark_defaults.is_submitted():
        raise NeedsSpark("spark-submit has started its JVM")
    others = [each for each in spark_defaults.submitted().others if each != "pyspark-shell"]
    if others:
        raise NeedsSpark(f"{spark_defaults.SUBMIT_ARGUMENTS} has more than settings: {others[0].partition('=')[0]}")
    # Spark trims what it reads from files.
    theirs = {**{key: text.strip() for key, text in spark_defaults.settings().items()}, **wanted.spark}
    if spark_defaults.means_connect(theirs):
        raise NeedsSpark("Spark is configured to make a Spark Connect session")
    return {**({} if CATALOGS + EMBEDDED in theirs else embedded_catalog(wanted.home)), **theirs}


def _start(wanted: Asked, settings: Mapping[str, str], path: ClassPath) -> Sessionless:
    name = chosen(catalogs(settings), wanted.catalog, wanted.database, wanted.spark)
    definition = catalog_definition(settings, os.environ, name)
    from frazil.tables.jvm.plain_jvm import PlainJvm, jvm_options

    jvm = PlainJvm(path.entries, jvm_options(settings, class_archive.using(path.archive)), _log_of(wanted))
    # This takes a third of a second, in which the JVM starts.
    from frazil.tables.jvm.sessionless import Sessionless

    return Sessionless(definition, jvm)


def _log_of(wanted: Asked) -> Path:
    return wanted.home / "logs" / "java.log"
