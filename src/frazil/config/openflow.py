"""The parameters of Openflow's connector for Kinesis, both generations of it, become keys of ours.

Those of its processor ConsumeKinesis are known as well. Problems and notices are told by the parameters' names.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from frazil.config import kinesis, providers, streams, values
from frazil.config.entries import Entry
from frazil.errors import Problem
from frazil.secrets import shown

_MAP: Final = "snowflake.topic2table.map"
_CONTRACT: Final = "frazil.schema.contract"

TABLE: Final = "Snowflake Destination Table"
EVOLUTION: Final = "Schema Evolution Enabled"
NEW_TABLES: Final = "Schema Evolution For New Tables Enabled"
OUTPUT: Final = "Output Strategy"
WRAPPER: Final = "USE_WRAPPER"

FROZEN: Final = "columns=discard,types=freeze"
"""The contract of a connector that is not to change tables, as Openflow has it: unknown keys are left out."""

RENAMED: Final[Mapping[str, str]] = {
    "AWS Access Key ID": kinesis.ACCESS_KEY,
    "AWS Secret Access Key": kinesis.SECRET_KEY,
    "AWS Kinesis Region": kinesis.REGION,
    "AWS Kinesis Stream Name": kinesis.STREAMS,
    "AWS Kinesis Application Name": kinesis.APPLICATION,
    "AWS Kinesis Consumer Type": kinesis.CONSUMER,
    "AWS Kinesis Initial Stream Position": kinesis.POSITION,
    "Snowflake Destination Database": "snowflake.database.name",
    "Snowflake Destination Schema": "snowflake.schema.name",
    "Region": kinesis.REGION,
    "Stream Name": kinesis.STREAMS,
    "Application Name": kinesis.APPLICATION,
    "Consumer Type": kinesis.CONSUMER,
    "Initial Stream Position": kinesis.POSITION,
    "Stream Position Timestamp": kinesis.TIMESTAMP,
    "Max Records Per Request": kinesis.MAX_RECORDS,
    "Endpoint Override URL": kinesis.ENDPOINT,
}
"""The keys that mean the same."""

DECIDING: Final[Mapping[str, str]] = {
    TABLE: f"the table of the stream, case sensitive as it is written: `{_MAP}`",
    EVOLUTION: f"`true` is the default; `false` is `{_CONTRACT}={FROZEN}`",
    NEW_TABLES: f"`false` is taken with `{EVOLUTION}` `false` only: one `{_CONTRACT}` holds for all tables",
    OUTPUT: f"`{WRAPPER}` is refused; otherwise no effect: metadata is a column of its own",
}
"""What is read here and becomes other keys, with what it means."""

NOT_NEEDED: Final = (
    "Snowflake Account Identifier",
    "Snowflake Authentication Strategy",
    "Snowflake Private Key",
    "Snowflake Private Key File",
    "Snowflake Private Key Password",
    "Snowflake Role",
    "Snowflake Username",
)
"""Of a Snowflake account, which takes no part."""

_PACE = "frazil.commit.interval.ms says when rows are committed"
_GROUPED = "each record of a stream is a row; how they would be grouped in FlowFiles changes nothing"
_SERVICE = "it is a service of NiFi's, which takes no part"

NO_EFFECT: Final[Mapping[str, str]] = {
    "AWS Credentials Provider Service": f"{_SERVICE}; credentials come from AWS's usual chain, or from keys here",
    "Client Lag": _PACE,
    "File Fragment Count": "it tunes the client of Snowflake, which takes no part",
    "File Fragment Size": "it tunes the client of Snowflake, which takes no part",
    "Iceberg Enabled": "tables are always Iceberg tables",
    "Max Batch Duration": _PACE,
    "Max Batch Size": "frazil.cycle.max.bytes says how much is read at once",
    "Max Uncommitted Time": _PACE,
    "Message Demarcator": _GROUPED,
    "Metrics Publishing": "`frazil channels` shows counters and lag",
    "Processing Strategy": _GROUPED,
    "Proxy Configuration Service": f"{_SERVICE}; AWS's client reads HTTPS_PROXY of the environment",
    "Record Reader": f"{_SERVICE}; value.converter says how values are read",
    "Record Writer": f"{_SERVICE}; tables have columns",
}
"""Those that change nothing about what lands, with the reason."""

_FLAGS: Final = ("Iceberg Enabled", EVOLUTION, NEW_TABLES)
_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "Metrics Publishing": ("DISABLED", "LOGS", "CLOUDWATCH"),
    "Snowflake Authentication Strategy": ("SNOWFLAKE_MANAGED_TOKEN", "SNOWFLAKE_SESSION_TOKEN", "KEY_PAIR"),
    "Processing Strategy": ("FLOW_FILE", "LINE_DELIMITED", "RECORD", "DEMARCATOR"),
    OUTPUT: ("USE_VALUE", WRAPPER, "INJECT_METADATA"),
    **dict.fromkeys(_FLAGS, ("true", "false")),
}
"""The values that some of them take, in any case."""

PARAMETERS: Final = frozenset((*RENAMED, *DECIDING, *NOT_NEEDED, *NO_EFFECT))

_KEY_IN_TEXT = re.compile(r"[a-z0-9]+(?:\.[a-z0-9]+)+|\bname(?==)")


@dataclass(slots=True)
class Translated:
    """A connector's keys without parameters of Openflow's."""

    connector: dict[str, str] = field(repr=False)
    overrides: dict[str, str] = field(repr=False)
    names: dict[str, str] = field(default_factory=dict)
    """What keys are called in messages, where that is not their own name."""

    not_needed: list[str] = field(default_factory=list)
    no_effect: list[tuple[str, str]] = field(default_factory=list)
    """Parameters that change nothing, each with the reason."""

    problems: list[Problem] = field(default_factory=list)

    def retold(self, problem: Problem) -> Problem:
        """A problem by the names that the connector's file has."""
        text = _KEY_IN_TEXT.sub(lambda key: self.names.get(key[0], key[0]), problem.text)
        return Problem(self.names.get(problem.key, problem.key), text)


