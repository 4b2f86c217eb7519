"""Run the `frazil` command with a fault in it.

    python -m frazil.testing.run --crash-at before_swap --hit 3 -- run orders.properties

The crash kills the whole process group: start this in a session of its own.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from frazil import faults
from frazil.testing.crash import crash_at, crash_when, delay_at


def main(arguments: Sequence[str] | None = None) -> int:
    """Install the faults asked for and call `frazil.cli.main` with what follows `--`."""
    options = parser().parse_args(arguments)
    with ExitStack() as faulty:
        if options.delay_at:
            faulty.enter_context(delay_at(options.delay_at, options.seconds))
        if options.crash_at:
            faulty.enter_context(crash_at(options.crash_at, options.hit))
        if options.crash_when:
            faulty.enter_context(crash_when(options.crash_when))
        # Late, so that the faults are there before anything of frazil's runs.
        return importlib.import_module("frazil.cli").main(options.command) or 0


def parser() -> argparse.ArgumentParser:
    """The options of this module's command line."""
    options = argparse.ArgumentParser(
        prog="python -m frazil.testing.run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--crash-at", choices=faults.POINTS, help="kill the process group at this point")
    options.add_argument("--hit", type=int, default=1, help="the how manieth time the point is reached (default 1)")
    options.add_argument("--crash-when", type=Path, help="kill it at the point this file names, once there is the file")
    options.add_argument("--delay-at", choices=faults.POINTS, help="stand still at this point, every time")
    options.add_argument("--seconds", type=float, default=1.0, help="how long to stand still (default 1)")
    options.add_argument("command", nargs="+", metavar="COMMAND", help="after `--`: what `frazil` is to do")
    return options


if __name__ == "__main__":
    sys.exit(main())
