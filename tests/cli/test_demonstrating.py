import threading
from pathlib import Path

import pytest
from rich.console import Console

from frazil.cli.demonstrating import Demonstration, Fact


@pytest.mark.parametrize(("found", "mark"), [(12_000, "✓"), (11_999, "✗")])
def test_a_proof_holds_only_if_all_its_facts_do(found, mark):
    console = Console(record=True, width=80)
    shown = Demonstration(Path("home"), console, threading.Event())
    facts = [Fact("none twice", 12_000, 12_000), Fact("none missing", 12_000, found)]
    assert shown.prove(facts) == (found == 12_000)
    assert [line.split()[-1] for line in console.export_text().splitlines()[1:]] == ["✓", mark]
