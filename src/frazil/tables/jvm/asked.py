"""Which catalog somebody who is no connector means: that of a home, or the one that a worker file configures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from frazil.errors import NothingSetUp


@dataclass(frozen=True, slots=True)
class Asked:
    """What a catalog is made with. It may hold credentials, and is never shown."""

    home: Path
    spark: Mapping[str, str]
    """The `spark.*` settings of the worker file."""

    catalog: str | None
    """`frazil.catalog`."""

    database: str | None = None
    """Of a connector, `snowflake.database.name`, which may be the name of a catalog."""


def asked(home: Path, worker: Path | None, *, makes: bool = False) -> Asked:
    """Which catalog is meant; one that `makes` is set for may be an embedded catalog that is not there yet.

    Raises:
        NothingSetUp: there is no embedded catalog in `home` and no worker file names another.
        InvalidConfiguration: the worker file cannot be read.
    """
    keys: Mapping[str, str] = {}
    if worker:
        # Without a worker file this third of a second is saved.
        from frazil.config import worker_keys

        keys = worker_keys(worker)
    spark = {key: value for key, value in keys.items() if key.startswith("spark.")}
    if not spark and not makes and not (home / "catalog.db").exists():
        raise NothingSetUp(
            f"there is no catalog in {home}",
            "Run a connector first (frazil run), create a table (frazil sql 'CREATE TABLE …'), or name the directory "
            "that was used: --home or FRAZIL_HOME.",
        )
    return Asked(home, spark, keys.get("frazil.catalog"))
