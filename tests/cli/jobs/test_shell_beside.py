"""A shell beside a job of a real Slurm, which is reached over SSH, in a pseudo-terminal."""

from __future__ import annotations

import os
import pty
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.engine.local import InProcessEngine
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.queue.rows import QueueRow
from rowtui.core.project.queue.views import QueueRequest

from tests.cli.on_clusters import OnClusters
from tests.eventually import eventually, eventually_async
from tests.rig.login import LoginNode

SLEEPING = """\
[[action]]
name = "wait"
command = "sleep 600; touch workspace/{directory}/out"
products = ["out"]
group.maximum_size = 1
"""


def in_a_terminal(argv: Sequence[str], typed: str) -> tuple[int, str]:
    """Run a command in a terminal of its own, and type these lines; its status and output."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        argv, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
    )
    os.close(slave)
    os.write(master, typed.encode())
    seen = b""

    def more() -> bool:
        nonlocal seen
        try:
            data = os.read(master, 65_536)
        except OSError:  # the last program of the terminal has ended
            return True
        seen += data
        return not data

    eventually(more, every=0)
    os.close(master)
    return process.wait(timeout=60), seen.decode(errors="replace")


async def test_a_shell_opens_beside_a_task_and_an_ended_job_is_told(
    two: tuple[LoginNode, ...],
    here: OnClusters,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root = two[0].cluster.work / tmp_path.name
    for name in "ab":
        (root / "workspace" / name).mkdir(parents=True)
    (root / "workflow.toml").write_text(SLEEPING)
    monkeypatch.chdir(root)
    project = OpenProject.open(root, cluster="alpha")
    engine = InProcessEngine(project)
    try:
        await engine.refresh()
        plan = await engine.plans.make(0, None, None)
        assert all([not step.error async for step in engine.plans.submit(plan)])

        async def running() -> list[QueueRow]:
            await engine.jobs.view(now=True)
            rows = (await engine.queue.page(QueueRequest(folding=False), 0, 9)).rows
            return [row for row in rows if row.state is JobState.RUNNING]

        rows = await eventually_async(running, lambda rows: len(rows) == 2, every=0.15)
        row = max(rows, key=lambda row: row.label)
        found = await engine.queue.shell(row.key)
        assert found.argv[0] == "ssh"
        assert found.where.endswith(" of alpha")
        typed = (
            'echo "<$SLURM_JOB_ID $SLURM_STEP_ID $OLDPWD>"; [ -t 0 ] && echo a terminal; exit 3\n'
        )
        code, output = in_a_terminal(found.argv, typed)
        assert code == 0, output
        label = row.label
        [raw] = two[0].cluster.run(f"squeue -h -j {label} -o %A").stdout.split()
        assert f"<{raw} 0 {root}>" in output
        assert "\r\na terminal" in output

        two[0].cluster.run(f"scancel {label}")
        code, output = in_a_terminal(found.argv, "")
        assert code == 1
        assert f"Job {label} does not run any more." in output
    finally:
        await engine.close()
