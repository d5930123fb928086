from __future__ import annotations

import asyncio
import os

import pytest
from rowtui.cli.main import main
from rowtui.core.submission.plan.model import JobStep, JournalEntry
from rowtui.core.submission.sending.fence import abandon, remove_traces

from tests.core.submission.conftest import RealProject


def left(real: RealProject) -> dict[str, set[str]]:
    folder = real.root / ".row" / "rowtui"
    return {
        name: set(os.listdir(folder / name)) if (folder / name).exists() else set()
        for name in ("fence", "ended")
    }


def submit_and_end(real: RealProject) -> set[str]:
    """The tokens of its jobs."""
    plan = real.plan()

    async def story() -> None:
        await real.submit(plan)
        await real.wait()
        await real.settle()

    asyncio.run(story())
    return {job.token for job in plan.jobs}


def test_traces_of_plans_that_are_done_go_and_those_of_open_plans_stay(real: RealProject) -> None:
    done = submit_and_end(real)
    (real.root / "workspace" / "new").mkdir()
    real.synchronise()
    path = real.root / "gate"
    os.mkfifo(path)
    real.with_command(f"cat {path}; touch workspace/{{directory}}/out")
    plan = real.plan()
    (job,) = plan.jobs

    asyncio.run(real.submit(plan))
    gate = os.open(path, os.O_WRONLY)  # as soon as the command reads it
    assert left(real) == {"fence": {*done, job.token}, "ended": done}

    assert remove_traces(real.root) == 6

    assert left(real) == {"fence": {job.token}, "ended": set()}
    os.close(gate)
    asyncio.run(real.wait())
    # It has ended, but nobody settled it yet: how it ended is only told by what it left.
    assert remove_traces(real.root) == 0
    assert left(real) == {"fence": {job.token}, "ended": {job.token}}
    asyncio.run(real.settle())
    assert real.steps(plan) == ["ended"]
    assert remove_traces(real.root) == 2


def test_the_fence_of_a_job_that_was_sent_and_given_up_stays(real: RealProject) -> None:
    plan = real.plan("n")
    at = 1.0
    for job, steps in zip(
        plan.jobs,
        [
            (JobStep.PLANNED, JobStep.SENDING, JobStep.ABANDONED),
            (JobStep.PLANNED, JobStep.ABANDONED),
            (JobStep.PLANNED, JobStep.SENDING, JobStep.ACCEPTED, JobStep.ENDED),
        ],
        strict=True,
    ):
        real.journal.append(JournalEntry(job.token, plan.id, step, at) for step in steps)
        abandon(real.root, job.token)
    with real.journal.hold(plan.id):
        real.journal.put_away(plan.id)
    abandon(real.root, "of-nobody-knows-which-plan")

    remove_traces(real.root)

    assert left(real)["fence"] == {"n-0", "of-nobody-knows-which-plan"}


def test_clean_submitted_removes_them_and_keeps_what_is_known_of_the_jobs(
    real: RealProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit_and_end(real)
    (real.root / "workflow.toml").write_text(
        '[[action]]\nname = "one"\ncommand = "true {directory}"\nproducts = ["out"]\n'
    )
    monkeypatch.chdir(real.root)

    assert main(["clean", "--completed"]) == 0
    assert len(left(real)["fence"]) == len(left(real)["ended"]) == 3
    assert main(["clean", "--submitted"]) == 0

    assert left(real) == {"fence": set(), "ended": set()}
    assert len(real.journal.plan_ids()) == 1
