"""`frazil pack`: what is in the archive, and which environments are refused."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from tests.support.bare import bare_python, packages_of

import frazil
from frazil.cli import main
from frazil.cli.pack import pack_environment
from frazil.errors import NotPackable


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The packages of a small environment that passes for this process's own."""
    python = bare_python(tmp_path / "small")
    packages = packages_of(python)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "small"))
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(packages))
    return packages


def test_an_environment_is_packed_without_pyspark_and_with_the_frazil_that_is_imported(
    environment: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    for package in ("wares", "pyspark", "frazil"):
        (environment / package).mkdir()
        (environment / package / "__init__.py").write_text("OLD = True\n")
    archive = tmp_path / "there" / "environment.tgz"

    assert main(["pack", str(archive)]) == 0

    assert capsys.readouterr().out.strip() == str(archive)
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path / "unpacked", filter="fully_trusted")
    script = "import frazil, wares, sys; print(sys.prefix, frazil.__version__, hasattr(frazil, 'OLD'))"
    python = tmp_path / "unpacked" / "bin" / "python"
    done = subprocess.run([python, "-c", script], capture_output=True, text=True, env={}, check=True)
    assert done.stdout.split() == [str(tmp_path / "unpacked"), frazil.__version__, "False"]
    assert not list((tmp_path / "unpacked").rglob("pyspark"))
    assert [each.name for each in archive.parent.iterdir()] == ["environment.tgz"]


def test_editable_packages_beside_frazil_are_refused_by_name(environment: Path, monkeypatch, tmp_path: Path):
    for name in ("ours", "frazil"):
        information = environment / f"{name}-1.0.dist-info"
        information.mkdir()
        (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (information / "direct_url.json").write_text(json.dumps({"url": "file:///x", "dir_info": {"editable": True}}))
    monkeypatch.setattr(sys, "path", [str(environment)])

    with pytest.raises(NotPackable, match="ours is installed as editable"):
        pack_environment(tmp_path / "environment.tar.gz")


def test_a_python_that_is_no_virtual_environment_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)

    with pytest.raises(NotPackable, match="python -m venv"):
        pack_environment(tmp_path / "environment.tar.gz")


def test_a_name_that_spark_could_not_unpack_by_is_refused(tmp_path: Path):
    with pytest.raises(NotPackable, match=r"\.tar\.gz or \.tgz"):
        pack_environment(tmp_path / "environment.tar.xz")
