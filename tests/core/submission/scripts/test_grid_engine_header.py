"""What a job script asks Grid Engine for."""

from __future__ import annotations

from pathlib import Path

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.clusters.model import Cluster, Identify, Partition
from rowtui.core.submission.scripts.parts import shared_header
from rowtui.core.workflow.model import Action, Processes, Resources, SubmitOptions, Walltime

from tests.core.submission.conftest import SmallProject, make_request

ALL = Partition("all.q", memory_per_cpu_mb=2000, account_suffix="-x", parallel_environment="smp")
GPU = Partition("gpu.q", memory_per_gpu="4G", parallel_environment="fill")
SERIAL = Partition("serial.q")
ENGINE = Cluster(
    "e", Identify(), "grid_engine", (ALL, GPU, SERIAL), ("-m n", "#$ -p -5"), gpu_resource="ngpus"
)


def header(
    resources: Resources, partition: Partition, *custom: str, account: str | None = None
) -> list[str]:
    options = {"e": SubmitOptions(account=account, custom=custom)}
    action = Action(0, "one", "echo {directory}", resources=resources, submit_options=options)
    lines = shared_header(make_request(action, 3), ENGINE, partition)
    assert lines[:4] == ["#$ -S /bin/bash", "#$ -cwd", "#$ -j y", "#$ -notify"]
    return [line.removeprefix("#$ ") for line in lines[4:]]


def test_slots_come_from_the_parallel_environment_and_memory_is_by_slot() -> None:
    resources = Resources(Processes(2, True), 4, walltime=Walltime(10, True))
    assert header(resources, ALL, "-V", account="acc") == [
        "-q all.q",
        "-pe smp 24",
        "-l h_rt=30",
        "-l h_vmem=2000M",
        "-m n",
        "-p -5",
        "-P acc-x",
        "-V",
    ]


def test_gpus_are_by_job_and_their_memory_is_shared_by_its_slots() -> None:
    resources = Resources(Processes(3), 2, 1, Walltime(60, False))
    assert header(resources, GPU)[:5] == [
        "-q gpu.q",
        "-pe fill 6",
        "-l h_rt=60",
        "-l h_vmem=2048M",
        "-l ngpus=3",
    ]


def test_one_slot_needs_no_parallel_environment() -> None:
    assert header(Resources(), SERIAL) == ["-q serial.q", "-l h_rt=10800", "-m n", "-p -5"]


def test_several_slots_without_one_are_refused_unless_the_user_says_where_they_come_from() -> None:
    with pytest.raises(RowtuiError, match=r"3 slots cannot go to e/serial\.q") as caught:
        header(Resources(Processes(3)), SERIAL)
    assert "parallel_environment" in (caught.value.hint or "")
    assert "-pe smp" not in " ".join(header(Resources(Processes(3)), ALL, "-pe mpi 1-9"))


def test_a_line_break_in_an_option_stays_in_the_header() -> None:
    assert header(Resources(), SERIAL, "-l a=1\n-l b=2\n")[-2:] == ["-l a=1", "-l b=2"]


def test_the_script_knows_its_id_its_task_and_how_it_was_started(project: SmallProject) -> None:
    script = project.add("d").script("touch workspace/{directory}/out", cluster=ENGINE)
    for environ, runner, run in (
        ("JOB_ID=12 SGE_TASK_ID=undefined RESTARTED=0", "grid_engine:12", "0"),
        ("JOB_ID=12 SGE_TASK_ID=3 RESTARTED=1", "grid_engine:12_2", "1"),
    ):
        lines = script.partition("rowtui_token=")[2].split("\n")[1:3]
        said = f'export {environ}\n{chr(10).join(lines)}\necho "$rowtui_job $rowtui_run"\n'
        assert project.run(said)[1] == f"{runner} {run}\n"


@pytest.mark.parametrize(
    ("walltime", "cause", "code"), [(1, "time limit", 138), (3600, "cancelled", 143)]
)
def test_a_notice_ends_the_script_which_says_what_it_meant(
    project: SmallProject, walltime: int, cause: str, code: int
) -> None:
    script = project.add("d").script(
        "touch workspace/{directory}/out; touch began; sleep 100",
        cluster=ENGINE,
        resources=Resources(walltime=Walltime(walltime, False)),
        setup="true",
    )
    process = project.start(script)
    assert project.stop_when(process, "began", 12) == code  # SIGUSR2
    assert project.ended()[:2] == [str(code), cause]
    assert project.reported() == {}  # the product of a stopped command may be half written


def heard(pid: int, signal: int) -> bool:
    """Whether a process has taken note of a signal and waits again."""
    text = Path(f"/proc/{pid}/status").read_text()
    said = dict(line.split(":\t", 1) for line in text.splitlines())
    pending = int(said["SigPnd"], 16) | int(said["ShdPnd"], 16)
    return not pending >> (signal - 1) & 1 and said["State"].startswith("S")


def test_a_notice_of_being_suspended_changes_nothing(project: SmallProject) -> None:
    script = project.add("d").script(
        "touch began; while [ ! -e go ]; do sleep 0.1; done # {directory}",
        cluster=ENGINE,
        setup="true",
    )
    process = project.start(script)
    project.wait_for("began")
    process.send_signal(10)  # SIGUSR1
    # A command that ends in just that moment is one whose exit code bash 5.2 does not tell.
    project.wait_until(lambda: heard(process.pid, 10))
    (project.root / "go").touch()
    process.communicate(timeout=30)
    assert process.returncode == 0
    assert project.ended()[:2] == ["0", "exit"]
