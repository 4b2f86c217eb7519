"""What Spark's settings say of a catalog, and what of them only Spark can do."""

from __future__ import annotations

import pytest

from frazil.tables.defaults import SPARK_CATALOG
from frazil.tables.jvm.catalog_settings import NeedsSpark, catalog_definition, local_jars

LAKE = {"spark.sql.catalog.lake": SPARK_CATALOG, "spark.sql.catalog.lake.type": "rest"}


def test_the_properties_of_a_catalog_are_those_below_its_name():
    definition = catalog_definition(
        {
            **LAKE,
            "spark.sql.catalog.lake.warehouse": "s3://lake/w",
            "spark.sql.catalog.lake2": SPARK_CATALOG,
            "spark.sql.catalog.lake2.uri": "http://elsewhere",
        },
        {},
        "lake",
    )

    assert definition.properties == {"type": "rest", "warehouse": "s3://lake/w"}
    assert definition.warehouse == "s3://lake/w"
    assert definition.hadoop == {}


def test_hadoop_is_given_what_spark_would_tell_it_and_the_catalogs_own_word_wins():
    definition = catalog_definition(
        {
            **LAKE,
            "spark.hadoop.fs.s3a.access.key": "of spark",
            "spark.hadoop.fs.s3a.endpoint": "http://store",
            "spark.hive.metastore.uris": "thrift://hive",
            "spark.sql.catalog.lake.hadoop.fs.s3a.endpoint": "http://other",
        },
        {"AWS_ACCESS_KEY_ID": "of the environment", "AWS_SECRET_ACCESS_KEY": "s", "HOME": "/"},
        "lake",
    )

    assert definition.hadoop == {
        "fs.s3a.access.key": "of spark",
        "fs.s3a.secret.key": "s",
        "fs.s3a.endpoint": "http://other",
        "hive.metastore.uris": "thrift://hive",
    }


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkSessionCatalog"}, "SparkSessionCatalog"),
        ({}, "there is no spark.sql.catalog.lake"),
        ({"spark.sql.catalog.lake": SPARK_CATALOG}, "has no type"),
        ({**LAKE, "spark.kerberos.keytab": "/k"}, "spark.kerberos.keytab logs in"),
        ({**LAKE, "spark.driver.userClassPathFirst": "true"}, "order of the class path"),
    ],
)
def test_what_only_spark_can_do_is_left_to_it(settings: dict[str, str], reason: str):
    with pytest.raises(NeedsSpark, match=reason):
        catalog_definition(settings, {}, "lake")


def test_jars_of_this_machine_are_taken_as_they_are():
    assert local_jars({"spark.jars": "/a.jar, file:/b.jar,file:///c d.jar,e.jar"}) == [
        "/a.jar",
        "/b.jar",
        "/c d.jar",
        "e.jar",
    ]
    assert local_jars({}) == []


@pytest.mark.parametrize("jars", ["s3a://lake/a.jar", "/a.jar,http://h/b.jar", "/lib/*.jar"])
def test_jars_that_spark_would_have_to_find_are_left_to_it(jars: str):
    with pytest.raises(NeedsSpark, match="names more than files"):
        local_jars({"spark.jars": jars})
