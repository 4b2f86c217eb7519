"""Jars and programs that only tests need, fetched once per user with the Ivy inside pyspark."""

from __future__ import annotations

import subprocess
import tarfile
import tempfile
from pathlib import Path

from frazil.dev.jars import cache_directory, locked, pyspark_jars
from frazil.dev.java import require_java


def fetched(
    organisation: str, module: str, version: str, classifier: str | None = None, extension: str = "jar"
) -> Path:
    """One artifact, without those it depends on: a jar, or another file of the same module."""
    found = cache_directory() / f"{module}-{version}.{extension}"
    found.parent.mkdir(parents=True, exist_ok=True)
    with locked(found.with_name(f"{found.name}.lock")):
        if not found.exists():
            _fetch(found, organisation, module, version, _artifact(module, classifier, extension))
    return found


def unpacked(archive: Path) -> Path:
    """The directory that an archive was unpacked to, beside it."""
    directory = archive.with_name(archive.name.removesuffix(".tar.gz"))
    with locked(archive.with_name(f"{archive.name}.lock")):
        if not directory.exists():
            with tempfile.TemporaryDirectory(dir=archive.parent) as arriving, tarfile.open(archive) as packed:
                packed.extractall(inside := Path(arriving, "unpacked"), filter="data")
                inside.rename(directory)
    return directory


def aws_bundle() -> Path:
    """What Iceberg needs for S3 and Glue."""
    return fetched("org.apache.iceberg", "iceberg-aws-bundle", "1.12.0")


def _artifact(module: str, classifier: str | None, extension: str) -> str:
    if classifier is None:
        return ""
    return f'<artifact name="{module}" type="{extension}" ext="{extension}" m:classifier="{classifier}"/>'


def _fetch(found: Path, organisation: str, module: str, version: str, artifact: str) -> None:
    (ivy,) = pyspark_jars().glob("ivy-*.jar")
    with tempfile.TemporaryDirectory(dir=found.parent) as arriving:
        # On the command line, Ivy has no way to leave out sources and what a jar depends on.
        wanted = Path(arriving) / "ivy.xml"
        wanted.write_text(
            '<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">'
            '<info organisation="frazil" module="tests"/><dependencies>'
            f'<dependency org="{organisation}" name="{module}" rev="{version}" conf="default->master">{artifact}'
            "</dependency></dependencies></ivy-module>"
        )
        command = [require_java(), "-cp", str(ivy), "org.apache.ivy.Main", "-ivy", str(wanted)]
        pattern = ["-confs", "default", "-retrieve", "[artifact]-[revision].[ext]"]
        done = subprocess.run([*command, *pattern], cwd=arriving, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"Ivy could not fetch {module} {version}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        (Path(arriving) / found.name).rename(found)
