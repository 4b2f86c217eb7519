"""An engine that has its answers ready, for tests of what is done with them."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from frazil.errors import InvalidQuery
from frazil.model import Column, Primitive, TableName
from frazil.queries.answer import Answer
from frazil.snowflake.compiled import ResultColumn
from frazil.snowflake.lake import NOW, Moment

ORDERS = TableName(("public",), "ORDERS")


def answer(table: pa.Table, documents: Iterable[str] = (), heads: Sequence[str] = ()) -> Answer:
    """The rows of a table as an answer."""
    named = heads or table.column_names
    columns = [ResultColumn(head, name in documents) for head, name in zip(named, table.column_names, strict=True)]
    return Answer(tuple(columns), table.to_reader(max_chunksize=3))


class SmallLake:
    """One table with two columns."""

    name = "frazil"

    def namespaces(self) -> Sequence[tuple[str, ...]]:
        return [("public",)]

    def tables(self, namespace: tuple[str, ...]) -> Sequence[TableName]:  # noqa: ARG002 (the protocol's)
        return [ORDERS]

    def columns(self, table: TableName, moment: Moment = NOW) -> Sequence[Column]:  # noqa: ARG002 (the protocol's)
        return [Column(1, "ORDER_ID", Primitive("long")), Column(2, "odd name", Primitive("string"))]


@dataclass
class ReadyEngine:
    """Answers each statement with the table it is given for it, and knows what it was asked."""

    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    lake: SmallLake = field(default_factory=SmallLake)

    def answer(self, text: str) -> Answer:
        text = text.strip()
        self.asked.append(text)
        if text not in self.tables:
            raise InvalidQuery(f"there is no answer to {text}")
        return answer(self.tables[text])

    def cancel(self) -> None:
        """Nothing runs for long."""


class EndlessEngine(ReadyEngine):
    """Gives rows until it is cancelled."""

    def __init__(self) -> None:
        super().__init__()
        self.cancelled = threading.Event()
        self.given = threading.Event()

    def answer(self, text: str) -> Answer:  # noqa: ARG002 (any text)
        schema = pa.schema([("N", pa.int64())])
        return Answer((ResultColumn("N"),), pa.RecordBatchReader.from_batches(schema, self._batches(schema)))

    def _batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        yield pa.record_batch([[1]], schema=schema)
        self.given.set()
        self.cancelled.wait()
        raise InvalidQuery("it was cancelled")

    def cancel(self) -> None:
        self.cancelled.set()
