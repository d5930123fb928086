"""All records are lost while jobs are queued on a Slurm whose squeue has a wrapper."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.planning.plan_submission import plan_submission
from rowtui.core.state.records import forget
from rowtui.core.submission.sending.send import SilentClusterError

from tests.core.project.queue.test_queues import WORKFLOW
from tests.rig.slurm import SlurmCluster

pytestmark = pytest.mark.slurm


async def submit(root: Path, *, sure: bool) -> None:
    """Submit; `sure`: the user has stated that no job of the project is queued."""
    project = OpenProject.open(root)
    project.synchronise()
    if sure:
        forget(project.store, directories=False, submitted=True, completed=False)
    async for _ in project.jobs.submit(plan_submission(project, project.workflow.actions)):
        pass


@pytest.mark.parametrize("folders", [True, False])
async def test_nothing_is_sent_again_after_all_records_are_lost(
    slurm: SlurmCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folders: bool
) -> None:
    root = slurm.work / tmp_path.name
    (root / "workspace" / "a").mkdir(parents=True)
    (root / "workflow.toml").write_text(WORKFLOW)
    squeue = root / "bin" / "squeue"
    squeue.parent.mkdir()
    given = '"$@"' if folders else '"${@//%Z/}"'
    squeue.write_text(f"#!/bin/bash\nexec {shutil.which('squeue')} {given}\n")
    squeue.chmod(0o755)
    for name, value in slurm.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", str(squeue.parent), prepend=":")
    monkeypatch.setenv("XDG_CACHE_HOME", str(root / "cache"))
    await submit(root, sure=True)
    shutil.rmtree(root / ".row")

    with pytest.raises(RowtuiError) as error:
        await submit(root, sure=False)

    assert isinstance(error.value, SilentClusterError) is not folders
    assert ("does not name the folders" in error.value.message) is not folders
    (root / "finish").touch()
