"""`frazil channels import`: where channels go on that take over somebody's checkpoints, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest
from tests.memory.catalog import MemoryCatalog

from frazil.config import ConnectorSettings, load
from frazil.connector.importing import Import, Importer
from frazil.connector.taking_over import Checkpoints, Consent
from frazil.errors import (
    ChannelAhead,
    CheckpointExpired,
    CheckpointOfOtherStream,
    NoCheckpoints,
    OwnerRuns,
    ResetRefused,
    TableNotCreated,
)
from frazil.model import SourcePartition, TableName
from frazil.names import sanitise
from frazil.sources import kinds
from frazil.sources.base import PartitionFacts, TopicFacts
from frazil.sources.kinesis.checkpointed import CheckpointedRecord
from frazil.sources.kinesis.checkpoints import Checkpoint, Keeper
from frazil.tables.rules.channels import Channel
from frazil.tables.rules.tokens import IMPORTED, Tokens, TopicTokens, encode, key_of, read

ACCOUNT = "123456789012"
CREATED = 1_785_326_400
ARRIVAL = CREATED * 1000 + 5_000_000
MOMENT = CREATED * 1000 + 9_000_000
"""When the service was asked, in ms since the epoch."""

DAY = 24 * 60 * 60_000
TABLE = TableName(("public",), "ORDERS")
KEY = sanitise("orders-app")
NUMBER = "49590338271490256608559692538361571095921575989136588898"
NOTHING = Consent()
"""Somebody who has agreed to nothing."""

LATER = "49590338271490256608559692538361571095921575989136588899"


def facts(*shards: PartitionFacts, stream: str = "orders", created: int = CREATED) -> TopicFacts:
    cluster = f"aws:eu-central-1:{ACCOUNT}"
    return TopicFacts(stream, cluster, str(created * 1000 + 123), shards or (PartitionFacts(shard(0)),), MOMENT, DAY)


def shard(number: int) -> str:
    return f"shardId-{number:012}"


@dataclass
class World:
    """A catalog, and the connector whose channels are set."""

    streams: Sequence[TopicFacts] = field(default_factory=lambda: [facts()])
    catalog: MemoryCatalog = field(default_factory=MemoryCatalog)
    keys: Mapping[str, str] = field(default_factory=dict)
    gone: set[int] = field(default_factory=set)
    """Sequence numbers whose records the streams have dropped."""

    @property
    def settings(self) -> ConnectorSettings:
        given = {
            "name": "orders-app",
            "connector.class": "frazil.KinesisConnector",
            "frazil.kinesis.region": "eu-central-1",
            "frazil.kinesis.streams": ",".join(each.topic for each in self.streams),
        }
        return load({**given, **self.keys})

    def plan(
        self, *found: Checkpoint, keeper: Keeper = "kcl", stream: str | None = None, consent: Consent = NOTHING
    ) -> list[Import]:
        return self.importer.plan(Checkpoints(keeper, "orders-app", found), stream, consent)

    def take(
        self, *found: Checkpoint, keeper: Keeper = "kcl", stream: str | None = None, consent: Consent = NOTHING
    ) -> None:
        checkpoints = Checkpoints(keeper, "orders-app", found)
        importer = self.importer
        for each in importer.plan(checkpoints, stream, consent):
            importer.write(each, checkpoints, "a test", consent)

    @property
    def importer(self) -> Importer:
        streams = {each.topic: each for each in self.streams}
        return Importer(self.settings, self.catalog, None, streams, self.look_up)

    def look_up(self, sequences: Mapping[SourcePartition, int]) -> dict[SourcePartition, CheckpointedRecord]:
        """Records of ten user records each."""
        record = CheckpointedRecord(ARRIVAL, 10)
        return {partition: record for partition, number in sequences.items() if number not in self.gone}

    def hold(self, tokens: Mapping[str, str], opener: str = "somebody with a command", routes: bool = False) -> None:
        """Have the table hold tokens of the stream's first shards already."""
        known = self.streams[0]
        channels = {each: Channel(token=token) for each, token in tokens.items()}
        topic = TopicTokens(known.cluster, known.id, channels, {"red": "ORDERS_RED"} if routes else {})
        held = Tokens("orders-app", "c-1", "o-1", 3, 1, {known.topic: topic}, opener=opener, source="kinesis")
        table = self.catalog.open(TABLE, {}, self.settings.conversion)
        swap = table.begin()
        swap.build((), key_of(KEY), encode(replace(held, snapshot_seq=1)), {})
        swap.swap()

    def known(self, table: TableName = TABLE) -> Tokens:
        found = read(self.catalog.tables[table].state, str(table), KEY)
        assert found is not None
        return found

    def tokens(self, stream: str = "orders", table: TableName = TABLE) -> dict[str, str | None]:
        """The tokens of a stream's shards."""
        return {str(each): channel.token for each, channel in self.known(table).topics[stream].channels.items()}


