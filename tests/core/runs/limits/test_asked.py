"""A forecast of a run has the amounts that plans of its jobs have, before any directory is made."""

from __future__ import annotations

from pathlib import Path

import pytest
from rowtui.core.base.text import Cost
from rowtui.core.mapping.files.places import user_places
from rowtui.core.mapping.files.trust import TrustStore
from rowtui.core.network.graph.dynamic_graph import Growth
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.planning.plan_submission import plan_submission
from rowtui.core.runs.execution.driver import MessageKind
from rowtui.core.runs.limits.asked import AskedOfGraph, GraphAmounts
from rowtui.core.runs.limits.limits import RunLimits, proposed_budget
from rowtui.core.runs.limits.run_times import run_times
from rowtui.core.runs.limits.simulation import work_of
from rowtui.core.runs.limits.spending import RemainingCost, work_left
from rowtui.core.runs.networks import Networks
from rowtui.core.runs.snapshot import read_study

from tests.core.runs.driving import action, drive, make

NETWORK = """\
[[source]]
name = "state"
[source.values]
t = [1, 2, 3]

[[node]]
name = "one"
from = "state"

[[node]]
name = "two"
from = "one"
output = "p"
collapse = ["t"]
"""
HOUR = 3600
TENTH = 600 / HOUR  # what each job asks for with one CPU


@pytest.fixture(autouse=True)
def large_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROWTUI_LOCAL_CORES", "64")
    monkeypatch.setenv("ROWTUI_LOCAL_GPUS", "64")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A network of four jobs of ten minutes, with a home of its own."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home/.config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home/.local/share"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home/.local/state"))
    one = action("one", "echo > p", ["p"], node="state", size=2)
    folder = make(tmp_path / "project", NETWORK, one, action("two", "echo > q", ["q"]))
    (folder / "workspace").mkdir()
    return folder


def project_with(root: Path, mapping: str) -> OpenProject:
    (root / "mapping.yml").write_text(mapping)
    project = OpenProject.open(root, cluster="local")
    store = TrustStore(user_places(project.environment).trust)
    store.trust(str(root / "mapping.yml"), mapping.encode(), 1.0)
    return project


def asked(project: OpenProject) -> tuple[Growth, AskedOfGraph]:
    growth = Growth(read_study(project).flow)
    return growth, GraphAmounts(project, growth).now()


def left(project: OpenProject) -> RemainingCost:
    return work_left(*asked(project), "jobs")


def test_a_job_of_the_graph_has_what_the_mapping_gives_its_action(root: Path) -> None:
    assert left(OpenProject.open(root, cluster="local")).cost.cpu_hours == pytest.approx(4 * TENTH)

    project = project_with(root, "tools:\n  one:\n    cores: 3\n")

    assert left(project).cost.cpu_hours == pytest.approx(10 * TENTH)
    growth, amounts = asked(project)
    work = work_of(amounts, growth, run_times(project, growth.flow.network, measured={}))
    cpus = work.of_nodes([it.cpus for it in work.nodes])
    assert (cpus * work.each_seconds()).sum() == pytest.approx(10 * TENTH * HOUR)


BY_VALUE = """\
tools:
  one:
    rules:
    - id: many
      if: values[0]["t"] > 1
      cores: values[0]["t"]
  two:
    rules:
    - id: alone
      if: len(directories) == 1
      cores: 2
"""


def test_amounts_that_depend_on_values_are_known_before_the_directories_are_made(
    root: Path,
) -> None:
    project = project_with(root, BY_VALUE)

    growth, amounts = asked(project)

    cpus = [amounts.kinds[at].alone.cpus for at in amounts.kind_of]
    assert sorted(cpus[job] for job in map(int, growth.jobs("one"))) == [1, 2, 3]
    assert [cpus[job] for job in map(int, growth.jobs("two"))] == [2]
    work = work_of(amounts, growth, run_times(project, growth.flow.network, measured={}))
    assert {(it.name, it.cpus) for it in work.nodes} == {
        ("one", 1), ("one", 2), ("one", 3), ("two", 2),
    }  # fmt: skip


