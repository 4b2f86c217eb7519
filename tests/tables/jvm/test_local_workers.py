"""Which sessions have their Python workers begin with frazil imported."""

from __future__ import annotations

import pytest

from frazil.tables.jvm import local_workers

OURS = {"spark.python.daemon.module": "frazil.staging.daemon"}


@pytest.fixture(autouse=True)
def usual(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)


@pytest.mark.parametrize("theirs", [{}, {"spark.master": "local[2]"}])
def test_workers_on_this_machine_begin_with_frazil_imported(theirs: dict[str, str]):
    assert local_workers.preloading(theirs) == OURS


@pytest.mark.parametrize(
    "theirs",
    [
        {"spark.master": "spark://host:7077"},
        {"spark.python.daemon.module": "theirs"},
        {"spark.pyspark.python": "/usr/bin/python3"},
    ],
)
def test_workers_that_are_another_python_or_started_by_another_module_are_left_alone(theirs: dict[str, str]):
    assert local_workers.preloading(theirs) == {}


@pytest.mark.parametrize("variable", ["PYSPARK_PYTHON", "PYSPARK_GATEWAY_PORT"])
def test_workers_whose_python_the_environment_decides_are_left_alone(monkeypatch: pytest.MonkeyPatch, variable: str):
    monkeypatch.setenv(variable, "25333")

    assert local_workers.preloading({}) == {}


def test_workers_that_would_not_find_frazil_are_left_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setattr("site.getsitepackages", list)

    assert local_workers.preloading({}) == {}
