"""Resolve packages as Spark does, with the Ivy that ships in it, and without a session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from frazil.tables.iceberg.java import java_errors, java_message, java_type
from frazil.tables.jvm.catalog_settings import NeedsSpark
from frazil.tables.jvm.jars import Packages
from frazil.tables.jvm.plain_jvm import PlainJvm
from frazil.tables.jvm.spark_home import spark_home


def resolved(packages: Packages, log: Path) -> tuple[str, ...]:
    """The jars of packages; those that are not there are fetched.

    Args:
        packages: the packages.
        log: where Ivy says what it does.

    Raises:
        NeedsSpark: they cannot be resolved; Spark says why, as it always did.
        ProgramMissing: there is no Java.
    """
    jvm = PlainJvm([f"{spark_home()}/jars/*"], (), log)
    try:
        found = _asked(jvm.gateway, packages)
        jars = tuple(str(found.apply(index)) for index in range(found.size()))
    except java_errors() as error:
        raise NeedsSpark(f"the jars cannot be resolved ({java_message(error)})") from error
    finally:
        jvm.end()
    packages.keep(jars)
    return jars


def _asked(gateway: Any, packages: Packages) -> Any:
    options = packages.options
    settings = java_type(gateway.jvm, "scala.Option").apply(options["ivySettings"])
    return java_type(gateway.jvm, "org.apache.spark.util.DependencyUtils").resolveMavenDependencies(
        True,  # and what they depend on
        options["excludes"],
        packages.coordinates,
        options["repositories"],
        options["ivy"],
        settings,
    )
