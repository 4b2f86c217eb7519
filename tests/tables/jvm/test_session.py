"""Which sessions are taken, and what Spark was told before."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyspark
import pytest
from pyspark.errors import PySparkAttributeError

from frazil.errors import SparkConnectRefused, SparkEnded, SparkVersionRefused
from frazil.tables.defaults import embedded_catalog
from frazil.tables.jvm import spark_defaults
from frazil.tables.jvm.session import open_session, require_usable, tables_at_once


@pytest.fixture(autouse=True)
def untold(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An environment that tells Spark nothing, and where its settings would be."""
    for name in ("REMOTE", "API_MODE", "CONNECT_MODE_ENABLED"):
        monkeypatch.delenv(f"SPARK_{name}", raising=False)
    for name in ("GATEWAY_PORT", "SUBMIT_ARGS"):
        monkeypatch.delenv(f"PYSPARK_{name}", raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    return tmp_path / "spark-defaults.conf"


def test_a_spark_connect_session_is_refused_by_name():
    with pytest.raises(SparkConnectRefused):
        require_usable(connect_session())


@pytest.mark.parametrize("variable", [("SPARK_REMOTE", "sc://127.0.0.1"), ("SPARK_API_MODE", "connect")])
def test_frazil_starts_no_spark_connect_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: tuple[str, str]
):
    monkeypatch.setenv(*variable)

    with pytest.raises(SparkConnectRefused, match="unset SPARK_REMOTE"):
        open_session(tmp_path, "local[1]", {})


@pytest.mark.parametrize("settings", [{"spark.remote": "sc://127.0.0.1"}, {"spark.api.mode": "connect"}])
def test_nor_where_a_file_asks_for_one(tmp_path: Path, settings: dict[str, str]):
    with pytest.raises(SparkConnectRefused):
        open_session(tmp_path, None, settings)


def test_another_spark_than_pysparks_is_refused_by_name():
    with pytest.raises(SparkVersionRefused, match=rf"Spark 3\.5\.1, .* is {pyspark.__version__}"):
        require_usable(ClassicSession("3.5.1"))

    require_usable(ClassicSession(".".join(pyspark.__version__.split(".")[:2]) + ".9"))


def test_a_session_whose_jvm_is_gone_is_refused_by_name():
    session = ClassicSession("4.1.3")
    session.ended = True

    with pytest.raises(SparkEnded):
        require_usable(session)


def test_what_a_site_configured_is_known_as_spark_reads_it(untold: Path):
    untold.write_text("# ours\nspark.master            spark://10.0.0.1:7077\nspark.ui.enabled=true\n")

    assert spark_defaults.settings() == {"spark.master": "spark://10.0.0.1:7077", "spark.ui.enabled": "true"}


def test_where_no_site_configured_anything_nothing_is_known():
    assert spark_defaults.settings() == {}


def test_what_pyspark_is_to_submit_with_is_known_and_wins_over_the_file(untold: Path, monkeypatch: pytest.MonkeyPatch):
    untold.write_text("spark.ui.enabled true\nspark.cores.max 2\n")
    monkeypatch.setenv(
        "PYSPARK_SUBMIT_ARGS",
        "--name 'the lake' --conf spark.cores.max=4 -c 'spark.a=b = c' --conf=spark.d=e --jars=x.jar pyspark-shell",
    )

    assert spark_defaults.settings() == {
        "spark.ui.enabled": "true",
        "spark.cores.max": "4",
        "spark.a": "b = c",
        "spark.d": "e",
    }
    assert spark_defaults.submitted().others == ["--name", "the lake", "--jars=x.jar", "pyspark-shell"]


@pytest.mark.parametrize(("too", "known"), [("", {}), ("--load-spark-defaults", {"spark.cores.max": "2"})])
def test_another_file_is_read_in_place_of_the_sites_or_over_it(
    untold: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, too: str, known: dict[str, str]
):
    untold.write_text("spark.ui.enabled true\nspark.cores.max 2\n")
    other = tmp_path / "other.properties"
    other.write_text("spark.ui.enabled false\n")
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--properties-file {other} {too} pyspark-shell")

    assert spark_defaults.settings() == {"spark.ui.enabled": "false", **known}
    assert spark_defaults.submitted().others == ["pyspark-shell"]


def test_a_setting_that_is_none_stays_for_spark_submit_to_refuse(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--conf spark.cores.max pyspark-shell")

    assert spark_defaults.submitted().others == ["--conf", "spark.cores.max", "pyspark-shell"]


def connect_session() -> Any:
    """A real Spark Connect session; where its client lacks libraries, what answers as one."""
    if find_spec("grpc") is None:
        return ConnectSession()
    from pyspark.sql.connect.session import SparkSession

    return SparkSession(connection="sc://127.0.0.1:1")


class ConnectSession:
    """Answers for what is the JVM's as Spark Connect's session does."""

    version = pyspark.__version__

    def __getattr__(self, name: str) -> Any:
        raise PySparkAttributeError(errorClass="JVM_ATTRIBUTE_NOT_SUPPORTED", messageParameters={"attr_name": name})


class ClassicSession:
    """A session with a JVM of some version."""

    _jsparkSession = object()  # noqa: N815 (pyspark's name)

    def __init__(self, version: str) -> None:
        self.version = version
        self.ended = False

    @property
    def _jvm(self) -> Any:
        if self.ended:
            raise ConnectionRefusedError
        return _Jvm()


class _Jvm:
    def __getattr__(self, name: str) -> Any:
        return self

    def __call__(self) -> int:
        return 0


def test_the_embedded_catalogs_tables_are_committed_side_by_side(tmp_path: Path):
    assert at_once({key.rpartition(".")[2]: text for key, text in embedded_catalog(tmp_path).items()}) == 16


def test_a_sqlite_whose_writers_do_not_wait_for_each_other_takes_one_table_at_a_time():
    assert at_once({"uri": "jdbc:sqlite:/lake/catalog.db"}) == 1
    assert at_once({"uri": "jdbc:sqlite:/lake/catalog.db?busy_timeout=5000"}) == 16


@pytest.mark.parametrize("settings", [{"uri": "jdbc:postgresql://db/lake"}, {"type": "hive"}])
def test_other_catalogs_take_several_tables_at_once(settings: dict[str, str]):
    assert at_once(settings) == 16


def at_once(settings: dict[str, str]) -> int:
    """How many tables of a catalog with these settings are committed to at a time."""
    configured = {f"spark.sql.catalog.lake.{key}": text for key, text in settings.items()}
    conf = SimpleNamespace(get=lambda key, default=None: configured.get(key, default))
    session: Any = SimpleNamespace(conf=conf)
    return tables_at_once(session, "lake")
