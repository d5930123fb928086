"""Packed jobs on a real Slurm over SSH, from the command line alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.on_clusters import BOTH, OnClusters, configure
from tests.eventually import eventually
from tests.rig.login import LoginNode

NAMES = [f"d{number}" for number in range(8)]
WORKFLOW = """\
[[action]]
name = "one"
command = "echo I am {directory}; sh wait.sh {directory}"
products = ["one"]
group.maximum_size = 1
[action.resources]
threads_per_process = 2
memory_per_cpu_mb = 50
walltime.per_submission = "00:02:00"
"""
WAIT = (
    'echo x >> "workspace/$1/runs"; until [ -e go ]; do sleep 0.2; done; touch workspace/$1/one\n'
)
NODES = """
[[cluster]]
name = "alpha"
currency = "EUR"
[[cluster.node_type]]
name = "four"
partition = "cpu"
cpus = 4
memory = "16G"
price_per_hour = 0.5
maximum_walltime = "01:00:00"
"""


@pytest.fixture
def root(
    two: tuple[LoginNode, ...], here: OnClusters, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A project that alpha sees; alpha's nodes have four cores, says its entry."""
    entry = NODES.partition("[[cluster.node_type]]")
    text = BOTH.format(config=two[0].ssh_config).replace(
        'name = "alpha"\n', 'name = "alpha"\ncurrency = "EUR"\n', 1
    )
    alpha, _, beta = text.partition('\n[[cluster]]\nname = "beta"')
    configure(here.home, f'{alpha}\n{"".join(entry[1:])}\n[[cluster]]\nname = "beta"{beta}')
    root = two[0].cluster.work / tmp_path.name
    for name in NAMES:
        (root / "workspace" / name).mkdir(parents=True)
    (root / "workflow.toml").write_text(WORKFLOW)
    (root / "wait.sh").write_text(WAIT)
    monkeypatch.chdir(root)
    return root


def alpha(here: OnClusters, *words: str) -> str:
    done = here(*words, "--cluster", "alpha")
    assert done.code == 0, done.err
    return done.out


def jobs(here: OnClusters) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = json.loads(alpha(here, "show", "jobs", "--long", "--json"))["jobs"]
    return told


def label(job: dict[str, Any]) -> str:
    return str(job["id"])


def began(root: Path) -> set[str]:
    return {path.parent.name for path in root.glob("workspace/*/runs")}


def until_the_queue_is_empty(here: OnClusters) -> None:
    def is_empty() -> bool:
        return not here.json("--cluster", "alpha")["alpha"]["jobs"]

    eventually(is_empty, what="the bundle to end", every=0.1)


def test_a_bundle_is_looked_at_cut_short_and_completes(root: Path, here: OnClusters) -> None:
    # given one bundle of eight jobs, which run two by two
    words = ("--pack", "--search", "0", "--longest", "00:09:10")
    assert "Packed by best: alpha/cpu: 8 jobs on 1 node" in alpha(here, "plan", *words)
    out = alpha(here, "submit", *words, "--yes")
    assert "Submitting 8 jobs in 1 bundle that may cost up to" in out
    assert "a bundle of 8 jobs." in out
    eventually(lambda: len(began(root)) == 2, what="both lanes to begin")
    # then the queue shows one job, and the project's list each
    (row,) = here.json("--cluster", "alpha")["alpha"]["jobs"]
    assert (row["state"], len(row["requests"])) == ("running", 8)
    assert "8 requests: one" in alpha(here, "queue")
    listed = jobs(here)
    states = {job["directories"][0]: job["state"] for job in listed}
    assert {name for name, state in states.items() if state == "running"} == began(root)
    waiting = [job for job in listed if job["state"] == "pending"]
    assert {job["reason"] for job in waiting} == {"its bundle runs: it waits for its turn"}
    running = next(job for job in listed if job["state"] == "running")
    assert alpha(here, "logs", label(running)) == f"I am {running['directories'][0]}\n"
    # when one is taken out before its turn, and one that runs cannot be
    out_of_it = waiting[-1]
    told = alpha(here, "cancel", label(out_of_it), "--yes")
    assert told == f"Cancelled job {label(out_of_it)}.\n"
    refused = here("cancel", label(running), "--yes", "--cluster", "alpha")
    assert refused.code == 1
    assert f"Job {label(running)}: it runs in a bundle with others" in refused.err
    # then the others come to their end
    (root / "go").touch()
    eventually(lambda: len(list(root.glob("workspace/*/one"))) == 7, what="seven to end")
    until_the_queue_is_empty(here)
    status = json.loads(alpha(here, "show", "status", "--json"))["actions"][0]
    assert (status["completed"], status["eligible"]) == (7, 1)
    assert began(root) == {*NAMES} - {out_of_it["directories"][0]}
    assert {job["state"] for job in jobs(here)} == {"completed", "cancelled"}


def test_a_whole_bundle_is_cancelled_by_its_id(root: Path, here: OnClusters) -> None:
    alpha(here, "submit", "--pack", "--search", "0", "--longest", "00:09:10", "--yes")
    eventually(lambda: len(began(root)) == 2, what="both lanes to begin")
    identity = jobs(here)[0]["id"].partition(".")[0]
    told = alpha(here, "cancel", str(identity), "--yes")
    assert f"ancelled job {identity}" in told
    until_the_queue_is_empty(here)
    status = json.loads(alpha(here, "show", "status", "--json"))["actions"][0]
    assert (status["completed"], status["submitted"]) == (0, 0)
    assert len(began(root)) == 2
