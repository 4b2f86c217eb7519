"""The law: what a connector's rows, tokens and counts must be, told from what was produced and from nothing it says.

Snapshots are judged one by one as they appear, each against the one it was built on. So a table is right whichever of
its snapshots is current. The judge also knows the snapshots that have expired, which `frazil.tables.rules.tokens.read` does
not: it says which tokens truly hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import orjson
from tests.memory import MemoryLog, MemoryRecord, MemoryRow, MemoryTable, TableSnapshot
from tests.stateful.connectors import Runner, World
from tests.stateful.logs import LogHistory

from frazil.errors import CherryPicked, TableBegunAnew, TokensUncertain
from frazil.model import SourcePartition, TableName
from frazil.records import metadata
from frazil.tables.rules.channels import Channel
from frazil.tables.rules.state import SOURCE_SNAPSHOT, ancestors
from frazil.tables.rules.tokens import PREFIX, Tokens, decode, key_of, read

Place = tuple[SourcePartition, int, int]
"""A partition, an offset, and the epoch of the leader that wrote the record there."""


@dataclass(frozen=True, slots=True)
class Page:
    """What is true of one connector in one snapshot."""

    tokens: Tokens | None = None
    rows: frozenset[Place] = frozenset()
    """What it ever committed on the way to this snapshot."""

    picked: bool = False
    """Whether one of its snapshots was cherry-picked on top of the tokens."""

    carrier: int = 0
    """The snapshot that carries the tokens."""

    rejected: frozenset[Place] = frozenset()
    """What it ever set aside on the way to this snapshot."""

    logs: Mapping[SourcePartition, frozenset[int] | None] = field(default_factory=dict)
    """The versions of each log that what is covered may be of; None: of any."""


@dataclass(slots=True)
class Book:
    """What is known of one table."""

    pages: dict[int, dict[str, Page]] = field(default_factory=dict)
    """By snapshot, then by connector."""

    starts: dict[tuple[str, SourcePartition], int] = field(default_factory=dict)
    """The first offset that a channel ever began with."""

    commits: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Lawful:
    """What must become of the records of one channel that one commit covers."""

    fits: dict[Place, MemoryRecord]
    """Those that must be rows."""

    unfit: list[Place]
    """Those that must be rejects."""

    parsed: int

    @property
    def as_found(self) -> tuple[list[Place], list[Place], tuple[int, int, int]]:
        """Rows, rejects and counts, as a commit shows them."""
        return sorted(self.fits), self.unfit, (self.parsed, len(self.fits), len(self.unfit))


class Judge:
    """Looks at the tables of a world."""

    def __init__(self, world: World, runners: list[Runner]) -> None:
        self._world = world
        self._runners = runners
        """All there ever were."""

        self._books: dict[str, Book] = {}

    def look(self) -> None:
        """Judge what is new, and which tokens are read.

        Raises:
            AssertionError: the law is broken.
        """
        for table in self._world.catalog.tables.values():
            book = self._books.setdefault(table.state.uuid, Book())
            for number, snapshot in table.history.items():
                if number not in book.pages:
                    book.pages[number] = self._judged(table, book, snapshot)
            for connector in self._connectors(table):
                self._same_tokens(table, connector)
        for table in self._world.catalog.tables.values():
            for connector in self.keys(table):
                self._nothing_before_births(table, connector)

    def page(self, table: MemoryTable, connector: str) -> Page:
        """What is true of a connector in the current snapshot of a table."""
        book, current = self._books.get(table.state.uuid), table.state.current_id
        return Page() if book is None or current is None else book.pages[current].get(connector, Page())

    def keys(self, table: MemoryTable) -> set[str]:
        """The connectors that have opened the table, on whichever of its branches."""
        book = self._books.get(table.state.uuid)
        return {key for page in book.pages.values() for key in page} if book else set()

    def may_expire(self, table: MemoryTable, snapshot: int) -> bool:
        """Whether anything but the snapshot tells which tokens hold (docs/tokens.md, *Which ones hold*).

        After main was set to another snapshot the mirror is not that of the tokens. Where that snapshot expires before
        the connector has committed again, nobody can see it any more; so here that does not happen.
        """
        for connector in self.keys(table):
            if self.page(table, connector).picked:
                return False
            if not self._mirrored(table, connector) and snapshot in _showing(table, connector):
                return False
        return snapshot != table.state.current_id

    def _mirrored(self, table: MemoryTable, connector: str) -> bool:
        truth, mirror = self.page(table, connector).tokens, table.state.property(key_of(connector))
        return truth is not None and mirror is not None and decode(mirror).commit == truth.commit

    def _connectors(self, table: MemoryTable) -> set[str]:
        named = {key.removeprefix(PREFIX) for key in table.state.properties if key.startswith(PREFIX)}
        return named | self.keys(table)

    def _same_tokens(self, table: MemoryTable, connector: str) -> None:
        """What `read` finds is what truly holds; where that cannot be seen any more, it says so."""
        truth, expected = self.page(table, connector), self.expected(table, connector)
        try:
            found = read(table.state, "the table", connector)
        except CherryPicked:
            assert truth.picked, "a cherry-pick is seen where there is none"
        except (TokensUncertain, TableBegunAnew):
            assert expected in ("uncertain", "either"), f"tokens of {connector} are uncertain but plain to see"
        else:
            assert not truth.picked, "a cherry-pick is overlooked"
            assert expected != "uncertain", f"tokens of {connector} are uncertain, but {found} are read"
            assert found == truth.tokens, f"other tokens of {connector} are read than hold"

    def expected(self, table: MemoryTable, connector: str) -> str:
        """Whether the tokens that hold can be `seen`, are `uncertain`, may be taken for `either`, or there are `none`.

        They may where main was set to a snapshot since, those that carried them have expired, and they hold all the
        same.
        """
        truth = self.page(table, connector)
        mirror = table.state.property(key_of(connector))
        if truth.tokens is None:
            return "uncertain" if mirror else "none"
        if any(each.id == truth.carrier for each in ancestors(table.state)):
            return "seen"
        if not self._mirrored(table, connector):
            return "uncertain"
        return "either" if _showing(table, connector) else "seen"

    def _judged(self, table: MemoryTable, book: Book, snapshot: TableSnapshot) -> dict[str, Page]:
        before = book.pages[snapshot.parent] if snapshot.parent is not None else {}
        keys = [key.removeprefix(PREFIX) for key in snapshot.values if key.startswith(PREFIX)]
        assert len(keys) <= 1, "a commit is one connector's"
        if keys:
            return {**before, keys[0]: self._committed(table, book, snapshot, keys[0], before.get(keys[0], Page()))}
        return {key: _after_others(table, snapshot, key, page) for key, page in before.items()}

    def _committed(self, table: MemoryTable, book: Book, snapshot: TableSnapshot, connector: str, before: Page) -> Page:
        tokens = decode(snapshot.values[key_of(connector)])
        known = before.tokens or replace(tokens, epoch=0, topics={}, rejects=None)
        assert not before.picked, "a connector goes on although one of its snapshots was cherry-picked"
        assert tokens.snapshot_seq == snapshot.sequence_number
        assert tokens.commit not in book.commits, "a commit is made twice"
        book.commits.add(tokens.commit)
        assert tokens.epoch > known.epoch or (tokens.epoch, tokens.owner) == (known.epoch, known.owner), (
            f"{tokens.owner} of epoch {tokens.epoch} commits after {known.owner} of epoch {known.epoch}"
        )
        added = _added(table, snapshot)
        opener = next((each for each in self._runners if each.owner == tokens.owner), None)
        expected: dict[Place, MemoryRecord] = {}
        rejected = _rejected(table, known, tokens)
        logs = dict(before.logs)
        assert known.topics.keys() <= tokens.topics.keys(), "a topic's tokens are not carried forward"
        for topic, found in tokens.topics.items():
            opened = topic in known.topics
            for number, channel in found.channels.items():
                partition = SourcePartition(topic, number)
                log = self._world.logs[found.id, partition]
                earlier = known.channel(partition)
                begin = self._offset(known, partition, log)
                if channel.token is None:
                    assert earlier.token is None, f"the token of {partition} is forgotten"
                    continue
                end = self._offset(tokens, partition, log)
                if not opened or earlier.token is None:
                    self._begins(book, connector, partition, 0 if opened else end)
                if not opened:
                    begin = end
                # It is told of the table that is least far on; the others of the topic go back with it.
                said = any(
                    where == partition and first == end for where, first, _ in (opener.replaced if opener else ())
                )
                assert begin <= end or said, f"the token of {partition} moves back from {begin - 1} to {end - 1}"
                _ends_after_its_parents(tokens, partition, moved=begin < end)
                whole = _whole(opener, partition, begin, end) and earlier.leader_epoch is not None
                # Of a log that has nothing left from before, its leader cannot say of which version that was.
                whole = whole and not self._is_deleted_below(found.id, partition, min(begin, end))
                possible = log.same(before.logs.get(partition) if whole else None, min(begin, end))
                judged = {
                    each: self._lawful(
                        found.id,
                        partition,
                        _for(table, opener, found.routes, _between(log.versions[each], begin, end)),
                        [*added, *rejected],
                        opener,
                    )
                    for each in possible
                }
                counts = _counts(earlier if opened else Channel(), channel)
                mine = _of(added, partition), _of(rejected, partition), counts
                assert judged, f"{partition} is read from a log that lacks what is covered or has more than that"
                logs[partition] = frozenset(each for each, law in judged.items() if law.as_found == mine)
                assert logs[partition], f"{partition} from {begin} to {end}: found {mine}, lawful is {judged}"
                expected.update(judged[max(logs[partition])].fits)
        assert sorted(added) == sorted(expected), _difference(added, expected)
        _same_values(table, snapshot, expected)
        assert before.rows.isdisjoint(expected), "rows come a second time"
        return Page(
            tokens,
            before.rows | expected.keys(),
            carrier=snapshot.id,
            logs=logs,
            rejected=before.rejected | {*rejected},
        )

    def _is_deleted_below(self, topic: str, partition: SourcePartition, offset: int) -> bool:
        """Whether retention has deleted everything before an offset."""
        now = self._world.cluster.topics.get(partition.topic)
        return now is not None and now.id == topic and self._world.cluster.log(partition).earliest >= offset

    def _nothing_before_births(self, table: MemoryTable, connector: str) -> None:
        """What has a value, and is before the birth of the table that the value has now, was rejected then."""
        page, starts = self.page(table, connector), self._books[table.state.uuid].starts
        if page.tokens is None or {*_lineage(table)} != {*table.history}:
            return  # where somebody has set it back, what was known then is known no more
        for topic, found in page.tokens.topics.items():
            for value, name in found.routes.items():
                to = self._world.catalog.tables.get(TableName(("public",), name))
                for number in found.channels if to and to.state.uuid in self._books else ():
                    partition = SourcePartition(topic, number)
                    log = self._world.logs[found.id, partition]
                    born = self._books[to.state.uuid].starts.get((connector, partition), 0)
                    early = _between(log.versions[-1], starts.get((connector, partition), 0), born)
                    missed = {
                        (partition, offset, record.leader_epoch)
                        for offset, record in early.items()
                        if value_of(record) == value and not self._may_be_gone(found.id, partition, offset)
                    }
                    assert len(log.versions) > 1 or missed <= page.rejected, f"{missed} are in no table"

    def _may_be_gone(self, topic: str, partition: SourcePartition, offset: int) -> bool:
        return (topic, partition, offset) in self._world.compacted or any(
            where == partition and first <= offset <= last
            for runner in self._runners
            for where, first, last in [*runner.lost, *runner.replaced]
        )

    def _offset(self, tokens: Tokens, partition: SourcePartition, log: LogHistory) -> int:
        """The first offset that tokens do not cover."""
        place = tokens.start(partition)
        return log.end if place.ended else self._world.cluster.offset(place, MemoryLog())

    def _begins(self, book: Book, connector: str, partition: SourcePartition, start: int) -> None:
        first = book.starts.setdefault((connector, partition), start)
        assert start <= first, f"{partition} began at {first} and begins again at {start}: what was rolled back is lost"

    def _lawful(
        self,
        topic: str,
        partition: SourcePartition,
        records: dict[int, MemoryRecord],
        added: list[Place],
        opener: Runner | None,
    ) -> Lawful:
        """What must have become of records.

        A record that compaction removed may have been read before; one that retention removed may not have been read
        only if its opener said so.
        """
        lost = {
            offset
            for where, first, last in (opener.lost if opener else ())
            if where == partition
            for offset in range(first, last + 1)
        }
        rows = set(added)
        for offset, record in [*records.items()]:
            gone = (topic, partition, offset) in self._world.compacted or offset in lost
            if gone and (partition, offset, record.leader_epoch) not in rows:
                del records[offset]
        ignored = opener is not None and opener.settings.conversion.tombstones == "ignore"
        places = {(partition, offset, record.leader_epoch): record for offset, record in records.items()}
        fits = {
            place: record
            for place, record in places.items()
            if not isinstance(record.value, bytes) and not (ignored and record.value is None)
        }
        unfit = sorted(place for place, record in places.items() if isinstance(record.value, bytes))
        return Lawful(fits, unfit, len(records))


def value_of(record: MemoryRecord) -> str | None:
    """By what a record is routed."""
    return record.value.get("v") if isinstance(record.value, dict) else None


def _for(
    table: MemoryTable, opener: Runner | None, routes: Mapping[str, str], records: dict[int, MemoryRecord]
) -> dict[int, MemoryRecord]:
    """Of a topic's records, those that are for a table; the own table of a topic rejects those without another one."""
    if opener is None or opener.settings.route_field is None:
        return records
    value = table.state.property("frazil.route")
    if value is not None:
        return {offset: record for offset, record in records.items() if value_of(record) == value}
    return {
        offset: record if record.value is None else replace(record, value=b"leads nowhere")
        for offset, record in records.items()
        if value_of(record) not in routes
    }