def test_a_connector_that_never_ran_goes_on_where_the_checkpoints_are() -> None:
    shards = (
        PartitionFacts(shard(0), (), closed=True),
        PartitionFacts(shard(1), (), closed=True),
        PartitionFacts(shard(2), (shard(0),)),
        PartitionFacts(shard(3), (shard(0),)),
        PartitionFacts(shard(4)),
    )
    world = World([facts(*shards)])

    world.take(
        Checkpoint(shard(1), "SHARD_END"),
        Checkpoint(shard(2), NUMBER, 0),
        Checkpoint(shard(3), "TRIM_HORIZON"),
    )

    assert world.tokens() == {
        shard(0): "SHARD_END",
        shard(1): "SHARD_END",
        shard(2): f"{NUMBER}:0",
        shard(3): "TRIM_HORIZON",
        shard(4): "TRIM_HORIZON",
    }
    known = world.known()
    assert {each for each, channel in known.topics["orders"].channels.items() if channel.closed} == {shard(0), shard(1)}
    assert (known.name, known.source, known.epoch) == ("orders-app", "kinesis", 1)
    assert (known.topics["orders"].cluster, known.topics["orders"].id) == (world.streams[0].cluster, f"{CREATED}123")


def test_the_commit_says_who_took_over_what_and_has_no_row() -> None:
    world = World()

    world.take(Checkpoint(shard(0), NUMBER, 7))

    state = world.catalog.tables[TABLE].state
    (snapshot,) = state.snapshots.values()
    audit = json.loads(snapshot.summary(IMPORTED) or "")
    assert (audit["command"], audit["source"], audit["reason"]) == (
        "frazil channels import",
        "kcl:orders-app",
        "a test",
    )
    assert audit["tokens"] == {f"orders-{shard(0)}": {"from": None, "to": f"{NUMBER}:7"}}
    assert world.catalog.tables[TABLE].rows() == []


def test_channels_know_by_when_what_had_come_was_read_so_that_retention_cannot_pass_them_unseen() -> None:
    world = World([facts(*(PartitionFacts(shard(number)) for number in range(3)))])

    world.take(Checkpoint(shard(0), NUMBER, 7), Checkpoint(shard(1), "LATEST"))

    channels = world.known().topics["orders"].channels
    assert [channels[shard(number)].read_through for number in range(3)] == [
        ARRIVAL,
        MOMENT - 60_000,
        None,
    ]
    assert {channels[shard(number)].kept_since for number in range(3)} == {MOMENT - DAY}
    assert channels[shard(1)].token == f"AT_TIMESTAMP:{MOMENT - 60_000}"


def test_a_checkpoint_whose_record_is_gone_is_told_as_such() -> None:
    world = World(gone={int(NUMBER)})

    (plan,) = world.plan(Checkpoint(shard(0), NUMBER))

    assert [each.meaning for each in plan.taken] == ["RETENTION HAS PASSED IT: what followed may be lost"]


def test_an_import_that_changes_nothing_commits_nothing() -> None:
    world = World()
    world.take(Checkpoint(shard(0), NUMBER))

    world.take(Checkpoint(shard(0), NUMBER))

    assert (world.tokens(), world.known().epoch) == ({shard(0): NUMBER}, 1)


