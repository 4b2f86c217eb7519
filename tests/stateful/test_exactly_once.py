"""The law: rows are the records up to the token, once each, in order, whatever happens to table, topic and process."""

from __future__ import annotations

import os
from typing import Final

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test
from tests.stateful.machine import ExactlyOnce, RoutedByValue

EXAMPLES: Final = int(os.environ.get("FRAZIL_EXAMPLES", "60"))
"""Histories that are tried, of up to 60 steps each."""


@pytest.mark.parametrize("machine", [ExactlyOnce, RoutedByValue])
def test_rows_are_the_records_up_to_the_token_once_each_whatever_happens(machine: type[RuleBasedStateMachine]):
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=60,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
