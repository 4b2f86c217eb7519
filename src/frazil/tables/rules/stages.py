"""What the files of a stage are called: their names tell whose they are and which commit they were meant for.

    data files    frazil-<CONNECTOR>-<base>-<stage>-<task>-<chunk>.parquet    where the table's data files go
    reject files  rejects-<CONNECTOR>-<base>-<stage>-<task>-<chunk>.parquet   under `_frazil/`
    reject lists  list-<CONNECTOR>-<base>-<stage>.json                        under `_frazil/`
    output files  output-<CONNECTOR>-<base>-<stage>-<task>-<chunk>.parquet    under `_frazil/`
    output lists  output-<CONNECTOR>-<base>-<stage>.json                      under `_frazil/`

`base` is the commit whose tokens the stage was planned from, `stage` the commit that it becomes if it is committed.
The digits of `chunk` begin with some that each attempt at a task has for itself: Spark may run one twice.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from dataclasses import dataclass
from typing import Final

UUID: Final = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_STAGE: Final = rf"([A-Z0-9_$]+)-({UUID})-({UUID})"
_DATA: Final = re.compile(rf"frazil-{_STAGE}-[0-9]+-[0-9]+\.parquet")
_REJECTS: Final = re.compile(rf"rejects-{_STAGE}-[0-9]+-[0-9]+\.parquet")
_LIST: Final = re.compile(rf"list-{_STAGE}\.json")
_OUTPUT: Final = re.compile(rf"output-{_STAGE}(?:-[0-9]+-[0-9]+\.parquet|\.json)")

_LONGEST: Final = 100
"""Characters of a connector's key in a file's name, which may have 255 altogether."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One staging of records for one table."""

    connector: str
    """As `connector_in_names` writes it."""

    base: str
    """The commit whose tokens it was planned from."""

    id: str
    """The commit it becomes, if it is committed."""

    @classmethod
    def begin(cls, connector: str, base: str) -> Stage:
        """A new stage of the connector with that key."""
        return cls(connector_in_names(connector), base, str(uuid.uuid4()))

    def data_file(self, task: int) -> str:
        """The name of a task's data files, with `{}` for the digits of attempt and chunk."""
        return f"frazil-{self}-{task}-{{}}.parquet"

    def reject_file(self, task: int) -> str:
        """The name of a task's reject file, with `{}` likewise."""
        return f"rejects-{self}-{task}-{{}}.parquet"

    @property
    def reject_list(self) -> str:
        """The name of the commit's reject list."""
        return f"list-{self}.json"

    def output_file(self, task: int) -> str:
        """The name of the file of a task's accepted records that are sent on, with `{}` likewise."""
        return f"output-{self}-{task}-{{}}.parquet"

    @property
    def output_list(self) -> str:
        """The name of the commit's list of such files."""
        return f"output-{self}.json"

    def __str__(self) -> str:
        return f"{self.connector}-{self.base}-{self.id}"


def stage_of_data(name: str) -> Stage | None:
    """The stage that wrote a data file of that name, or began to; None for every other file."""
    return _stage(_DATA.fullmatch(whole(name)))


def stage_of_rejects(name: str) -> Stage | None:
    """The stage that wrote a reject file or list of that name, or began to; None for every other file."""
    return _stage(_REJECTS.fullmatch(whole(name)) or _LIST.fullmatch(whole(name)))


def stage_of_output(name: str) -> Stage | None:
    """The stage that wrote an output file or list of that name, or began to; None for every other file."""
    return _stage(_OUTPUT.fullmatch(whole(name)))


def connector_in_names(key: str) -> str:
    """A connector's key as it stands in names of files: as it is, unless it is very long.

    >>> connector_in_names("ORDERS"), len(connector_in_names("ORDERS" * 40))
    ('ORDERS', 100)
    """
    if len(key) <= _LONGEST:
        return key
    digest = hashlib.sha256(key.encode()).hexdigest()[:32].upper()
    return key[: _LONGEST - len(digest)] + digest


def whole(name: str) -> str:
    """The file that a hidden one stands beside: Hadoop's checksum of it, or a copy of it that was never finished.

    >>> whole(".a.parquet.partial"), whole(".a.json.crc"), whole("a.parquet")
    ('a.parquet', 'a.json', 'a.parquet')
    """
    core, dot, ending = name.removeprefix(".").rpartition(".")
    return core if dot and name.startswith(".") and ending in ("partial", "crc") else name


def _stage(match: re.Match[str] | None) -> Stage | None:
    return Stage(*match.groups()) if match else None