REFUSED = """\
tools:
  two:
    rules:
    - id: never
      if: "True"
      fail: not today
"""


def test_jobs_that_the_mapping_refuses_are_told_with_the_reason_and_cost_nothing(
    root: Path,
) -> None:
    project = project_with(root, REFUSED)

    found = left(project)

    assert (found.jobs, found.cost.cpu_hours) == (3, pytest.approx(3 * TENTH))
    (refused,) = found.refused
    assert (refused.node, refused.jobs) == ("two", 1)
    assert "not today" in refused.reason
    assert Networks(project).view().refused == (refused,)


def test_a_run_of_which_only_refused_jobs_are_ready_pauses_with_the_reason(root: Path) -> None:
    project_with(root, REFUSED)

    driven = drive(root)

    last = driven.told[-1]
    assert last.kind is MessageKind.PAUSED
    assert "two: 1 job left out" in last.sentence
    assert "not today" in last.sentence
    assert len(driven.sent()) == 2  # the groups of the other node

    (root / "mapping.yml").unlink()  # what was said then is in the journal
    later = Networks(OpenProject.open(root, cluster="local")).view()
    assert later.run is not None
    assert later.run.why == last.sentence
    assert later.refused == ()


def test_a_run_whose_mapping_file_is_not_trusted_any_more_says_so(root: Path) -> None:
    (root / "mapping.yml").write_text(BY_VALUE)

    driven = drive(root)

    last = driven.told[-1]
    assert last.kind is MessageKind.PAUSED
    assert "one: 2 jobs left out" in last.sentence
    assert "mapping.yml is not trusted yet" in last.sentence
    (one, two) = Networks(driven.project).view().refused
    assert (one.jobs, two.jobs) == (3, 1)


def test_amounts_follow_the_mapping_file(root: Path) -> None:
    project = project_with(root, "tools:\n  one:\n    cores: 3\n")
    networks = Networks(project)
    assert networks.left(frozen=False).cost.cpu_hours == pytest.approx(10 * TENTH)

    project_with(root, "tools:\n  one:\n    cores: 5\n")

    assert networks.left(frozen=False).cost.cpu_hours == pytest.approx(16 * TENTH)


def test_a_run_within_the_proposed_limit_asks_nothing(root: Path) -> None:
    with (root / "network.toml").open("a") as file:  # a list is sent whole, or not at all
        file.write('\n[schedule]\nexecution = "sequential"\n')
    project = project_with(root, "tools:\n  one:\n    cores: 2\n")
    work = Networks(project).left(frozen=False)
    limits = RunLimits(cpu_hours=proposed_budget(work.cost.cpu_hours, grows=False))

    driven = drive(root, limits=limits)

    assert driven.told[-1].kind is MessageKind.OVER, driven.told[-1]
    assert driven.running.spent().cpu_hours <= work.cost.cpu_hours + 1e-9


def test_the_status_table_has_the_costs_of_a_plan(root: Path) -> None:
    for name in ("a", "b", "c"):
        (root / "workspace" / name).mkdir()
        (root / "workspace" / name / "value.json").write_text('{"node": "state", "t": 3}')

    def costs(project: OpenProject) -> list[Cost]:
        return [row.remaining_cost for row in project.status_table().rows]

    assert costs(OpenProject.open(root, cluster="local"))[0] == Cost(2 * TENTH)
    project = project_with(root, BY_VALUE)

    found = costs(project)[0]

    plan = plan_submission(project, [project.workflow.actions[0]])
    assert found == plan.cost == Cost(6 * TENTH)
    every = costs(project_with(root, "tools:\n  one:\n    cores: 5\n"))[0]
    assert every.cpu_hours == pytest.approx(10 * TENTH)
