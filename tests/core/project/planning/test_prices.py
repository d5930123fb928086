"""A job has a price wherever the node types that hold it have one, packed or alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.planning.pack_terms import prices_of
from rowtui.core.project.planning.pack_views import PackChoice
from rowtui.core.project.planning.plan_submission import pack_submission, plan_submission
from rowtui.core.runs.limits.limits import LimitKind, RunLimits, Spent, fits
from rowtui.core.submission.plan.model import Plan

WORKFLOW = """\
[[action]]
name = "one"
command = "true {directory}"
products = ["x"]
group.maximum_size = 1
resources.threads_per_process = 2
resources.walltime.per_directory = "01:00:00"
"""
CLUSTERS = """\
[[cluster]]
name = "local"
identify.always = true
scheduler = "local"
partition = []
currency = "EUR"
"""
TYPE = '[[cluster.node_type]]\nname = "{}"\ncpus = {}\nmemory = "8GB"\n{}\n'


def planned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *types: tuple[str, int, float | None]
) -> tuple[OpenProject, Plan]:
    """Two jobs on two CPUs for an hour, where nodes of these types are: name, CPUs, price."""
    config = tmp_path / "home/.config"
    (config / "rowtui").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(config))
    text = CLUSTERS + "".join(
        TYPE.format(name, cpus, "" if price is None else f"price_per_hour = {price}")
        for name, cpus, price in types
    )
    (config / "rowtui/clusters.toml").write_text(text)
    for name in ("a", "b"):
        (tmp_path / "project/workspace" / name).mkdir(parents=True)
    (tmp_path / "project/workflow.toml").write_text(WORKFLOW)
    project = OpenProject.open(tmp_path / "project", cluster="local")
    return project, plan_submission(project, project.workflow.actions)


def test_a_job_that_goes_alone_costs_what_the_cheapest_node_that_holds_it_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    types = (("tiny", 1, 0.1), ("large", 16, 3.0), ("small", 2, 0.4))
    project, plan = planned(tmp_path, monkeypatch, *types)

    prices = prices_of(project, plan)

    assert [prices[job.token] for job in plan.jobs] == [(0.4, "EUR"), (0.4, "EUR")]
    found = fits(RunLimits(price=0.5, currency="EUR"), Spent(), plan, 0.0, prices)
    assert len(found.jobs) == 1
    assert [it.sentence for it in found.breaches] == [
        "1 more job would bring it to 0.80 EUR, of 0.50 confirmed"
    ]
    meant = plan._replace(jobs=tuple(job._replace(node_type="large") for job in plan.jobs))
    assert {price.amount for price in prices_of(project, meant).values()} == {3.0}


def test_a_bundle_costs_what_packing_says_and_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, _ = planned(tmp_path, monkeypatch, ("large", 16, 3.0))

    plan = pack_submission(project, project.workflow.actions, PackChoice()).plan

    (packed,) = plan.packed
    prices = prices_of(project, plan)
    assert [price.amount for price in prices.values()] == [pytest.approx(packed.cost)]


@pytest.mark.parametrize("kind", [("small", 2, None), ("tiny", 1, 0.1)])
def test_a_job_without_a_priced_node_type_that_holds_it_has_no_price(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: tuple[str, int, float | None]
) -> None:
    project, plan = planned(tmp_path, monkeypatch, kind)

    prices = prices_of(project, plan)

    assert prices == {}
    found = fits(RunLimits(price=5.0, currency="EUR"), Spent(), plan, 0.0, prices)
    assert [it.kind for it in found.breaches] == [LimitKind.UNPRICED]