def test_a_plan_says_what_would_become_of_each_channel_and_changes_nothing() -> None:
    world = World([facts(*(PartitionFacts(shard(number)) for number in range(4)))])
    world.hold({shard(1): NUMBER, shard(2): NUMBER})

    (plan,) = world.plan(Checkpoint(shard(0), "LATEST"), Checkpoint(shard(1), LATER), Checkpoint(shard(3), "SHARD_END"))

    assert [(each.checkpoint and each.checkpoint.written, each.meaning) for each in plan.taken] == [
        ("LATEST", "new records, from a minute ago on"),
        (LATER, "goes on there"),
        (None, "no checkpoint; goes on where it is"),
        ("SHARD_END", "read to its end"),
    ]
    assert world.tokens() == {shard(1): NUMBER, shard(2): NUMBER}
    assert World().plan(Checkpoint(shard(0), NUMBER))[0].table is None


def test_a_plan_needs_no_catalog() -> None:
    world = World()
    importer = Importer(world.settings, None, None, {"orders": facts()}, world.look_up)

    (plan,) = importer.plan(Checkpoints("kcl", "orders-app", [Checkpoint(shard(0), NUMBER)]), None, Consent())

    assert (plan.name, plan.table) == (TABLE, None)


def test_leases_of_several_streams_go_to_the_tables_of_their_streams() -> None:
    world = World([facts(), facts(stream="returns", created=CREATED + 9)])

    world.take(
        Checkpoint(shard(0), NUMBER, 0, "orders", ACCOUNT, CREATED),
        Checkpoint(shard(0), LATER, 0, "returns", ACCOUNT, CREATED + 9),
        Checkpoint(shard(0), LATER, 0, "others", ACCOUNT, CREATED),
        Checkpoint(shard(7), LATER, 0, "orders", "210987654321", CREATED),
    )

    assert world.tokens() == {shard(0): f"{NUMBER}:0"}
    assert world.tokens("returns", TableName(("public",), "RETURNS")) == {shard(0): f"{LATER}:0"}


def test_leases_that_do_not_say_of_which_stream_need_that_said_where_there_are_several() -> None:
    world = World([facts(), facts(stream="returns")])

    with pytest.raises(NoCheckpoints, match=r"reads orders, returns\. Name the stream: --stream NAME"):
        world.plan(Checkpoint(shard(0), NUMBER))
    with pytest.raises(NoCheckpoints, match="cannot be of payments: the connector reads orders, returns"):
        world.plan(Checkpoint(shard(0), NUMBER), stream="payments")
    world.take(Checkpoint(shard(0), NUMBER), stream="orders")

    assert [*world.catalog.tables] == [TABLE]


def test_checkpoints_of_other_streams_are_none_of_the_connectors() -> None:
    with pytest.raises(NoCheckpoints, match="has no checkpoint of orders, but of returns"):
        World().plan(Checkpoint(shard(0), NUMBER, stream="returns"))


def test_a_stream_that_was_made_again_since_is_refused() -> None:
    with pytest.raises(CheckpointOfOtherStream, match=r"made at 2026-07-29T12:00:00\+00:00"):
        World([facts(created=CREATED + 60)]).plan(Checkpoint(shard(0), NUMBER, 0, "orders", ACCOUNT, CREATED))


def test_leases_of_a_stream_before_it_was_made_again_are_left_beside_those_of_the_stream_as_it_is() -> None:
    world = World()

    world.take(
        Checkpoint(shard(0), NUMBER, 0, "orders", ACCOUNT, CREATED - 60),
        Checkpoint(shard(0), LATER, 9, "orders", ACCOUNT, CREATED),
        Checkpoint(shard(5), NUMBER, 0, "orders", ACCOUNT, CREATED - 60),
    )

    assert world.tokens() == {shard(0): LATER}


def test_a_shard_that_is_gone_before_its_end_is_a_loss_that_somebody_has_to_agree_to() -> None:
    world = World()
    checkpoints = (Checkpoint(shard(0), NUMBER), Checkpoint(shard(7), NUMBER), Checkpoint(shard(8), "SHARD_END"))

    with pytest.raises(CheckpointExpired, match=f"has dropped {shard(7)}, not read"):
        world.take(*checkpoints)
    assert world.catalog.tables == {}
    world.take(*checkpoints, consent=Consent(loss=True))

    assert world.tokens() == {shard(0): NUMBER}


