"""A pipe that a table keeps and nobody can read is never the default pipe: nothing lands until somebody sees to it."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest
from tests.cycle.memory import World, token

from frazil.errors import PipeBroken
from frazil.model import Primitive
from frazil.pipes.stored import PREFIX

SOURCE = "FROM TABLE(DATA_SOURCE(TYPE => 'STREAMING'))"
SQL = f"CREATE PIPE ORDERS AS COPY INTO ORDERS (id) FROM (SELECT $1:id {SOURCE})"


def stored(sql: str, **members: object) -> str:
    return orjson.dumps({"sql": sql, "created": 1, "creator": "ann@host", **members}).decode()


BROKEN = {
    "no JSON": stored(SQL)[:-3],
    "empty": "",
    "no text": orjson.dumps({"sql": None}).decode(),
    "another version": stored(SQL, version=2),
    "another statement": stored("DROP TABLE ORDERS"),
    "two statements": stored(f"{SQL}; {SQL}"),
    "half a statement": stored(SQL[:-4]),
    "a function that is not there any more": stored(SQL.replace("$1:id", "NO_SUCH($1:id)")),
    "a type that is not there any more": stored(SQL.replace("$1:id", "$1:id::NO_SUCH")),
    "a column that is not there any more": stored(SQL.replace("(id)", "(price)")),
    "a file": stored(SQL.replace("$1:id", "read_text('/etc/hostname')")),
    "another table": stored(SQL.replace(SOURCE, "FROM PAYMENTS")),
    "too deep": stored(SQL.replace("$1:id", "(" * 3000 + "1" + ")" * 3000)),
}


@pytest.fixture
def world() -> World:
    found = World()
    found.cluster.create_topic("orders", 1)
    found.produce(3)
    return found


def store(world: World, text: str | None) -> None:
    """Set the property of the pipe named as the table, as anybody may; with None, remove it."""
    before = world.table.state
    others = {key: value for key, value in before.properties.items() if not key.startswith(PREFIX)}
    mine = {} if text is None else {f"{PREFIX}ORDERS": text}
    world.table.replace(before, replace(before, properties=others | mine))


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_a_pipe_that_cannot_be_read_stops_its_table_by_name_and_nothing_lands(world: World, text: str) -> None:
    connector = world.run()
    store(world, text)
    world.produce(2)

    for reading in (connector.cycle, world.run):
        with pytest.raises(PipeBroken, match=r"pipe ORDERS .* public\.ORDERS: (?s:.)*CREATE OR REPLACE PIPE"):
            reading()
        assert world.offsets() == [0, 1, 2]

    store(world, None)
    assert token(world.run()) == "4"
    assert world.offsets() == [0, 1, 2, 3, 4]


def test_a_pipe_stored_without_its_columns_keeps_those_it_fills_first(world: World) -> None:
    connector = world.run()
    store(world, stored(SQL.replace(" (id)", "").replace("$1:id", "$1:RECORD_METADATA, $1:id")))
    world.produce(2)
    connector.cycle()
    world.table.drop_column("id")
    world.table.add_column("other", Primitive("long"))
    world.produce(2)

    for reading in (connector.cycle, world.run):
        with pytest.raises(PipeBroken, match="column id, which this item goes to, was dropped"):
            reading()
    assert world.offsets() == [0, 1, 2, 3, 4]
