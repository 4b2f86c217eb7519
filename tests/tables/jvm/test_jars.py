"""Where the jars of packages are is kept as long as it is true."""

from __future__ import annotations

from pathlib import Path

import pytest

from frazil.tables.jvm.jars import Packages


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "cache"
    monkeypatch.setenv("FRAZIL_CACHE", str(path))
    return path


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    path = tmp_path / "a.jar"
    path.touch()
    return path


def packages(coordinates: str = "org:a:1.0", **told: str) -> Packages:
    return Packages({"spark.jars.packages": coordinates, **{f"spark.jars.{key}": text for key, text in told.items()}})


def test_jars_that_were_resolved_are_known_to_whoever_asks_for_the_same(jar: Path):
    packages().keep([str(jar)])

    assert packages().jars() == (str(jar),)
    assert packages("org:a:1.1").jars() is None
    assert packages(repositories="http://elsewhere").jars() is None


def test_jars_that_are_gone_are_to_be_resolved_again(jar: Path):
    packages().keep([str(jar)])
    jar.unlink()

    assert packages().jars() is None


def test_half_a_list_is_none(jar: Path, cache: Path):
    packages().keep([str(jar)])
    (kept,) = cache.iterdir()
    kept.write_text(kept.read_text()[:5])

    assert packages().jars() is None


@pytest.mark.parametrize("version", ["1.0-SNAPSHOT", "latest.release", "1.+", "[1.0,2.0)"])
def test_a_version_that_moves_is_not_kept(jar: Path, version: str):
    packages(f"org:a:{version}").keep([str(jar)])

    assert packages(f"org:a:{version}").jars() is None


def test_a_cache_that_cannot_be_written_costs_time_and_nothing_else(jar: Path, cache: Path):
    cache.write_text("a file")

    packages().keep([str(jar)])

    assert packages().jars() is None


def test_no_packages_have_no_jars():
    assert Packages({"spark.jars.packages": ""}).jars() == ()
