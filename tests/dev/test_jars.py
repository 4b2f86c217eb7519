"""Kafka's jars: fetched once, complete or absent, and Java is asked for by name."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from frazil.dev import jars
from frazil.dev.errors import JarsUnavailable
from frazil.dev.java import parse_version, require_java
from frazil.errors import ProgramMissing


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FRAZIL_CACHE", str(tmp_path))
    return tmp_path


def test_the_jars_are_fetched_once_when_two_want_them(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[Path] = []

    def retrieve(java: str, directory: Path, progress: object) -> None:
        fetched.append(directory)
        (directory / "kafka.jar").touch()

    monkeypatch.setattr(jars, "retrieve", retrieve)
    threads = [threading.Thread(target=jars.kafka_jars) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(fetched) == 1
    assert [path.name for path in jars.kafka_jars().iterdir()] == ["kafka.jar"]


def test_a_failed_fetch_leaves_nothing_behind_and_shows_its_last_words(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jars, "VERSION", "0.0.none")
    monkeypatch.setattr(jars, "pyspark_jars", lambda: cache)

    with pytest.raises(JarsUnavailable, match=r"org\.apache\.ivy\.Main"):
        jars.kafka_jars()
    assert [path.name for path in cache.iterdir()] == ["kafka-0.0.none.lock"]


def test_a_machine_without_java_is_told_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    with pytest.raises(ProgramMissing, match="Install Java 17"):
        require_java()


def test_an_old_java_is_refused_with_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_392\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    with pytest.raises(ProgramMissing, match="is Java 8"):
        require_java()


@pytest.mark.parametrize(
    ("text", "version"),
    [('openjdk version "17.0.15" 2025-04-15', 17), ('java version "1.8.0_392"', 8), ('openjdk version "25" x', 25)],
)
def test_the_version_is_read_from_what_java_says(text: str, version: int) -> None:
    assert parse_version(text) == version
