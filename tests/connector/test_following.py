"""Which table a function is to follow: never a guess."""

from __future__ import annotations

import pytest
from tests.support.connectors import KAFKA_JSON

from frazil.config import ConnectorSettings, load
from frazil.connector.following import chosen, configured, require_one
from frazil.errors import FollowRefused
from frazil.model import TableName

ORDERS, ORDERS_LOWER, USERS = (TableName(("public",), name) for name in ("ORDERS", "orders", "USERS"))


def settings(**keys: str) -> ConnectorSettings:
    return load(
        {
            "name": "shop",
            "bootstrap.servers": "localhost:9092",
            **KAFKA_JSON,
            **{key.replace("_", "."): value for key, value in keys.items()},
        },
        None,
    )


def test_a_table_is_named_as_it_is_spelled_or_ignoring_case_with_or_without_its_namespace():
    assert chosen("users", [ORDERS, USERS]) == [USERS]
    assert chosen("PUBLIC.Users", [ORDERS, USERS]) == [USERS]
    assert chosen("orders", [ORDERS, ORDERS_LOWER, USERS]) == [ORDERS_LOWER]
    assert chosen("Orders", [ORDERS, ORDERS_LOWER, USERS]) == [ORDERS, ORDERS_LOWER]
    assert chosen("other.ORDERS", [ORDERS]) == []
    assert chosen(None, [ORDERS]) == [ORDERS]


def test_the_only_table_needs_no_name():
    several = settings(topics="a,b", **{"snowflake.topic2table.map": "a:orders,b:orders"})

    assert configured(several) == [ORDERS]
    require_one(several, None)
    require_one(settings(topics="orders"), None)


def test_one_of_several_tables_has_to_be_named():
    several = settings(topics="orders,users")

    with pytest.raises(FollowRefused, match=r"it has several\. It writes public.ORDERS, public.USERS"):
        require_one(several, None)
    require_one(several, "users")


def test_a_table_that_no_topic_goes_to_is_refused():
    with pytest.raises(FollowRefused, match=r"'oders' is none of its tables\. It writes public.ORDERS"):
        require_one(settings(topics="orders"), "oders")


def test_where_topics_may_appear_the_table_has_to_be_named():
    with pytest.raises(FollowRefused, match=r"topics\.regex"):
        require_one(settings(topics_regex="shop.*"), None)
    require_one(settings(topics_regex="shop.*"), "orders")


def test_where_names_are_in_lower_case_only_topics_may_share_a_table():
    shared = settings(topics="a,b", **{"snowflake.topic2table.map": 'a:"Orders",b:"orders"'})

    assert configured(shared, lower=True) == [ORDERS_LOWER]
    require_one(shared, None, lower=True)
    with pytest.raises(FollowRefused, match="it has several"):
        require_one(shared, None)