def translate(connector: Mapping[str, str], overrides: Mapping[str, str], worker: Mapping[str, str]) -> Translated:
    """What a connector's keys are in our terms; they are left alone where no parameter of Openflow's is among them.

    Args:
        connector: of its file.
        overrides: of the command line.
        worker: of the worker's file, which knows no such parameters.
    """
    given = {**connector, **overrides}
    found = Translated({**connector}, {**overrides})
    if PARAMETERS.isdisjoint(given) or given.get("connector.class", kinesis.CLASS).strip() != kinesis.CLASS:
        return found
    found.connector.setdefault("connector.class", kinesis.CLASS)
    given = {key: value for key, value in given.items() if value.strip() or key not in PARAMETERS}
    for layer in (found.connector, found.overrides):
        found.problems += _rename(layer)
    found.problems += _unknown(given)
    found.problems += _unfit(given)
    found.not_needed += [key for key in given if key in NOT_NEEDED]
    found.no_effect += [(key, NO_EFFECT[key]) for key in given if key in NO_EFFECT]
    own = {**worker, **found.connector, **found.overrides}
    _decide_table(found, given, own)
    _decide_evolution(found, given, own)
    _decide_output(found, given)
    found.names |= _names(given, {*connector, *overrides})
    return found


def _rename(layer: dict[str, str]) -> Iterator[Problem]:
    """Put keys in the place of parameters; those that are decided about later, or are unknown, go."""
    by_key: dict[str, str] = {}
    for name in [each for each in layer if each in PARAMETERS or " " in each]:
        value = layer.pop(name)
        if name not in RENAMED or not value.strip():
            continue
        key = RENAMED[name]
        if layer.setdefault(key, value).strip() != value.strip():
            yield Problem(name, f"is given together with {by_key.get(key, key)}, and means the same. Keep one of them.")
        by_key.setdefault(key, name)


