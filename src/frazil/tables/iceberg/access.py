"""What opens a table's storage, for tasks, which have no JVM: in the properties of Iceberg's FileIO.

They come from the catalog's configuration, from credentials that the catalog gives out for a table, or, where files go
through Hadoop, from Hadoop's configuration (`frazil.tables.iceberg.hadoop`).
"""

from __future__ import annotations

import re
from typing import Any, Final

from frazil.tables.iceberg.hadoop import PREFIXES, properties
from frazil.tables.iceberg.java import mapping

LOCAL: Final = re.compile(r"file:|/")
"""How locations begin that anybody on this machine can open."""

_OF_STORAGE: Final = ("s3.", "client.", "gcs.", "adls.")
"""Beginnings of properties that tasks get: others hold what opens the catalog itself."""


def access(java: Any, jvm: Any, location: str) -> dict[str, str]:
    """What opens a location through the FileIO of Iceberg's Java table `java`."""
    if LOCAL.match(location):
        return {}
    files = java.io()
    scheme = location.partition(":")[0].lower()
    if _is_hadoops(files, location):
        prefix = PREFIXES.get(scheme)
        configured = mapping(jvm, files.getConf().getPropsWithPrefix(prefix)) if prefix else {}
        return properties(configured, location)
    found = mapping(jvm, files.properties())
    for credential in sorted(_credentials(files), key=lambda each: len(str(each.prefix()))):
        # Of those that fit, the longest prefix tells most about the location.
        if location.startswith(str(credential.prefix())):
            found |= mapping(jvm, credential.config())
    return {key: value for key, value in found.items() if key.startswith(_OF_STORAGE)}


def is_rest(java: Any) -> bool:
    """Whether the table's catalog is behind REST: it may give out credentials, for a time and the table's location."""
    return str(java.operations().getClass().getSimpleName()) == "RESTTableOperations"


def _is_hadoops(files: Any, location: str) -> bool:
    name = str(files.getClass().getSimpleName())
    if name == "ResolvingFileIO":
        name = str(files.ioClass(location).getSimpleName())
    return name == "HadoopFileIO"


def _credentials(files: Any) -> list[Any]:
    kind = files.getClass()
    while kind is not None:
        if any(each.getSimpleName() == "SupportsStorageCredentials" for each in kind.getInterfaces()):
            return list(files.credentials())
        kind = kind.getSuperclass()
    return []
