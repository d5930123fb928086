"""`rowtui submit` on this machine's own queue prints the output of the jobs that it follows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Shell
from tests.cli.terminal import Terminal

WORKFLOW = """\
[[action]]
name = "say"
command = "sh say.sh {directory}"
group.maximum_size = 1
"""
UNTIL_GO = "while ! [ -e go ]; do sleep 0.02; done\n"


@pytest.fixture
def saying(empty_folder: Shell) -> Shell:
    """Two directories; the jobs run `say.sh`, which each test writes."""
    root = empty_folder.folder
    for name in "ab":
        (root / "workspace" / name).mkdir(parents=True)
    (root / "workflow.toml").write_text(WORKFLOW)
    return empty_folder


def say(shell: Shell, script: str) -> Path:
    """Have the jobs run this; the file that `UNTIL_GO` waits for."""
    (shell.folder / "say.sh").write_text(script)
    return shell.folder / "go"


def test_a_program_reads_the_bytes_of_a_single_job_while_the_job_runs(saying: Shell) -> None:
    go = say(saying, rf"printf 'one \033[31m\377\n'; {UNTIL_GO} echo two >&2; printf 'no end'")
    words = ["--cluster", "local", "submit", "--yes", "a"]
    with subprocess.Popen(
        [sys.executable, "-m", "rowtui.cli.main", *words],
        cwd=saying.folder,
        env=saying.environment,
        stdout=subprocess.PIPE,
    ) as following:
        assert following.stdout is not None
        assert [following.stdout.readline() for _ in range(4)][2:] == [
            b"Row submitted job 1.\n",
            b"one \x1b[31m\xff\n",
        ]
        go.touch()
        assert following.stdout.read() == b"two\nno end\n"
    assert following.returncode == 0


def test_lines_of_several_jobs_begin_with_the_action_and_the_job(saying: Shell) -> None:
    say(saying, 'echo "I am $1"; echo done')
    lines = saying.succeed("submit", "--yes", cluster="local").splitlines()
    assert lines[4] == "Row submitted job 2."
    assert sorted(lines[5:]) == [
        "say 1 | I am a",
        "say 1 | done",
        "say 2 | I am b",
        "say 2 | done",
    ]


def test_with_quiet_json_or_detach_the_output_of_jobs_is_not_printed(saying: Shell) -> None:
    say(saying, "echo something")
    quiet = saying.succeed("submit", "--yes", "-q", "a", cluster="local")
    assert quiet.endswith("Row submitted job 1.\n")
    detached = saying.succeed("submit", "--yes", "--detach", "a", cluster="local")
    assert "something" not in detached
    read = json.loads(saying.succeed("submit", "--yes", "--json", "b", cluster="local"))
    assert (read["errors"], len(read["jobs"])) == ([], 1)


def test_of_a_million_lines_the_last_are_printed_and_long_lines_are_cut(saying: Shell) -> None:
    say(saying, "seq 1000000; head -c 100000 /dev/zero | tr '\\0' x; echo; echo last")
    done = saying("submit", "--yes", "a", cluster="local")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[-2:] == ["x" * 2_000 + " ...", "last"]
    assert len(lines) < 200_000
    assert " of the output of job 1 (say) are left out here: 'rowtui logs 1' prints all." in (
        done.stderr
    )


def test_a_job_whose_log_is_no_file_is_followed_without_its_output(saying: Shell) -> None:
    options = (
        '[action.submit_options.local]\noutput_file_path = "/dev"\noutput_file_name = "null"\n'
    )
    (saying.folder / "workflow.toml").write_text(WORKFLOW + options)
    say(saying, "echo something")
    done = saying("submit", "--yes", "a", cluster="local")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("Row submitted job 1.\n")


def test_on_a_terminal_output_steers_nothing_and_takes_the_place_of_the_bar(saying: Shell) -> None:
    go = say(saying, rf"{UNTIL_GO} printf 'a\033[2Jb\n'; rm go; {UNTIL_GO}")
    saying.environment["ROWTUI_CLUSTER"] = "local"
    terminal = Terminal(saying, "submit", "--yes", "a")
    terminal.shows("Jobs ░".encode())
    go.touch()
    shown = b"\r\x1b[Ka\\x1b[2Jb\r\n"
    terminal.shows(shown + "\r\x1b[KJobs ░".encode())
    go.touch()
    assert terminal.end() == 0
    assert terminal.seen.count(b"[2J") == 1
