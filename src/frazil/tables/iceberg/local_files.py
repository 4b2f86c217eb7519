"""How Hadoop writes to the disks of this machine, such as the embedded catalog's metadata."""

from __future__ import annotations

from typing import Any

from frazil.tables.iceberg.java import java_type


def write_no_checksum_files(jvm: Any, configuration: Any) -> None:
    """Have Hadoop write local files without a checksum file beside each.

    It starts a `chmod` process for each of those as well, wherever `frazil.tables.iceberg.syncing` is not beneath it.
    """
    java_type(jvm, "org.apache.hadoop.fs.FileSystem").getLocal(configuration).setWriteChecksum(False)
