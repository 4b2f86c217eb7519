"""What commands need is made once, and where it cannot be made they do without."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from frazil.tables.defaults import EMBEDDED, embedded_catalog
from frazil.tables.jvm import class_archive
from frazil.tables.jvm.catalog_settings import NeedsSpark, catalog_definition
from frazil.tables.jvm.plain_jvm import PlainJvm, jvm_options
from frazil.tables.jvm.preparing import prepare
from frazil.tables.jvm.sessionless import Sessionless

pytestmark = pytest.mark.slow


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "a cache"
    monkeypatch.setenv("FRAZIL_CACHE", str(path))
    return path


def test_the_archive_is_made_once_and_a_jvm_starts_with_it(cache: Path, tmp_path: Path):
    first = prepare({}, tmp_path / "log")
    made = {each.name: each.stat().st_mtime_ns for each in cache.iterdir()}

    again = prepare({}, tmp_path / "log")
    jvm = PlainJvm(again.entries, jvm_options({}, class_archive.using(again.archive)), tmp_path / "log")
    opening = Sessionless(catalog_definition(embedded_catalog(tmp_path), {}, EMBEDDED), jvm)
    try:
        options = list(
            opening.gateway.jvm.java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments()
        )
    finally:
        opening.end()

    assert first == again
    assert {each.name: each.stat().st_mtime_ns for each in cache.iterdir()} == made
    assert sorted(Path(each).suffix for each in made) == [".jsa", ".json"]
    assert f"-XX:SharedArchiveFile={first.archive}" in options


def test_a_java_that_makes_none_is_asked_once(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        f'#!/bin/sh\ncase "$*" in *ArchiveClassesAtExit*) exit 1;; esac\nexec {shutil.which("java")} "$@"\n'
    )
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))

    path = prepare({}, tmp_path / "log")

    assert path.is_prepared
    assert not path.archive.exists()


def test_packages_that_there_are_not_are_left_to_spark(cache: Path, tmp_path: Path):
    with pytest.raises(NeedsSpark, match="cannot be resolved"):
        prepare({"spark.jars.packages": "org.example:nothing:1", "spark.jars.ivy": str(tmp_path)}, tmp_path / "log")
