"""What the mapper remembers never changes an answer; the quick forms of its rules are the rules."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rowtui.core.clusters.model import Cluster, Identify, JobTotals, Partition, PartitionLoad
from rowtui.core.mapping.engine.destinations import checks, fits, offers_of, suited
from rowtui.core.mapping.engine.evaluate import StopMapping
from rowtui.core.mapping.engine.explain import decide
from rowtui.core.mapping.engine.lookup import plain_id
from rowtui.core.mapping.engine.mapper import Mapper
from rowtui.core.mapping.model.decision import Placement
from rowtui.core.mapping.model.dialect import DIALECTS
from rowtui.core.mapping.model.entities import Destination, Tool
from rowtui.core.mapping.model.fields import AMOUNTS
from rowtui.core.mapping.model.request import (
    NOTHING_KNOWN,
    Amounts,
    ClusterFacts,
    MappingRequest,
    Person,
    WhatIf,
)
from rowtui.core.mapping.model.tags import STRENGTHS, score
from rowtui.core.workflow.model import Resources

from tests.core.mapping.answers import load, request_of
from tests.differential_mapping.generate import case


class EvenChance(random.Random):
    """Draws that do not depend on how many were drawn before."""

    def random(self) -> float:
        return 0.5


def load_of(expected_wait: float) -> PartitionLoad:
    nothing = dict.fromkeys(PartitionLoad._fields, 0)
    return PartitionLoad(**{**nothing, "partition": "p", "expected_wait": expected_wait})


def comparable(placement: Placement) -> str:
    """All of it; objects without a form of their own show where they lie in memory."""
    return re.sub(r"0x[0-9a-f]+", "0x", repr(placement))


# A remembered answer is the answer

FACTS = (
    NOTHING_KNOWN,
    ClusterFacts(1, {("slurm", "p"): load_of(60)}),
    ClusterFacts(2, reachable=frozenset({"slurm"})),
)
variations = st.fixed_dictionaries(
    {},
    optional={
        "input_size": st.sampled_from([0, 0.25, 3, 7.5, 20]),
        "attempt": st.integers(1, 2),
        "state": st.sampled_from(["new", "resubmitted"]),
        "version": st.sampled_from(["1.0", "2.0"]),
        "params": st.sampled_from([{}, {"mode": "fast"}, {"mode": "slow", "n": 2}]),
        "previous_params": st.sampled_from([None, {"SCALING": 2}]),
        "directories": st.sampled_from([(), ("a", "b")]),
        "values": st.sampled_from([(), ({"x": 1},), ({"x": 1.0},)]),
        "cluster": st.sampled_from(["", "slurm"]),
        "declared": st.sampled_from([Amounts(), Amounts(cores=2)]),
        "assumed": st.sampled_from([Amounts(), Amounts(mem=3.5)]),
        "what_if": st.sampled_from([None, WhatIf(Amounts(cores=1))]),
    },
)
sequences = st.lists(
    st.tuples(st.integers(0, 2), variations, st.sampled_from(FACTS)), min_size=2, max_size=7
)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.booleans(), sequences)
def test_a_mapper_that_remembers_answers_as_one_that_was_never_asked_before(
    seed: int, tpv3: bool, sequence: list[tuple[int, dict[str, Any], ClusterFacts]]
) -> None:
    generated = case(seed)
    configuration = load(generated.files, tpv3=tpv3)
    asked = [
        (request_of(generated.requests[which])._replace(**variation), facts)
        for which, variation, facts in sequence
    ]
    remembering = Mapper(configuration, chance=EvenChance())

    for request, facts in [*asked, *asked]:
        fresh = Mapper(configuration, chance=EvenChance(), remember=False)
        expected = comparable(fresh.place(request, facts))
        assert comparable(remembering.place(request, facts)) == expected
        explained = decide(remembering, request, facts, changes=False)
        assert comparable(explained.chosen) == expected


ONE = """
global: {dialect: %s}
tools:
  t:
    cores: 1
    params: {x: %s}
destinations:
  slurm/p: {runner: slurm}
