"""The time limit of a job is the one that its scheduler applies, in every command."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import Shell
from tests.eventually import eventually

if TYPE_CHECKING:
    from tests.rig.slurm import SlurmCluster

WORKFLOW = """\
[[action]]
name = "one"
command = "false {directory}"
products = ["x"]
[action.group]
maximum_size = 1
[action.resources]
walltime.per_submission = "00:01:20"
[action.submit_options.alpha]
custom = ["--hold"]
"""


@pytest.mark.slurm
def test_every_command_states_the_whole_minutes_that_slurm_applies(
    empty_folder: Shell, slurm: SlurmCluster
) -> None:
    # Given a job of 80 s, which waits
    slurm.clean()
    empty_folder.environment["SLURM_CONF"] = str(slurm.conf)
    (empty_folder.folder / "workspace/a").mkdir(parents=True)
    (empty_folder.folder / "workflow.toml").write_text(WORKFLOW)

    def of(*words: str) -> Any:
        return json.loads(empty_folder.succeed(*words, "--json", cluster=None))

    plan = of("plan")
    assert [job["walltime_seconds"] for job in plan["jobs"]] == [120]
    # one CPU for as long
    assert plan["cost"]["cpu_hours"] == pytest.approx(120 / 3600)
    empty_folder.succeed("submit", "--yes", cluster=None)
    [queued] = [job for cluster in of("queue")["clusters"] for job in cluster["jobs"]]
    assert queued["walltime_seconds"] == 120
    assert "00:02:00" in empty_folder.succeed("queue", cluster=None)
    assert [job["walltime_seconds"] for job in of("show", "jobs", "--long")["jobs"]] == [120]
    assert "00:02:00" in empty_folder.succeed("show", "jobs", "--long", cluster=None)
    # when it runs and fails,
    slurm.run(f"scontrol release {queued['id']}")

    def ended() -> bool:
        empty_folder("queue", cluster=None)
        return bool(of("show", "jobs", "--long")["jobs"][0]["ended_at"])

    eventually(ended, within=40, every=0.5, what="the end of the job")
    # then its use is compared with that limit, and the next attempt, too.
    used = of("usage", str(queued["id"]))["jobs"]
    assert [job["requested_wall_seconds"] for job in used] == [120]
    scripts = empty_folder.succeed("retry", "--time", "1.5x", "--dry-run", cluster=None)
    assert "#SBATCH --time=3\n" in scripts
    empty_folder.succeed("retry", "--yes", cluster=None)
    again = max(of("show", "jobs", "--long")["jobs"], key=lambda job: int(job["id"]))
    assert again["walltime_seconds"] == 120
    assert again["reasons"][0].endswith("; the same again")
    slurm.clean()
