"""Spark's daemon of Python workers, with what tasks import: its workers are forks, and begin with that done.

Spark runs it in place of its own where `spark.python.daemon.module` names it.
"""

from __future__ import annotations

import atexit
import gc

from pyspark import daemon

import frazil.staging.task  # noqa: F401 (for the workers)
from frazil.sources import kinds

if __name__ == "__main__":
    kinds.import_readers()
    # So that the workers' collections neither look at what was imported nor make pages of it their own.
    gc.collect()
    gc.freeze()
    # Else libraries complain, when it ends, of what was never freed.
    atexit.register(gc.unfreeze)
    daemon.manager()