"""
ASKED = MappingRequest("t", Person("anna", ("staff",)), params={"a": 1}, directories=("d",))


def mapper_of(expression: str, *, remember: bool = True, dialect: str = "seed") -> Mapper:
    text = ONE % (dialect, json.dumps(expression))
    configuration = load({"m.yml": text}, tpv3=False)
    assert not configuration.problems
    return Mapper(configuration, remember=remember)


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@pytest.mark.parametrize(
    ("expression", "change"),
    [
        ("{input_size}", {"input_size": 2}),
        ("{helpers.input_size(job)}", {"input_size": 2}),
        ("{job.attempt}", {"attempt": 2}),
        ("{attempt}", {"attempt": 2}),
        ("{job.state}", {"state": "resubmitted"}),
        ("{job.params['a']}", {"params": {"a": 2}}),
        ("{resource_params['a']!r}", {"params": {"a": "1"}}),
        ("{job.get_param_values(app)}", {"params": {"a": 2}}),
        ("{job.destination_params}", {"previous_params": {"b": 1}}),
        ("{tool.version}", {"version": "2"}),
        ("{action.version}", {"version": "2"}),
        ("{tool.tool_type}", {"tool_type": "interactive"}),
        ("{directories[0]}", {"directories": ("e",)}),
        ("{len(group)}", {"directories": ("d", "e")}),
        ("{values}", {"values": ({"x": 1},)}),
        ("{cluster}", {"cluster": "big"}),
        ("{user.email}", {"user": Person("bert")}),
        ("{roles}", {"user": Person("anna", ("staff", "gold"))}),
    ],
)
def test_whatever_an_expression_reads_decides_what_is_remembered(
    expression: str, change: dict[str, Any], dialect: str
) -> None:
    mapper = mapper_of(expression, dialect=dialect)
    before = mapper.place(ASKED)
    changed = ASKED._replace(**change)

    after = mapper.place(changed)

    assert before.chosen
    assert mapper.remembers(ASKED)
    assert after == mapper_of(expression, remember=False, dialect=dialect).place(changed)
    assert after.params != before.params
    assert mapper.place(ASKED) == before


@pytest.mark.parametrize("expression", ["{expected_wait}", "{load['slurm/p'].expected_wait}"])
def test_what_clusters_said_last_decides_what_is_remembered(expression: str) -> None:
    mapper = mapper_of(expression)

    answers = [
        mapper.place(ASKED, ClusterFacts(n, {("slurm", "p"): load_of(60 * n)})).params
        for n in (1, 2)
    ]

    assert "60" in answers[0]["x"]
    assert "120" in answers[1]["x"]


def test_a_load_that_is_not_known_any_more_is_not_shown() -> None:
    mapper = mapper_of("{mapper.destinations['slurm/p'].load is None}")

    known = mapper.place(ASKED, ClusterFacts(1, {("slurm", "p"): load_of(1)}))
    gone = mapper.place(ASKED, ClusterFacts(2))

    assert (known.params["x"], gone.params["x"]) == ("False", "True")


@pytest.mark.parametrize(
    "expression",
    [
        "{__import__('random').random()}",
        "{__import__('time').time()}",
        "{eval('input_size')}",
        "{open('/dev/null').read()}",
        "{helpers.weighted_choice([{'name': 'a', 'weight': 1}])}",
    ],
)
def test_what_may_answer_otherwise_next_time_is_never_remembered(expression: str) -> None:
    assert not mapper_of(expression).remembers(ASKED)
    assert mapper_of("{input_size} {user.email}").remembers(ASKED)


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@pytest.mark.parametrize(
    "expression",
    [
        "{sorted(globals())}",
        "{'mem' in locals()}",
        "{len(vars())}",
        "{entity.context.setdefault('n', []).append(1)} {entity.context}",
        "{entity.params.update(y=1)} {len(entity.params)}",
        "{job.params.update(b=2)} {job.params}",
        "{resource_params.update(b=2)} {resource_params}",
        "{hash('a')}",
    ],
)
def test_what_code_does_to_its_names_leaves_no_trace_for_the_next_job(
    expression: str, dialect: str
) -> None:
    each_time = mapper_of(expression, remember=False, dialect=dialect)
    first = each_time.place(ASKED)

    assert first.chosen
    assert each_time.place(ASKED) == first == mapper_of(expression, dialect=dialect).place(ASKED)
    assert ASKED.params == {"a": 1}


def test_a_rank_that_counts_is_asked_each_time() -> None:
    text = """
tools:
  t:
    context: {seen: []}
    rank: |
      entity.context["seen"].append(1)
      import random
      [random.choice(candidate_destinations)]
destinations: {a: {runner: r}, b: {runner: r}}
"""
    mapper = Mapper(load({"m.yml": text}, tpv3=False))

    chosen = {mapper.place(ASKED).destination for _ in range(64)}

    assert chosen == {"a", "b"}


def test_one_expression_of_a_destination_that_may_change_is_enough_to_forget() -> None:
    text = """
tools: {t: {cores: 1}}
destinations:
  a: {runner: r, params: {now: "{__import__('time').time_ns()}"}}
