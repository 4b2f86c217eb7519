"""The command: start everything, run, drain, judge, and say what came of it."""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from random import SystemRandom

from rich.console import Console
from tests.soak.feed import Feed
from tests.soak.habitat import Habitat
from tests.soak.judging import judge
from tests.soak.lives import lives
from tests.soak.running import Soak
from tests.soak.showing import document, shown
from tests.soak.tally import Judgement, Tally
from tests.soak.troubles import Others

from frazil.cli import log
from frazil.tables.jvm import archiving, class_archive
from frazil.tables.jvm.session import PACKAGES

_DRAINED_WITHIN = 600.0
"""Seconds in which what is left is landed once nothing comes in any more."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0 if every record is in the table once, every fault happened, and every recovery was in time."""
    options = _parser().parse_args(arguments)
    log.configure()
    # Whoever asks it to end must not leave processes behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    console = Console(stderr=True, highlight=False)
    directory = options.directory or Path(tempfile.mkdtemp(prefix="frazil-soak-"))
    console.print(f"seed {options.seed}, everything is in {directory}")
    if not class_archive.archive(PACKAGES).exists():
        with console.status("Making an archive of the JVM's classes, so that Spark starts sooner from now on …"):
            archiving.make()
    tally = Tally()
    began = time.monotonic()
    judgement = _soak(options, directory.absolute(), tally, console)
    found = document(options.seed, time.monotonic() - began, tally, judgement)
    (directory / "result.json").write_text(json.dumps(found, indent=1))
    if options.json:
        print(json.dumps(found, indent=1))
    else:
        Console().print(shown(found))
    if found["failed"]:
        return 1
    if not options.directory:
        shutil.rmtree(directory)
    return 0


def _soak(options: argparse.Namespace, directory: Path, tally: Tally, console: Console) -> Judgement | None:
    with Habitat(directory) as habitat:
        others = Others(habitat)
        soak = Soak(habitat, others, tally, partial(console.print, soft_wrap=True))
        feed = Feed(habitat, options.rate, options.seed)
        try:
            with feed:
                soak.run(lives(options.seed), options.minutes * 60, at_most=options.minutes * 120 + 900)
                if not feed.stop():
                    tally.problems.append("the producer did not get everything acknowledged")
            soak.stop()
        finally:
            soak.kill()
        with console.status("Landing what is left, and judging …"):
            if not _drained(habitat):
                tally.problems.append("what was left was not landed")
            return judge(habitat, others, feed.acknowledged)


def _drained(habitat: Habitat) -> bool:
    """Whether one more process landed what was left."""
    command = [str(Path(sys.executable).with_name("frazil")), "run", "--until-caught-up", str(habitat.connector)]
    with (habitat.directory / "drain.log").open("wb") as output:
        try:
            done = subprocess.run(command, stdout=output, stderr=output, timeout=_DRAINED_WITHIN, check=False)
        except subprocess.TimeoutExpired:
            return False
    return done.returncode == 0


def _parser() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(
        prog="python -m tests.soak", description="Kill a connector again and again, and judge its table."
    )
    options.add_argument("--minutes", type=float, default=10.0, help="how long, at least (default 10)")
    options.add_argument(
        "--seed", type=int, default=SystemRandom().randrange(10**6), help="draws what happens; random if not given"
    )
    options.add_argument("--rate", type=float, default=2000.0, help="good records a second (default 2000)")
    options.add_argument("--directory", type=Path, help="where everything goes, and stays; an empty one")
    options.add_argument("--json", action="store_true", help="print the result as JSON")
    return options


if __name__ == "__main__":
    sys.exit(main())