def _lineage(table: MemoryTable) -> list[int]:
    parents = {each.id: each.parent for each in table.history.values()}
    found, number = [], table.state.current_id
    while number is not None:
        found.append(number)
        number = parents[number]
    return found


def _showing(table: MemoryTable, connector: str) -> set[int]:
    """The snapshots from the current one down to the first that main was set to since the connector's last commit."""
    mirror = table.state.property(key_of(connector))
    last = decode(mirror).snapshot_seq if mirror else 0
    parents = {each.id: each.parent for each in table.history.values()}
    heads = [each for each, _ in table.heads]
    since = next((place for place, each in enumerate(heads) if table.history[each].sequence_number == last), 0)
    set_to = {each for each, was_there in table.heads[since + 1 :] if was_there or parents[each] is None}
    history: list[int] = []
    number = table.state.current_id
    while number is not None:
        history.append(number)
        number = parents[number]
    places = [place for place, each in enumerate(history) if each in set_to]
    return {*history[: places[-1] + 1]} if places else set()


def _after_others(table: MemoryTable, snapshot: TableSnapshot, connector: str, before: Page) -> Page:
    """What is true after somebody else's commit, which adds no row of ours unless it is a cherry-pick."""
    source = snapshot.values.get(SOURCE_SNAPSHOT)
    if source is not None and key_of(connector) in table.history[int(source)].values:
        return replace(before, picked=True)
    there = Counter(_place(row) for row in table.rows(snapshot.id) if row.connector == connector)
    assert before.picked or (there.keys() <= before.rows and set(there.values()) <= {1})
    return before


