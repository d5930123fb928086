"""examples/mapped: a project with a mapping file, on a Slurm cluster and on this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from rowtui.core.groups.form import job_requests
from rowtui.core.groups.model import Group, Status
from rowtui.core.mapping.files.places import user_places
from rowtui.core.mapping.files.trust import TrustStore
from rowtui.core.mapping.model.decision import Decision, MappingOutcome
from rowtui.core.mapping.model.request import Person
from rowtui.core.project.open_project import OpenProject

from tests.cli.conftest import Shell

EXAMPLE = Path(__file__).parents[2] / "examples" / "mapped"
ADA = Person("ada", ("chemistry",))
STUDENT = Person("bob", ("course-2026",))


@pytest.fixture
def shell(empty_folder: Shell, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """The example with its workspace and its cluster; this user trusts its mapping file."""
    for file in EXAMPLE.iterdir():
        if file.is_file():
            shutil.copy2(file, empty_folder.folder)
    subprocess.run(["sh", "make_workspace.sh"], cwd=empty_folder.folder, check=True)
    home = Path(empty_folder.environment["HOME"])
    (home / ".config" / "row").mkdir(parents=True)
    (empty_folder.folder / "clusters.toml").rename(home / ".config" / "row" / "clusters.toml")
    del empty_folder.environment["ROW_HOME"]
    for name in [name for name in os.environ if name.startswith("XDG_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    mapping = empty_folder.folder / "mapping.yml"
    store = TrustStore(user_places(empty_folder.environment).trust)
    store.trust(str(mapping), mapping.read_bytes(), time.time())
    return empty_folder


def opened(shell: Shell, cluster: str = "hpc") -> OpenProject:
    project = OpenProject.open(shell.folder, cluster=cluster, environment=shell.environment)
    project.synchronise()
    assert [str(each) for each in project.mapping.configuration.problems] == []
    return project


def decided(
    project: OpenProject,
    name: str,
    person: Person,
    statuses: tuple[Status, ...] = (Status.ELIGIBLE,),
) -> dict[str, Decision]:
    """The decision for each group of an action, by the group's first directory."""
    (action,) = project.workflow.named(name)
    groups: tuple[Group, ...] = project.cut(action, statuses).page()
    return {
        project.state.directories.name(job.group.indices[0]): project.mapping.decide(
            job, person=person
        )
        for job in job_requests(groups)
    }


def test_small_systems_go_to_cpus_and_large_ones_to_gpus(shell: Shell) -> None:
    decisions = decided(opened(shell), "simulate", ADA)

    chosen = {name: decision.chosen.destination for name, decision in decisions.items()}
    assert chosen == {
        "water-1": "cpu", "water-2": "cpu", "protein-1": "cpu", "protein-2": "cpu",
        "water-3": "gpu", "protein-3": "gpu",
    }  # fmt: skip
    assert decisions["water-1"].chosen.amounts == (0, 16, 32)
    assert decisions["water-3"].chosen.amounts == (1, 4, 32)
    assert decisions["water-3"].chosen.params == {"account": "physics", "partition": "gpu"}
    assert "with_more_memory" in decisions["water-1"].chosen.resubmit


def test_a_course_has_fewer_cores_and_a_destination_that_it_prefers(shell: Shell) -> None:
    decisions = decided(opened(shell), "simulate", STUDENT)

    placed = decisions["water-1"].chosen
    assert placed.destination == "short"
    assert placed.amounts.cores == 4
    assert placed.params["qos"] == "course"
    assert decisions["water-3"].chosen.destination == "gpu"


def test_the_size_of_the_inputs_decides_where_they_are_analyzed(shell: Shell) -> None:
    # Given trajectories, those of proteins with 60 GB in all (of holes).
    for directory in (shell.folder / "workspace").iterdir():
        with open(directory / "trajectory.txt", "wb") as file:
            file.truncate((20 << 30) if directory.name.startswith("protein") else 100)
    shell.succeed("scan", cluster="hpc")
    project = opened(shell)

    analyses = decided(project, "analyze", ADA)
    assert analyses["water-1"].chosen.destination == "cpu"
    assert analyses["protein-1"].chosen.destination == "highmem"
    assert analyses["protein-1"].chosen.amounts.mem == 70
    refused = decided(project, "analyze", STUDENT)["protein-1"].chosen
    assert refused.outcome is MappingOutcome.FAILED
    assert refused.message == "courses analyze up to 50 GB"


def test_the_plan_has_the_partitions_and_options_that_the_mapping_says(shell: Shell) -> None:
    scripts = shell.succeed("submit", "--dry-run", "water-1", "water-3", cluster="hpc")

    small, large = scripts.split("--job-name=simulate-")[1:]
    assert "#SBATCH --partition=cpu\n" in small
    assert "#SBATCH --constraint=ib\n" in small
    assert "#SBATCH --cpus-per-task=16\n" in small
    assert "#SBATCH --partition=gpu\n" in large
    assert "--constraint" not in large
    for script in (small, large):
        assert "#SBATCH --account=physics\n" in script
        assert "export OMP_PLACES=cores\n" in script


def test_it_runs_to_its_end_on_this_machine(shell: Shell) -> None:
    for _ in range(2):
        shell.succeed("submit", "--yes", cluster="local")

    status = shell.succeed("show", "status", cluster="local")
    assert [line.split()[:4] for line in status.splitlines()[1:]] == [
        ["simulate", "6", "0", "0"],
        ["analyze", "6", "0", "0"],
    ]
    energies = (shell.folder / "workspace").glob("*/energy.txt")
    assert [path.read_text() for path in energies] == ["10.5\n"] * 6


def test_its_cases_pass(shell: Shell) -> None:
    said = shell.succeed("mapping", "test", "cases.yml", cluster="hpc")

    assert said.splitlines()[-1] == "5 passed, 0 failed."


def test_without_trust_no_job_is_placed_and_the_reason_is_said(shell: Shell) -> None:
    with open(shell.folder / "mapping.yml", "a") as file:
        file.write("# changed\n")

    done = shell("plan", cluster="hpc")
    assert "Nothing is eligible" in done.stdout
    assert "mapping.yml is not trusted yet" in done.stderr
    assert "rowtui mapping trust mapping.yml" in done.stderr