def _unknown(given: Iterable[str]) -> Iterator[Problem]:
    """Names that look like parameters and are none."""
    for key in given:
        if " " in key and key not in PARAMETERS:
            nearest = difflib.get_close_matches(key, PARAMETERS, n=1, cutoff=0.75)
            way_on = f"Did you mean {nearest[0]}?" if nearest else "Remove it."
            yield Problem(key, f"is not a parameter of Openflow's connector for Kinesis that frazil knows. {way_on}")


def _unfit(given: Mapping[str, str]) -> Iterator[Problem]:
    for key, words in _WORDS.items():
        value = given.get(key)
        if value is None or (key not in DECIDING and providers.has_placeholder(value)):
            continue
        if value.strip().lower() not in map(str.lower, words):
            yield Problem(key, f"{shown(key, value)!r} is not possible. Write {values.listed(words)}, or remove it.")


def _decide_table(found: Translated, given: Mapping[str, str], own: Mapping[str, str]) -> None:
    table = given.get(TABLE, "").strip()
    if not table:
        return
    if _MAP in own:
        found.problems.append(Problem(TABLE, f"is given together with {_MAP}. Keep one of them."))
    elif '"' in table:
        found.problems.append(Problem(TABLE, f"{table!r} holds a double quote. Choose another table."))
    else:
        entries = [str(Entry(stream, table, table_quoted=True)) for stream in _streams(own)]
        if entries:
            found.connector[_MAP] = ",".join(entries)
            found.names[_MAP] = TABLE


def _streams(own: Mapping[str, str]) -> tuple[str, ...]:
    """The names of the streams that go to the table, or their pattern."""
    text = own.get(kinesis.STREAMS, "").strip()
    if not text or providers.has_placeholder(text):
        pattern = text or own.get(kinesis.PATTERN, "").strip()
        return (pattern,) if pattern and '"' not in pattern else ()
    try:
        return streams.names(text)
    except ValueError:  # it has a problem of its own
        return ()


def _decide_evolution(found: Translated, given: Mapping[str, str], own: Mapping[str, str]) -> None:
    evolves = given.get(EVOLUTION, "true").strip().lower() != "false"
    if EVOLUTION in given and _CONTRACT in own:
        found.no_effect.append((EVOLUTION, f"{_CONTRACT} is given, and goes over it"))
    elif not evolves:
        found.connector[_CONTRACT] = FROZEN
    if NEW_TABLES in given:
        if given[NEW_TABLES].strip().lower() == "false" and evolves and _CONTRACT not in own:
            text = f"is false, and {EVOLUTION} is not: here one rule holds for all tables. Write {EVOLUTION} false, too"
            found.problems.append(Problem(NEW_TABLES, f"{text}, or {_CONTRACT}."))
        else:
            found.no_effect.append((NEW_TABLES, f"{_CONTRACT} holds for new tables as for others"))


def _decide_output(found: Translated, given: Mapping[str, str]) -> None:
    if given.get(OUTPUT, "").strip().upper() == WRAPPER:
        text = f"{WRAPPER} is refused: values land as they are, and their metadata in a column. Remove it."
        found.problems.append(Problem(OUTPUT, text))
    elif OUTPUT in given:
        found.no_effect.append((OUTPUT, "metadata is in a column of its own, however values land"))


def _names(given: Iterable[str], own: Iterable[str]) -> dict[str, str]:
    """What our keys are called in messages: as they are given; by the connector's parameter where they are missing."""
    names = {key: name for name, key in reversed([*RENAMED.items()])}
    names |= {RENAMED[name]: name for name in given if name in RENAMED}
    names["name"] = names[kinesis.APPLICATION]
    return {key: name for key, name in names.items() if key not in own or name in given}
