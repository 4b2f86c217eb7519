"""`frazil pack`: this Python environment as one archive, which Spark brings to executors and unpacks there.

In it are the interpreter's link, frazil as it is imported here (also from a checkout), and all packages but pyspark:
executors have the one of their Spark.
"""

from __future__ import annotations

import json
import sys
import sysconfig
import tarfile
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Final

import frazil
from frazil.cli.console import people
from frazil.errors import NotPackable

_SUFFIXES: Final = (".tar.gz", ".tgz")
"""How names end that Spark knows how to unpack; links come through in no other kind."""

_FAST: Final = 1
"""gzip's level: libraries shrink by a few per cent more at higher ones, which take many times as long."""


def pack_environment(archive: Path) -> int:
    """Pack the environment this Python runs in.

    Raises:
        NotPackable: it is no virtual environment, or has editable packages beside frazil; or Spark could not unpack it.
    """
    if not archive.name.endswith(_SUFFIXES):
        raise NotPackable(
            f"{archive} has a name by which Spark does not know how to unpack it",
            f"End it in {' or '.join(_SUFFIXES)}.",
        )
    _require_packable()
    console = people()
    began = time.monotonic()
    archive.parent.mkdir(parents=True, exist_ok=True)
    partial = archive.with_name(f".{archive.name}.partial")
    try:
        with console.status(f"Packing {sys.prefix} …"):
            _write(partial)
        partial.replace(archive)
    finally:
        partial.unlink(missing_ok=True)
    print(archive)
    size, seconds = archive.stat().st_size / 1e6, time.monotonic() - began
    console.print(
        f"packed {size:,.0f} MB in {seconds:.0f} s. Start Spark with\n"
        f"  spark.archives={archive.absolute()}#environment\n"
        "  PYSPARK_PYTHON=./environment/bin/python",
        highlight=False,
        soft_wrap=True,
    )
    return 0


def _require_packable() -> None:
    if sys.prefix == sys.base_prefix:
        raise NotPackable(
            f"{sys.executable} belongs to no virtual environment, and only those can be packed",
            "Install frazil in one (python -m venv), and run the `frazil pack` that is there.",
        )
    editable = sorted(
        {each.name for each in metadata.distributions() if _is_editable(each) and each.name != frazil.__name__}
    )
    if editable:
        raise NotPackable(
            f"{', '.join(editable)} {'is' if len(editable) == 1 else 'are'} installed as editable, which is a link to "
            "elsewhere and cannot be packed",
            "Install what it links to (pip install without -e), then pack.",
        )


def _is_editable(package: metadata.Distribution) -> bool:
    origin = package.read_text("direct_url.json")
    return bool(origin and json.loads(origin).get("dir_info", {}).get("editable"))


def _write(path: Path) -> None:
    prefix, packages = Path(sys.prefix), Path(sysconfig.get_path("purelib"))
    ours = packages.relative_to(prefix) / frazil.__name__
    with tarfile.open(path, "w:gz", compresslevel=_FAST) as tar:
        tar.add(prefix / "pyvenv.cfg", "pyvenv.cfg")
        for interpreter in sorted((prefix / "bin").glob("python*")):
            tar.add(interpreter, f"bin/{interpreter.name}")
        for directory in sorted(prefix.glob("lib*")):
            tar.add(directory, directory.name, filter=_without(ours))
        tar.add(Path(frazil.__file__).parent, str(ours), filter=_uncompiled)


def _without(ours: Path) -> Callable[[tarfile.TarInfo], tarfile.TarInfo | None]:
    """All but what is brought by others: pyspark by Spark, frazil by this process, with the links to its checkout."""
    links = {str(file) for file in metadata.files(frazil.__name__) or () if file.suffix == ".pth"}
    absent = {str(ours), *(str(ours.with_name(name)) for name in ("pyspark", *links))}

    def choose(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        return None if member.name in absent else member

    return choose


def _uncompiled(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if Path(member.name).name == "__pycache__" else member
