"""The flow of samples through networks that nobody thought of, against one of dicts and loops."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from hypothesis import given, settings
from rowtui.core.network.graph.edges import awaited
from rowtui.core.network.samples.node_run import NodeRun
from rowtui.core.network.samples.output import UNKNOWN, counted
from rowtui.core.network.samples.stage import Stage

from tests.core.network.naive_flow import Key, Program, World, programs
from tests.core.network.sample_view import SampleId, View, members


def label(run: Stage, key: Key) -> SampleId:
    return (*run.columns.prefix, *map(str, key))


def stages(run: NodeRun) -> Iterator[Stage]:
    """A node and everything between it and the outputs that it takes from."""
    todo: list[Stage] = [run]
    while todo:
        stage = todo.pop()
        yield stage
        todo.extend(it for it in stage.sources if isinstance(it, Stage))


@given(programs)
def test_samples_are_those_of_the_flow_of_dicts(program: Program) -> None:
    world = World(program, hidden=False)

    for node, table in world.nodes:
        run = View(node)
        assert run.dimnames == table.names
        assert run.ids == [label(run, key) for key in table.sorted()]
        for key, sample in table.rows.items():
            found = run[label(run, key)]
            jobs = {(number, _key(world, number, row)) for number, row in found.jobs}
            assert found.data == sample.data
            assert jobs == sample.jobs
            assert found == run[found.index]
            assert label(run, key) in run
            assert found.index in run


def _key(world: World, number: int, row: int) -> Key:
    return world.places[number].table.sorted()[row]


@settings(max_examples=40, deadline=None)
@given(programs)
def test_every_stage_has_unique_ids_and_rows_in_the_order_of_their_indexes(
    program: Program,
) -> None:
    world = World(program, hidden=True)

    for run, _ in world.nodes:
        for stage in stages(run):
            table, view = stage.columns, View(stage)
            indexes = view.indexes
            ids = [table.id(row) for row in range(table.count)]
            assert indexes == sorted(indexes)
            assert len(set(ids)) == len(set(indexes)) == table.count
            assert all(
                at < (size or 0)
                for index in indexes
                for at, size in zip(index, view.size, strict=True)
            )


@settings(max_examples=40, deadline=None)
@given(programs)
def test_the_way_to_the_target_is_the_way_to_the_source_backwards(program: Program) -> None:
    world = World(program, hidden=True)

    for run, _ in world.nodes:
        for stage in stages(run):
            view = View(stage)
            for at, source in enumerate(stage.sources):
                back = {
                    (before, index)
                    for index in view.indexes
                    for before in view.index_to_source(index)[at]
                }
                forth = {
                    (before, index)
                    for before in View(source).indexes
                    for index in view.index_to_target(before, at)
                }
                assert back == forth


@settings(max_examples=40, deadline=None)
@given(programs)
def test_many_rows_at_once_lead_to_the_same_rows_as_one_by_one(program: Program) -> None:
    world = World(program, hidden=True)

    for run, _ in world.nodes:
        for stage in stages(run):
            wanted = np.arange(stage.columns.count)[::-1]
            for origin in stage.origins:
                whose, _, rows = origin.spread(wanted)
                owners = wanted if whose is None else wanted[whose]
                each = [(row, source) for row in wanted.tolist() for source in members(origin, row)]
                assert list(zip(owners.tolist(), rows.tolist(), strict=True)) == each


@settings(max_examples=40, deadline=None)
@given(programs)
def test_the_cardinality_is_the_number_of_values(program: Program) -> None:
    for hidden in (False, True):
        world = World(program, hidden=hidden)
        for run, _ in world.nodes:
            for stage in stages(run):
                if stage is run or stage in run.sources:
                    continue  # a payload has values by input
                cards = counted(stage.cards, stage.columns.count).tolist()
                for (_, sample), card in zip(View(stage).items(), cards, strict=True):
                    assert card in (UNKNOWN, len(sample.data))
                    assert hidden or card != UNKNOWN


@given(programs)
def test_what_is_known_stays_and_what_is_not_is_announced(program: Program) -> None:
    early, late = World(program, hidden=True), World(program, hidden=False)

    for (first, _), (then, _) in zip(early.nodes, late.nodes, strict=True):
        before, after = View(first), View(then)
        assert before.dimnames == after.dimnames
        known = {before.columns.id(row) for row in range(before.columns.count)}
        # No sample goes away.
        assert known <= set(after.ids)
        # One that comes is like an open one in all that is known of that.
        opens = [
            tuple(
                None if code == UNKNOWN else axis.label(code)
                for axis, code in zip(before.columns.axes, codes, strict=True)
            )
            for codes in _rows(first)
        ]
        for each in set(after.ids) - known:
            bare = each[len(after.columns.prefix) :]
            assert any(
                all(one in (None, two) for one, two in zip(open_, bare, strict=True))
                for open_ in opens
            )
        # One that gets more members waits for the job that brings them.
        waiting = {job for its in awaited(first) for job in its.jobs.tolist()}
        for each in known:
            had = {(n, _key(early, n, row)) for n, row in before[each].jobs}
            has = {(n, _key(late, n, row)) for n, row in after[each].jobs}
            assert had <= has
            assert had == has or before.row(each) in waiting


def _rows(run: NodeRun) -> list[tuple[int, ...]]:
    opens = run.opens
    return [tuple(int(column[at]) for column in opens.codes) for at in range(opens.number)]


@settings(max_examples=40, deadline=None)
@given(programs)
def test_nothing_is_open_when_all_lists_are_known(program: Program) -> None:
    for run, _ in World(program, hidden=False).nodes:
        assert run.opens.number == 0


@settings(max_examples=40, deadline=None)
@given(programs)
def test_what_is_left_over_is_what_no_sample_is_made_of(program: Program) -> None:
    for run, _ in World(program, hidden=False).nodes:
        for at, source in enumerate(run.sources):
            view = View(source)
            unused = [index for index in view.indexes if not View(run).index_to_target(index, at)]
            assert [source.columns.index(int(row)) for row in run.left_over[at]] == unused
