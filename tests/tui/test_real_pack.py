"""The Pack view on a real project with the local queue, the real packers and their real bundles."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from rowtui.core.engine.local import InProcessEngine
from rowtui.core.project.open_project import OpenProject
from rowtui.tui.shell.app import RowtuiApp

from tests.tui.hand import Hand, hand_on
from tests.tui.test_real_engine import processes_in, wait_for_the_end_of

WORKFLOW = """\
[workspace]
value_file = "v.json"

[[action]]
name = "relax"
command = "touch {workspace_path}/{directory}/x"
products = ["x"]
[action.group]
sort_by = ["/v"]
maximum_size = 1
[action.resources]
walltime.per_submission = "00:10:00"
threads_per_process = 2

[[action]]
name = "wide"
command = "touch {workspace_path}/{directory}/y"
products = ["y"]
[action.group]
maximum_size = 1
[action.resources]
walltime.per_submission = "00:30:00"
threads_per_process = 64
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "project"
    for number in range(8):
        (root / "workspace" / f"d{number}").mkdir(parents=True)
        (root / "workspace" / f"d{number}" / "v.json").write_text(json.dumps({"v": number}))
    (root / "workflow.toml").write_text(WORKFLOW)
    monkeypatch.setenv("ROWTUI_LOCAL_DIR", str(tmp_path / "queue"))
    monkeypatch.setenv("ROWTUI_LOCAL_CORES", "8")
    monkeypatch.setenv("ROWTUI_LOCAL_MEMORY_MB", "8192")
    return root


@asynccontextmanager
async def opened(
    root: Path, size: tuple[int, int] = (120, 36)
) -> AsyncIterator[Hand[InProcessEngine]]:
    environment = {"HOME": str(root.parent), "PATH": os.environ["PATH"]}
    engine = InProcessEngine(OpenProject.open(root, cluster="local", environment=environment))
    try:
        async with hand_on(RowtuiApp(engine), engine, size) as hand:
            yield hand
    finally:
        await engine.close()
        left = processes_in(root.parent)
        for pid, words in left.items():
            if b"local_supervisor" in words:  # it would wait a while for more jobs
                os.kill(pid, signal.SIGTERM)
        for pid in left:
            wait_for_the_end_of(pid)


def done_in(root: Path) -> list[Path]:
    """The products that are there."""
    return list(root.glob("workspace/*/x"))


async def test_jobs_are_packed_on_this_machine_and_run_as_one(root: Path) -> None:
    async with opened(root) as hand:
        await hand.sees("relax: 8 eligible")
        await hand.press("4")
        await hand.sees("relax, all eligible groups, on local", "● this-machine", "CPU-hours")
        await hand.sees("8 jobs on ", "least possible cost")
        await hand.press("e", "tab", "2")
        await hand.sees("at most 2 on a node", "8 jobs on 4 nodes ─")
        await hand.press("enter")
        await hand.sees("4 nodes with 2 slots", "▐ relax d")
        await hand.press("s")
        await hand.sees("8 jobs in 4 bundles", "packed: ", "bundle of 2", "#!/bin/bash")
        assert not done_in(root)
        await hand.press("s", "8", "enter")
        await hand.sees("8 of 8 jobs accepted")
        await hand.press("1")
        await hand.sees("✓ 8 completed")
        assert len(done_in(root)) == 8


async def test_jobs_that_fit_nowhere_are_left_alone_with_the_reason(root: Path) -> None:
    async with opened(root) as hand:
        await hand.sees("wide: 8 eligible")
        await hand.press("j", "4")
        await hand.sees("8 jobs left out", "the job asks for 64 CPUs", "this machine has 8")


async def test_marked_groups_and_every_packer(root: Path) -> None:
    async with opened(root) as hand:
        await hand.sees("relax: 8 eligible")
        await hand.press("2")
        await hand.sees("8 groups")
        await hand.press("space", "space", "space", "4")
        await hand.sees("relax, 3 groups, on local", "3 jobs on 1 node ─")
        await hand.press("e", *"fill", "enter")
        await hand.sees("= the same nodes and cost")
        await hand.sees("3 jobs on 1 node")
        await hand.press("u")
        await hand.sees("packer as configured: = the same")
