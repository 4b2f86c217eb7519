"""Jars that only tests need, fetched once per user with the Ivy inside pyspark."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from frazil.dev.jars import cache_directory, locked, pyspark_jars
from frazil.dev.java import require_java


def fetched(organisation: str, module: str, version: str) -> Path:
    """One jar, without those it depends on."""
    jar = cache_directory() / f"{module}-{version}.jar"
    jar.parent.mkdir(parents=True, exist_ok=True)
    with locked(jar.with_name(f"{jar.name}.lock")):
        if not jar.exists():
            _fetch(jar, organisation, module, version)
    return jar


def aws_bundle() -> Path:
    """What Iceberg needs for S3 and Glue."""
    return fetched("org.apache.iceberg", "iceberg-aws-bundle", "1.12.0")


def _fetch(jar: Path, organisation: str, module: str, version: str) -> None:
    (ivy,) = pyspark_jars().glob("ivy-*.jar")
    with tempfile.TemporaryDirectory(dir=jar.parent) as arriving:
        # On the command line, Ivy has no way to leave out sources and what a jar depends on.
        wanted = Path(arriving) / "ivy.xml"
        wanted.write_text(
            f'<ivy-module version="2.0"><info organisation="frazil" module="tests"/><dependencies>'
            f'<dependency org="{organisation}" name="{module}" rev="{version}" conf="default->master"/>'
            f"</dependencies></ivy-module>"
        )
        command = [require_java(), "-cp", str(ivy), "org.apache.ivy.Main", "-ivy", str(wanted)]
        pattern = ["-confs", "default", "-retrieve", "[artifact]-[revision].[ext]"]
        done = subprocess.run([*command, *pattern], cwd=arriving, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"Ivy could not fetch {module} {version}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        (Path(arriving) / jar.name).rename(jar)