"""
    mapper = Mapper(load({"m.yml": text}, tpv3=False))

    assert mapper.place(ASKED).params != mapper.place(ASKED).params


def test_the_cluster_for_which_a_partition_is_named_decides_what_is_remembered() -> None:
    clusters = {
        name: Cluster(name, Identify(), "slurm", (Partition("p"), Partition("q")))
        for name in ("one", "two")
    }
    text = "destinations: {one/p: {runner: one}, two/q: {runner: two}}"
    mapper = Mapper(load({"m.yml": text}, tpv3=False), clusters=clusters)
    named = ASKED._replace(partition="q")

    chosen = [mapper.place(named._replace(cluster=name)).destination for name in ("one", "two")]

    assert chosen == ["two/q", "one/p"]


# The quick forms of matching are the explained ones

strengths = st.dictionaries(st.sampled_from("wxyz"), st.sampled_from(STRENGTHS), max_size=4)
numbers = st.none() | st.integers(0, 8) | st.floats(0, 8) | st.sampled_from([10**400, "4", "x"])
limits = st.none() | st.floats(0, 8)
destinations = st.builds(
    lambda tags, bounds, abstract, runner: (tags, bounds, abstract, runner),
    strengths,
    st.fixed_dictionaries({f"{m}_accepted_{a}": limits for m in ("max", "min") for a in AMOUNTS}),
    st.sampled_from([False, False, False, True]),
    st.sampled_from(["slurm", "other"]),
)


def destination_of(name: str, made: tuple[Any, ...]) -> Destination:
    tags, bounds, abstract, runner = made
    destination = Destination(name)
    for tag, strength in tags.items():
        destination.tpv_dest_tags.put(strength, tag)
    for field, value in bounds.items():
        setattr(destination, field, value)
    destination.abstract, destination.runner = abstract, runner
    return destination


@settings(deadline=None)
@given(
    st.lists(destinations, min_size=1, max_size=5),
    strengths,
    st.tuples(numbers, numbers, numbers),
    st.sampled_from([None, frozenset({"slurm"}), frozenset[str]()]),
    st.sampled_from([None, "d0", "d1"]),
    st.sampled_from([None, 2, 6]),
    st.sampled_from(sorted(DIALECTS)),
)
def test_the_quick_checks_agree_with_the_explained_ones(
    made: list[tuple[Any, ...]],
    tags: dict[str, str],
    amounts: tuple[Any, ...],
    reachable: frozenset[str] | None,
    partition: str | None,
    cpus: int | None,
    dialect: str,
) -> None:
    known = tuple(Partition(f"d{n}", maximum_cpus_per_job=4) for n in range(len(made)))
    clusters = {"slurm": Cluster("slurm", Identify(), "slurm", known)}
    every = [destination_of(f"d{n}", each) for n, each in enumerate(made)]
    offers = offers_of(every, clusters)
    totals = None if cpus is None else JobTotals(cpus, 0, 60, Resources(), 1)
    entity = Tool("t")
    for tag, strength in tags.items():
        entity.tpv_tags.put(strength, tag)
    request = MappingRequest("t", cluster="slurm", partition=partition, totals=totals)
    facts = ClusterFacts(reachable=reachable)
    # Limits of partitions are for amounts that are numbers (dialect tpv3 refuses others there).
    asked = Amounts(*amounts)
    if any(isinstance(each, str) or each == 10**400 for each in amounts):
        request = request._replace(totals=None)

    found = suited(entity, offers, DIALECTS[dialect])
    quick = {
        each.offer.entity.id for each in found if fits_or_fails(each.offer, asked, request, facts)
    }
    explained = {
        offer.entity.id
        for offer in offers
        if all(check.passed for check in checks(offer, entity, asked, request, facts))
    }

    assert quick == explained
    for each in found:
        parts = score(each.offer.entity.tpv_dest_tags, entity.tpv_tags, DIALECTS[dialect])
        assert each.score == sum(points for _, points in parts)
    order = [each.offer.entity.id for each in found]
    by_file = sorted(order, key=lambda name: int(name[1:]))
    scores = {each.offer.entity.id: each.score for each in found}
    assert order == sorted(by_file, key=lambda name: -scores[name])


def fits_or_fails(
    offer: Any, amounts: Amounts, request: MappingRequest, facts: ClusterFacts
) -> bool:
    try:
        return fits(offer, amounts, request, facts)
    except StopMapping:  # an amount that is no number, where there is a limit
        return False


ids = st.text("abT_-@:/.*+1(", max_size=8)


@given(ids | ids.map(lambda text: text + ".*"), st.text("abT_-@:/.*+1(\n", max_size=12))
def test_an_id_matches_what_its_pattern_matches(key: str, name: str) -> None:
    try:
        matches = re.match(key, name) is not None
    except re.error:
        assert plain_id(key) is None
        return
    text = f"tools: {{{json.dumps(key)}: {{cores: 1}}}}\ndestinations: {{d: {{}}}}"
    configuration = load({"m.yml": text}, tpv3=False)
    if configuration.problems:
        return
    found = Mapper(configuration).lookup.tool(MappingRequest(name or "unknown"))

    assert bool(found.matched) == (matches if name else bool(re.match(key, "unknown")))
