"""Real projects: their remaining work, on which machines it is simulated, and its run times."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from rowtui.core.network.graph.dynamic_graph import Growth
from rowtui.core.network.graph.scheduling import remaining_seconds
from rowtui.core.project.open_project import OpenProject
from rowtui.core.runs.limits.asked import GraphAmounts
from rowtui.core.runs.limits.run_times import (
    RunTime,
    RunTimeSource,
    machines_of,
    run_times,
)
from rowtui.core.runs.limits.simulation import work_of
from rowtui.core.runs.observed_states import ObservedStates
from rowtui.core.runs.snapshot import read_study

EXAMPLE = Path(__file__).parents[4] / "examples/study"


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
    complete = ObservedStates(growth).news(study.state, lambda _job, _token: False).complete
    assert len(complete) == 24
    growth.graph.complete(complete)
    work = work_of(GraphAmounts(study, growth).now(), growth, run_times(study, flow.network))

    assert int(work.left().sum()) == 17
    assert remaining_seconds(work.waits(), work.each_seconds()).max() == 3 * 60
    assert work.each_seconds().sum() == 17 * 60


# -- machines ------------------------------------------------------------------------------------


def test_this_machine_is_the_machine_of_its_own_queue(
    study: OpenProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = {"ROWTUI_LOCAL_CORES": "6", "ROWTUI_LOCAL_MEMORY_MB": "4000"}
    project = OpenProject.open(
        study.root, cluster="local", environment={**study.environment, **environment}
    )

    found = machines_of(project)

    assert [(it.cpus, it.memory_mb, it.number) for it in found] == [(6, 4000, 1)]


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
    told = [(it.cpus, it.memory_mb, it.gpus, it.number) for it in found]
    cheap, large, gpu = (64, 128 * 1024, 0, 3), (64, 512 * 1024, 0, None), (32, 256 * 1024, 4, 2)
    assert told == [cheap, large, gpu]


# -- run times -----------------------------------------------------------------------------------


def test_what_was_measured_counts_before_the_wall_time(study: OpenProject) -> None:
    network = read_study(study).network

    times = run_times(study, network, {"fit": RunTime(2.5, RunTimeSource.MEASURED, 5)})

    assert {name: (it.seconds, it.basis) for name, it in times.items()} == {
        "simulate": (60.0, RunTimeSource.LIMIT),
        "average": (60.0, RunTimeSource.LIMIT),
        "fit": (2.5, RunTimeSource.MEASURED),
        "plot": (60.0, RunTimeSource.LIMIT),
    }
    assert [it.measured for it in times.values()] == [False, False, True, False]
