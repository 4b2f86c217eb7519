"""Which files a table's snapshots refer to: all snapshots, of every branch and tag, current or not."""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import Any

from frazil.tables.iceberg.java import elements, java_type


def referred_to(java: Any, jvm: Any, names: Collection[str], deadline: float) -> set[str]:
    """Those of `names`, files without their directories, that a snapshot of Iceberg's Java table refers to.

    Directories are left out because one place has many spellings; only for names that nobody gives twice.

    Args:
        java: the table, freshly read.
        jvm: where its classes are.
        names: what to look for.
        deadline: on the monotonic clock.

    Raises:
        TimeoutError: it takes too long to say.
    """
    metadata, files, specs = java.operations().current(), java.io(), java.specs()
    manifests = java_type(jvm, "java.util.LinkedHashSet")()  # equal manifests are equal paths
    for snapshot in elements(metadata.snapshots()):
        _in_time(deadline)
        manifests.addAll(snapshot.dataManifests(files))
    found: set[str] = set()
    for manifest in manifests:
        _in_time(deadline)
        # One text, for each path by itself would be a call into the JVM.
        paths = java_type(jvm, "org.apache.iceberg.ManifestFiles").readPaths(manifest, files, specs)
        try:
            text = str(java_type(jvm, "java.lang.String").join("\n", paths))
        finally:
            paths.close()
        found.update(name for path in text.split("\n") if (name := path.rpartition("/")[2]) in names)
    return found


def _in_time(deadline: float) -> None:
    if time.monotonic() > deadline:
        raise TimeoutError("the table has too many snapshots to look through within minutes; expire old ones")
