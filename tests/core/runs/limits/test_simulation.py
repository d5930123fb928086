"""Real projects simulated: what their work is, on which machines, in which orders."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.network.graph.dynamic_graph import Growth
from rowtui.core.network.simulation.simulate import SimulatedMachines, SimulatedNeeds
from rowtui.core.project.open_project import OpenProject
from rowtui.core.runs.execution.job_order import orderable
from rowtui.core.runs.limits.asked import GraphAmounts
from rowtui.core.runs.limits.run_times import (
    UNKNOWN_MB,
    Machines,
    RunTimeSource,
    machines_of,
    parse_machines,
    parse_seconds,
    run_times,
)
from rowtui.core.runs.limits.simulation import (
    USUAL,
    Comparison,
    assume_entries,
    compare,
    cpu_hours,
    critical_seconds,
    plugin_names,
    take_complete,
    work_of,
)
from rowtui.core.runs.snapshot import read_study

EXAMPLE = Path(__file__).parents[4] / "examples/study"

LISTS = """
[[source]]
name = "sample"
[source.values]
subject = ["x", "y"]

[[node]]
name = "split"
from = "sample"

[[node]]
name = "train"
from = "split"
output = "folds.json"
expand = "fold"

[[node]]
name = "score"
from = "train"
output = "score.json"
collapse = ["fold"]
"""
ACTION = """
[[action]]
name = "{name}"
command = "true {{directory}}"
products = ["{product}"]
[[action.group.include]]
condition = ["/node", "==", "{node}"]
[action.resources]
threads_per_process = {cpus}
walltime.per_directory = "00:10:00"
"""


@pytest.fixture(autouse=True)
def large_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROWTUI_LOCAL_CORES", "64")
    monkeypatch.setenv("ROWTUI_LOCAL_GPUS", "64")


@pytest.fixture
def study(here: Path) -> OpenProject:
    """The example, before anything has run."""
    left_out = shutil.ignore_patterns("workspace", ".row", "results")
    shutil.copytree(EXAMPLE, here / "study", ignore=left_out)
    (here / "study/workspace").mkdir()
    return OpenProject.open(here / "study", cluster="local")


def lists(here: Path) -> OpenProject:
    """A network with a list whose entries nobody knows before."""
    root = here / "lists"
    (root / "workspace").mkdir(parents=True)
    actions = [("split", "folds.json", "sample", 1), ("train", "score.json", "train", 4)]
    actions.append(("score", "mean.json", "score", 1))
    text = "".join(
        ACTION.format(name=name, product=product, node=node, cpus=cpus)
        for name, product, node, cpus in actions
    )
    (root / "workflow.toml").write_text(f'[workspace]\nvalue_file = "value.json"\n{text}')
    (root / "network.toml").write_text(LISTS)
    return OpenProject.open(root, cluster="local")


def compared(
    project: OpenProject, machines: Machines, seconds: str = "", *, entries: int = 1
) -> Comparison:
    """All plug-ins of ours on these machines."""
    found = read_study(project)
    growth = Growth(found.flow)
    assume_entries(growth, entries)
    take_complete(project, growth)
    work = work_of(
        GraphAmounts(project, growth).now(),
        growth,
        run_times(project, found.network, parse_seconds(seconds)),
    )
    return compare(orderable(project, growth), work, machines, plugin_names(growth))


def test_every_plug_in_brings_the_example_to_its_end(study: OpenProject) -> None:
    found = compared(study, parse_machines("4 CPUs 2/h"), "simulate=120,average=30,fit=10,plot=5")

    assert {it.plugin for it in found.outcomes} == set(USUAL)
    assert found.critical_path == 120 + 30 + 10 + 5
    # 24 x 120 + 12 x 30 + 4 x 10 + 5 on four cores
    assert found.least == pytest.approx((2880 + 360 + 40 + 5) / 4)
    for outcome in found.outcomes:
        run = outcome.run
        assert run is not None
        assert (run.jobs, run.ended, run.held_up) == (41, 41, 0)
        assert run.cpu_hours == pytest.approx(3285 / 3600)
        assert run.makespan >= found.least
        assert run.cost == pytest.approx(2 * run.makespan / 3600)
    best = found.best
    assert best is not None
    assert best.run is not None
    assert best.run.makespan == min(it.run.makespan for it in found.outcomes if it.run)


def test_what_is_complete_already_is_not_simulated(study: OpenProject) -> None:
    # given: all states of the example are simulated, and their energies are there
    from rowtui.core.runs.directories.directories import make_directories
    from rowtui.core.runs.snapshot import wanted_directories

    flow = read_study(study).flow
    make_directories(study, wanted_directories(flow), lambda _: None)
    for name in flow.directories("simulate"):
        (study.root / "workspace" / name / "energy.json").write_text("{}")
    study.synchronise(full=True)

    growth = Growth(flow)
    assert take_complete(study, growth) == 24
    work = work_of(GraphAmounts(study, growth).now(), growth, run_times(study, flow.network))

    assert int(work.left().sum()) == 17
    assert critical_seconds(work) == 3 * 60
    assert cpu_hours(work) == pytest.approx(17 * 60 / 3600)


def test_lists_that_nobody_made_yet_are_taken_to_have_so_many_entries(here: Path) -> None:
    project = lists(here)

    found = compared(project, parse_machines("16 CPUs x any"), entries=3)

    assert [int((found.work.node == at).sum()) for at in range(3)] == [2, 6, 2]
    assert found.work.nodes[1] == SimulatedNeeds("train", cpus=4, seconds=600)
    # a split, then all of its folds, then their score
    assert found.critical_path == 1800
    assert found.best is not None
    assert found.best.run is not None
    assert found.best.run.makespan == 1800

    assert assume_entries(Growth(read_study(project).flow), 0) == 2


def test_jobs_too_wide_for_every_machine_are_told_not_waited_for(here: Path) -> None:
    found = compared(lists(here), parse_machines("2 CPUs x 8"), entries=2)

    assert found.best is not None
    run = found.best.run
    assert run is not None
    assert [(found.work.nodes[it.node].name, it.jobs) for it in run.unplaced] == [("train", 4)]
    assert (run.ended, run.held_up) == (2, 2)


def test_a_plug_in_that_is_not_there_does_not_stop_the_others(study: OpenProject) -> None:
    found = read_study(study)
    growth = Growth(found.flow)
    work = work_of(GraphAmounts(study, growth).now(), growth, run_times(study, found.network))
    machines = parse_machines("2 CPUs")

    told = compare(orderable(study, growth), work, machines, ["their", "row"])

    assert [(it.plugin, it.run is None) for it in told.outcomes] == [
        ("row", False),
        ("their", True),
    ]
    assert "no scheduling plug-in 'their'" in told.outcomes[1].error
    asked: list[str] = []

    def never(name: str) -> bool:
        asked.append(name)
        return False

    told = compare(orderable(study, growth), work, machines, ["row", "sink"], never)
    assert (asked, told.left_out) == (["sink"], ("sink",))
    with pytest.raises(RowtuiError, match="no machines are defined"):
        compare(orderable(study, growth), work, Machines(()), ["row"])


THEIRS = """
class Backwards:
    name = "backwards"
    summary = "the last sample first"

    def keys(self, jobs):
        return (-jobs.sample,)


