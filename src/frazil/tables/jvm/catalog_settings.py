"""What Spark's settings say of one Iceberg catalog, for whoever opens it without Spark: pure rules."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from frazil.tables.defaults import CATALOGS, SPARK_CATALOG


class NeedsSpark(Exception):
    """Only a Spark session does what is configured; carries the reason, a clause."""


@dataclass(frozen=True, slots=True)
class CatalogDefinition:
    """A catalog as it is configured. It may hold credentials, and is never shown."""

    name: str
    properties: Mapping[str, str]
    """Iceberg's."""

    hadoop: Mapping[str, str]
    """What Hadoop's configuration gets over its files."""

    @property
    def warehouse(self) -> str | None:
        """Where it keeps its tables, if that is said."""
        return self.properties.get("warehouse")


_ONLY_SPARK: Final = {
    "spark.kerberos.keytab": "logs in by a keytab",
    "spark.yarn.keytab": "logs in by a keytab",
    "spark.driver.extraLibraryPath": "sets the path of native libraries",
    "spark.driver.userClassPathFirst": "changes the order of the class path",
}

_OF_THE_ENVIRONMENT: Final = {
    "AWS_ACCESS_KEY_ID": "fs.s3a.access.key",
    "AWS_SECRET_ACCESS_KEY": "fs.s3a.secret.key",
    "AWS_SESSION_TOKEN": "fs.s3a.session.token",
    "AWS_ENDPOINT_URL": "fs.s3a.endpoint",
}
"""What Spark takes from the environment for Hadoop."""

_PATH: Final = re.compile(r"(?:file:)?/|[^:]*$")


def catalog_definition(settings: Mapping[str, str], environment: Mapping[str, str], name: str) -> CatalogDefinition:
    """What is configured of a catalog.

    Raises:
        NeedsSpark: it is none of Iceberg's that opens without a session.
    """
    prefix = CATALOGS + name
    for key, reason in _ONLY_SPARK.items():
        if settings.get(key, "false") != "false":
            raise NeedsSpark(f"{key} {reason}")
    kind = settings.get(prefix)
    if kind != SPARK_CATALOG:
        raise NeedsSpark(f"{prefix} is {kind}" if kind else f"there is no {prefix}")
    properties = _below(settings, f"{prefix}.")
    if not {"type", "catalog-impl"} & {key.lower() for key in properties}:
        raise NeedsSpark(f"{prefix} has no type")
    hadoop = {
        **{theirs: environment[ours] for ours, theirs in _OF_THE_ENVIRONMENT.items() if environment.get(ours)},
        **_below(settings, "spark.hadoop."),
        **{f"hive.{key}": text for key, text in _below(settings, "spark.hive.").items()},
        **_below(properties, "hadoop."),
    }
    return CatalogDefinition(name, properties, hadoop)


def local_jars(settings: Mapping[str, str]) -> list[str]:
    """The jars of `spark.jars`.

    Raises:
        NeedsSpark: some are elsewhere, and Spark would fetch them.
    """
    found = [each.strip() for each in settings.get("spark.jars", "").split(",") if each.strip()]
    for each in found:
        if not _PATH.match(each) or "*" in each:
            raise NeedsSpark("spark.jars names more than files of this machine")
    return [each.removeprefix("file://").removeprefix("file:") for each in found]


def _below(settings: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {key.removeprefix(prefix): text for key, text in settings.items() if key.startswith(prefix)}
