"""A JVM with Kafka's transforms, and a class of ours that applies them; its compiler is the one inside Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.records.smt.kafka import encoding
from tests.support.jars import fetched

from frazil.dev.jars import VERSION
from frazil.records.connect.data import Record
from frazil.tables.jvm.plain_jvm import PlainJvm
from frazil.tables.jvm.spark_home import spark_home

MODULES = ("connect-transforms", "connect-api", "connect-json", "kafka-clients")
OPTIONS = ("-Xmx256m", "-XX:+UseSerialGC", "-Duser.timezone=UTC", "-Duser.language=en", "-Duser.country=US")
SOURCE = Path(__file__).with_name("Driver.java")


class KafkasTransforms:
    """Kafka's transforms, by the names of their classes."""

    def __init__(self, driver: Any) -> None:
        self._driver = driver

    def results(self, name: str, options: Mapping[str, str], records: Sequence[Record]) -> list[dict[str, Any]] | None:
        """What becomes of each record; None if Kafka refuses the options."""
        given = {"class": name, "options": dict(options), "records": [encoding.encoded(each) for each in records]}
        return json.loads(self._driver.run(json.dumps(given))).get("results")

    def literal(self, text: str) -> dict[str, Any]:
        """What a text stands for."""
        return json.loads(self._driver.literal(text))


@contextmanager
def kafkas_transforms(log: Path) -> Iterator[KafkasTransforms]:
    """They run for the time of the block."""
    jars = [str(fetched("org.apache.kafka", module, VERSION)) for module in MODULES]
    jvm = PlainJvm([*jars, f"{spark_home()}/jars/*"], OPTIONS, log)
    try:
        compiler = jvm.gateway.jvm.org.codehaus.janino.SimpleCompiler()
        compiler.cook(SOURCE.read_text())
        yield KafkasTransforms(compiler.getClassLoader().loadClass("Driver").newInstance())
    finally:
        jvm.end()
