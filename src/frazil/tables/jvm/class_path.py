"""The class path of a JVM without Spark, which is that of Spark's driver."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from frazil.tables.jvm import class_archive
from frazil.tables.jvm.catalog_settings import NeedsSpark, local_jars
from frazil.tables.jvm.spark_home import configuration_directory, spark_home


@dataclass(frozen=True, slots=True)
class ClassPath:
    """Where a JVM finds its classes."""

    jars: tuple[str, ...]
    """Spark's own, and those that the settings ask for."""

    before: tuple[str, ...]
    """What the user put before them."""

    after: tuple[str, ...]
    """Directories with files that configure Hadoop."""

    @property
    def entries(self) -> tuple[str, ...]:
        """All of it, in its order."""
        return (*self.before, *self.jars, *self.after)

    @property
    def archive(self) -> Path:
        """Where the archive of classes is, or would be, for these jars."""
        return class_archive.archive(f"commands {os.pathsep.join(self.jars)}")

    @property
    def given_up(self) -> Path:
        """Exists where no archive can be made."""
        return self.archive.with_suffix(".none")

    @property
    def is_prepared(self) -> bool:
        """Whether the archive is there, or cannot be made."""
        return self.archive.exists() or self.given_up.exists()


def class_path(settings: Mapping[str, str], packages: Sequence[str]) -> ClassPath:
    """The class path that settings ask for.

    Args:
        settings: Spark's.
        packages: the jars of `spark.jars.packages`.

    Raises:
        NeedsSpark: only spark-submit makes it.
    """
    configuration = configuration_directory()
    if (configuration / "spark-env.sh").exists():
        raise NeedsSpark(f"{configuration / 'spark-env.sh'} sets what only spark-submit reads")
    directories = [str(configuration), *(os.environ.get(name, "") for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR"))]
    extra = settings.get("spark.driver.extraClassPath", "").split(os.pathsep)
    return ClassPath(
        jars=(f"{spark_home()}/jars/*", *packages, *local_jars(settings)),
        before=tuple(each for each in extra if each),
        after=(
            *(each for each in directories if each and Path(each).is_dir()),
            *(each for each in os.environ.get("SPARK_DIST_CLASSPATH", "").split(os.pathsep) if each),
        ),
    )
