"""Which of the catalogs that Spark is told of holds the tables."""

from __future__ import annotations

import pytest

from frazil.tables.jvm.catalog_choice import catalogs, chosen

LAKE = {"spark.sql.catalog.lake": "x", "spark.sql.catalog.lake.type": "rest"}


def test_a_catalog_is_what_has_a_class_and_not_its_properties():
    assert catalogs({**LAKE, "spark.sql.catalog.a.uri": "u", "spark.sql.shuffle.partitions": "3"}) == {"lake"}


@pytest.mark.parametrize(
    ("asked", "database", "configured", "found"),
    [
        ("lake", "other", {}, "lake"),
        ("LAKE", None, {}, "lake"),
        ("absent", None, LAKE, "absent"),
        (None, "LAKE", {}, "lake"),
        (None, "absent", LAKE, "lake"),
        (None, None, {}, "frazil"),
        (None, None, {**LAKE, "spark.sql.catalog.other": "x"}, "frazil"),
    ],
)
def test_what_is_asked_for_wins_over_what_is_named_alike_and_that_over_the_only_one(
    asked: str | None, database: str | None, configured: dict[str, str], found: str
):
    assert chosen({"frazil", "lake"}, asked, database, configured) == found
