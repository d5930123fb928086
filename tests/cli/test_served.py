"""Forks of the server are as processes that Python started: what other tests rely on."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from tests.cli.conftest import Shell
from tests.cli.served import server


@pytest.mark.parametrize(
    "words",
    [
        ("show", "status"),
        ("show", "status", "--json"),
        ("show", "directories", "-a", "one", "--short"),
        ("show", "nothing"),
        ("--help",),
        ("--version",),
        ("clean", "--completed"),
        ("show", "status", "-a", "\udcff"),
        ("-v", "scan"),
        ("mapping", "check", "nowhere.yml"),
    ],
)
def test_they_say_the_same_and_end_alike(rowtui: Shell, words: tuple[str, ...]) -> None:
    said = []
    for rowtui.starts_python in (True, False):
        done = rowtui(*words)
        said.append((done.returncode, done.stdout, done.stderr))
    assert said[0] == said[1]


def test_what_comes_on_standard_input_is_read(rowtui: Shell) -> None:
    said = []
    for rowtui.starts_python in (True, False):
        done = rowtui("show", "directories", "-a", "one", "--short", "-", stdin="dir3\ndir5\n")
        said.append((done.returncode, done.stdout, done.stderr))
    assert said[0] == said[1]
    assert said[0][1].split() == ["dir3", "dir5"]


def test_several_run_at_once_each_with_its_own_and_may_be_killed(rowtui: Shell) -> None:
    ends = [os.pipe() for _ in range(3)]
    running = [
        server.start(
            ["show", "status", "--json"],
            cwd=rowtui.folder,
            env=rowtui.environment,
            streams=(ends[0][0], writes, writes),
        )
        for _, writes in ends[1:]
    ]
    assert [process.wait(30) for process in running] == [0, 0]
    for reads, writes in ends[1:]:
        os.close(writes)
        with os.fdopen(reads) as answer:
            assert '"actions"' in answer.read()

    # One that waits for names which do not come.
    null = os.open(os.devnull, os.O_WRONLY)
    process = server.start(
        ["show", "directories", "-a", "one", "-"],
        cwd=rowtui.folder,
        env=rowtui.environment,
        streams=(ends[0][0], null, null),
    )
    process.kill()
    assert process.wait(30) == -signal.SIGKILL
    for fd in (*ends[0], null):
        os.close(fd)


def test_an_interpreter_that_starts_otherwise_is_started(rowtui: Shell) -> None:
    assert server.starts_alike(rowtui.environment)
    assert not server.starts_alike({**rowtui.environment, "PYTHONIOENCODING": "ascii"})
    done = rowtui("show", "status", PYTHONIOENCODING="ascii")
    assert isinstance(done, subprocess.CompletedProcess)
    assert done.args[1:3] == ["-m", "rowtui.cli.main"]
