"""What a job script measures of GPUs, with a program that prints what nvidia-smi prints."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from rowtui.core.clusters.schedulers.measured import Measured, read_script_words
from rowtui.core.workflow.model import Processes, Resources

from tests.core.submission.conftest import SmallProject
from tests.eventually import eventually

FOUR = """\
0, GPU-8d2e7a61-0000-0000-0000-000000000000, 90, 1500
1, GPU-8d2e7a61-1111-0000-0000-000000000000, 50, 1024
2, GPU-5f000000-2222-0000-0000-000000000000, 100, 9000
3, GPU-5f000000-3333-0000-0000-000000000000, 0, 7
"""
ASKED = "--format=csv,noheader,nounits --query-gpu=index,uuid,utilization.gpu,memory.used"


@pytest.fixture
def smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Make a program `nvidia-smi` that is found first. It notes its process and its options."""

    def make(text: str) -> None:
        folder = tmp_path / "bin"
        folder.mkdir()
        program = folder / "nvidia-smi"
        notes = f'echo "$$ $*" >>{tmp_path}/calls'
        program.write_text(f"#!/bin/bash\n{notes}\n{text}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    return make


def shows(text: str) -> str:
    return f"cat <<'EOF'\n{text}EOF"


def run(project: SmallProject, *, gpus: int = 1, calls: int = 2) -> Measured:
    """What was measured of a job that ends once nvidia-smi was called so often, and answered."""
    project.add("a")
    noted = project.root.parent / "calls"
    wait = f'until [ "$(cat {noted} 2>/dev/null | wc -l)" -ge {calls} ]; do sleep 0.1; done'
    resources = Resources(processes=Processes(gpus, per_directory=False), gpus_per_process=1)
    script = project.script(
        f"{wait}; sleep 0.5 # {{directory}}",
        resources=resources if gpus else None,
        products=(),
    )
    code, out, errors = project.run(script)
    assert (code, out, errors) == (0, "", "")
    measured = read_script_words(project.ended()[6:8])
    assert measured is not None
    return measured


def calls(project: SmallProject) -> list[str]:
    path = project.root.parent / "calls"
    return path.read_text().splitlines() if path.exists() else []


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_the_work_and_memory_of_the_own_gpus_are_added(
    project: SmallProject, smi: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    smi(shows(FOUR))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    measured = run(project, gpus=2)
    assert measured.gpu_memory == 2524 * 1024
    assert measured.gpu is not None
    assert measured.wall is not None
    assert 0 < measured.gpu <= 1.4 * measured.wall
    assert {call.partition(" ")[2] for call in calls(project)} == {ASKED}


@pytest.mark.parametrize(
    ("devices", "memory"),
    [
        ("GPU-8d2e7a61-1111-0000-0000-000000000000", 1024),
        ("GPU-5f000000-3", 7),
        ("3,2", 9007),
        ("2", 9000),
        ("NoDevFiles", None),
        ("-1", None),
        ("MIG-GPU-8d2e7a61-1111-0000-0000-000000000000/1/0", None),
        ("MIG-5f000000-3333-0000-0000-000000000000", None),
        ("*", None),
    ],
)
def test_only_gpus_that_the_job_may_use_count(
    project: SmallProject,
    smi: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    devices: str,
    memory: int | None,
) -> None:
    smi(shows(FOUR))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", devices)
    found = run(project, calls=1).gpu_memory
    assert found == (None if memory is None else memory * 1024)


def test_gpus_that_nothing_assigns_count_only_if_the_job_requested_them_all(
    project: SmallProject, smi: Callable[[str], None]
) -> None:
    smi(shows(FOUR))
    assert run(project, gpus=3, calls=1).gpu_memory is None


def test_all_gpus_of_a_node_count_without_an_assignment(
    project: SmallProject, smi: Callable[[str], None]
) -> None:
    smi(shows(FOUR))
    assert run(project, gpus=4, calls=1).gpu_memory == 11531 * 1024


@pytest.mark.parametrize("word", ["[N/A]", "[Not Supported]", "[Unknown Error]"])
def test_a_value_that_a_gpu_does_not_have_is_unknown(
    project: SmallProject, smi: Callable[[str], None], word: str
) -> None:
    smi(shows(f"0, GPU-8d2e7a61-0000, {word}, 80\n"))
    measured = run(project)
    assert (measured.gpu, measured.gpu_memory) == (None, 80 * 1024)


def test_memory_that_a_gpu_does_not_report_is_unknown(
    project: SmallProject, smi: Callable[[str], None]
) -> None:
    smi(shows("0, GPU-8d2e7a61-0000, 100, [N/A]\n"))
    measured = run(project)
    assert measured.gpu
    assert measured.gpu_memory is None


@pytest.mark.parametrize(
    "text",
    [
        "echo 'NVIDIA-SMI has failed because it could not communicate with the driver.'; exit 9",
        "echo 'No devices were found'; exit 6",
        "cat /dev/urandom",
        "yes '0, GPU-$(touch workspace/bad), 1000, -5; touch workspace/bad'",
        "while :; do printf '0, GPU-'; done",
        "kill -KILL $$",
        "exec >&- 2>&-; exit 1",
    ],
)
def test_what_is_no_answer_measures_nothing_and_changes_nothing(
    project: SmallProject, smi: Callable[[str], None], text: str
) -> None:
    smi(text)
    measured = run(project, gpus=2000, calls=1)
    assert measured.gpu is None
    assert not (project.root / "workspace" / "bad").exists()


def test_a_program_that_hangs_delays_no_job(
    project: SmallProject, smi: Callable[[str], None]
) -> None:
    smi("trap '' TERM INT HUP; sleep 600; sleep 600")
    measured = run(project, calls=1)
    assert (measured.gpu, measured.gpu_memory) == (None, None)
    [call] = calls(project)
    eventually(lambda: is_gone(int(call.split()[0])), within=20, what="the end of nvidia-smi")


def test_without_the_program_nothing_is_measured(
    project: SmallProject, smi: Callable[[str], None], tmp_path: Path
) -> None:
    smi("exit 0")
    (tmp_path / "bin" / "nvidia-smi").unlink()
    assert run(project, calls=0).gpu is None


def test_jobs_without_gpus_ask_nothing(project: SmallProject, smi: Callable[[str], None]) -> None:
    smi(shows(FOUR))
    assert run(project, gpus=0, calls=0).gpu is None
    assert not calls(project)


def test_the_exit_code_of_the_command_stays(
    project: SmallProject, smi: Callable[[str], None]
) -> None:
    smi("exit 9")
    project.add("a")
    resources = Resources(gpus_per_process=1)
    script = project.script("sleep 0.2; exit 7 # {directory}", resources=resources, products=())
    assert project.run(script)[0] == 2
    assert project.ended()[4] == "7"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_process_that_measures_ends_with_its_script(
    project: SmallProject, smi: Callable[[str], None], number: signal.Signals
) -> None:
    smi(shows(FOUR))
    project.add("a")
    resources = Resources(gpus_per_process=1)
    script = project.script("exec sleep 60 # {directory}", resources=resources, products=())
    process = project.start(script)
    assert process.stdout
    assert process.stderr
    eventually(lambda: calls(project), within=20, what="the first call")
    process.send_signal(number)
    process.wait(30)
    try:
        eventually(lambda: not shells(process.pid), within=30, what="the end of the job's shells")
    finally:
        process.stdout.close()
        process.stderr.close()
        for pid in in_session(process.pid):
            os.kill(pid, signal.SIGKILL)


def in_session(session: int) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[3] == str(session) and fields[0] != "Z":
            found.append(int(folder.name))
    return found


def shells(session: int) -> list[int]:
    """The processes of the job that run its script."""
    found = []
    for pid in in_session(session):
        try:
            if b"job.sh" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
        except OSError:
            continue
    return found
