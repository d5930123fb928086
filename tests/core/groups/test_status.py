"""Statuses by the letter of the definition, counts of repeated names, and what is left to pay."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.base.text import Cost
from rowtui.core.groups.form import action_cost, is_linear
from rowtui.core.groups.model import ActionStatus, Status
from rowtui.core.groups.order import action_order
from rowtui.core.groups.status import (
    STATUS_OF,
    action_status,
    chosen_from,
    status_codes,
    status_counts,
    status_table,
    with_status,
)
from rowtui.core.state.model import LastEnd, LastOutcome, State, Submitted, bit_set
from rowtui.core.workflow.model import Action, GroupRule, Processes, Resources, Walltime, Workflow

from tests.core.groups.memory import (
    MemoryDirectories,
    numbered,
    plainly_grouped,
    selector,
    workspaces,
)

GONE = LastEnd("none", 1, "t", "exit code 2")
WITH_SLURM = Submitted("elsewhere", 7)


def step(index: int, name: str, *previous: str, **more: Any) -> Action:
    return Action(
        index=index, name=name, command="true {directory}", previous_actions=previous, **more
    )


def test_every_combination_of_records_gives_the_first_status_that_holds() -> None:
    # Each directory is one combination of: include, own completion, submission, how the last job
    # ended, and the completion of two previous actions.
    no = [False, True]
    cases = list(itertools.product(no, no, no, [None, *LastOutcome], no, no))
    directories = numbered([{"in": case[0]} for case in cases])
    where = [{i for i, case in enumerate(cases) if case[k]} for k in range(6)]
    workflow = Workflow(
        Path("/p"),
        actions=(
            step(0, "p"),
            step(1, "q"),
            step(2, "x", "p", "q", group=GroupRule(include=(selector(("/in", "==", True)),))),
        ),
    )
    state = State(
        1,
        directories,
        completed={"p": bit_set(where[4]), "q": bit_set(where[5]), "x": bit_set(where[1])},
        submitted={"x": dict.fromkeys(where[2], WITH_SLURM)},
        ends={"x": {i: GONE._replace(outcome=case[3]) for i, case in enumerate(cases) if case[3]}},
    )

    row = status_table(workflow, state).rows[2]

    for i, (inside, done, submitted, ended, p, q) in enumerate(cases):
        expected = (
            None
            if not inside
            else Status.COMPLETED
            if done
            else Status.SUBMITTED
            if submitted
            else Status.WAITING
            if not (p and q)
            else Status(ended.value)
            if ended and ended is not LastOutcome.RETRIED
            else Status.ELIGIBLE
        )
        assert row.status_of(i) is expected
    assert status_counts(row) == (40, 20, 5, 15, 1, 1, 1)
    assert sum(status_counts(row)[:4]) == len(cases) / 2  # how jobs ended adds nothing to it
    assert row.ended & ~row.eligible == 0


def test_an_action_may_wait_for_itself_or_for_one_that_never_completes() -> None:
    workflow = Workflow(Path("/p"), actions=(step(0, "a", "a"), step(1, "b", "nobody")))
    state = State(1, numbered([1, 2]), completed={"a": 0, "b": 0})
    for row in status_table(workflow, state).rows:
        assert status_counts(row) == (0, 0, 0, 2, 0, 0, 0)


def test_elements_of_one_name_share_their_records() -> None:
    low = GroupRule(include=(selector(("", "<", 2)),))
    high = GroupRule(include=(selector(("", ">=", 2)),))
    workflow = Workflow(Path("/p"), actions=(step(0, "a", group=low), step(1, "a", group=high)))
    state = State(1, numbered([0, 1, 2]), completed={"a": 0b101})
    rows = status_table(workflow, state).rows
    assert [row.completed for row in rows] == [0b001, 0b100]
    assert [row.eligible for row in rows] == [0b010, 0]


def test_a_bad_include_marks_its_own_row_only() -> None:
    bad = GroupRule(include=(selector(("/T", "<", 2)),))
    workflow = Workflow(Path("/p"), actions=(step(0, "a", group=bad), step(1, "b")))
    state = State(1, numbered([{"T": 1}, {"T": "x"}]), completed={"a": 1, "b": 0})

    first, second = status_table(workflow, state).rows

    assert "cannot compare" in first.problem
    assert "\n" not in first.problem
    assert status_counts(first) == (0, 0, 0, 0, 0, 0, 0)
    assert second.problem == ""
    assert status_counts(second) == (0, 0, 2, 0, 0, 0, 0)


def test_directories_that_are_set_aside_are_in_no_status() -> None:
    directories = MemoryDirectories({"a": 1, "b": None, "c": 2}, bad={"b": "not JSON"})
    table = status_table(
        Workflow(Path("/p"), actions=(step(0, "x"),)), State(1, directories, {"x": 0b111})
    )
    assert table.rows[0].completed == 0b101
    assert (table.directories, table.bad) == (3, 1)
    narrow = action_status(step(0, "x"), State(1, directories, {"x": 0}), among=[1, 1, 2])
    assert narrow.eligible == 0b100


def test_names_repeated_on_the_command_line_are_counted_and_paid_repeatedly() -> None:
    # `row show status a a b` of Row 1.1: 3 eligible, 3 CPU-hours
    state = State(1, numbered([1, 2, 3]), completed={"x": 0})
    among = [0, 0, 1]
    row = action_status(step(0, "x"), state, among)
    assert row.eligible == 0b011
    assert status_counts(row, among) == (0, 0, 3, 0, 0, 0, 0)
    assert status_counts(row, [0, 1]) == (0, 0, 2, 0, 0, 0, 0)
    assert row.remaining_cost == Cost(cpu_hours=3)


@given(st.lists(st.integers(0, 40)), st.integers(0, 1 << 40))
def test_chosen_from_keeps_order_and_repetition(among: list[int], members: int) -> None:
    assert chosen_from(among, members) == [p for p in among if members >> p & 1]


def test_a_cost_that_cannot_be_told_keeps_the_counts() -> None:
    resources = Resources(Processes(1, per_directory=True), walltime=Walltime(60, True))
    rule = GroupRule(sort_by=("/T",), split_by_sort_key=True)
    state = State(1, numbered([{"T": 1}, {"T": "x"}, {"T": 2}]), completed={"x": 0b100})

    row = action_status(step(0, "x", group=rule, resources=resources), state)

    assert 'cannot compare 1 with "x"' in row.problem
    assert status_counts(row) == (1, 0, 2, 0, 0, 0, 0)
    assert not row.remaining_cost


def test_with_status_is_the_union_of_the_sets() -> None:
    state = State(1, numbered([1, 2, 3]), completed={"x": 0b001})
    row = action_status(step(0, "x"), state)
    assert with_status(row, [Status.COMPLETED]) == 0b001
    assert with_status(row, [Status.COMPLETED, Status.ELIGIBLE]) == 0b111
    assert with_status(row, []) == 0


sizes = st.none() | st.integers(1, 4)


@given(
    directories=workspaces(missing=False),
    completed=st.integers(0, 255),
    submitted=st.sets(st.integers(0, 7)),
    rule=st.builds(
        GroupRule,
        include=st.just(()),
        sort_by=st.sampled_from([(), ("/a",), ("/a", "/b")]),
        split_by_sort_key=st.booleans(),
        maximum_size=sizes,
    ),
    resources=st.builds(
        Resources,
        processes=st.builds(Processes, st.integers(0, 3), st.booleans()),
        threads_per_process=st.none() | st.integers(0, 3),
        gpus_per_process=st.none() | st.integers(0, 3),
        walltime=st.builds(Walltime, st.integers(0, 7200), st.booleans()),
        memory_per_cpu_mb=st.none(),
        memory_per_gpu_mb=st.none(),
    ),
    stored=st.booleans(),
    repeated=st.booleans(),
)
def test_the_remaining_cost_is_that_of_the_groups_of_all_unfinished_directories(
    directories: MemoryDirectories,
    completed: int,
    submitted: set[int],
    rule: GroupRule,
    resources: Resources,
    stored: bool,
    repeated: bool,
) -> None:
    subject = step(0, "x", group=rule, resources=resources)
    state = State(
        1,
        directories,
        completed={"x": completed & directories.everything},
        submitted={"x": {p: WITH_SLURM for p in submitted if p < len(directories)}},
    )
    among = [p for p in range(len(directories)) for _ in range(1 + p % 2)] if repeated else None
    orders = {rule.sort_by: action_order(rule.sort_by, directories)} if stored else None

    row = action_status(subject, state, among, orders)

    if row.problem:
        assert "cannot compare" in row.problem
        return
    listed = range(len(directories)) if among is None else among
    unfinished = [p for p in listed if not completed >> p & 1]
    # Without a split the sizes follow from the number, so nothing was sorted and no key missed.
    plain = subject if rule.split_by_sort_key else step(0, "x", group=rule._replace(sort_by=()))
    if is_linear(resources):
        plain = step(0, "x")
    groups = plainly_grouped(plain, directories, unfinished)
    assert row.remaining_cost == action_cost(resources, map(len, groups))


@pytest.mark.parametrize("among", [None, [], [0]])
def test_an_empty_workspace_or_selection_has_nothing_to_say(among: list[int] | None) -> None:
    state = State(1, numbered([]), completed={"x": 0})
    row = action_status(step(0, "x"), state, among and [])
    assert status_counts(row, among) == (0, 0, 0, 0, 0, 0, 0)
    assert not row.remaining_cost
    assert row.problem == ""


sets = st.integers(0, (1 << 20) - 1)


@given(sets, sets, st.lists(sets, min_size=3, max_size=3), sets, sets)
def test_codes_say_the_first_status_that_holds(
    completed: int, submitted: int, ended: list[int], eligible: int, waiting: int
) -> None:
    row = ActionStatus(step(0, "x"), completed, submitted, eligible, waiting, *ended)

    codes = status_codes(row, 21)

    assert [STATUS_OF[code] for code in codes] == [row.status_of(at) for at in range(21)]
