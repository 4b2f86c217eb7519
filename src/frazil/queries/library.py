"""`frazil.query`: the tables from Python, without a Spark session.

The small JVM that plans is kept for the process, one for each catalog, and ends with it.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias

import pyarrow as pa

from frazil.errors import NothingSetUp, ProgramMissing, SparkNeeded
from frazil.queries.answer import Answer
from frazil.queries.engine import Engine
from frazil.snowflake.compiled import ResultColumn
from frazil.snowflake.statements import verb
from frazil.tables.jvm.asked import Asked, asked
from frazil.tables.jvm.catalog_settings import NeedsSpark
from frazil.tables.jvm.opening import begin_prepared, opened

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from frazil.tables.iceberg.catalog import Catalog
    from frazil.tables.jvm.sessionless import Sessionless

_Key: TypeAlias = tuple[int, Path, str | None, frozenset[tuple[str, str]]]


class Rows:
    """The rows of an answer: read once, all at once or a batch at a time.

    A VARIANT is JSON text; everything else has Arrow's type for it.

    Example:
        >>> with frazil.query("select * from orders") as rows:  # doctest: +SKIP
        ...     for batch in rows:
        ...         print(batch.num_rows)
    """

    def __init__(self, engine: Engine, answer: Answer) -> None:
        """Hold an answer, and end what answers once the rows are read."""
        self._engine = engine
        self._answer = answer

    @property
    def columns(self) -> tuple[ResultColumn, ...]:
        """The columns: their names, and whether their texts are JSON."""
        return self._answer.columns

    @property
    def schema(self) -> pa.Schema:
        """Arrow's schema; columns of one name are distinguished by numbers."""
        return self._answer.batches.schema

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows that were not read yet, as they are found."""
        try:
            yield from self._answer.batches
        finally:
            self.close()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self.batches()

    def arrow(self) -> pa.Table:
        """All rows as an Arrow table."""
        return pa.Table.from_batches(self.batches(), self.schema)

    def rows(self) -> list[tuple[Any, ...]]:
        """All rows as tuples."""
        return [row for batch in self.batches() for row in zip(*(each.to_pylist() for each in batch), strict=True)]

    def df(self) -> pd.DataFrame:
        """All rows as a frame of pandas, in Arrow's types: NULL makes no whole number a float.

        Raises:
            ProgramMissing: pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise _not_installed("pandas") from error
        return self.arrow().to_pandas(types_mapper=pd.ArrowDtype)

    def pl(self) -> pl.DataFrame:
        """All rows as a frame of Polars.

        Raises:
            ProgramMissing: Polars is not installed.
        """
        try:
            import polars as pl
        except ImportError as error:
            raise _not_installed("polars") from error
        return pl.DataFrame(self.arrow())

    def close(self) -> None:
        """End the query; what was not read is lost."""
        self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def query(text: str, *, home: str | Path | None = None, catalog: Mapping[str, str] | str | Path | None = None) -> Rows:
    """Run one statement over the tables of a catalog; may be called from any thread.

    A statement that changes tables or pipes has been carried out when this returns, and its rows say what was done.

    Args:
        text: the statement, as for `frazil sql`.
        home: where the embedded catalog lives; default `FRAZIL_HOME`, else `./frazil-data`.
        catalog: another catalog: Spark's properties of it, `{"spark.sql.catalog.lake": …}`, or the path of a worker
            file that has them.

    Raises:
        InvalidQuery: the statement is none that is run, or names what does not exist.
        InvalidConfiguration: the worker file cannot be read.
        NothingSetUp: there is no catalog in `home`, and the statement is no CREATE, which would make it.
        SparkNeeded: only a Spark session can open the catalog, or read a table as it is.
        CatalogUnavailable: the catalog did not answer.
        CatalogNotIceberg: there is no such catalog, or it is not Iceberg's.
        ProgramMissing: there is no Java.
    """
    # A CREATE may be the first statement of a home.
    engine = Engine(_CATALOGS.catalog(_asked(home, catalog, makes=verb(text) == "CREATE")))
    try:
        return Rows(engine, engine.answer(text))
    except BaseException:
        engine.close()
        raise


class _Catalogs:
    """The catalogs that this process has asked, each with its JVM."""

    def __init__(self) -> None:
        self._open: dict[_Key, tuple[Sessionless, Catalog]] = {}
        self._lock = threading.Lock()

    def catalog(self, wanted: Asked) -> Catalog:
        """The catalog that is meant, opened by who asks first."""
        # A process that was forked has the numbers of its parent's connections, and must not talk on them.
        key = (os.getpid(), wanted.home.resolve(), wanted.catalog, frozenset(wanted.spark.items()))
        with self._lock:
            if key not in self._open:
                self._open[key] = _opened(wanted)
            return self._open[key][1]

    def end(self) -> None:
        """End the JVMs of this process."""
        with self._lock:
            for (process, *_), (opening, _) in self._open.items():
                if process == os.getpid():
                    opening.end()
            self._open.clear()


_CATALOGS: Final = _Catalogs()
atexit.register(_CATALOGS.end)


def _asked(home: str | Path | None, catalog: Mapping[str, str] | str | Path | None, *, makes: bool) -> Asked:
    place = Path(home or os.environ.get("FRAZIL_HOME") or "./frazil-data")
    if catalog is None or isinstance(catalog, str | Path):
        return asked(place, Path(catalog) if catalog is not None else None, makes=makes)
    if not catalog:
        raise NothingSetUp("there is no property of a catalog", 'Name one: catalog={"spark.sql.catalog.lake": …}.')
    spark = {key: text for key, text in catalog.items() if key.startswith("spark.")}
    return Asked(place, spark, catalog.get("frazil.catalog"))


def _opened(wanted: Asked) -> tuple[Sessionless, Catalog]:
    try:
        opening = begin_prepared(wanted)
        try:
            return opening, opened(opening, to_write=True)
        except BaseException:
            opening.end()
            raise
    except NeedsSpark as reason:
        raise SparkNeeded("this catalog cannot be opened", str(reason)) from reason


def _not_installed(name: str) -> ProgramMissing:
    return ProgramMissing(name, "is not installed", f"Install it (pip install {name}), or take arrow() instead.")
