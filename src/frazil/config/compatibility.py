"""What Snowflake's connectors refuse, or cannot do, and frazil can: refused as well where that is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from frazil.config.converters import is_snowflakes
from frazil.config.kafka import SINK, STREAMING
from frazil.errors import Problem

STRICT: Final = "frazil.compatibility.strict"
_ROUTER: Final = "RegexRouter"


def problems(given: Mapping[str, str]) -> Iterator[Problem]:
    """What the originals would refuse, if `frazil.compatibility.strict` is true."""
    if given.get(STRICT, "").lower() != "true":
        return
    connector = given.get("connector.class")
    streams = connector == STREAMING or given.get("snowflake.ingestion.method", "").upper() == "SNOWPIPE_STREAMING"
    for group in ("key.converter", "value.converter"):
        converter = given.get(group, "")
        if not is_snowflakes(converter):
            continue
        name = converter.rpartition(".")[2]
        if streams:
            yield Problem(
                group,
                f"{name} does not go together with streaming in {STRICT} mode. Write JsonConverter or AvroConverter.",
            )
        if "transforms" in given:
            yield Problem(
                "transforms",
                f"do not go together with {name} in {STRICT} mode. Remove them, or have another converter.",
            )
    if connector == SINK:
        for name in given.get("transforms", "").split(","):
            kind = given.get(f"transforms.{name.strip()}.type", "")
            if kind.rpartition(".")[2] == _ROUTER:
                yield Problem(
                    f"transforms.{name.strip()}.type",
                    f"{_ROUTER} does not go together with the classic connector in {STRICT} mode. Write "
                    "snowflake.topic2table.map.",
                )
