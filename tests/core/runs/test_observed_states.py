"""What records say of a graph's jobs: each thing once, whatever else changes meanwhile."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.network.definition.spec import (
    Input,
    Link,
    Network,
    Node,
    Source,
    SourceRows,
    Values,
)
from rowtui.core.network.graph.dynamic_graph import Growth
from rowtui.core.network.graph.job_model import LOST_STATES, GraphJobState
from rowtui.core.network.samples.sample_flow import Flow
from rowtui.core.network.samples.shape import shape
from rowtui.core.runs.observed_states import ObservedStates
from rowtui.core.state.model import Directories, LastEnd, LastOutcome, State, Submitted, bit_set


class Names:
    """The directories of a workspace, as far as `ObservedStates` looks at them."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = sorted(names)

    def names(self) -> list[str]:
        return self._names


def make_growth() -> Growth:
    """Four simulations, each of which is then looked at; and one report of all four."""
    look = Node("look", "look", (Input("a", (Link("simulate"),)),))
    collapse = Link("look", collapse=("t",))
    report = Node("report", "report", (Input("a", (collapse,)),))
    simulate = Node("simulate", "simulate", (Input("s", (Link("s"),)),))
    network = Network("n", (Source("s", Values({})),), (simulate, look, report))
    rows = {"s": SourceRows("s", ("t",), ((1, 2, 3, 4),))}
    return Growth(Flow(network, shape(network, {"s": ("t",)}), rows))


def state(there: Sequence[str], jobs: dict[tuple[str, str], Any]) -> State:
    """Records: of (action, directory) True for complete, a token, or a failure."""
    at = {name: position for position, name in enumerate(sorted(there))}
    completed: dict[str, int] = dict.fromkeys(("simulate", "look", "report"), 0)
    submitted: dict[str, dict[int, Submitted]] = {}
    failed: dict[str, dict[int, LastEnd]] = {}
    for (action, name), what in jobs.items():
        if name not in at:
            continue
        if what is True:
            completed[action] |= bit_set([at[name]])
        elif isinstance(what, LastEnd):
            failed.setdefault(action, {})[at[name]] = what
        else:
            submitted.setdefault(action, {})[at[name]] = Submitted("here", 1, what)
    return State(1, cast(Directories, Names(there)), completed, submitted, failed)


@given(st.integers(0, 1 << 20))
def test_the_graph_is_as_the_records_are_and_each_thing_is_told_once(seed: int) -> None:
    # given records that change at random, and directories that come and go
    chance = random.Random(seed)
    growth = make_growth()
    facts, graph = ObservedStates(growth), growth.graph
    names = [*growth.flow.directories("simulate"), "report"]
    pairs = [(growth.where(job).node, growth.directory(job)) for job in range(len(graph))]
    jobs: dict[tuple[str, str], Any] = {}
    there = list(names)
    told: set[tuple[int, str]] = set()
    complete: set[int] = set()
    for number in range(12):
        for pair in chance.sample(pairs, 3):
            token = f"token-{number}"
            choice = chance.randrange(5)
            jobs.pop(pair, None)
            if choice < 4:
                reason = "not reached: exit code 1" if choice == 2 else "exit code 1"
                outcome = LastOutcome.NOT_REACHED if choice == 2 else LastOutcome.FAILED
                jobs[pair] = (True, token, *[LastEnd("here", 1, token, reason, outcome)] * 2)[
                    choice
                ]
        if chance.random() < 0.3:
            others = [f"other-{each}" for each in range(chance.randrange(3))]
            there = [*(name for name in names if chance.random() < 0.8), *others]
        records = state(there, jobs)
        # when they are looked at, as a run does, until nothing is new
        looks = 0
        while news := facts.news(records, lambda *_: True):
            looks += 1
            assert looks < 4
            assert not complete.intersection(news.complete)
            complete |= set(news.complete)
            assert complete.issuperset(news.gone)
            complete -= set(news.gone)
            graph.reopen(news.gone)
            graph.activate(news.active)
            graph.release(news.back)
            graph.complete(news.complete)
            for job, failure in news.failed:
                graph.fail(job, failure.reason)
                assert (job, failure.token) not in told
                told.add((job, failure.token))
        # then the graph says of every job what they say
        for job, pair in enumerate(pairs):
            what = jobs.get(pair) if pair[1] in there else None
            now = graph.state(job)
            assert (now is GraphJobState.COMPLETED) == (what is True)
            if isinstance(what, str) and now not in LOST_STATES:
                assert now is GraphJobState.SUBMITTED
            elif now is GraphJobState.SUBMITTED:
                raise AssertionError(f"{pair} is with no scheduler")
            if isinstance(what, LastEnd) and what.reason.startswith("exit"):
                assert now is GraphJobState.FAILED
