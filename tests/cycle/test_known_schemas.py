"""A schema registry that gives another schema for an id it gave before: nothing that was read by it is committed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.cycle.memory import Feeding, World
from tests.memory.staging import MemoryStaging

from frazil.cycle.known_schemas import PROPERTY
from frazil.errors import RegistryChanged
from frazil.model import Staged, TableName, Task

ADDRESS = "http://registry:8081"


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[int, str]]:
    """What tasks say of the schemas that they read by."""
    schemas: dict[str, dict[int, str]] = {ADDRESS: {7: "first"}}
    run = MemoryStaging.run

    def told(self: MemoryStaging, groups: Sequence[Sequence[Task]], description: str) -> list[Staged]:
        return [replace(each, schemas=schemas) for each in run(self, groups, description)]

    monkeypatch.setattr(MemoryStaging, "run", told)
    return schemas


@pytest.fixture
def world(given: dict[str, dict[int, str]]) -> World:
    found = World()
    found.cluster.create_topic("orders", 1)
    found.produce(2)
    return found


def remembered(world: World) -> Any:
    return json.loads(world.table.state.properties[PROPERTY])


def test_a_table_remembers_each_schema_once(world: World, given: dict[str, dict[int, str]]) -> None:
    connector = world.run()
    first = world.table.state.properties[PROPERTY]
    given["http://other"] = {7: "another"}
    given[ADDRESS][10] = "second"
    world.produce(1)
    connector.cycle()

    assert json.loads(first) == {ADDRESS: {"7": "first"}}
    assert remembered(world) == {ADDRESS: {"7": "first", "10": "second"}, "http://other": {"7": "another"}}
    assert world.offsets() == [0, 1, 2]


@pytest.mark.parametrize("restarts", [False, True], ids=["running", "restarted"])
def test_another_schema_for_a_known_id_commits_nothing_until_the_registry_is_restored(
    world: World, given: dict[str, dict[int, str]], restarts: bool
) -> None:
    connector = world.run()
    world.produce(1)
    given[ADDRESS] = {7: "changed", 8: "new"}
    if restarts:
        connector = world.connector()
    with pytest.raises(RegistryChanged, match=r"id 7 .* frazil\.registry\.schemas"):
        connector.cycle()

    assert (world.offsets(), remembered(world)) == ([0, 1], {ADDRESS: {"7": "first"}})
    given[ADDRESS][7] = "first"
    world.run()
    assert world.offsets() == [0, 1, 2]


def test_a_table_that_is_told_to_forget_takes_the_other_schema(world: World, given: dict[str, dict[int, str]]) -> None:
    world.run()
    world.produce(1)
    given[ADDRESS][7] = "changed"

    world.table.set_property(PROPERTY, None)
    world.run()

    assert (world.offsets(), remembered(world)) == ([0, 1, 2], {ADDRESS: {"7": "changed"}})


def test_columns_that_another_schema_would_bring_are_not_made(world: World, given: dict[str, dict[int, str]]) -> None:
    connector = world.run()
    before = world.table.state.columns()
    world.cluster.log(next(iter({row.partition for row in world.table.rows()}))).append(
        replace(world.cluster.topics["orders"].logs[0].records[0], value={"wrong": 1})
    )
    given[ADDRESS][7] = "changed"
    with pytest.raises(RegistryChanged):
        connector.cycle()

    assert world.table.state.columns() == before


def test_a_table_that_remembers_another_schema_is_left_out_and_the_others_go_on(
    world: World, given: dict[str, dict[int, str]]
) -> None:
    names = TableName(("public",), "A"), TableName(("public",), "B")
    world.routing = Feeding(*names)
    world.run()
    kept = world.catalog.tables[names[0]]
    kept.set_property(PROPERTY, json.dumps({ADDRESS: {"7": "older"}}))
    world.produce(1)
    world.run()

    assert given == {ADDRESS: {7: "first"}}
    assert [len(world.catalog.tables[name].rows()) for name in names] == [2, 3]


@pytest.mark.parametrize(
    "text", ["", "no JSON", "[]", '{"http://registry:8081": 5}', '{"http://registry:8081": {"x": 1}}']
)
def test_what_another_writer_put_there_is_replaced(world: World, text: str) -> None:
    connector = world.run()
    world.table.set_property(PROPERTY, text)
    world.produce(1)

    connector.cycle()

    assert (world.offsets(), remembered(world)) == ([0, 1, 2], {ADDRESS: {"7": "first"}})