def _added(table: MemoryTable, snapshot: TableSnapshot) -> list[Place]:
    """The rows of a snapshot of ours that the one before did not have, file by file."""
    before = table.history[snapshot.parent].files if snapshot.parent is not None else ()
    assert snapshot.files[: len(before)] == before, "an append takes nothing away"
    places: list[Place] = []
    for path in snapshot.files[len(before) :]:
        assert path in table.files.data, f"{path} was deleted"
        found = [_place(row) for row in table.files.data[path].rows]
        for partition in {where for where, _, _ in found}:
            offsets = [offset for where, offset, _ in found if where == partition]
            assert offsets == sorted(offsets), f"{path} has rows of {partition} out of order"
        places += found
    return places


def _whole(opener: Runner | None, partition: SourcePartition, begin: int, end: int) -> bool:
    """Whether nobody said that some of it was gone: of what retention deleted, nobody can tell which log it was of."""
    said = [*opener.lost, *opener.forgotten] if opener else []
    return not any(where == partition and begin <= last + 1 and first <= end for where, first, last in said)


def _between(log: Mapping[int, MemoryRecord], begin: int, end: int) -> dict[int, MemoryRecord]:
    return {offset: log[offset] for offset in range(begin, end) if offset in log}


def _of(places: list[Place], partition: SourcePartition) -> list[Place]:
    return sorted(place for place in places if place[0] == partition)


