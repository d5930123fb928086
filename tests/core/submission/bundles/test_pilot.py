"""Pilots hold an allocation and run what is handed to them while they go on."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.clusters.model import Cluster, Identify
from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.clusters.schedulers.local.scheduler import LocalScheduler
from rowtui.core.clusters.schedulers.slurm.scheduler import SlurmScheduler
from rowtui.core.submission.bundles.pilot import WantedPilot, start_pilots, take_numbers
from rowtui.core.submission.bundles.pilot_script import PILOT
from rowtui.core.submission.plan.model import JobStep
from rowtui.core.submission.reconcile import reconcile
from rowtui.core.submission.sending.job_records import job_records

from tests.core.submission.piloted import ALPHA, NAMES, SMALL, Piloted
from tests.eventually import eventually_async
from tests.rig.slurm import SlurmCluster


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Piloted:
    monkeypatch.setenv("ROWTUI_LOCAL_CORES", "4")
    return Piloted(tmp_path / "pro ject", NAMES, LocalScheduler(folder=tmp_path / "queue"))


@pytest.fixture(
    params=["local", pytest.param("slurm", marks=[pytest.mark.slurm, pytest.mark.slow])]
)
def real(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Piloted:
    if request.param == "local":
        return request.getfixturevalue("here")  # type: ignore[no-any-return]
    slurm: SlurmCluster = request.getfixturevalue("slurm")
    monkeypatch.setenv("SLURM_CONF", str(slurm.conf))
    return Piloted(tmp_path / "pro ject", NAMES, SlurmScheduler("alpha"), ALPHA)


def test_a_request_that_has_ended_frees_its_place_where_bash_missed_it() -> None:
    # Given a process that is gone, but that nobody has asked for,
    reap = re.search(r"^rowtui_reap\(\) {$.*?^}$", PILOT, re.MULTILINE | re.DOTALL)
    assert reap is not None
    with subprocess.Popen(["true"]) as gone, subprocess.Popen(["sleep", "60"]) as lives:
        os.waitid(os.P_PID, gone.pid, os.WEXITED | os.WNOWAIT)
        # then its place is free, although it takes signals; that of one that runs is not.
        given = f"rowtui_running=({gone.pid} {lives.pid}); rowtui_takes=('1 0 0' '1 0 0')"
        given += "; rowtui_names=(one two) rowtui_seen=(x y) rowtui_dir=/nowhere"
        given += " rowtui_free_cpus=0 rowtui_free_gpus=0 rowtui_free_mb=-; rowtui_refuse() { :; }"
        script = f"{reap[0]}\n{given}; rowtui_reap; echo $rowtui_free_cpus"
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=20)
        lives.kill()
    assert done.stdout == "rowtui: one: not begun\n1\n"


# -- life ------------------------------------------------------------------------------------------


async def test_what_comes_while_it_runs_is_run_without_queueing(real: Piloted) -> None:
    await real.start(SMALL._replace(idle_seconds=2))
    first = await real.hand("a", "b c")
    await real.until(lambda: real.ran("a", "b c"), "the first")
    second = await real.hand("$(touch pwned)", "d", "e")
    await real.over()

    assert real.runs() == dict.fromkeys(NAMES, 1)
    assert real.state.completed["one"] == real.state.everything
    assert (real.state.submitted, real.state.ends) == ({}, {})
    records = [
        record
        for plan in (first, second, real.pilot_plan)
        for record in job_records(plan, real.journal.entries(plan.id))
    ]
    assert len({record.job_id for record in records}) == 1
    assert {record.step for record in records} == {JobStep.ENDED}
    assert [record.member for record in records] == [1, 2, 3, 4, 5, None]
    assert all((real.root / record.log_path).exists() for record in records)
    assert not list(real.root.glob(".row/rowtui/pilot/*/*.taken"))


async def test_a_request_starts_when_its_cores_are_free(real: Piloted) -> None:
    real.wait_for_go()
    await real.start()
    narrow = await real.hand("a")
    await real.until(lambda: real.ran("a"), "the first")
    wide = await real.hand("d", cpus=2)
    await real.hand("e")
    await real.until(lambda: real.ran("e"), "the one beside it")
    look = await real.look()
    assert look.state is not None
    assert (look.state.free_cpus, look.state.running, look.waiting) == (0, 2, 1)
    assert not real.ran("d")
    real.go()
    await real.over()
    assert real.runs() == {"a": 1, "d": 1, "e": 1, "b c": 0, "$(touch pwned)": 0}
    assert {*real.said(narrow).values(), *real.said(wide).values()} == {"ended: "}


async def test_one_that_fails_is_the_only_one_that_failed(here: Piloted) -> None:
    here.with_command(f"[ {{directory}} != a ] || exit 5; {here.action.command}")
    await here.start()
    plan = await here.hand("a", "d")
    await here.over()
    assert here.said(plan) == {"a": "ended: exit code 5 in directory a", "d": "ended: "}
    assert here.runs()["d"] == 1
    assert next(iter(here.state.ends["one"].values())).token == plan.jobs[0].token


async def test_one_that_is_killed_alone_has_failed_while_the_pilot_goes_on(
    here: Piloted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reconcile, "ALONE_SECONDS", -1.0)
    here.wait_for_go()
    await here.start()
    plan = await here.hand("a", "d")
    await here.until(lambda: here.ran("a", "d"), "their begin")
    for process in scripts_of(here, 1):
        os.kill(process, signal.SIGKILL)
    await here.until(lambda: here.steps(plan)[0] == "ended", "the end of the one that was killed")
    assert here.steps(plan)[1] == "accepted"
    here.go()
    await here.over()
    assert here.said(plan)["a"] == "ended: killed (signal KILL)"


def scripts_of(real: Piloted, number: int) -> list[int]:
    """The processes of the script of a request."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            words = (process / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
            if words[-1].endswith(f"/{number}.sh".encode()):
                found += [int(process.name)] * (os.readlink(process / "cwd") == str(real.root))
    return found


