from __future__ import annotations

import pytest

from frazil.cycle.schema_rules import rules_for
from frazil.model import SchemaContract, TableName, TableRules, WriteShape
from frazil.model.contract import Fate, Rule


def shape(*, evolves: bool, is_frozen: bool = False) -> WriteShape:
    return WriteShape(TableName(("public",), "ORDERS"), "", 0, 0, 0, (), True, evolves, is_frozen)


@pytest.mark.parametrize(
    ("contract", "evolves", "is_frozen", "columns", "types"),
    [
        (SchemaContract(), True, False, "rescue", "evolve"),
        (SchemaContract(beyond="freeze"), True, False, "freeze", "evolve"),
        # Nobody has decided about the table: its columns stay, and the values of other keys are dropped.
        (SchemaContract(), False, False, "discard", "freeze"),
        (SchemaContract(), False, True, "freeze", "freeze"),
        (SchemaContract(columns="rescue", types="discard"), False, True, "rescue", "discard"),
        (SchemaContract(columns="freeze"), True, False, "freeze", "evolve"),
    ],
)
def test_what_a_contract_comes_to_for_a_table(
    contract: SchemaContract, evolves: bool, is_frozen: bool, columns: Fate, types: Rule
) -> None:
    found = rules_for(contract, shape(evolves=evolves, is_frozen=is_frozen))

    assert found == TableRules("public.ORDERS", columns, types, may_change=evolves)
