"""Catalogs in a JVM without Spark: those that open, and what is said of those that do not."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from frazil.errors import CatalogNotIceberg, CatalogUnavailable
from frazil.model import Conversion, TableName
from frazil.tables.defaults import EMBEDDED, SPARK_CATALOG, embedded_catalog
from frazil.tables.iceberg.catalog import Catalog
from frazil.tables.jvm.catalog_settings import NeedsSpark, catalog_definition
from frazil.tables.jvm.class_path import ClassPath, class_path
from frazil.tables.jvm.jars import Packages
from frazil.tables.jvm.plain_jvm import PlainJvm, jvm_options
from frazil.tables.jvm.resolving import resolved
from frazil.tables.jvm.sessionless import Sessionless

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> ClassPath:
    """The class path of commands that are told nothing."""
    packages = Packages({})
    return class_path({}, packages.jars() or resolved(packages, tmp_path_factory.mktemp("logs") / "log"))


@pytest.fixture
def opened(path: ClassPath, tmp_path: Path) -> Iterator[object]:
    """Open a catalog by its settings, in a JVM of its own."""
    started: list[Sessionless] = []

    def opening(settings: dict[str, str], name: str, class_path: ClassPath = path) -> Sessionless:
        jvm = PlainJvm(class_path.entries, jvm_options(settings, ""), tmp_path / "log")
        begun = Sessionless(catalog_definition(settings, {}, name), jvm)
        started.append(begun)
        return begun

    yield opening
    for each in started:
        each.end()


def lake(**properties: str) -> dict[str, str]:
    prefix = "spark.sql.catalog.lake"
    return {prefix: SPARK_CATALOG, **{f"{prefix}.{key.replace('_', '-')}": text for key, text in properties.items()}}


def catalog_of(opening: Sessionless) -> Catalog:
    return Catalog(opening.catalog, opening.gateway, opening.definition.name)


def test_what_one_jvm_creates_the_next_one_finds(opened, tmp_path: Path):
    name = TableName(("public",), "ORDERS")
    first = catalog_of(opened(embedded_catalog(tmp_path), EMBEDDED)).open(name, {}, Conversion())

    second = catalog_of(opened(embedded_catalog(tmp_path), EMBEDDED))

    assert second.list_tables(("public",)) == [name]
    assert second.table(name).uuid == first.uuid


def test_keys_of_a_catalog_are_the_same_in_any_case_and_hadoop_hears_what_it_is_told(opened, tmp_path: Path):
    settings = {
        **lake(TYPE="hadoop", Warehouse=f"file://{tmp_path}/w"),
        "spark.hadoop.a.key": "1",
        "spark.driver.extraJavaOptions": "-XX:+UseParallelGC -Dof.mine='a b'",
    }
    opening = opened(settings, "lake")

    assert catalog_of(opening).namespaces() == []
    assert opening.configuration.get("a.key") == "1"
    assert opening.gateway.jvm.java.lang.System.getProperty("of.mine") == "a b"


def test_a_catalog_that_cannot_be_reached_is_unavailable(opened):
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        opening = opened(lake(type="rest", uri=f"http://127.0.0.1:{reserved.getsockname()[1]}"), "lake")

        with pytest.raises(CatalogUnavailable, match="open the catalog lake"):
            _ = opening.catalog


def test_a_catalog_that_is_given_too_little_is_no_catalog(opened):
    with pytest.raises(CatalogNotIceberg, match="'lake' cannot be used"):
        _ = opened(lake(type="jdbc"), "lake").catalog


def test_a_class_that_is_not_there_is_left_to_spark(opened):
    with pytest.raises(NeedsSpark, match=r"org\.example\.Nothing"):
        _ = opened(lake(catalog_impl="org.example.Nothing"), "lake").catalog


def test_so_is_a_class_path_without_iceberg(opened):
    with pytest.raises(NeedsSpark, match="no Iceberg"):
        _ = opened(lake(type="hadoop", warehouse="/w"), "lake", class_path({}, ())).catalog
