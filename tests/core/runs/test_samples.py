"""Lists of samples: filtered, sorted and paged as columns; and what a waiting job waits for."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.filter import FilterError, RowFilter, parse_filter, row_matches
from rowtui.core.groups.listing import Superseded
from rowtui.core.network.graph.dynamic_graph import Growth
from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.views.views import ListRequest
from rowtui.core.runs.networks import Networks
from rowtui.core.runs.samples import RequestedSamples, SampleLists
from rowtui.core.runs.show import waits_of
from rowtui.core.runs.views import SampleView

WORKFLOW = """
[workspace]
value_file = "value.json"
[[action]]
name = "work"
command = "x {directory}"
products = ["work"]
[[action]]
name = "gather"
command = "x {directory}"
products = ["sum"]
"""
NETWORK = """
[[source]]
name = "state"
[source.values]
T = [0.7, 10, 2]
kind = ["lj", "WCA"]
replica = { range = 3 }
[[node]]
name = "work"
from = "state"
[[node]]
name = "gather"
from = "work"
collapse = ["replica"]
"""


@pytest.fixture(scope="module")
def growth(tmp_path_factory: pytest.TempPathFactory) -> Growth:
    root = tmp_path_factory.mktemp("samples")
    (root / "workflow.toml").write_text(WORKFLOW)
    (root / "network.toml").write_text(NETWORK)
    networks = Networks(OpenProject.open(root, cluster="local"))
    growth = networks.unstarted().growth
    jobs = growth.jobs("work").tolist()
    growth.graph.activate(jobs[1:3])
    growth.graph.complete(jobs[5:12])
    growth.graph.fail([jobs[4]], "out of memory")
    return growth


def listed(growth: Growth, node: str = "work", **asked: object) -> list[SampleView]:
    which = RequestedSamples(node, asked=ListRequest(**asked))  # type: ignore[arg-type]
    return list(SampleLists().page(growth, which, 0, 1000).samples)


def cells(sample: SampleView) -> dict[str, object]:
    row = {"state": sample.state, "why": sample.reason, "directory": sample.directory}
    return row | {f"={name}": value for name, value in sample.values.items()}


WORDS = ["failed", "!complete", "lj", "WCA", "T<2", "T>=2", "T=10", "kind=lj", "kind!=WCA",
         "replica=1", "state=eligible", "why~mem", "~T=2,", "memory", "=T=0.7",
         "name~2$"]  # fmt: skip
FIELDS = {"T": "=T", "kind": "=kind", "replica": "=replica", "name": "directory"}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=3))
def test_a_filter_on_columns_takes_the_rows_that_fit_one_by_one(
    growth: Growth, words: list[str]
) -> None:
    text = " ".join(words)
    found = listed(growth, filter=text)
    terms = [
        term._replace(field=FIELDS.get(term.field, term.field)) for term in parse_filter(text).terms
    ]
    wanted = [one for one in listed(growth) if row_matches(RowFilter(tuple(terms)), cells(one))]
    assert found == wanted


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("column", ["=T", "=kind", "state", "directory", "why", "job"])
def test_a_sort_orders_by_value_and_keeps_every_sample(
    growth: Growth, column: str, descending: bool
) -> None:
    found = listed(growth, sort=column, descending=descending)
    assert sorted(one.job for one in found) == sorted(one.job for one in listed(growth))
    if column == "=T":
        values = [one.values["T"] for one in found]
        assert values == sorted(values, reverse=descending)  # type: ignore[type-var]
    if column == "state" and not descending:
        assert found[0].state == "failed"
        assert found[-1].state == "completed"


def test_without_an_order_what_failed_comes_first_and_a_state_leaves_the_others_out(
    growth: Growth,
) -> None:
    assert listed(growth)[0].reason == "out of memory"
    samples = SampleLists()
    page = samples.page(
        growth, RequestedSamples("work", (GraphJobState.SUBMITTED, GraphJobState.FAILED)), 0, 2
    )
    assert (page.total, page.of, len(page.samples)) == (3, 3, 2)
    some = ListRequest("T<1")
    page = samples.page(
        growth,
        RequestedSamples("work", (GraphJobState.SUBMITTED, GraphJobState.FAILED), some),
        0,
        2,
    )
    assert (page.total, page.of) == (3, 3)
    assert samples.page(growth, RequestedSamples("work", (), some), 0, 2).of == 18


def test_a_sample_is_found_where_it_stands_and_nothing_else_is(growth: Growth) -> None:
    samples = SampleLists()
    which = RequestedSamples("work", asked=ListRequest("", "=T", True))
    page = samples.page(growth, which, 0, 5)
    last = samples.page(growth, which, 17, 1).samples[0]
    assert samples.page(growth, which, 0, 5, find=str(last.job)).found == 17
    assert page.found is None
    for absent in ("x", "99999", str(growth.job("gather", 0)), "²"):
        assert samples.page(growth, which, 0, 5, find=absent).found is None
    source = RequestedSamples("state")
    name = samples.page(growth, source, 4, 1).samples[0].directory
    assert samples.page(growth, source, 0, 5, find=name).found == 4


def test_a_list_follows_the_graph(growth: Growth) -> None:
    samples, which = SampleLists(), RequestedSamples("gather", asked=ListRequest("blocked"))
    assert samples.page(growth, which, 0, 9).total == 1
    growth.graph.retry([growth.job("work", 4)])
    assert samples.page(growth, which, 0, 9).total == 0
    growth.graph.fail([growth.job("work", 4)], "out of memory")
    assert samples.page(growth, which, 0, 9).total == 1


def test_what_cannot_be_asked_is_said_and_an_overtaken_question_ends(growth: Growth) -> None:
    samples = SampleLists()
    with pytest.raises(FilterError):
        samples.page(growth, RequestedSamples("work", asked=ListRequest("T<")), 0, 9)
    with pytest.raises(FilterError):
        samples.page(growth, RequestedSamples("work", asked=ListRequest("pressure<3")), 0, 9)
    with pytest.raises(FilterError):
        samples.page(growth, RequestedSamples("work", asked=ListRequest("", "pressure")), 0, 9)
    with pytest.raises(Superseded):
        samples.page(
            growth, RequestedSamples("work", asked=ListRequest("lj"), go_on=lambda: False), 0, 9
        )


def test_a_waiting_job_leads_to_what_has_to_happen_first(growth: Growth) -> None:
    # given a job that gathers one active and two other members
    first = waits_of(growth, growth.job("gather", 0))
    assert [step.state for step in first.steps] == ["waiting", "submitted"]
    assert first.needs == (("work", "eligible", 1), ("work", "submitted", 2))
    assert first.steps[0].open == 3

    # and one that was lost
    lost = waits_of(growth, growth.job("gather", 1))
    assert [(step.state, step.reason) for step in lost.steps] == [
        ("blocked", ""), ("failed", "out of memory"),
    ]  # fmt: skip
    assert waits_of(growth, growth.job("work", 0)).steps[1:] == ()
    with pytest.raises(RowtuiError):
        waits_of(growth, 1000)
