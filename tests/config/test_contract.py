from __future__ import annotations

import pytest

from frazil.config.contract import contract, shown
from frazil.model import SchemaContract


def test_what_is_not_named_is_as_by_default() -> None:
    assert contract("") == SchemaContract("evolve", "evolve", "rescue")
    assert contract(" Types = Rescue ,") == SchemaContract("evolve", "rescue", "rescue")


def test_a_contract_is_read_back_as_it_is_shown() -> None:
    given = SchemaContract("freeze", "discard", "freeze")

    assert contract(shown(given)) == given


def test_everything_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(ValueError, match="decides nothing") as error:
        contract("rows=freeze, columns, types=freeze, types=evolve, beyond=evolve, columns=keep")

    assert str(error.value) == (
        "'rows=freeze' decides nothing; write columns=…, types=… or beyond=…; "
        "'columns' decides nothing; write columns=…, types=… or beyond=…; "
        "types is given twice; keep one of them; "
        "'beyond=evolve' is not possible; write beyond= with freeze, discard or rescue; "
        "'columns=keep' is not possible; write columns= with evolve, freeze, discard or rescue"
    )
