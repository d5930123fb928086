"""Small real projects whose jobs are run by a real bash."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from rowtui.core.clusters.model import Cluster, Identify, Partition
from rowtui.core.grouping.model import Group, JobRequest
from rowtui.core.state.postcard import decode_completed
from rowtui.core.state.staging import decode_names
from rowtui.core.submission.script import job_script, write_recipe
from rowtui.core.text import Cost
from rowtui.core.workflow.model import Action, Resources, SubmitOptions
from rowtui.core.workflow.template import parse_command

HOSTILE = [
    "d0",
    "c d",
    "a'; touch pwned #",
    "$(touch pwned)",
    "`touch pwned`",
    "new\nline",
    "-rf",
    "esc\x1b[31m",
    'quote"d',
    "back\\slash",
    "bytes\udcff\udcfe",
    "*",
    "é日本",
    "l" * 200,
]

LOCAL = Cluster("local", Identify(always=True), "local")


def make_request(action: Action, count: int) -> JobRequest:
    resources = action.resources
    return JobRequest(
        Group(action, tuple(range(count))),
        resources.processes.total(count),
        resources.total_cpus(count),
        resources.total_gpus(count),
        resources.walltime.total_seconds(count),
        Cost(),
    )


@dataclass
class SmallProject:
    """A project on disk. `names` are in the order of processing."""

    root: Path
    names: list[str] = field(default_factory=list)

    def add(self, *names: str) -> SmallProject:
        for name in names:
            os.mkdir(self.root / "workspace" / name)
        self.names += names
        return self

    def script(
        self,
        command: str,
        *,
        values: Sequence[Any] = (),
        name: str = "one",
        products: tuple[str, ...] = ("out",),
        setup: str | None = None,
        token: str = "t-0",
        workspace_path: str = "workspace",
        prefix: str = "",
        cluster: Cluster = LOCAL,
        partition: Partition | None = None,
        resources: Resources | None = None,
        options: SubmitOptions | None = None,
    ) -> str:
        action = Action(
            index=0,
            name=name,
            command=command,
            products=products,
            resources=resources or Resources(),
            submit_options={cluster.name: options or SubmitOptions(setup=setup)},
        )
        return job_script(
            write_recipe(parse_command(command), workspace_path, prefix),
            make_request(action, len(self.names)),
            names=self.names,
            values=values or [None] * len(self.names),
            cluster=cluster,
            partition=partition,
            token=token,
        )

    def start(self, script: str, job_id: int = 7) -> subprocess.Popen[bytes]:
        path = self.root / "job.sh"
        path.write_bytes(script.encode())
        return subprocess.Popen(
            ["bash", str(path)],
            cwd=self.root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "ROWTUI_JOB_ID": str(job_id), "LC_ALL": "C.UTF-8"},
            start_new_session=True,
        )

    def run(self, script: str, job_id: int = 7) -> tuple[int, str, str]:
        process = self.start(script, job_id)
        out, err = process.communicate(timeout=60)
        return process.returncode, os.fsdecode(out), os.fsdecode(err)

    def stop_when(self, process: subprocess.Popen[bytes], path: str, number: int) -> int:
        """Send the signal once `path` exists; the exit code."""
        deadline = time.monotonic() + 30
        while not (self.root / path).exists():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.Signals(number))
        process.communicate(timeout=30)
        return process.returncode

    def reported(self) -> dict[str, set[str]]:
        """What the staged files say, of both kinds."""
        found: dict[str, set[str]] = {}
        for path in sorted((self.root / ".row/completed").iterdir()):
            assert len(path.stem) == 32
            assert set(path.stem) <= set("0123456789abcdef")
            if path.suffix == ".postcard":
                for action, names in decode_completed(path.read_bytes()).items():
                    found.setdefault(action, set()).update(map(os.fsdecode, names))
            else:
                assert path.suffix == ".names"
                for action, names in decode_names(path.read_bytes()).items():
                    found.setdefault(action, set()).update(map(os.fsdecode, names))
        return found

    def ended(self, token: str = "t-0") -> list[str]:
        return (self.root / ".row/rowtui/ended" / token).read_text().splitlines()


@pytest.fixture
def project(tmp_path: Path) -> SmallProject:
    root = tmp_path / "pro ject's"
    (root / "workspace").mkdir(parents=True)
    (root / "workflow.toml").touch()
    return SmallProject(root)
