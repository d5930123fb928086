"""A network whose samples go through several nodes, for tests of how jobs run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rowtui.core.clusters.schedulers.base import token_in_queue
from rowtui.core.project.open_project import OpenProject
from rowtui.core.runs.limits.limits import RunLimits
from rowtui.core.runs.model import JobFailed, PlanSubmitted
from rowtui.core.runs.running import OpenRun
from rowtui.core.runs.store import Run

from tests.core.runs.driving import Drive, action, drive, make, ran

NETWORK = """\
[[source]]
name = "state"
[source.values]
t = [1, 2]
r = [0, 1]

[[node]]
name = "simulate"
from = "state"

[[node]]
name = "polish"
from = "simulate"
output = "energy"

[[node]]
name = "average"
from = "polish"
output = "polished"
collapse = ["r"]

[[node]]
name = "report"
from = "average"
output = "mean"
collapse = ["t"]

[[sink]]
name = "report"
from = "report"
output = "report"
publish = "results/report"

[schedule]
"""
UNLUCKY = "state,t=2,r=1"
SIMULATE = (
    f'[ "${{PWD##*/}}" != "{UNLUCKY}" ] || [ ! -e ../../unlucky ] || exit 3; '
    "grep -o '\"[tr]\": [0-9]*' value.json > energy"
)
ACTIONS = (
    action("simulate", SIMULATE, ["energy"], node="state"),
    action(
        "polish",
        "tr -d ' ' < energy > polished",
        ["polished"],
        node="state",
        previous=["simulate"],
    ),
    action("average", "sort -u ../state,t=${PWD##*=},r=*/polished > mean", ["mean"]),
    action("report", "cat ../average*/mean > report", ["report"]),
)
REPORT = ['"r":0', '"r":1', '"t":1', '"r":0', '"r":1', '"t":2']
JOBS = 4 + 4 + 2 + 1
SLURM = """\
[[cluster]]
name = "alpha"
scheduler = "slurm"
identify.always = true
partition = [{ name = "cpu", memory_per_cpu = "60M" }]
"""


def chained(root: Path, schedule: str, *, unlucky: bool = False) -> Path:
    """A project with this network; `unlucky`: one simulation fails as long as that file is there.

    Its actions ask for nothing but ten minutes each.
    """
    make(root, NETWORK + schedule, *ACTIONS)
    if unlucky:
        (root / "unlucky").touch()
    return root


def is_done_once(root: Path, *, retried: Sequence[str] = ()) -> None:
    """Everything ran once (what was tried again, twice), and the report is there."""
    times = ran(root)
    assert {name for name, count in times.items() if count != 1} == set(retried), times
    assert all(times[name] == 2 for name in retried)
    assert len(times) == JOBS
    assert (root / "results/report").read_text().split() == REPORT


def in_queue(root: Path) -> set[str]:
    """The tokens of the scheduler jobs that a project ever had."""
    records = OpenProject.open(root, cluster="local").jobs.records()
    return {token_in_queue(it.token) for it in records if it.job_id}


def sends(run: Run) -> list[PlanSubmitted]:
    """What was submitted, each plan for itself."""
    return [it for it in run.events() if isinstance(it, PlanSubmitted)]


def fails_and_is_mended(root: Path, cluster: str, limits: RunLimits | None = None) -> Drive:
    """Drive a run in which a simulation fails; then that alone failed. Mend it, and go on."""
    driven = drive(root, cluster=cluster, limits=limits)
    assert driven.told[-1].sentence == (
        "nothing is left to do: 1 sample failed, and 3 that depend on their results cannot run"
    ), driven.problems()
    (failed,) = (it for it in driven.run.events() if isinstance(it, JobFailed))
    assert (failed.node, failed.sample) == ("simulate", UNLUCKY)
    (root / "unlucky").unlink()
    running = OpenRun(OpenProject.open(root, cluster=cluster), driven.run)
    running.look()
    job = running.growth.job_in("simulate", UNLUCKY)
    assert job is not None
    running.retry([job])
    again = drive(root, cluster=cluster)
    assert again.told[-1].success, again.problems()
    is_done_once(root, retried=[f"{UNLUCKY}: simulate"])
    return driven
