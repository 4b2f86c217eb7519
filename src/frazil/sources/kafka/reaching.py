"""Find out within seconds whether any broker can be reached."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from frazil.errors import BrokerRefused, BrokerUnavailable
from frazil.sources.kafka.faults import QUIET, Refusals, translate

_LOOK: Final = 0.1
"""Seconds between two looks at whether an answer has come."""

_GRACE: Final = 1.0
"""Seconds in which a client may find a broker although it has just lost all that it knew."""

_ACTION: Final = "describe the cluster"


def require_reachable(client: Mapping[str, Any], patience: float) -> None:
    """Ask the brokers that `client` configures for their cluster, in librdkafka's keys.

    Raises:
        BrokerUnavailable: all brokers are down, or none answered within `patience` seconds.
        BrokerRefused: a broker does not let the client in, or the configuration cannot be used.
    """
    brokers, heard = str(client["bootstrap.servers"]), Refusals()
    try:
        # Kept until the answer is there: requests of a client that is gone fail.
        admin = AdminClient({**QUIET, **client, "error_cb": heard.hear})
        asked = admin.describe_cluster(request_timeout=patience)
        began = time.monotonic()
        while not asked.done() and time.monotonic() < began + patience:
            admin.poll(_LOOK)
            if heard.all_down and not asked.done() and time.monotonic() > began + _GRACE:
                break
        if not asked.done():
            if heard.last:
                raise BrokerRefused(brokers, _ACTION, heard.last)
            raise BrokerUnavailable(brokers, _ACTION, heard.trouble or f"no answer within {patience:.0f} s")
        asked.result()
    except KafkaException as error:
        raise translate(error, brokers, _ACTION, heard) from error
