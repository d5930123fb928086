"""How a job script learns that its command ended, whatever signals come meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from rowtui.core.submission.scripts.fixed_part import PRELUDE
from rowtui.core.submission.sending.fence import read_ended

from tests.core.submission.conftest import SmallProject
from tests.eventually import eventually

# Ways in which a signal reaches the script just as its command ends. Of these, bash 5.2's `wait`
# alone loses the exit code in every second or third try.
AT_THE_END = ["kill -USR1 $$", "exec kill -USR1 $$", "( kill -USR1 $$ ) &"]


def test_no_signal_that_comes_as_a_command_ends_hides_that_it_went_well(
    project: SmallProject,
) -> None:
    project.add(*(f"d{number}" for number in range(300)))
    cases = "\n".join(f"{number}) {run} ;;" for number, run in enumerate(AT_THE_END))
    command = f"echo x >>runs # {{directory}}\ncase $(($rowtui_index % 3)) in\n{cases}\nesac"

    code, _, errors = project.run(project.script(command, products=()))

    assert (code, errors) == (0, "")
    assert (project.root / "runs").read_text() == "x\n" * 300
    assert project.ended()[4] == "0"


def test_no_signal_that_comes_as_a_command_ends_hides_how_it_failed(project: SmallProject) -> None:
    project.add("a")
    ends = ["kill -USR1 $$; exit 7", "exec bash -c 'kill -USR1 $0; exit 7' $$"]

    for number in range(16):
        token = f"t-{number}"
        command = f"{ends[number % 2]} # {{directory}}"
        assert project.run(project.script(command, products=(), token=token))[0] == 2
        assert project.ended(token)[4] == "7"


@pytest.mark.parametrize(
    ("setup", "run"),
    [
        ("set -eu -o pipefail -o noclobber", ""),
        ("set -o posix", ""),
        ("exec 10</dev/null 11</dev/null; shopt -s nullglob failglob; IFS=/", ""),
        (None, "exec 9>&- 10>&- 11>&- 12>&-; sleep 0.05"),
        (None, "sleep 5 >/dev/null 2>&1 & exec 2>&1; echo $! >>left"),
        (None, "echo talk >&$rowtui_writer; echo -n talk >&$rowtui_writer"),
    ],
)
def test_the_end_of_a_command_is_heard_whatever_it_does_with_its_descriptors(
    project: SmallProject, setup: str | None, run: str
) -> None:
    project.add("a", "b", "c")
    command = f"{run}\necho {{directory}} >>runs; [ {{directory}} != c ] || exit 7"

    code, _, errors = project.run(project.script(command, setup=setup))
    if (project.root / "left").exists():
        for pid in (project.root / "left").read_text().split():
            os.kill(int(pid), signal.SIGKILL)

    assert (code, errors) == (2, "rowtui: the command failed in directory c (exit code 7).\n")
    assert (project.root / "runs").read_text() == "a\nb\nc\n"
    assert project.ended()[4:6] == ["7", "2"]


def test_a_command_that_has_ended_is_not_waited_for_where_bash_missed_it() -> None:
    # Given a process that is gone, but that nobody has asked for,
    with subprocess.Popen(["true"]) as gone:
        os.waitid(os.P_PID, gone.pid, os.WEXITED | os.WNOWAIT)
        # then a script does not go on listening to it, although it takes signals.
        functions = PRELUDE.rpartition("rowtui_begin\n")[0]
        hear = f"rowtui_listen; rowtui_pid={gone.pid}; rowtui_hear; echo heard"
        script = ["bash", "-c", f"{functions}\n{hear}"]
        done = subprocess.run(script, capture_output=True, text=True, timeout=20)
    assert done.stdout == "heard\n"


def test_a_command_is_the_scripts_child_and_leads_its_group(project: SmallProject) -> None:
    # Without a shell in between, a launcher takes signals itself, and `timeout` stays in the group.
    project.add("a")
    script = project.script("cut -d' ' -f1,4,5 /proc/self/stat # {directory}")
    process = project.start(script)
    out, _ = process.communicate(timeout=60)

    pid, parent, group = out.split()
    assert int(parent) == process.pid
    assert group == pid


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_command_that_dies_before_its_script_is_told_to_stop_was_stopped(
    project: SmallProject, number: signal.Signals
) -> None:
    # given what schedulers do: they signal all processes, one after another
    project.add("a")
    told = "while kill -0 $rowtui_mine; do :; done 2>/dev/null; kill -TERM $$"
    dies = f"exec bash -c 'kill -{int(number)} $$'"
    command = f"rowtui_mine=$BASHPID; ( {told} ) & {dies} # {{directory}}"

    code, _, _ = project.run(project.script(command))

    assert code == 143
    assert project.ended()[:2] == ["143", "signal TERM"]


def test_a_command_that_kills_itself_has_failed(project: SmallProject) -> None:
    project.add("a")

    assert project.run(project.script("exec bash -c 'kill -TERM $$' # {directory}"))[0] == 2
    assert project.ended()[:2] == ["2", "exit"]
    assert project.ended()[4] == "143"


@pytest.mark.parametrize(
    ("program", "command", "outside"),
    [
        ("srun", "PROGRAM", "tree"),
        ("ssh", "PROGRAM", "group"),
        ("scp", "PROGRAM; true", ""),
        ("sim", "PROGRAM", ""),
        ("sim", "setsid -f PROGRAM", "tree"),  # too short to be seen
        ("sim", "echo srunner; echo /x/srun.log; PROGRAM", ""),
    ],
)
def test_a_script_reports_that_work_was_not_below_it(
    project: SmallProject, program: str, command: str, outside: str
) -> None:
    project.add("a")
    tool = project.root / program
    # Like scp, which starts ssh.
    ssh = "cp /bin/sleep ssh; ./ssh 0.2\nrm ssh" if program == "scp" else "sleep 0.2"
    tool.write_text(f"#!/bin/bash\n{ssh}\n")
    tool.chmod(0o755)
    command = command.replace("PROGRAM", f"./{program}")

    code, _, errors = project.run(project.script(f"{command} # {{directory}}", products=()))

    assert (code, errors) == (0, "")
    words = dict(word.partition("=")[::2] for word in project.ended()[6].split())
    assert words.get("outside", "") == outside


@pytest.mark.parametrize("version", [1, 2])
def test_a_script_reads_what_its_control_group_held_and_still_caches(
    project: SmallProject, tmp_path: Path, version: int
) -> None:
    project.add("a")
    files = {
        1: {
            "memory/slurm/job_7/memory.max_usage_in_bytes": "9000",
            "memory/slurm/job_7/memory.stat": "cache 1\ntotal_cache 4000\ntotal_rss 2",
            "cpuacct/slurm/job_7/cpuacct.usage": "1500",
        },
        2: {
            "slurm/job_7/memory.peak": "9000",
            "slurm/job_7/memory.stat": "anon 1\nfile 4000\nkernel 2",
            "slurm/job_7/cpu.stat": "usage_usec 1\nuser_usec 2",
        },
    }[version]
    for name, text in files.items():
        path = tmp_path / "cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    lines = {1: "4:memory:PATH\n3:cpuset:PATH\n2:cpuacct,cpu:PATH\n0::/\n", 2: "0::PATH\n"}
    groups = tmp_path / "groups"
    groups.write_text(lines[version].replace("PATH", "/slurm/job_7/step_batch"))
    script = project.script("true # {directory}", products=())
    script = script.replace("/proc/self/cgroup", str(groups))
    script = script.replace("/sys/fs/cgroup", str(tmp_path / "cgroup"))
    if version == 1:
        (tmp_path / "cgroup/cpuacct,cpu").symlink_to("cpuacct")

    assert project.run(script)[0] == 0

    words = dict(word.partition("=")[::2] for word in project.ended()[6].split())
    assert (words["group_memory"], words["group_file"]) == ("9000", "4000")
    assert words["group_cpu"] == {1: "1500", 2: "1000"}[version]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_script_that_is_stopped_reports_the_cpu_time_of_programs_that_its_shell_left(
    project: SmallProject, number: signal.Signals
) -> None:
    project.add("a")
    burn = "import time\nwhile time.process_time() < 1: pass\nopen('burnt', 'w')\ntime.sleep(60)"
    (project.root / "burn.py").write_text(burn)
    run = f"true; {sys.executable} -S burn.py; true # {{directory}}"
    process = project.start(project.script(run, products=()))
    eventually((project.root / "burnt").exists, what="a second of CPU time")
    process.send_signal(number)
    process.communicate(timeout=60)

    ended = read_ended(project.root, "t-0")
    assert ended is not None
    assert ended.measured is not None
    assert ended.measured.cpu == pytest.approx(1.0, abs=0.15)
