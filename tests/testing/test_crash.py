"""Faults strike where and when they were asked to, and leave no trace afterwards."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from frazil import faults
from frazil.faults import POINTS
from frazil.testing.crash import call_at, fail_at, halt_at

FAKE_CLI = """
import sys, types
from frazil import faults

def main(arguments):
    for turn in range(5):
        print(*arguments, turn, flush=True)
        faults.reach("before_swap")

sys.modules["frazil.cli"] = types.SimpleNamespace(main=main)
from frazil.testing.run import main
sys.exit(main(sys.argv[1:]))
"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", FAKE_CLI, *arguments, "--", "run", "orders.properties"]
    return subprocess.run(command, start_new_session=True, capture_output=True, text=True, check=False)


def test_a_crash_kills_the_process_at_the_hit_asked_for() -> None:
    done = run("--crash-at", "before_swap", "--hit", "2")

    assert done.returncode == -signal.SIGKILL
    assert done.stdout.splitlines() == ["run orders.properties 0", "run orders.properties 1"]


def test_a_crash_at_a_point_never_reached_changes_nothing() -> None:
    done = run("--crash-at", "after_swap", "--delay-at", "before_swap", "--seconds", "0.01")

    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 5


def test_a_crash_comes_when_somebody_outside_names_its_point(tmp_path: Path) -> None:
    order = tmp_path / "order"
    order.write_text("after_swap")
    spared = run("--crash-when", str(order))
    order.write_text("before_swap")

    crashed = run("--crash-when", str(order))

    assert (spared.returncode, crashed.returncode) == (0, -signal.SIGKILL)
    assert crashed.stdout.splitlines() == ["run orders.properties 0"]


def test_a_failure_strikes_once_and_only_inside_the_block() -> None:
    with fail_at("after_stage", OSError("disk full")):
        faults.reach("after_plan")
        with pytest.raises(OSError, match="disk full"):
            faults.reach("after_stage")
        faults.reach("after_stage")
    faults.reach("after_stage")


def test_faults_at_several_points_do_not_disturb_each_other() -> None:
    reached: list[str] = []
    with (
        call_at("after_plan", lambda: reached.append("plan")),
        call_at("after_swap", lambda: reached.append("swap"), 2),
    ):
        for _ in range(2):
            for point in POINTS:
                faults.reach(point)

    assert reached == ["plan", "plan", "swap"]


def test_a_halted_thread_goes_on_when_it_is_let() -> None:
    passed = threading.Event()

    def cycle() -> None:
        faults.reach("before_swap")
        passed.set()

    with halt_at("before_swap") as gate:
        thread = threading.Thread(target=cycle)
        thread.start()
        assert gate.reached.wait(10)
        assert not passed.is_set()
    thread.join(10)
    assert passed.is_set()


def test_a_point_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="before_swap"), call_at("before_lunch", print):  # type: ignore[arg-type]
        pass
