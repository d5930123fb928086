"""How busy the machine is, by the embedded queue's own accounting, with real jobs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from rowtui.core.clusters.model import ClusterLoad, PartitionLoad
from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.clusters.schedulers.local.load import local_load
from rowtui.core.clusters.schedulers.local.machine import boot_id
from rowtui.core.clusters.schedulers.local.records import Claim

from tests.core.clusters.schedulers.local_rig import LocalRig

WAIT_FOR_GO = "echo up >> up; until [ -e go ]; do sleep 0.02; done\n"


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalRig]:
    monkeypatch.setenv("ROWTUI_LOCAL_CORES", "4")
    monkeypatch.setenv("ROWTUI_LOCAL_GPUS", "2")
    rig = LocalRig(tmp_path)
    yield rig
    rig.close()


def load_of(rig: LocalRig) -> PartitionLoad:
    load = local_load(rig.folder, clock=lambda: 7.0)
    assert load == ClusterLoad("local", 7.0, load.partitions)
    (machine,) = load.partitions
    return machine


IDLE = PartitionLoad("", 4, 4, 2, 2, 1, 1, 0, 0, 0, 0, 0.0)


def test_a_queue_that_was_never_used_is_idle_and_asking_makes_no_files(rig: LocalRig) -> None:
    assert load_of(rig) == IDLE
    assert not rig.folder.exists()


async def test_what_running_jobs_were_given_is_not_free_until_they_end(rig: LocalRig) -> None:
    number = rig.submit(WAIT_FOR_GO, cpus=3, gpus=1)
    rig.wait_for("up")
    assert load_of(rig) == PartitionLoad("", 4, 1, 2, 1, 1, 0, 0, 1, 0, 0, 0.0)
    (rig.work / "go").touch()
    (job,) = await rig.ended(number)
    assert job.state is JobState.COMPLETED
    assert load_of(rig) == IDLE


def test_a_small_job_starts_at_once_only_if_the_queue_would_start_it_behind_all_others(
    rig: LocalRig,
) -> None:
    # given: three cores taken for a minute, and a job of four that waits for the machine
    rig.submit(WAIT_FOR_GO, cpus=3, walltime_seconds=60)
    rig.wait_for("up")
    big = rig.submit("true", cpus=4)
    # then: the free core is reserved for it
    assert load_of(rig) == PartitionLoad("", 4, 1, 2, 2, 1, 0, 0, 1, 1, 4, None)
    # and when it is gone, the core is anybody's
    rig.queue.cancel_waiting(rig.queue.read_job(big), "test")  # type: ignore[arg-type]
    assert load_of(rig) == PartitionLoad("", 4, 1, 2, 2, 1, 0, 0, 1, 0, 0, 0.0)


def test_a_full_machine_has_nothing_free_and_an_unknown_wait(rig: LocalRig) -> None:
    rig.submit(WAIT_FOR_GO, cpus=4)
    rig.wait_for("up")
    assert load_of(rig) == PartitionLoad("", 4, 0, 2, 2, 1, 0, 0, 1, 0, 0, None)


def test_jobs_that_wait_for_another_job_count_but_take_no_room(rig: LocalRig) -> None:
    first = rig.submit(WAIT_FOR_GO, cpus=1)
    rig.wait_for("up")
    rig.submit("true", cpus=4, after=(first,))
    assert load_of(rig) == PartitionLoad("", 4, 3, 2, 2, 1, 0, 0, 1, 1, 4, 0.0)


@pytest.mark.parametrize(
    "claim",
    [
        Claim(os.getpid(), boot="another boot of this machine"),
        Claim(0, boot=boot_id(), reason="cancelled, and its end not yet written"),
    ],
)
def test_jobs_that_will_never_run_again_take_nothing(rig: LocalRig, claim: Claim) -> None:
    number = rig.queue.commit(rig.spec("true", cpus=4), 1.0, 1.0)
    assert load_of(rig).pending == 1
    rig.queue.claim(number, claim)
    assert load_of(rig) == IDLE


def test_a_machine_that_became_smaller_never_has_less_than_nothing_free(
    rig: LocalRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.submit(WAIT_FOR_GO, cpus=4, gpus=2)
    rig.wait_for("up")
    monkeypatch.setenv("ROWTUI_LOCAL_CORES", "2")
    monkeypatch.setenv("ROWTUI_LOCAL_GPUS", "1")
    assert load_of(rig)[1:5] == (2, 0, 1, 0)


def test_a_damaged_job_is_a_notice_and_the_others_are_counted(rig: LocalRig) -> None:
    rig.submit(WAIT_FOR_GO, cpus=1)
    rig.wait_for("up")
    damaged = rig.folder / "jobs" / "77"
    damaged.mkdir()
    (damaged / "spec.json").write_text("{")
    load = local_load(rig.folder)
    assert load.notices == ("1 job of the local queue could not be read",)
    assert load.partitions[0].running == 1


def test_a_queue_that_can_not_be_read_is_an_error_never_an_idle_machine(tmp_path: Path) -> None:
    (tmp_path / "jobs").write_text("not a folder")
    load = local_load(tmp_path)
    assert load.partitions == ()
    assert "cannot be read" in load.error


def test_a_wrong_number_of_cores_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROWTUI_LOCAL_CORES", "many")
    load = local_load(tmp_path)
    assert load.partitions == ()
    assert "ROWTUI_LOCAL_CORES" in load.error
