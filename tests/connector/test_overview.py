"""What `frazil channels` says of a source that gives no answer: who that is, and what helps."""

from __future__ import annotations

import time
from collections.abc import Mapping

import pytest
from structlog.testing import capture_logs

from frazil.connector.brokers import Brokers
from frazil.connector.overview import _Asked, _Desk
from frazil.connector.registered import Registered
from frazil.connector.states import Condition
from frazil.dev.kinesis import LocalKinesis
from frazil.errors import ResetRefused
from frazil.model import TableName
from frazil.tables.rules.channels import Channel
from frazil.tables.rules.tokens import Tokens, TopicTokens


@pytest.fixture
def stopped() -> Mapping[str, str]:
    """What finds a local stream that has stopped."""
    with LocalKinesis(quotas=False) as local:
        return {"endpoint": local.endpoint, "region": local.region}


def said(client: Mapping[str, str]) -> tuple[str, str]:
    """The warning of a look at the channels of a stream, and its cause."""
    known = Registered("shop", "SHOP", "kinesis", client, None, None, "STOPPED", 1, 0.0)
    topics = {"orders": TopicTokens("aws", "1", {"shardId-000000000000": Channel("7")})}
    tables = [(TableName(("public",), "ORDERS"), Tokens("shop", "c", "o", 1, topics=topics, source="kinesis"))]
    asked = _Asked("SHOP", tables, Condition("STOPPED"), (), {}, known)
    desk = _Desk(known)
    with capture_logs() as told:
        desk.ask(asked)
        (status,) = desk.answer(asked, time.monotonic() + 30)
    desk.close()
    assert status.offset_token == "7"
    (warning,) = told
    return warning["event"], warning["cause"]


def test_a_stream_that_does_not_answer_is_no_broker(stopped: Mapping[str, str]) -> None:
    event, cause = said({**stopped, "access_key_id": "local", "secret_access_key": "local"})

    assert event == "Kinesis did not answer"
    assert "Could not connect" in cause


def test_who_has_no_credentials_for_a_stream_is_not_said_to_be_refused(
    stopped: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for key, value in {"AWS_EC2_METADATA_DISABLED": "true", "HOME": "/nowhere"}.items():
        monkeypatch.setenv(key, value)
    for key in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(key, raising=False)

    _, cause = said(stopped)

    assert "was not asked" in cause
    assert "frazil.kinesis.access.key.id" in cause
    assert "refused" not in cause


def test_where_a_connector_reads_from_may_not_be_known() -> None:
    with (
        pytest.raises(ResetRefused, match="where SHOP reads from is not known here"),
        Brokers().source("SHOP", None, ()),
    ):
        pass