class Explodes(Backwards):
    def keys(self, jobs):
        raise KeyError("their words")
"""


def test_installed_plug_ins_are_compared_and_one_that_fails_is_told(
    study: OpenProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "their_simulated_orders.py").write_text(THEIRS)
    info = tmp_path / "their_simulated_orders-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1\n")
    module = "their_simulated_orders"
    points = f"backwards = {module}:Backwards\nexplodes = {module}:Explodes\n"
    (info / "entry_points.txt").write_text(f"[rowtui.scheduling_plugins]\n{points}")
    monkeypatch.syspath_prepend(tmp_path)

    found = compared(study, parse_machines("2 CPUs"))

    assert [it.plugin for it in found.outcomes][-1] == "explodes"
    assert "KeyError" in found.outcomes[-1].error
    assert "their words" not in found.outcomes[-1].error
    backwards = found.outcome("backwards")
    assert backwards is not None
    assert backwards.run is not None
    assert (backwards.run.ended, backwards.summary) == (41, "the last sample first")
    assert int(backwards.run.spans.job[0]) == 23  # the last state is simulated first


# -- machines ------------------------------------------------------------------------------------


def test_this_machine_is_the_machine_of_its_own_queue(
    study: OpenProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = {"ROWTUI_LOCAL_CORES": "6", "ROWTUI_LOCAL_MEMORY_MB": "4000"}
    project = OpenProject.open(
        study.root, cluster="local", environment={**study.environment, **environment}
    )

    found = machines_of(project)

    assert [(it.cpus, it.memory_mb, it.number) for it in found.machines] == [(6, 4000, 1)]
    assert (found.cores, found.notices) == (6, ())


CLUSTERS = """
[[cluster]]
name = "alpha"
scheduler = "slurm"
identify.always = false
currency = "EUR"
[[cluster.partition]]
name = "batch"
[[cluster.node_type]]
name = "gpu"
cpus = 32
gpus = 4
memory = "256G"
price_per_hour = 3.2
count = 2
[[cluster.node_type]]
name = "large"
cpus = 64
memory = "512G"
price_per_hour = 6.4
[[cluster.node_type]]
name = "cheap"
cpus = 64
memory = "128G"
price_per_hour = 1.0
count = 3
"""


def test_machines_of_a_cluster_go_by_gpus_then_by_the_price_of_a_core(
    here: Path, study: OpenProject
) -> None:
    folder = here / "home/.config/rowtui"
    folder.mkdir(parents=True)
    (folder / "clusters.toml").write_text(CLUSTERS)

    project = OpenProject.open(study.root, cluster="alpha")
    found = machines_of(project)

    assert not project.configured.problems
    told = [(it.name, it.number, it.price_per_hour) for it in found.machines]
    assert told == [("cheap", 3, 1.0), ("large", None, 6.4), ("gpu", 2, 3.2)]
    assert (found.unit, found.cores) == ("EUR", None)
    assert "the number of nodes of alpha is unknown" in found.notices[0]


def test_machines_are_written_as_people_speak_of_them() -> None:
    assert parse_machines("16 CPUs x 4").machines == (
        SimulatedMachines("16 CPUs", 16, UNKNOWN_MB, number=4),
    )
    told = parse_machines("64 cores 256 GB 4 GPUs 3.5/h boot 90 s x any, 8cpus").machines
    assert told == (
        SimulatedMachines(
            "64 cores 256 GB 4 GPUs 3.5/h boot 90 s", 64, 256 * 1024, 4, 3.5, None, 90.0
        ),
        SimulatedMachines("8cpus", 8, UNKNOWN_MB),
    )


@pytest.mark.parametrize(
    "text",
    ["", " , ", "0 CPUs", "4 CPUs x 0", "x 4", "4 GPUs", "16 CPUs and more", "1.2.3 GB 4 CPUs"],
)
def test_what_is_no_machine_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(RowtuiError) as caught:
        parse_machines(text)
    assert '"16 CPUs x 4"' in caught.value.hint


# -- run times -----------------------------------------------------------------------------------


def test_what_a_person_says_counts_before_the_wall_time(study: OpenProject) -> None:
    network = read_study(study).network

    times = run_times(study, network, parse_seconds("simulate=2.5, fit=00:05:00"))

    assert {name: (it.seconds, it.basis) for name, it in times.items()} == {
        "simulate": (2.5, RunTimeSource.GIVEN),
        "average": (60.0, RunTimeSource.LIMIT),
        "fit": (300.0, RunTimeSource.GIVEN),
        "plot": (60.0, RunTimeSource.LIMIT),
    }
    assert [it.measured for it in times.values()] == [True, False, True, False]


def test_a_run_time_of_nobody_is_refused(study: OpenProject) -> None:
    with pytest.raises(RowtuiError, match="no node 'simulat'") as caught:
        run_times(study, read_study(study).network, {"simulat": 1.0})
    assert "simulate" in caught.value.hint


@pytest.mark.parametrize("text", ["simulate", "=3", "a=-1", "a=nan", "a=inf", "a=soon", "a=1,b"])
def test_what_is_no_run_time_is_refused(text: str) -> None:
    with pytest.raises(RowtuiError, match="the run time of a node"):
        parse_seconds(text)