async def test_requests_have_gpus_of_their_own(
    real: Piloted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROWTUI_LOCAL_GPUS", "3")
    show = "echo gpus $CUDA_VISIBLE_DEVICES; touch here.{directory}; "
    meet = "until [ -e here.a ] && [ -e here.d ]; do sleep 0.1; done; "
    real.with_command(show + meet + real.action.command)
    await real.start(SMALL._replace(gpus=2))
    plan = real.for_pilot("a", "d", gpus=1)
    progress = await real.submit(plan)
    assert [step.error for step in progress if step.error] == []
    await real.over()
    logs = [(real.root / it.log_path).read_text() for it in job_records(plan, real.entries(plan))]
    assert sorted(line for log in logs for line in log.splitlines()) in (
        ["gpus 0", "gpus 1"],
        ["gpus 1", "gpus 2"],
    )


async def test_what_a_cancelled_pilot_had_not_begun_has_not_failed(real: Piloted) -> None:
    real.wait_for_go()
    await real.start(SMALL._replace(cpus=1))
    plan = await real.hand("a", "d", "e")
    await real.until(lambda: real.ran("a"), "the first")
    await real.scheduler.cancel([await real.pilot_key()])
    await real.over()
    said = real.said(plan)
    assert said["a"] == "ended: cancelled"
    assert {said[name].split(":")[0] for name in "de"} == {"abandoned"}
    assert len(real.state.ends["one"]) == 1
    assert (sum(real.runs().values()), real.state.submitted) == (1, {})


async def test_a_pilot_that_is_cancelled_with_nothing_to_run_ended_well(here: Piloted) -> None:
    await here.start(SMALL._replace(idle_seconds=600))
    plan = await here.hand("a")
    await here.until(lambda: not here.state.submitted, "the request's end")

    async def idle() -> bool:
        state = (await here.look()).state
        return state is not None and not state.running

    await eventually_async(idle, every=0.15, what="a pilot with nothing to run")
    await here.scheduler.cancel([await here.pilot_key()])
    await here.over()
    (record,) = job_records(here.pilot_plan, here.entries(here.pilot_plan))
    assert (record.step, record.end_reason) == (JobStep.ENDED, "")
    assert here.said(plan) == {"a": "ended: "}


async def test_a_driver_that_was_killed_leaves_nothing_behind(real: Piloted) -> None:
    real.with_command(
        "echo x >> workspace/{directory}/runs; cat /proc/self/stat >/dev/null; sleep 1000"
    )
    await real.start(SMALL._replace(cpus=1))
    plan = await real.hand("a", "d")
    await real.until(lambda: real.ran("a"), "the first")
    os.kill(driver_of(real), signal.SIGKILL)
    await real.over()
    said = real.said(plan)
    assert said["a"].startswith("ended: ")
    assert said["a"] != "ended: "
    assert said["d"].startswith("abandoned")
    assert (sum(real.runs().values()), real.state.submitted) == (1, {})


def driver_of(real: Piloted) -> int:
    """The process of the pilot's script itself: its lanes come from it, and look like it."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
            above = Path(f"/proc/{parent}/cmdline").read_bytes().split(b"\0")
            here = os.readlink(folder / "cwd") == str(real.root)
        except OSError:
            continue
        if here and words[0].endswith(b"bash") and words != above and b"rowtui." not in words[1]:
            found.append(int(folder.name))
    (driver,) = found
    return driver


# -- what it cannot take ---------------------------------------------------------------------------


async def test_what_does_not_fit_into_the_time_left_is_given_back_at_once(here: Piloted) -> None:
    await here.start(SMALL._replace(seconds=120, idle_seconds=4))
    plan = here.for_pilot("a", "d", seconds=60)
    assert plan.jobs[0].bundle is not None
    late = plan.jobs[1].bundle._replace(own_seconds=500)
    jobs = (plan.jobs[0], plan.jobs[1]._replace(bundle=late))
    from rowtui.core.submission.plan.json import plan_id

    plan = plan._replace(jobs=jobs)
    plan = plan._replace(id=plan_id(plan))
    await here.submit(plan)
    await here.until(lambda: here.steps(plan)[1] == "abandoned", "it to be given back")
    snapshot = await here.scheduler.queue()
    states = {job.state for job in snapshot.jobs if job.token == here.pilot.token}
    assert states == {JobState.RUNNING}
    await here.over()
    assert here.runs()["d"] == 0


def test_numbers_are_given_once(tmp_path: Path) -> None:
    assert list(take_numbers(tmp_path, "t", 3)) == [1, 2, 3]
    assert list(take_numbers(tmp_path, "t", 2)) == [4, 5]
    assert list(take_numbers(tmp_path, "other", 1)) == [1]


def test_a_pilot_that_could_run_nothing_is_refused() -> None:
    place = {"created": "", "user": "", "nonce": "n"}
    with pytest.raises(RowtuiError, match="no time"):
        start_pilots([(WantedPilot(SMALL._replace(seconds=40)), ALPHA)], **place)
    with pytest.raises(RowtuiError, match="no queue"):
        start_pilots(
            [(WantedPilot(SMALL), Cluster("none", Identify(always=True), "bash"))], **place
        )
