"""What Spark was given before frazil comes: by spark-submit, by `spark-defaults.conf`, by environment variables."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from frazil.tables.jvm.spark_home import configuration_directory

SUBMIT_ARGUMENTS: Final = "PYSPARK_SUBMIT_ARGS"
"""The variable with arguments for the spark-submit that pyspark runs."""


@dataclass(slots=True)
class Submitted:
    """The arguments of `PYSPARK_SUBMIT_ARGS`."""

    settings: dict[str, str] = field(default_factory=dict)
    """What `--conf` says."""

    file: str | None = None
    """What is to be read instead of `spark-defaults.conf`."""

    defaults_too: bool = False
    """Whether that is to be read as well."""

    others: list[str] = field(default_factory=list)
    """All that is no setting."""


def settings() -> dict[str, str]:
    """The `spark.*` settings that are there already; they win over frazil's own defaults."""
    if is_submitted():
        from pyspark import SparkConf, SparkContext

        # spark-submit started the JVM that started us, and gave it all of its options.
        SparkContext._ensure_initialized()  # noqa: SLF001 (pyspark has no public way to its JVM)
        return dict(SparkConf().getAll())
    submission = submitted()
    theirs = _of_file(Path(submission.file)) if submission.file else {}
    defaults = _defaults() if submission.defaults_too or not submission.file else {}
    return {**defaults, **theirs, **submission.settings}


def is_submitted() -> bool:
    """Whether spark-submit started us, after its JVM."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def submitted() -> Submitted:
    """The arguments for spark-submit that are in the environment, as spark-submit understands them."""
    found = Submitted()
    words = iter(shlex.split(os.environ.get(SUBMIT_ARGUMENTS, "pyspark-shell")))
    for word in words:
        option, joined, value = word.partition("=")
        if option in ("--conf", "-c", "--properties-file") and not joined:
            value = next(words, "")
        match option, value.partition("="):
            case "--conf" | "-c", [key, "=", text]:
                found.settings[key] = text
            case "--conf" | "-c", _:
                found.others += [option, value]  # which spark-submit refuses
            case "--properties-file", _:
                found.file = value
            case "--load-spark-defaults", _:
                found.defaults_too = True
            case _:
                found.others.append(word)
    return found


def means_connect(settings: Mapping[str, str]) -> bool:
    """Whether Spark would make a Spark Connect session, which has no JVM in reach."""
    mode = settings.get("spark.api.mode") or os.environ.get("SPARK_API_MODE", "")
    asked = {"SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED"} & os.environ.keys()
    return bool(asked) or "spark.remote" in settings or mode.lower() == "connect"


def _defaults() -> dict[str, str]:
    file = configuration_directory() / "spark-defaults.conf"
    return _of_file(file) if file.exists() else {}


def _of_file(file: Path) -> dict[str, str]:
    # Commands read no such file most of the time, and this takes a third of a second.
    from frazil.config import properties

    return dict(properties.java_pairs(properties.decode(file.read_bytes())))
