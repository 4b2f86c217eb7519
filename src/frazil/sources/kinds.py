"""The kinds of sources: where the code of each is, for what knows a source by the name of its kind alone.

Tokens in a table and tasks in a worker name their source's kind; neither has the source at hand. A kind is a package
with three modules:

- `positions`, with `at(token, leader_epoch)`, the position behind an offset token, `before(offset)`, the position right
  before a record, and `BEGINNING`, the position before the first record of any partition;
- `source`, with `open_source(settings, own)`, the driver's side for a connector of whose settings `own` are the
  source's, `observe(client, topics)`, the same for whoever only looks, and `require_reachable(client, patience)`, which
  raises unless the service answers;
- `reader`, with `open_reader(client, ranges, most_bytes)`, which gives a `frazil.sources.base.RangeReader`, and
  `evict(client)`, which forgets what is kept of a client that failed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from frazil.model import Position, Range, ReaderSpec, RecordOffset
from frazil.sources.base import RangeReader, Source

if TYPE_CHECKING:
    from frazil.config import ConnectorSettings

KAFKA: Final = "kafka"

KINESIS: Final = "kinesis"

_packages: dict[str, str] = {KAFKA: "frazil.sources.kafka", KINESIS: "frazil.sources.kinesis"}


def register(kind: str, package: str) -> None:
    """Have sources of a kind of one's own, whose code is in `package`."""
    _packages[kind] = package


def at(kind: str, token: str, leader_epoch: int | None = None) -> Position:
    """The position behind an offset token."""
    found: Position = _module(kind, "positions").at(token, leader_epoch)
    return found


def before(kind: str, offset: RecordOffset) -> Position:
    """The position right before a record."""
    found: Position = _module(kind, "positions").before(offset)
    return found


def beginning(kind: str) -> Position:
    """The position before the first record of any partition."""
    found: Position = _module(kind, "positions").BEGINNING
    return found


def open_source(settings: ConnectorSettings) -> Source:
    """What a connector reads from, newly connected."""
    opened: Source = _module(settings.source.kind, "source").open_source(settings, settings.source)
    return opened


def observe(kind: str, client: Mapping[str, str], topics: Collection[str]) -> Source:
    """A source that only looks at some topics, newly connected: it takes part in nothing and publishes nothing."""
    opened: Source = _module(kind, "source").observe(client, topics)
    return opened


def require_reachable(kind: str, client: Mapping[str, str], patience: float) -> None:
    """Raise unless the service that `client` configures answers within about `patience` seconds.

    Raises:
        FrazilError: a transient one if it does not answer, a terminal one if it does not let the client in.
    """
    _module(kind, "source").require_reachable(client, patience)


def open_reader(spec: ReaderSpec, ranges: Sequence[Range], most_bytes: int) -> RangeReader:
    """What reads ranges of one topic, or of them what has about `most_bytes`."""
    opened: RangeReader = _module(spec.kind, "reader").open_reader(spec.client, ranges, most_bytes)
    return opened


def evict(spec: ReaderSpec) -> None:
    """Forget what is kept between tasks of a client that failed."""
    _module(spec.kind, "reader").evict(spec.client)


def import_readers() -> None:
    """Import what reads ranges of any kind, so that the first task need not."""
    for kind in _packages:
        _module(kind, "reader")


def _module(kind: str, name: str) -> Any:
    return import_module(f"{_packages[kind]}.{name}")
