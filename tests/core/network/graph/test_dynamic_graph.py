"""Random networks that grow while they run: whatever the order of events, they end alike.

A world keeps what a project's records and a run's journal keep: what is complete, what failed, what
is with a scheduler, and the lists that came. A crash is a `Growth` made again from these.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st
from rowtui.core.network.definition.load_tables import NetworkError
from rowtui.core.network.definition.spec import (
    ALL,
    Input,
    Link,
    Network,
    Node,
    Require,
    Source,
    SourceRows,
    Values,
)
from rowtui.core.network.graph.dynamic_graph import Growth
from rowtui.core.network.graph.edges import awaited, edges
from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.network.samples.model import DimensionError
from rowtui.core.network.samples.sample_flow import Flow
from rowtui.core.network.samples.shape import shape
from rowtui.core.runs.model import MadeEntry

# To make a failing network smaller takes minutes: add Phase.shrink when there is one.
QUICK = (Phase.explicit, Phase.reuse, Phase.generate)
Name = tuple[str, str]  # a node and a directory
ListKey = tuple[str, str, str]


class Story(NamedTuple):
    """A network, the rows of its sources, and what its jobs will do (`fate`: a seed)."""

    network: Network
    rows: dict[str, SourceRows]
    fate: int


@st.composite
def stories(draw: Any) -> Story:
    known: dict[str, tuple[str, ...]] = {}
    sources, rows = [], {}
    for number in range(draw(st.integers(1, 2))):
        name = f"s{number}"
        dimensions = tuple(draw(st.lists(st.sampled_from("abc"), min_size=1, unique=True)))
        values = tuple(
            tuple(draw(st.lists(st.integers(0, 2), min_size=1, max_size=2, unique=True)))
            for _ in dimensions
        )
        count = int(np.prod([len(those) for those in values]))
        missing = draw(st.frozensets(st.integers(0, count - 1), max_size=1))
        sources.append(Source(name, Values({})))
        rows[name] = SourceRows(name, dimensions, values, missing=missing)
        known[name] = dimensions
    nodes = []
    for number in range(draw(st.integers(1, 4))):
        name = f"n{number}"
        inputs, found = [], dict[str, None]()
        for place in range(draw(st.integers(1, 2))):
            source = draw(st.sampled_from(sorted(known)))
            after = known[source]
            expand = draw(st.sampled_from(["", "", "f", "g"])) if source[0] == "n" else ""
            expand = "" if expand in after else expand
            after = (*after, expand) if expand else after
            collapse = tuple(draw(st.lists(st.sampled_from(after), unique=True))) if after else ()
            require = ALL
            if collapse:
                require = draw(
                    st.sampled_from([ALL, Require(number=1), Require(number=2), Require(share=0.6)])
                )
            output = "list.json" if expand else ""
            link = Link(source, output, collapse=collapse, expand=expand, require=require)
            inputs.append(Input(f"i{place}", (link,)))
            found |= dict.fromkeys(each for each in after if each not in collapse)
        own = draw(st.sampled_from(["auto", "own"]))
        nodes.append(Node(name, name, tuple(inputs), directories=own))
        known[name] = tuple(found)
    network = Network("random", tuple(sources), tuple(nodes))
    return Story(network, rows, draw(st.integers(0, 1 << 16)))


class World:
    """One way in which a story goes."""

    def __init__(self, story: Story) -> None:
        self.story = story
        dimensions = {name: its.dimensions for name, its in story.rows.items()}
        self.shape = shape(story.network, dimensions)
        self.lists: dict[ListKey, dict[str, list[MadeEntry]]] = {}
        self.complete: set[Name] = set()
        self.failed: set[Name] = set()
        self.active: set[Name] = set()
        self.clock = 0
        self.begun: dict[Name, int] = {}
        self.ended: dict[Name, int] = {}
        self.wanted: dict[str, set[tuple[str, str]]] = {}
        for node in story.network.nodes:
            for it in node.inputs:
                for link in it.links:
                    if link.expand:
                        where = self.wanted.setdefault(link.source, set())
                        where.add((link.output, link.expand))
        self.growth = Growth(self.flow())
        self.give_up()

    def flow(self) -> Flow:
        return Flow(self.story.network, self.shape, self.story.rows, lists=self.lists)

    def name(self, job: int) -> Name:
        return self.growth.where(job).node, self.growth.directory(job)

    def job(self, name: Name) -> int:
        found = self.growth.job_in(*name)
        assert found is not None
        return found

    def chance(self, *what: str) -> random.Random:
        return random.Random(f"{self.story.fate} {what}")

    # What happens

    def is_given_up(self, name: Name) -> bool:
        return self.chance("wanted", *name).random() < 0.06

    def give_up(self) -> None:
        """Somebody does not want some of the jobs, as soon as they are known."""
        graph = self.growth.graph
        graph.cancel([job for job in range(len(graph)) if self.is_given_up(self.name(job))])

    def hand_out(self, number: int) -> None:
        for job in self.growth.graph.activate(self.growth.graph.ready(number)):
            name = self.name(job)
            assert name not in self.begun, "handed out twice"
            self.clock += 1
            self.begun[name] = self.clock
            self.active.add(name)

    def end(self, names: list[Name]) -> None:
        """These end, and are told together, as one look at the records tells them."""
        graph = self.growth.graph
        well, badly, came = list[int](), list[int](), False
        for name in names:
            self.clock += 1
            self.ended[name] = self.clock
            self.active.remove(name)
            if self.chance("fate", *name).random() < 0.2:
                self.failed.add(name)
                badly.append(self.job(name))
                continue
            self.complete.add(name)
            well.append(self.job(name))
            for output, dimension in sorted(self.wanted.get(name[0], ())):
                chance = self.chance("list", *name, output, dimension)
                values = chance.sample(["x", "y", 3], chance.randint(0, 2))
                entries = [MadeEntry(value, {}, at) for at, value in enumerate(values)]
                self.lists.setdefault((name[0], output, dimension), {})[name[1]] = entries
                came = True
        if came:
            self.growth.grow({key: dict(known) for key, known in self.lists.items()})
            self.give_up()
        graph.complete(well)
        graph.fail(badly)

    def crash(self) -> None:
        """Whoever knew all this is gone; another reads what was written down."""
        self.growth = Growth(self.flow())
        graph = self.growth.graph
        graph.activate([self.job(name) for name in self.active])
        graph.complete([self.job(name) for name in self.complete])
        graph.fail([self.job(name) for name in self.failed])
        self.give_up()

    def to_the_end(self, order: int | None) -> None:
        """In this order of events; None: one job after the other."""
        chance = random.Random(order)
        while not self.growth.graph.is_over:
            if order is None:
                self.hand_out(1)
                self.end(list(self.active))
                continue
            kind = chance.random()
            if kind < 0.45 or not self.active:
                self.hand_out(chance.randint(1, 5))
                assert self.active, "nothing is ready, nothing runs, and something is left"
            elif kind < 0.9:
                ending = sorted(self.active)
                self.end(chance.sample(ending, chance.randint(1, len(ending))))
            else:
                self.crash()

    def states(self) -> dict[Name, GraphJobState]:
        graph = self.growth.graph
        return {self.name(job): graph.state(job) for job in range(len(graph))}


def made(story: Story) -> World:
    try:
        return World(story)
    except (NetworkError, DimensionError):
        assume(False)
        raise


@settings(phases=QUICK)
@given(stories(), st.integers(0, 1 << 16), st.integers(0, 1 << 16))
def test_any_order_of_events_ends_in_the_same_samples_and_states(
    story: Story, first: int, second: int
) -> None:
    plain = made(story)
    plain.to_the_end(None)
    for order in (first, second):
        world = made(story)
        world.to_the_end(order)
        assert world.states() == plain.states()
        assert world.complete == plain.complete
        world.crash()
        assert world.states() == plain.states()


@settings(phases=QUICK)
@given(stories(), st.integers(0, 1 << 16))
def test_no_job_begins_before_all_that_it_turns_out_to_need_has_ended(
    story: Story, order: int
) -> None:
    world = made(story)
    world.to_the_end(order)
    graph = world.growth.graph
    for name, begun in world.begun.items():
        job = world.job(name)
        out = {it.job for it in graph.left_out(job)}
        for member in world.growth.members(job):
            if member.job is None:
                continue
            other = world.name(member.job)
            if member.job in out:
                assert other not in world.complete
                assert world.ended.get(other, 0) < begun
            else:
                assert other in world.complete
                assert world.ended[other] < begun


GOOD, LOST, GONE = range(3)
KINDS = {
    GraphJobState.COMPLETED: GOOD,
    GraphJobState.FAILED: LOST,
    GraphJobState.CANCELLED: LOST,
    GraphJobState.BLOCKED: LOST,
    GraphJobState.SKIPPED: GONE,
}


@settings(phases=QUICK)
@given(stories(), st.integers(0, 1 << 16))
def test_states_follow_from_those_of_the_members(story: Story, order: int) -> None:
    world = made(story)
    world.to_the_end(order)
    states = world.states()
    for node, run in world.growth.flow.runs.items():
        spec = story.network.node(node)
        assert spec is not None
        links = [link for group in spec.groups for it in group for link in it.links]
        members: dict[tuple[int, int], list[int]] = {}
        for part in edges(run):
            source = world.growth.flow.names[part.owner]
            missing = world.growth.flow.sources
            for row, upstream in zip(part.jobs.tolist(), part.rows.tolist(), strict=True):
                if source in missing:
                    kind = GONE if upstream in missing[source].missing else GOOD
                else:
                    kind = KINDS[states[source, world.growth.flow.directories(source)[upstream]]]
                members.setdefault((row, part.number), []).append(kind)
        never: dict[tuple[int, int], list[int]] = {}
        for wait in awaited(run):
            for row, owner, upstream in zip(
                wait.jobs.tolist(), wait.owners.tolist(), wait.rows.tolist(), strict=True
            ):
                source = world.growth.flow.names[owner]
                kind = KINDS[states[source, world.growth.flow.directories(source)[upstream]]]
                assert kind != GOOD
                never.setdefault((row, wait.number), []).append(kind)
        for row, directory in enumerate(world.growth.flow.directories(node)):
            kinds = set()
            for number, link in enumerate(links):
                here, lists = members.get((row, number), []), never.get((row, number), [])
                least = link.require.least(len(here))
                if link.require == ALL:
                    kinds |= {*here, *lists}
                elif here.count(GOOD) < least:
                    kinds.add(LOST if LOST in here else GONE)
                elif not here:
                    kinds |= set(lists)
            state = states[node, directory]
            if world.is_given_up((node, directory)):
                assert state is GraphJobState.CANCELLED
            elif LOST in kinds:
                assert state is GraphJobState.BLOCKED
            elif GONE in kinds:
                assert state is GraphJobState.SKIPPED
            else:
                assert state in (GraphJobState.COMPLETED, GraphJobState.FAILED)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_directories_are_called_the_same_whichever_list_comes_first(order: Sequence[int]) -> None:
    network = Network(
        "lists",
        (Source("s", Values({})),),
        (
            Node("split", "split", (Input("s", (Link("s"),)),)),
            Node("train", "train", (Input("fold", (Link("split", "l.json", expand="fold"),)),)),
        ),
    )
    rows = {"s": SourceRows("s", ("a",), (("x", "y"),))}
    growth = Growth(Flow(network, shape(network, {"s": ("a",)}), rows))
    had = growth.flow.directories("split")
    came = {had[0]: [MadeEntry(1, {}, 0)], had[1]: [MadeEntry(1.0, {}, 0), MadeEntry(0.5, {}, 1)]}
    lists: dict[str, list[MadeEntry]] = {}
    for each in order:
        lists[had[each]] = came[had[each]]
        growth.grow({("split", "l.json", "fold"): dict(lists)})
    assert sorted(growth.flow.directories("train")) == [
        "train,a=x,fold=1",
        "train,a=y,fold=0.5",
        "train,a=y,fold=1",
    ]


def test_a_flow_keeps_what_it_was_made_of_when_others_add_to_it() -> None:
    network = Network(
        "lists",
        (Source("s", Values({})),),
        (Node("n", "n", (Input("i", (Link("s", "l.json", expand="f"),)),)),),
    )
    rows = {"s": SourceRows("s", ("a",), (("x", "y"),))}
    lists = {("s", "l.json", "f"): {"s,a=x": [MadeEntry(1, {}, 0)]}}
    growth = Growth(Flow(network, shape(network, {"s": ("a",)}), rows, lists=lists))
    lists["s", "l.json", "f"]["s,a=y"] = [MadeEntry(2, {}, 0)]
    growth.grow(lists)
    assert growth.flow.directories("n") == ["n,a=x,f=1", "n,a=y,f=2"]
