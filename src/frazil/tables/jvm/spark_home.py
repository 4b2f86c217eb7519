"""Where Spark and Java are, without the quarter of a second that importing pyspark takes."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path


def spark_home() -> Path:
    """The Spark that pyspark would start: `SPARK_HOME`, else the one inside pyspark."""
    configured = os.environ.get("SPARK_HOME")
    if configured:
        return Path(configured)
    found = importlib.util.find_spec("pyspark")
    places = found.submodule_search_locations if found else None
    home = Path(places[0]) if places else Path()
    if (home / "jars").is_dir():
        return home
    from pyspark.find_spark_home import _find_spark_home

    return Path(_find_spark_home())


def configuration_directory() -> Path:
    """Where Spark looks for `spark-defaults.conf` and what else configures it."""
    return Path(os.environ.get("SPARK_CONF_DIR") or spark_home() / "conf")


def java() -> str:
    """The Java that Spark would start."""
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home, "bin", "java")) if home else shutil.which("java")
    return found or "java"
