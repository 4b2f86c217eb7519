"""What Spark was told before frazil comes: by spark-submit, by `spark-defaults.conf`, by environment variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.find_spark_home import _find_spark_home

from frazil.config import properties


def settings() -> dict[str, str]:
    """The `spark.*` settings that are there already; they win over frazil's own defaults."""
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        # spark-submit started the JVM that started us, and told it all of its options.
        SparkContext._ensure_initialized()  # noqa: SLF001 (pyspark has no public way to its JVM)
        return dict(SparkConf().getAll())
    directory = os.environ.get("SPARK_CONF_DIR") or Path(_find_spark_home(), "conf")
    file = Path(directory, "spark-defaults.conf")
    return dict(properties.java_pairs(properties.decode(file.read_bytes()))) if file.exists() else {}


def means_connect(settings: Mapping[str, str]) -> bool:
    """Whether Spark would make a Spark Connect session, which has no JVM in reach."""
    mode = settings.get("spark.api.mode") or os.environ.get("SPARK_API_MODE", "")
    asked = {"SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED"} & os.environ.keys()
    return bool(asked) or "spark.remote" in settings or mode.lower() == "connect"
