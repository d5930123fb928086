"""A project in a folder of its own, in which the command line runs as on a machine of its own."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from rowtui.cli.main import main
from rowtui.core.project.open_project import OpenProject

from tests.cli.served import Served, server
from tests.eventually import eventually

# States of jobs that are not over.
ACTIVE = {
    "held",
    "pending",
    "running",
    "suspended",
    "completing",
    "reserved",
    "eligible",
    "unknown",
}


class Done(NamedTuple):
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str


class FolderProject:
    """A project at `folder`/project; everything that it needs elsewhere is in `folder` too."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        self.root, self.home = folder / "project", folder / "home"
        self.children: list[Served] = []
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("ROW", "SLURM", "SBATCH", "XDG_"))
        }
        own = {
            "HOME": str(self.home),
            "ROWTUI_LOCAL_DIR": str(folder / "queue"),
            "ROWTUI_LOCAL_CORES": "8",
            "ROWTUI_LOCAL_MEMORY_MB": "8000",
            "ROWTUI_LOCAL_GPUS": "0",
            "ROWTUI_POLL": "0",
            "ROWTUI_CLUSTER": "local",
        }
        self.environment = kept | own | environment

    @property
    def actions(self) -> tuple[str, ...]:
        """The names of all actions."""
        return tuple(dict.fromkeys(OpenProject.open(self.root).workflow.action_names()))

    @property
    def is_network(self) -> bool:
        """Whether there is a network.toml."""
        return (self.root / "network.toml").exists()

    @contextlib.contextmanager
    def here(self) -> Iterator[None]:
        """Be in the project's folder with its environment."""
        before = os.getcwd()
        with patch.dict(os.environ, self.environment, clear=True):
            os.chdir(self.root)
            try:
                yield
            finally:
                os.chdir(before)

    def __call__(self, *words: str, stdin: str = "") -> Done:
        """Run a command in this process, inside of `here`."""
        out, err = io.StringIO(), io.StringIO()
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            patch.object(sys, "stdin", io.StringIO(stdin)),
        ):
            code = main(list(words))
        done = Done(code, out.getvalue(), err.getvalue())
        assert "unexpected" not in done.err, done.err
        return done

    def succeed(self, *words: str) -> str:
        """Run a command, insist that it succeeds, and return what it printed."""
        done = self(*words)
        assert done.code == 0, (words, done.out, done.err)
        return done.out

    def json(self, *words: str) -> Any:
        """What a command prints with `--json`. Exit code 1 is an answer as well, 2 is not."""
        done = self(*words, "--json")
        assert done.code in (0, 1), (words, done.err)
        try:
            return json.loads(done.out)
        except ValueError:
            raise AssertionError(f"{words}: no JSON: {done.out!r} {done.err!r}") from None

    def start(self, *words: str, killed_after: int = 0) -> Served:
        """Begin a command in a process of its own; SIGKILL comes after so many accepted jobs."""
        with open(self.folder / "driver.log", "ab") as log, open(os.devnull, "rb") as nothing:
            child = server.start(
                words,
                cwd=self.root,
                env=self.environment,
                streams=(nothing.fileno(), log.fileno(), log.fileno()),
                first=("tests.seams.killing", "kill_after", killed_after),
            )
        self.children.append(child)
        return child

    @property
    def driver_log(self) -> str:
        """What commands in processes of their own printed."""
        return (self.folder / "driver.log").read_text(errors="replace")

    def states(self) -> list[tuple[str, str]]:
        """Token and state of each job of the project."""
        jobs = self.json("show", "jobs", "--long")["jobs"]
        return sorted((job["token"], job["state"]) for job in jobs)

    def wait_until_ended(self) -> None:
        """Wait until no job of the project is in a queue, and all of them are settled."""
        try:
            eventually(
                lambda: [state for _, state in self.states() if state in ACTIVE],
                lambda active: not active,
                every=0.2,
                what="the jobs to end",
            )
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self._processes_of_jobs()}") from None

    def _processes_of_jobs(self) -> str:
        """Return the processes that mention this project or belong to a job, for a failed test."""
        done = subprocess.run(
            ["ps", "axfww", "-o", "pid,ppid,stat,wchan:20,etimes,args"],
            capture_output=True, text=True, errors="replace", timeout=10, check=False,
        )  # fmt: skip
        words = (str(self.folder), "slurmstepd", "slurm_script", "sleep")
        return "\n".join(it[:300] for it in done.stdout.splitlines() if any(w in it for w in words))

    def finish_children(self) -> None:
        """Wait until all processes of `start` have ended."""
        for child in self.children:
            child.wait(45)

    def close(self) -> None:
        """End all that this project started."""
        for child in self.children:
            if child.returncode is None:
                child.kill()
                child.wait(20)
        with self.here(), contextlib.suppress(AssertionError):
            self("cancel", "--all", "--yes")
            self.wait_until_ended()