def _place(row: MemoryRow) -> Place:
    return row.partition, row.offset, row.leader_epoch


def _counts(earlier: Channel, now: Channel) -> tuple[int, int, int]:
    return now.parsed - earlier.parsed, now.inserted - earlier.inserted, now.errors - earlier.errors


def _same_values(table: MemoryTable, snapshot: TableSnapshot, expected: Mapping[Place, MemoryRecord]) -> None:
    """Each column has what its key has in the record, unless it is younger than the file."""
    before = table.history[snapshot.parent].files if snapshot.parent is not None else ()
    columns = [column for column in table.schemas[snapshot.schema_id] if column.name != metadata.COLUMN]
    for path in snapshot.files[len(before) :]:
        file = table.files.data[path]
        staged = {column.id for column in file.columns}
        for row in file.rows:
            value = expected[_place(row)].value
            assert not isinstance(value, bytes)
            wanted = {column.id: value[column.name] for column in columns if value and column.name in value}
            found = {column.id: row.values[column.id] for column in columns if column.id in row.values}
            assert found == {number: each for number, each in wanted.items() if number in staged}
            assert all(not column.required or column.id in found for column in columns)


def _rejected(table: MemoryTable, known: Tokens, tokens: Tokens) -> list[Place]:
    """What a commit set aside; one with rejects names one list more."""
    if tokens.rejects == known.rejects or tokens.rejects is None:
        return []
    listed = orjson.loads(table.files.small[tokens.rejects])
    assert listed["previous"] == known.rejects
    found = [place for path in listed["files"] for place in table.files.rejects[path]]
    assert found, "a list of no rejects"
    return found


def _difference(found: list[Place], expected: Mapping[Place, MemoryRecord]) -> str:
    twice = [place for place, count in Counter(found).items() if count > 1]
    missing, extra = sorted(expected.keys() - set(found)), sorted(set(found) - expected.keys())
    return f"missing {missing}, not to be there {extra}, more than once {twice}"


def _ends_after_its_parents(tokens: Tokens, partition: SourcePartition, *, moved: bool) -> None:
    """Of a partition that others went on in, nothing is read before they are covered to their ends."""
    parents = [SourcePartition(partition.topic, each) for each in tokens.channel(partition).parents]
    left = [each for each in parents if tokens.channel(each).token is not None and not tokens.channel(each).closed]
    assert not (moved and left), f"{partition} is read before {left} have come to their ends"
