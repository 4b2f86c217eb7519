"""Log lines of the commands: to standard error, with time, level and facts."""

from __future__ import annotations

import logging
import sys

import stamina
import structlog
from structlog.typing import EventDict

from frazil.cli.visible import visible
from frazil.secrets import cleaned


def configure() -> None:
    """Log what people need to know; librdkafka's and Spark's own chatter is not part of it."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False),
            structlog.processors.format_exc_info,
            _make_visible,
            structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), pad_event_to=0),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    # A connector says itself what it tries again, why and when.
    stamina.instrumentation.set_on_retry_hooks([])
    # A connection of py4j that ends with its JVM is no news to anybody.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    # Credentials that cannot be renewed are an error of ours once they are needed, and one sentence.
    logging.getLogger("botocore.credentials").setLevel(logging.CRITICAL)


def _make_visible(_logger: object, _method: str, event: EventDict) -> EventDict:
    """Names and values of records are among the facts of a line, and what stores and libraries say."""
    return {key: visible(cleaned(value)) if isinstance(value, str) else value for key, value in event.items()}
