"""The mutants: what each one lacks, and which tests must go red."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edit:
    """A passage of a module and what stands there instead."""

    module: str
    """Its path below `src/frazil`."""

    old: str
    """Must be there exactly once, or the mutant is out of date."""

    new: str


@dataclass(frozen=True, slots=True)
class Mutant:
    """The package without one of the things that make commits exactly-once."""

    name: str
    lacks: str
    edits: tuple[Edit, ...]
    pure: tuple[str, ...]
    """Tests of pure rules that must go red; seconds each."""

    real: tuple[str, ...]
    """The same with a real broker, and where a table is looked at, with Spark."""

    @property
    def tests(self) -> tuple[str, ...]:
        """All tests that must go red, as pytest names them."""
        return self.pure + self.real


MUTANTS = (
    Mutant(
        "no-check",
        "the check before the swap",
        (Edit("tables/commit.py", "check(swap.base, str(table.name), expected)\n", "pass\n"),),
        pure=("tests/tables/test_commit.py::test_a_writer_that_was_overtaken_adds_nothing",),
        real=(
            "tests/integration/test_owners.py::test_a_rival_that_commits_between_plan_and_swap_wins_and_nothing_comes_twice",
        ),
    ),
    Mutant(
        "no-mirror",
        "the mirror of the tokens in a table property",
        (
            Edit(
                "tables/rules/tokens.py",
                "    mirror = state.property(key_of(connector))\n    return None if mirror is None else",
                "    mirror = None\n    return None if mirror is None else",
            ),
        ),
        pure=("tests/tables/rules/test_tokens.py::test_after_compaction_and_expiry_the_mirror_speaks",),
        real=("tests/integration/test_owners.py::test_compaction_and_expiry_by_others_leave_the_tokens_in_the_mirror",),
    ),
    Mutant(
        "no-log",
        "the look at the snapshot log before the mirror is believed",
        (Edit("tables/rules/tokens.py", "if was_set(state, history, expired) or _was_left(", "if _was_left("),),
        pure=(
            "tests/tables/rules/test_tokens.py::test_main_set_to_a_branch_whose_branch_point_has_expired_is_uncertain_whatever_comes_then",
        ),
        real=(
            "tests/integration/test_branches.py::test_main_set_to_a_branch_whose_branch_point_somebody_expired_is_uncertain",
        ),
    ),
    Mutant(
        "no-left",
        "the look at whether main has left the snapshot of the tokens",
        (Edit("tables/rules/tokens.py", " or _was_left(state, history, tokens, expired):", ":"),),
        pure=(
            "tests/tables/rules/test_tokens.py::test_main_set_back_to_where_it_was_before_it_left_the_snapshot_of_the_tokens_is_uncertain",
        ),
        real=(),
    ),
    Mutant(
        "no-least",
        "the least of the places of the tables that a partition feeds",
        (Edit("cycle/routes.py", "start if other is None or start < other else other", "start"),),
        pure=("tests/cycle/test_routes.py::test_a_partition_is_read_from_the_least_of_its_tables_tokens",),
        real=(),
    ),
    Mutant(
        "no-own-start",
        "a table's own place within a range that another one lacks",
        (Edit("cycle/tasks.py", "            starts=own_starts(opened, ranges),\n", ""),),
        pure=(
            "tests/cycle/test_routing.py::test_a_table_that_cannot_commit_catches_up_and_the_other_goes_on_meanwhile",
        ),
        real=(),
    ),
    Mutant(
        "no-parents",
        "the wait of a partition for its parents",
        (Edit("cycle/open_tables.py", "if all(opened.tokens.channel(each).closed for each in parents)", "if True"),),
        pure=(
            "tests/cycle/test_partitions_that_end.py::test_children_are_read_only_once_their_parent_is_covered_to_its_end",
        ),
        real=(),
    ),
    Mutant(
        "no-stray",
        "the look at whether all that was staged follows the table's token",
        (
            Edit(
                "cycle/committing.py",
                "if (partition := stray(staged, progress)) is not None:",
                "if (partition := None) is not None:",
            ),
        ),
        pure=("tests/cycle/test_routing.py::test_rows_that_do_not_follow_the_token_of_their_table_are_not_committed",),
        real=(),
    ),
    Mutant(
        "no-naming",
        "the commit that names the tables of new values before they have rows",
        (
            Edit(
                "cycle/branching.py",
                "self._opener.move(own, own.tokens.with_routes(topic.topic, routes))",
                "own.tokens = own.tokens.with_routes(topic.topic, routes)",
            ),
        ),
        pure=("tests/cycle/test_values.py::test_which_values_have_tables_is_decided_before_any_of_them_has_rows",),
        real=(),
    ),
    Mutant(
        "no-birth",
        "the tokens of the topic's own table, with which that of a value is born",
        (
            Edit(
                "cycle/branching.py",
                "born = {topic.topic: own.tokens.topics[topic.topic]}",
                "born = {}",
            ),
        ),
        pure=("tests/cycle/test_values.py::test_topics_that_share_their_own_table_share_those_of_the_values",),
        real=(),
    ),
    Mutant(
        "no-second-look",
        "the look at whose commit a table has that was quiet",
        (Edit("cycle/opening.py", "if tokens.commit != opened.tokens.commit:", "if not opened.holds:"),),
        pure=("tests/cycle/test_values.py::test_a_quiet_table_that_was_rolled_back_gets_what_it_lost",),
        real=(),
    ),
    Mutant(
        "no-epoch",
        "the owner epoch: neither the check nor a recall compares it",
        (
            Edit(
                "tables/rules/checks.py",
                "        found.epoch > expected.epoch or (found.epoch == expected.epoch and found.owner != expected.owner)\n",
                "        False\n",
            ),
            Edit("cycle/opening.py", "if tokens.epoch > opened.epoch:", "if False:"),
        ),
        pure=("tests/tables/rules/test_checks.py::test_a_newer_opener_fences_and_is_named",),
        real=("tests/integration/test_owners.py::test_the_newest_opener_of_a_name_wins_and_the_other_stops_for_good",),
    ),
    Mutant(
        "no-reset-error",
        "`auto.offset.reset=error` of the tasks' consumers",
        (Edit("sources/kafka/consumers.py", '        "auto.offset.reset": "error",\n', ""),),
        pure=("tests/sources/test_reader.py::test_what_correctness_needs_wins_over_the_users_settings",),
        real=("tests/sources/test_reader.py::test_an_offset_that_retention_deleted_is_data_loss_and_never_a_jump",),
    ),
    Mutant(
        "no-ledger-check",
        "the look at the ledger before the swap of a replay",
        (Edit("tables/replaying.py", "now.name != replay.known.name or ", ""),),
        pure=("tests/tables/test_replaying.py::test_whoever_decided_by_an_older_ledger_appends_nothing",),
        real=("tests/integration/test_replaying.py::test_two_who_replay_at_once_bring_each_record_once",),
    ),
)
