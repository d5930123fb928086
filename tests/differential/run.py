"""Both programs run on a copy of a case's project: Row as a process, rowtui in a forked child.

The child of a process that has imported rowtui once starts in milliseconds, and nothing that it
does can reach the next command.
"""

from __future__ import annotations

import contextlib
import gc
import io
import os
import pkgutil
import select
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from tests.differential.fake_slurm import make_queue, take_jobs
from tests.differential.model import Change, Command, Directory, ProjectFiles
from tests.differential.records import Records, read_records
from tests.differential.toml_text import toml_text

TIMEOUT = 60.0
TIMED_OUT = -1000
FIRST_TIME = 1_600_000_000  # mtimes that both copies share, far from now


@dataclass(frozen=True)
class Outcome:
    """What a command did."""

    code: int
    stdout: str
    stderr: str


def preload() -> None:
    """Import all of rowtui that a command may import, once."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    for package in ("rowtui.core", "rowtui.cli"):
        folder = import_module(package).__path__
        for module in pkgutil.walk_packages(folder, package + "."):
            import_module(module.name)
    for name in ("numpy", "orjson", "asyncio", "json", "unicodedata", "uuid"):
        import_module(name)
    gc.collect()
    gc.freeze()


class Side:
    """A copy of the project, with a home, a queue and an environment of its own."""

    def __init__(self, base: Path, files: ProjectFiles, programs: Path, row: str) -> None:
        self.base = base
        self.root = base / "p"
        self.files = files
        self.row = row
        self.workspace = self.root / files.workspace
        self.clock = 0
        home = base / "home"
        configuration = home / ".config" / "row"
        configuration.mkdir(parents=True)
        (base / "elsewhere").mkdir()
        make_queue(base / "slurm")
        self.environment = {
            "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(home),
            "ROW_HOME": str(home),
            "USER": "somebody",
            "LOGNAME": "somebody",
            "LANG": "C.UTF-8",
            "FAKE_SLURM": str(base / "slurm"),
            "ROWTUI_POLL": "0",  # as Row, which asks with every command
            "ROWTUI_LOCAL_DIR": str(home / "local"),
        }
        for name in ("clusters", "launchers"):
            document = getattr(files, name)
            if document is not None:
                (configuration / f"{name}.toml").write_text(toml_text(document))
        (self.root / "below" / "deeper").mkdir(parents=True)
        self.workspace.mkdir(parents=True)
        (self.root / "workflow.toml").write_text(toml_text(files.workflow))
        for directory in files.directories:
            self.add(directory)
        for name in files.loose_files:
            path, _, target = name.partition(">")
            if target:
                (self.workspace / path).symlink_to(target)
            else:
                (self.workspace / path).touch()
        self.touch_workspace()

    def add(self, directory: Directory) -> None:
        """Make a directory with its value and products."""
        folder = self.workspace / directory.name
        folder.mkdir(exist_ok=True)
        self.write_value(directory)
        self.touch(directory)

    def write_value(self, directory: Directory) -> None:
        """Write the value file."""
        if self.files.value_file is not None and directory.value is not None:
            path = self.workspace / directory.name / self.files.value_file
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(directory.value)

    def touch(self, directory: Directory) -> None:
        """Make product files."""
        for product in directory.products:
            path = self.workspace / directory.name / product.rstrip(">")
            path.parent.mkdir(exist_ok=True)
            if product.endswith(">"):
                with contextlib.suppress(FileExistsError):
                    path.symlink_to("nowhere")
            else:
                path.touch()

    def touch_workspace(self) -> None:
        """Give the workspace the next shared time: Row sees changes by it alone."""
        self.clock += 1
        now = (FIRST_TIME + self.clock) * 10**9 + self.clock
        os.utime(self.workspace, ns=(now, now))

    def change(self, change: Change) -> list[Outcome]:
        """Carry out a change; what jobs printed, if it ran any."""
        directory = change.directory
        if change.kind in ("run_jobs", "drop_jobs"):
            jobs = take_jobs(self.base / "slurm", change.number)
            if change.kind == "drop_jobs":
                return []
            return [self.run_script(script, job_id) for job_id, script in jobs]
        if change.kind == "workflow":
            assert change.workflow is not None
            (self.root / "workflow.toml").write_text(toml_text(change.workflow))
            return []
        assert directory is not None
        if change.kind == "add":
            self.add(directory)
            self.touch_workspace()
        elif change.kind == "remove":
            shutil.rmtree(self.workspace / directory.name, ignore_errors=True)
            self.touch_workspace()
        elif change.kind == "touch" and (self.workspace / directory.name).is_dir():
            self.touch(directory)
        elif change.kind == "edit_value" and (self.workspace / directory.name).is_dir():
            self.write_value(directory)
        elif change.kind == "delete_product":
            for product in directory.products:
                with contextlib.suppress(FileNotFoundError):
                    (self.workspace / directory.name / product).unlink()
        return []

    def run_script(self, script: str, job_id: int, root: Path | None = None) -> Outcome:
        """Run a job script as Slurm would."""
        path = self.base / f"script-{job_id}"
        path.write_text(script, "utf-8", "surrogateescape")
        environment = {**self.environment, "SLURM_JOB_ID": str(job_id)}
        return _run(["bash", str(path)], None, root or self.root, environment)

    def run_row(self, command: Command) -> Outcome:
        """Run Row."""
        argv = [self.row, *command.argv]
        return _run(argv, command.stdin, self.folder(command), self.environment_of(command))

    def run_rowtui(self, command: Command) -> Outcome:
        """Run rowtui."""
        environment = self.environment_of(command)
        return _fork(
            lambda: _rowtui(command.argv), command.stdin, self.folder(command), environment
        )

    def folder(self, command: Command) -> Path:
        """Where a command is given."""
        return self.root / command.folder

    def environment_of(self, command: Command) -> dict[str, str]:
        """The environment of a command."""
        return {**self.environment, **dict(command.environment)}

    def records(self) -> Records:
        """What Row would read in `.row/`."""
        return read_records(self.root)

    def tree(self, root: Path | None = None) -> dict[str, bytes]:
        """Everything in the project but `.row/`: path -> what it is, with the content of files."""
        root = root or self.root
        found: dict[str, bytes] = {}
        for folder, names, files in os.walk(root):
            if folder == str(root) and ".row" in names:
                names.remove(".row")
            here = os.path.relpath(folder, root)
            found[here] = b"folder"
            for name in files:
                path = os.path.join(folder, name)
                if os.path.islink(path):
                    found[f"{here}/{name}"] = b"link"
                else:
                    with open(path, "rb") as file:
                        found[f"{here}/{name}"] = file.read()
        return found


def _rowtui(argv: tuple[str, ...]) -> int:
    from rowtui.cli.main import main

    return main(argv)


def _run(
    argv: list[str], stdin: bytes | None, folder: Path, environment: Mapping[str, str]
) -> Outcome:
    try:
        done = subprocess.run(
            argv,
            input=b"" if stdin is None else stdin,
            cwd=folder,
            env=dict(environment),
            capture_output=True,
            timeout=TIMEOUT,
        )
    except subprocess.TimeoutExpired:
        return Outcome(TIMED_OUT, "", "timed out")
    return Outcome(done.returncode, _text(done.stdout), _text(done.stderr))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _fork(
    call: Callable[[], int], stdin: bytes | None, folder: Path, environment: Mapping[str, str]
) -> Outcome:
    """Call in a child process with these streams, folder and environment."""
    streams = [os.memfd_create(name) for name in ("stdin", "stdout", "stderr")]
    try:
        os.write(streams[0], stdin or b"")
        os.lseek(streams[0], 0, os.SEEK_SET)
        pid = os.fork()
        if pid == 0:
            _in_child(call, streams, folder, environment)
        code = _wait(pid)
        texts = []
        for stream in streams[1:]:
            os.lseek(stream, 0, os.SEEK_SET)
            with os.fdopen(os.dup(stream), "rb") as file:
                texts.append(_text(file.read()))
    finally:
        for stream in streams:
            os.close(stream)
    return Outcome(code, *texts)


def _in_child(
    call: Callable[[], int], streams: list[int], folder: Path, environment: Mapping[str, str]
) -> None:
    code = 70
    try:
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        os.setsid()
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.stdin = io.TextIOWrapper(
            io.BufferedReader(io.FileIO(0, "r", closefd=False)), "utf-8", "surrogateescape"
        )
        sys.stdout = _writer(1)
        sys.stderr = _writer(2)
        code = call()
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _writer(number: int) -> io.TextIOWrapper:
    raw = io.FileIO(number, "a", closefd=False)
    return io.TextIOWrapper(io.BufferedWriter(raw), "utf-8", "surrogateescape")


def _wait(pid: int) -> int:
    watch = os.pidfd_open(pid)
    try:
        end = time.monotonic() + TIMEOUT
        ready, _, _ = select.select([watch], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
    finally:
        os.close(watch)
    return os.waitstatus_to_exitcode(status) if ready else TIMED_OUT
