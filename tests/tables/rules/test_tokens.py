from __future__ import annotations

import base64
import uuid
import zlib

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.channels import with_channel

from frazil.errors import CherryPicked, TableBegunAnew, TokensUncertain, TokensUnreadable
from frazil.model import SourcePartition
from frazil.tables.rules.channels import Channel
from frazil.tables.rules.stages import Stage
from frazil.tables.rules.tokens import (
    Tokens,
    TopicTokens,
    decode,
    encode,
    key_of,
    last_epoch,
    mirrored,
    read,
)

from .histories import CONNECTOR, PARTITION, TABLE, History, token_of

some = st.integers(0, 2**60)
channels = st.builds(Channel, st.none() | some.map(str), st.none() | some, some, some, some, st.none() | some, some)
numbered = st.lists(channels, max_size=4).map(lambda found: dict(enumerate(found)))
topics = st.builds(TopicTokens, st.text(), st.text(), numbered)
written = st.builds(
    Tokens,
    name=st.text(),
    commit=st.uuids().map(str),
    owner=st.uuids().map(str),
    epoch=some,
    opener=st.text(),
    snapshot_seq=some,
    topics=st.dictionaries(st.text(), topics, max_size=3),
    last_error=st.none() | st.dictionaries(st.text(), st.none() | st.text() | some, max_size=3),
    rejects=st.none() | st.text(),
    output=st.none() | st.text(),
    output_sent=st.none() | st.text(),
    source=st.text(),
)


@given(written)
def test_tokens_written_are_read_back(tokens: Tokens) -> None:
    assert decode(encode(tokens)) == tokens


def test_the_form_is_the_documented_one() -> None:
    tokens = with_channel(
        Tokens("to the lake", "c", "o", 7, 41, opener="host-7 (pid 4711)"),
        SourcePartition("orders", 1),
        Channel("1041", 3, 1040, 1042, 2, 1_760_000_000_000, 5),
        "cluster",
        "id",
    )

    assert orjson.loads(zlib.decompress(base64.b64decode(encode(tokens)))) == {
        "v": 2,
        "source": "kafka",
        "name": "to the lake",
        "commit": "c",
        "owner": "o",
        "opener": "host-7 (pid 4711)",
        "epoch": 7,
        "snapshot-seq": 41,
        "topics": {
            "orders": {
                "cluster": "cluster",
                "id": "id",
                "channels": {
                    "tokens": [None, 1041],
                    "epochs": [None, 3],
                    "parsed": [0, 1042],
                    "errors": [0, 2],
                    "lost": [0, 5],
                    "time": 1_760_000_000_000,
                    "behind": [None, 0],
                },
            }
        },
        "last-error": None,
        "rejects": None,
    }


def test_a_channel_is_moved_without_touching_the_others() -> None:
    tokens = with_channel(Tokens("n", "c", "o", 1), SourcePartition("a", 2), Channel("5"), "k", "i")

    tokens = with_channel(tokens, SourcePartition("a", 0), Channel("7"), "k", "i")
    tokens = with_channel(tokens, SourcePartition("b", 0), Channel("9"), "k", "j")

    found = [tokens.channel(SourcePartition(*place)).token for place in (("a", 0), ("a", 1), ("a", 2), ("b", 0))]
    assert found == ["7", None, "5", "9"]
    assert tokens.channel(SourcePartition("a", 9)) == tokens.channel(SourcePartition("z", 0)) == Channel()


def packed(document: object) -> str:
    return base64.b64encode(zlib.compress(orjson.dumps(document))).decode()


