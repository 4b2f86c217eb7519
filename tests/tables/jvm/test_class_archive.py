"""The archive of the JVM's classes: used where it was made for this Java and this Spark, and not otherwise."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from frazil.tables.jvm import class_archive
from frazil.tables.jvm.session import PACKAGES

SESSION = """
import sys
from pathlib import Path
from frazil.tables.jvm.session import open_session

session = open_session(Path(sys.argv[1]), "local[1]", {})
management = session._jvm.java.lang.management.ManagementFactory
print(*management.getRuntimeMXBean().getInputArguments())
session.stop()
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where archives are kept in this test; its name has a blank, which the JVM's options must survive."""
    path = tmp_path / "a cache"
    monkeypatch.setenv("FRAZIL_CACHE", str(path))
    return path


def session_says(home: Path) -> str:
    """The standard output of a process that starts a session and prints its JVM's options."""
    command = [sys.executable, "-c", SESSION, str(home)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_without_an_archive_the_jvm_is_given_none(cache: Path) -> None:
    assert class_archive.archive(PACKAGES).parent == cache
    assert class_archive.using(class_archive.archive(PACKAGES)) == ""


def test_another_java_and_other_packages_have_another_archive(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = class_archive.archive(PACKAGES)
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.touch()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))

    theirs = class_archive.archive(PACKAGES)

    assert len({ours, theirs, class_archive.archive("org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.13.0")}) == 3


@pytest.mark.long
def test_sessions_use_the_archive_once_it_is_made_and_one_of_another_class_path_silently_not(
    cache: Path, tmp_path: Path
) -> None:
    made = subprocess.run(
        [sys.executable, "-m", "frazil.tables.jvm.archiving"], capture_output=True, text=True, check=True
    ).stdout.strip()

    assert Path(made) == class_archive.archive(PACKAGES)
    assert [each.name for each in cache.iterdir()] == [Path(made).name]
    assert f"-XX:SharedArchiveFile={made}" in session_says(tmp_path / "home")
    Path(made).unlink()
    subprocess.run(["java", f"-XX:ArchiveClassesAtExit={made}", "-version"], capture_output=True, check=True)
    said = session_says(tmp_path / "home")
    assert f"-XX:SharedArchiveFile={made}" in said
    assert "[warning]" not in said
