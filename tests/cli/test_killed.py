"""rowtui is killed with SIGKILL at each of its steps: no job is lost, and none runs twice."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli import row_records
from tests.cli.killing import Run
from tests.eventually import eventually

if TYPE_CHECKING:
    from tests.cli.conftest import Shell
    from tests.rig.slurm import SlurmCluster

NAMES = ["a", "b c"]
MOST_ROUNDS = 100  # each kills a submission at `AT_ONCE` further steps
AT_ONCE = 4  # projects: most of the time they wait for their jobs
WORKFLOW = """\
[[action]]
name = "one"
command = "echo {directory} >> runs.txt; touch workspace/{directory}/x"
products = ["x"]
[action.group]
maximum_size = 1
[action.resources]
walltime.per_submission = "00:10:00"
"""


BLOCKER = """\
[[action]]
name = "block"
command = "while [ ! -e go ]; do sleep 0.2; done; echo {{directory}}"
products = ["x"]
[action.resources]
threads_per_process = {cores}
walltime.per_submission = "00:05:00"
"""
HELD = """[action.submit_options.alpha]
custom = ["--hold"]
"""


def make_project(folder: Path, more: str = "") -> Path:
    for name in NAMES:
        (folder / "workspace" / name).mkdir(parents=True)
    (folder / "workflow.toml").write_text(WORKFLOW + more)
    return folder


class Killed:
    """One project for each step at which the first `rowtui submit` was killed."""

    def __init__(self, shell: Shell, *options: str, more: str = "") -> None:
        self.shell = shell
        self.more = more
        self.arguments = ["submit", "--yes", *options]
        self.folders: list[Path] = []

    def kill_at_every_step(self) -> None:
        """Until a step was never reached. Raises: AssertionError after `MOST_ROUNDS` rounds."""
        for _ in range(MOST_ROUNDS):
            begun = len(self.folders)
            for number in range(begun + 1, begun + AT_ONCE + 1):
                folder = make_project(self.shell.folder / str(number), self.more)
                self.folders.append(folder)
            runs = [self.begin(it, at) for at, it in enumerate(self.folders[begun:], begun + 1)]
            if not all(tuple(run.killed() for run in runs)):  # each is waited for
                return
        raise AssertionError(f"every one of {len(self.folders)} steps was reached")

    def begin(self, folder: Path, step: int = 0) -> Run:
        """`rowtui submit --yes`, killed at this step."""
        out = folder.parent / f"{folder.name}.out"
        return Run(self.arguments, folder, self.shell.environment, step, out)

    def run(self, folders: Sequence[Path]) -> None:
        """`rowtui submit --yes` in each, to its end."""
        for first in range(0, len(folders), AT_ONCE):
            runs = [self.begin(folder) for folder in folders[first : first + AT_ONCE]]
            assert not any(tuple(run.killed() for run in runs))

    def finish(self, let_run: Callable[[], None] = lambda: None) -> None:
        """Submit again; when all jobs have ended, look once more where that was not seen."""
        self.run(self.folders)
        let_run()
        self.wait()
        self.run([it for it in self.folders if list((it / ".row/rowtui/journal").glob("*.jsonl"))])

    def wait(self) -> None:
        """Until each directory ran in all projects."""
        for folder in self.folders:
            ended = folder / ".row/rowtui/ended"
            eventually(
                lambda ended=ended: ended.exists() and len(list(ended.iterdir())) >= len(NAMES),  # type: ignore[misc]
                what=f"the jobs of {folder}",
            )

    def check(self) -> None:
        """Each directory ran once, and Row knows that all are complete and none submitted."""
        for step, folder in enumerate(self.folders, 1):
            where = f"killed at step {step}:\n{folder.with_suffix('.out').read_text()}"
            runs = Counter((folder / "runs.txt").read_text().splitlines())
            assert runs == Counter(NAMES), where
            assert row_records.completed(folder) == {"one": set(NAMES)}, where
            assert row_records.submitted(folder) == {}, where
            assert list((folder / ".row/rowtui/journal").glob("*.jsonl")) == [], where


def test_killed_at_any_step_on_this_machine_each_directory_runs_once(empty_folder: Shell) -> None:
    # Given submissions that were killed at each step, up to the noticing of the end,
    every = Killed(empty_folder, "--cluster", "local")
    every.kill_at_every_step()
    assert len(every.folders) > 12
    # when people submit again, and look when all has ended,
    every.finish()
    # then nothing was lost or done twice.
    every.check()


def test_killed_while_the_queue_is_full_each_directory_runs_once(empty_folder: Shell) -> None:
    # Given a job that takes the whole machine, so that none of those that follow has begun,
    blocker = empty_folder.folder.parent / "blocker"
    (blocker / "workspace/a").mkdir(parents=True)
    (blocker / "workflow.toml").write_text(BLOCKER.format(cores=len(os.sched_getaffinity(0))))
    first = Killed(empty_folder, "--cluster", "local", "--detach")
    first.run([blocker])
    fence = blocker / ".row/rowtui/fence"
    eventually(lambda: fence.exists() and bool(list(fence.iterdir())), what="the blocker to begin")
    # and submissions that were killed at each step,
    every = Killed(empty_folder, "--cluster", "local", "--detach")
    every.kill_at_every_step()
    assert len(every.folders) > 8
    # when people submit again, and then all that waits may run,
    every.finish((blocker / "go").touch)
    # then nothing was lost or done twice.
    every.check()


@pytest.mark.slurm
def test_killed_at_any_step_on_slurm_each_directory_runs_once(
    empty_folder: Shell, slurm: SlurmCluster
) -> None:
    # Given submissions that were killed at each step, of jobs that wait: none has begun, so that
    # only the queue can tell which ones it has.
    slurm.clean()
    empty_folder.environment["SLURM_CONF"] = str(slurm.conf)
    assert slurm.name == "alpha"
    every = Killed(empty_folder, more=HELD)
    every.kill_at_every_step()
    assert len(every.folders) > 8

    # when people submit again, and then all that waits may run,
    def let_run() -> None:
        listed = [line.split() for line in slurm.run("squeue -h -o '%i %r'").stdout.splitlines()]
        # Each directory's job is there once, and nobody let it go: its header asks to be held.
        assert [reason for _, reason in listed] == ["JobHeldUser"] * (2 * len(every.folders))
        slurm.run(f"scontrol release {' '.join(job for job, _ in listed)}")
        empty = lambda: not slurm.run("squeue -h").stdout  # noqa: E731
        eventually(empty, what="the queue to empty", every=0.1)

    every.finish(let_run)
    # then nothing was lost or done twice.
    every.check()


def test_killed_as_a_process_of_its_own_it_loses_nothing(empty_folder: Shell) -> None:
    # Given the command as people start it, killed as soon as the journal exists.
    folder = make_project(empty_folder.folder)
    command = [sys.executable, "-m", "rowtui.cli.main", "--cluster", "local", "submit", "--yes"]
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=empty_folder.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    journal = folder / ".row/rowtui/journal"
    eventually(lambda: journal.exists() or process.poll() is not None, every=0)
    process.kill()
    process.wait()
    every = Killed(empty_folder, "--cluster", "local")
    every.folders.append(folder)
    every.finish()
    every.check()
