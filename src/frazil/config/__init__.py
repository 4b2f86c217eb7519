"""A connector file becomes typed settings, or one error that lists everything wrong with it.

Read in this order: `settings` (what can be configured), `source`, `kafka` and `kinesis` (what of that is the source's),
`known_keys` (every key of the Kafka Connect and Snowflake worlds that is not a setting, and what becomes of it),
`loading` (the way from file to settings), then the smaller modules they use.
"""

from __future__ import annotations

from frazil.config.loading import load, worker_keys
from frazil.config.settings import ConnectorSettings
from frazil.config.together import refuse_conflicts
from frazil.config.topic2table import TableMapping, Topic2Table

__all__ = ["ConnectorSettings", "TableMapping", "Topic2Table", "load", "refuse_conflicts", "worker_keys"]