def test_so_is_a_shard_that_the_connector_itself_had_not_read_to_its_end() -> None:
    world = World()
    world.hold({shard(0): NUMBER, shard(7): NUMBER})

    with pytest.raises(CheckpointExpired, match=f"has dropped {shard(7)}, not read"):
        world.take(Checkpoint(shard(0), LATER))

    assert world.tokens() == {shard(0): NUMBER, shard(7): NUMBER}


def test_a_channel_that_is_further_on_goes_back_only_if_it_is_to() -> None:
    world = World()
    world.hold({shard(0): LATER})

    with pytest.raises(ChannelAhead, match=f"orders-{shard(0)} is at {LATER}, which is after the checkpoint {NUMBER}"):
        world.take(Checkpoint(shard(0), NUMBER))
    assert world.tokens() == {shard(0): LATER}
    world.take(Checkpoint(shard(0), NUMBER), consent=Consent(loss=True))

    assert (world.tokens(), world.known().epoch) == ({shard(0): NUMBER}, 4)


def test_sequence_numbers_are_compared_as_numbers() -> None:
    world = World()
    world.hold({shard(0): "999"})

    world.take(Checkpoint(shard(0), "1000"))

    assert world.tokens() == {shard(0): "1000"}


def test_a_channel_that_moved_on_after_the_plan_is_not_set_back() -> None:
    world = World()
    checkpoints = Checkpoints("kcl", "orders-app", [Checkpoint(shard(0), NUMBER)])
    importer = world.importer
    (plan,) = importer.plan(checkpoints, None, Consent())
    world.hold({shard(0): LATER})

    with pytest.raises(ChannelAhead):
        importer.write(plan, checkpoints, None, Consent())

    assert world.tokens() == {shard(0): LATER}


def test_a_connector_that_runs_is_left_alone_unless_it_is_to_be_fenced() -> None:
    world = World()
    world.hold({shard(0): NUMBER}, opener="elsewhere (pid 1)")

    with pytest.raises(OwnerRuns, match="owns the table"):
        world.take(Checkpoint(shard(0), LATER))
    world.take(Checkpoint(shard(0), LATER), consent=Consent(fencing=True))

    assert world.tokens() == {shard(0): LATER}


def test_tokens_of_a_stream_that_was_made_again_do_not_stand_in_the_way() -> None:
    world = World([facts(created=CREATED - 60)])
    world.hold({shard(0): LATER, shard(5): LATER})
    world.streams = [facts()]

    world.take(Checkpoint(shard(0), NUMBER))

    assert world.tokens() == {shard(0): NUMBER}
    assert world.known().topics["orders"].id == f"{CREATED}123"


def test_a_shard_that_openflow_has_not_read_is_read_whole_though_its_children_are_ahead() -> None:
    world = World([facts(PartitionFacts(shard(0), (), closed=True), PartitionFacts(shard(1), (shard(0),)))])

    world.take(
        Checkpoint(shard(0), "", stream="orders"), Checkpoint(shard(1), NUMBER, stream="orders"), keeper="openflow"
    )

    assert world.tokens() == {shard(0): "TRIM_HORIZON", shard(1): NUMBER}


def test_a_stream_whose_records_were_routed_by_their_values_is_left_to_resets() -> None:
    world = World()
    world.hold({shard(0): NUMBER}, routes=True)

    with pytest.raises(ResetRefused, match="frazil channels reset"):
        world.plan(Checkpoint(shard(0), LATER))


def test_a_table_that_is_not_to_be_created_has_to_be_there() -> None:
    world = World(keys={"snowflake.autocreate.table.type": "none"})

    with pytest.raises(TableNotCreated):
        world.plan(Checkpoint(shard(0), NUMBER))


def test_the_start_of_a_connector_finds_the_tokens() -> None:
    world = World()
    world.take(Checkpoint(shard(0), NUMBER, 3))

    found = world.known().start(SourcePartition("orders", shard(0)))

    assert found == kinds.at("kinesis", f"{NUMBER}:3")
