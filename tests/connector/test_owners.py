from __future__ import annotations

import os
import socket
import subprocess
import time
from typing import Any

import psutil
import pytest

from frazil.connector.owners import RECENT, Life, life_of
from frazil.connector.registered import Registered
from frazil.tables.rules.state import MemorySnapshot, MemoryState
from frazil.tables.rules.tokens import Tokens

HERE, NOW = socket.gethostname(), time.time()


def life(opener: str, ago: float | None = 0.0, registered: Registered | None = None) -> Life:
    """What is known of an opener that committed some seconds ago; None: that snapshot has expired."""
    commits = {} if ago is None else {1: MemorySnapshot(1, None, 7, {}, int((NOW - ago) * 1000))}
    state = MemoryState("u", 1 if commits else None, commits, {})
    return life_of(state, Tokens("shop", "c", "o", 1, 7, opener=opener), registered, NOW)


def entry(**known: Any) -> Registered:
    given = {
        "name": "shop",
        "key": "SHOP",
        "source": "kafka",
        "public_client": {},
        "connector": None,
        "worker": None,
    }
    return Registered(**{**given, "state": "RUNNING", "pid": os.getpid(), "started": 0.0, **known})


def test_a_process_of_this_machine_that_committed_and_lives_runs() -> None:
    found = life(f"{HERE} (pid {os.getpid()})")

    assert found.runs
    assert f"process {os.getpid()}" in found.sign


def test_a_process_that_is_gone_does_not_run() -> None:
    child = subprocess.Popen(["true"])
    child.wait()

    assert not life(f"{HERE} (pid {child.pid})").runs


def test_a_process_born_after_the_commit_only_has_the_same_number() -> None:
    born = psutil.Process().create_time()

    assert not life(f"{HERE} (pid {os.getpid()})", ago=NOW - born + 60).runs
    assert life(f"{HERE} (pid {os.getpid()})", ago=None).runs  # it cannot be told


@pytest.mark.parametrize("state", ["FAILED", "FENCED", "STOPPED"])
def test_a_connector_that_ended_in_a_process_that_goes_on_does_not_run(state: str) -> None:
    opener = f"{HERE} (pid {os.getpid()})"

    assert not life(opener, registered=entry(state=state)).runs
    assert life(opener, registered=entry(state=state, pid=1)).runs
    assert life(opener, registered=entry(state="RETRYING")).runs


def test_an_end_that_was_noted_before_the_last_commit_is_not_believed() -> None:
    opener = f"{HERE} (pid {os.getpid()})"

    assert life(opener, registered=entry(state="FAILED", heard=NOW - 60)).runs
    assert not life(opener, registered=entry(state="FAILED", heard=NOW)).runs


def test_an_owner_elsewhere_counts_as_running_only_if_it_committed_lately() -> None:
    assert life("elsewhere (pid 1)", ago=RECENT / 2).runs
    quiet = life("elsewhere (pid 1)", ago=RECENT * 2)
    assert not quiet.runs
    assert "elsewhere" in quiet.sign
    assert "is taken for stopped" in quiet.sign
    assert not life("elsewhere (pid 1)", ago=None).runs


def test_a_process_of_another_container_counts_as_running_only_if_it_committed_lately() -> None:
    opener = f"{HERE} (pid {os.getpid()})"
    contained = entry(host=HERE, space="another boot-1")

    assert life(opener, ago=RECENT / 2, registered=contained).runs
    assert not life(opener, ago=RECENT * 2, registered=contained).runs
    assert "cannot be looked at" in life(opener, registered=contained).sign


def test_the_end_of_a_process_of_the_same_number_elsewhere_says_nothing_of_this_one() -> None:
    opener = f"{HERE} (pid {os.getpid()})"

    assert life(opener, registered=entry(host="elsewhere", state="FENCED", heard=NOW)).runs


def test_a_command_that_committed_is_no_owner_that_runs() -> None:
    assert not life(f"root@{HERE} with frazil channels reset (process {os.getpid()})").runs
