"""What the contract of a connector comes to for one table in one cycle. Pure rules."""

from __future__ import annotations

from frazil.model import SchemaContract, TableRules, WriteShape
from frazil.model.contract import Fate


def rules_for(contract: SchemaContract, shape: WriteShape) -> TableRules:
    """What becomes of values that a table has no place for.

    A table about which nobody has decided keeps its columns, and drops what they do not take unless the contract says
    otherwise; one that says itself that it does not evolve has the records rejected.

    Args:
        contract: the connector's.
        shape: the table's, as it came from its catalog: whether it may evolve, with or without room for columns.
    """
    types = contract.types
    if types == "evolve" and not shape.evolves:
        types = "freeze"
    return TableRules(str(shape.table), _columns(contract, shape), types, may_change=shape.evolves)


def _columns(contract: SchemaContract, shape: WriteShape) -> Fate:
    if contract.columns != "evolve":
        return contract.columns
    if shape.evolves:
        return contract.beyond
    return "freeze" if shape.is_frozen else "discard"