GOOD = orjson.loads(zlib.decompress(base64.b64decode(encode(Tokens("n", "c", "o", 1)))))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "damaged"),
        ("not base64!", "damaged"),
        ("é", "ASCII"),
        (base64.b64encode(b"not deflated").decode(), "damaged"),
        (encode(Tokens("n", "c", "o", 1))[:-8], "damaged"),
        (packed([]), "damaged"),
        (packed({}), "damaged"),
        (packed("text"), "damaged"),
        (packed({"v": 2}), "damaged"),
        (packed({**GOOD, "topics": []}), "damaged"),
        (packed({**GOOD, "topics": {"a": None}}), "damaged"),
        (packed({**GOOD, "topics": {"a": {"cluster": "", "id": "", "channels": {}}}}), "damaged"),
        (packed({**GOOD, "v": 3}), "they are of version 3, and this program reads version 2"),
    ],
)
def test_text_that_is_no_token_says_why(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        decode(text)

    history = History()
    history.foreign(**{key_of(CONNECTOR): text})
    with pytest.raises(TokensUnreadable, match=TABLE):
        read(history.state, TABLE, CONNECTOR)


def test_a_table_never_opened_has_no_tokens() -> None:
    history = History()
    assert read(history.state, TABLE, CONNECTOR) is None

    history.foreign()
    history.ours(5, connector="ANOTHER")
    assert read(history.state, TABLE, CONNECTOR) is None


def test_the_newest_snapshot_of_ours_speaks() -> None:
    history = History()
    history.ours(5)
    newest = history.ours(9)

    assert read(history.state, TABLE, CONNECTOR) == newest


def test_foreign_commits_on_top_do_not_disturb() -> None:
    history = History()
    ours = history.ours(5)
    history.foreign(operation="replace")
    history.ours(7, connector="ANOTHER")
    history.foreign(operation="delete")

    assert read(history.state, TABLE, CONNECTOR) == ours


def test_after_compaction_and_expiry_the_mirror_speaks() -> None:
    history = History()
    history.ours(5)
    ours = history.ours(9)
    history.foreign(operation="replace")
    history.expire(1, 2)

    assert read(history.state, TABLE, CONNECTOR) == ours


def test_tokens_only_in_the_mirror_then_a_rival_then_a_stale_writer() -> None:
    history = History()
    mine = history.ours(5, owner="me", epoch=1)
    history.foreign(operation="replace")
    history.expire(1)
    assert read(history.state, TABLE, CONNECTOR) == mine  # what the stale writer still believes

    rival = history.ours(5, owner="rival", epoch=2)
    history.foreign(operation="replace")
    history.expire(2, 3)

    assert read(history.state, TABLE, CONNECTOR) == rival
    assert read(history.state, TABLE, CONNECTOR) != mine


def test_a_rollback_to_a_snapshot_of_ours_rolls_the_tokens_back_whatever_the_mirror_says() -> None:
    history = History()
    old = history.ours(5)
    history.ours(9)
    history.roll_back(to=1)

    assert read(history.state, TABLE, CONNECTOR) == old
    history.foreign()
    assert read(history.state, TABLE, CONNECTOR) == old
    again = history.ours(7)
    assert read(history.state, TABLE, CONNECTOR) == again


def test_a_rollback_to_a_foreign_snapshot_above_ours_keeps_ours() -> None:
    history = History()
    old = history.ours(5)
    foreign = history.foreign()
    history.ours(9)
    history.roll_back(to=foreign)

    assert read(history.state, TABLE, CONNECTOR) == old


def test_a_rollback_below_our_tokens_is_uncertain() -> None:
    history = History()
    before = history.foreign()
    history.ours(5)
    history.roll_back(to=before)

    with pytest.raises(TokensUncertain, match=CONNECTOR):
        read(history.state, TABLE, CONNECTOR)
    history.foreign()  # a commit on the rolled back branch does not make it certain
    with pytest.raises(TokensUncertain):
        read(history.state, TABLE, CONNECTOR)


def test_a_rollback_below_our_tokens_whose_snapshots_then_expired_is_uncertain_still() -> None:
    history = History()
    before = history.foreign()
    history.ours(5)
    history.ours(9)
    history.roll_back(to=before)
    history.expire(2, 3)

    with pytest.raises(TokensUncertain):
        read(history.state, TABLE, CONNECTOR)


def branched() -> History:
    """Three commits of ours; somebody's branch began at the first, which has expired since."""
    history = History()
    for token in (2, 5, 8):
        history.ours(token)
    history.branch("audit", at=1)
    history.expire(1, 2)
    return history


def test_main_set_to_a_branch_whose_branch_point_has_expired_is_uncertain_whatever_comes_then() -> None:
    history = branched()
    history.roll_back(to=history.references["audit"])

    with pytest.raises(TokensUncertain, match=rf"{TABLE} was set to another snapshot or branch.*reset {CONNECTOR}"):
        read(history.state, TABLE, CONNECTOR)
    history.expire(3)
    with pytest.raises(TokensUncertain):
        read(history.state, TABLE, CONNECTOR)
    history.foreign()
    history.ours(7, connector="ANOTHER")
    with pytest.raises(TokensUncertain):
        read(history.state, TABLE, CONNECTOR)


def test_main_set_to_a_branch_and_back_tells_its_tokens_again() -> None:
    history = branched()
    history.roll_back(to=history.references["audit"])
    history.roll_back(to=3)

    assert token_of(read(history.state, TABLE, CONNECTOR)) == "8"


def test_after_main_was_set_to_and_fro_among_commits_that_are_logged_the_mirror_speaks() -> None:
    history = History()
    ours = history.ours(5)
    first, second = history.foreign(), history.foreign()
    history.roll_back(to=first)
    history.roll_back(to=second)
    history.expire(ours.snapshot_seq)

    assert read(history.state, TABLE, CONNECTOR) == ours


def test_main_set_back_to_where_it_was_before_it_left_the_snapshot_of_the_tokens_is_uncertain() -> None:
    history = History()
    first, ours = history.foreign(), history.ours(5)
    history.roll_back(to=first)
    others = [history.foreign(), history.foreign()]
    history.roll_back(to=ours.snapshot_seq)
    history.expire(first, others[0])
    history.roll_back(to=others[1])

    with pytest.raises(TokensUncertain):
        read(history.state, TABLE, CONNECTOR)


def test_main_forwarded_to_a_branch_tells_the_tokens_as_long_as_a_snapshot_has_them() -> None:
    history = History()
    ours = history.ours(5)
    history.branch("audit", at=1)
    history.roll_back(to=history.branch("audit"))

    assert read(history.state, TABLE, CONNECTOR) == ours
    history.expire(1)
    with pytest.raises(TokensUncertain):  # nothing tells a forwarding from any other setting now
        read(history.state, TABLE, CONNECTOR)
    assert read(history.state, TABLE, CONNECTOR, (TokensUncertain,)) == ours


def test_the_mirror_speaks_where_snapshots_of_one_transaction_are_not_all_logged() -> None:
    history = History()
    ours = history.ours(5)
    history.foreign()
    history.foreign()
    history.log.pop(1)  # Iceberg logs the last one of a transaction only
    history.expire(ours.snapshot_seq)

    assert read(history.state, TABLE, CONNECTOR) == ours


def test_the_mirror_speaks_where_a_catalog_keeps_no_log() -> None:
    history = branched()
    history.foreign()
    history.log.clear()
    history.expire(3)

    assert token_of(read(history.state, TABLE, CONNECTOR)) == "8"


def test_a_table_replaced_in_place_has_the_tokens_only_of_whoever_takes_the_mirror() -> None:
    history = History()
    history.ours(5)
    ours = history.ours(9)
    history.begin_anew()

    for _ in range(2):
        with pytest.raises(TableBegunAnew, match=rf"{TABLE} .*{CONNECTOR}"):
            read(history.state, TABLE, CONNECTOR)
        assert read(history.state, TABLE, CONNECTOR, (TableBegunAnew,)) == ours
        history.foreign()  # what CREATE OR REPLACE … AS SELECT has put in


def test_tokens_committed_after_a_replacement_in_place_hold() -> None:
    history = History()
    history.ours(5)
    history.begin_anew()
    again = history.ours(7)
    history.foreign()

    assert read(history.state, TABLE, CONNECTOR) == again


def test_the_mirror_is_taken_despite_a_rollback_by_who_asks_for_it() -> None:
    history = History()
    before = history.foreign()
    ours = history.ours(5)
    history.roll_back(to=before)

    assert read(history.state, TABLE, CONNECTOR, (TokensUncertain,)) == ours
    assert mirrored(history.state, TABLE, CONNECTOR) == ours


def test_the_last_epoch_counts_also_where_the_tokens_were_rolled_back() -> None:
    history = History()
    assert last_epoch(history.state, CONNECTOR, None) == 0
    old = history.ours(5, epoch=1)
    history.ours(9, epoch=4)
    history.roll_back(to=1)

    assert last_epoch(history.state, CONNECTOR, old) == 4
    history.properties[key_of(CONNECTOR)] = "damaged"
    assert last_epoch(history.state, CONNECTOR, old) == 1


FIRST_FORM = {
    "v": 1,
    "name": "to the lake",
    "commit": "c",
    "owner": "o",
    "opener": "host-7 (pid 4711)",
    "epoch": 7,
    "snapshot-seq": 41,
    "topics": {
        PARTITION.topic: {
            "cluster": "cluster",
            "id": "id",
            "tokens": ["1041"],
            "epochs": [3],
            "counts": [[1040, 1042, 2]],
            "times": [1_760_000_000_000],
        }
    },
    "last-error": None,
    "rejects": None,
}


def test_tokens_of_the_first_form_are_refused_by_their_version() -> None:
    history = History()
    history.foreign(**{key_of(CONNECTOR): packed(FIRST_FORM)})

    with pytest.raises(TokensUnreadable, match=f"{TABLE}.*they are of version 1, and this program reads version 2"):
        read(history.state, TABLE, CONNECTOR)


def test_a_cherry_picked_snapshot_of_ours_stops_the_connector() -> None:
    history = History()
    history.ours(5)
    beyond = history.ours(9)
    history.roll_back(to=1)
    history.cherry_pick(beyond.snapshot_seq)

    with pytest.raises(CherryPicked, match="snapshot 3, cherry-picked from snapshot 2"):
        read(history.state, TABLE, CONNECTOR)


def test_a_cherry_pick_below_our_newest_tokens_is_behind_us() -> None:
    history = History()
    first = history.ours(5)
    history.roll_back(to=1)
    audited = history.staged(first)
    history.cherry_pick(audited)
    newest = history.ours(9)

    assert read(history.state, TABLE, CONNECTOR) == newest


def test_a_cherry_picked_foreign_snapshot_is_fine() -> None:
    history = History()
    ours = history.ours(5)
    audited = history.staged()
    history.cherry_pick(audited)

    assert token_of(read(history.state, TABLE, CONNECTOR)) == "5"
    assert read(history.state, TABLE, CONNECTOR) == ours


OURS = Stage.begin(CONNECTOR, str(uuid.UUID(int=1))).data_file(0).format(0)
ANOTHERS = Stage.begin("ANOTHER", str(uuid.UUID(int=1))).data_file(0).format(0)
SPARKS = "00000-2-acb6eba9-1d04-4314-8b76-aac82174b426-0-00001.parquet"


def test_a_cherry_pick_of_ours_is_known_by_its_files_once_its_source_expired() -> None:
    history = History()
    history.ours(5)
    beyond = history.ours(9)
    history.roll_back(to=1)
    history.cherry_pick(beyond.snapshot_seq, OURS)
    history.expire(beyond.snapshot_seq)

    with pytest.raises(CherryPicked, match="snapshot 3, cherry-picked from snapshot 2"):
        read(history.state, TABLE, CONNECTOR)


@pytest.mark.parametrize("added", [SPARKS, ANOTHERS, None], ids=["spark", "another connector", "none"])
def test_a_cherry_pick_of_others_stays_theirs_once_its_source_expired(added: str | None) -> None:
    history = History()
    ours = history.ours(5)
    audited = history.staged()
    history.cherry_pick(audited, added)
    history.expire(audited)

    assert read(history.state, TABLE, CONNECTOR) == ours


@given(st.lists(st.sampled_from(["ours", "foreign", "another", "expire"]), max_size=25))
def test_without_rollbacks_the_last_commit_of_ours_always_speaks(story: list[str]) -> None:
    history, last = History(), None
    for token, step in enumerate(story):
        if step == "ours":
            last = history.ours(token)
        elif step == "foreign":
            history.foreign()
        elif step == "another":
            history.ours(token, connector="ANOTHER")
        else:
            history.expire(*[number for number in history.snapshots if number != history.current])

    assert read(history.state, TABLE, CONNECTOR) == last
    assert token_of(last) == token_of(read(history.state, TABLE, CONNECTOR))
    assert last is None or last.channel(PARTITION).token is not None
