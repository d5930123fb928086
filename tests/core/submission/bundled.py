"""A bundle of jobs in a project on disk, each of which runs a script of its directory."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rowtui.core.submission.bundles.bundles import BundleLayout, with_bundles
from rowtui.core.submission.bundles.script import bundle_script
from rowtui.core.submission.plan.json import plan_id
from rowtui.core.submission.plan.model import Plan, PlannedJob

from tests.core.submission.conftest import RealProject
from tests.eventually import eventually


@dataclass(frozen=True)
class Member:
    """One job: what runs in the project's folder, and what it takes."""

    name: str
    run: str = "true"
    seconds: int = 60
    cpus: int = 1
    memory_mb: int | None = 50
    gpus: int = 0
    processes: int = 1
    starts_steps: bool = False


class Bundled:
    """The jobs of `lanes`, each complete when its script ends well."""

    def __init__(
        self, real: RealProject, lanes: Sequence[Sequence[Member]], *, seconds: int | None = None
    ) -> None:
        self.real = real
        self.root = real.root
        members = {member.name: member for lane in lanes for member in lane}
        for name, member in members.items():
            (real.root / "workspace" / name).mkdir(exist_ok=True)
            (real.root / "workspace" / name / "run").write_text(member.run + "\n")
        real.synchronise()
        real.with_command(
            "echo x >>workspace/{directory}/runs; "
            "bash -e workspace/{directory}/run && touch workspace/{directory}/out"
        )
        planned = {job.directories[0]: job for job in real.plan("n").jobs}
        jobs = [
            planned[member.name]._replace(
                cpus=member.cpus,
                memory_mb=member.memory_mb,
                gpus=member.gpus,
                processes=member.processes,
                starts_steps=member.starts_steps,
            )
            for member in members.values()
        ]
        numbers = {name: number for number, name in enumerate(members)}
        memories = [max(member.memory_mb or 0 for member in lane) for lane in lanes]
        layout = BundleLayout(
            node_type="any",
            cpus=sum(max(member.cpus for member in lane) for lane in lanes),
            memory_mb=sum(memories) if all(memories) else None,
            gpus=sum(max(member.gpus for member in lane) for lane in lanes),
            whole_node=False,
            lanes=tuple(tuple(numbers[member.name] for member in lane) for lane in lanes),
            seconds=tuple(tuple(member.seconds for member in lane) for lane in lanes),
        )
        self.jobs = with_bundles(jobs, [layout])
        if seconds is not None:
            self.jobs = tuple(
                job._replace(bundle=job.bundle._replace(seconds=seconds))
                for job in self.jobs
                if job.bundle
            )

    @property
    def temporary(self) -> Path:
        """Where a bundle puts its folder."""
        return self.root / "tmp"

    def script(self, scheduler: str) -> str:
        """What the scheduler gets."""
        return bundle_script(self.jobs, scheduler)

    def start(
        self, script: str | None = None, *, env: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Run it as the local scheduler does, as job 7."""
        self.temporary.mkdir(exist_ok=True)
        path = self.root / "job.sh"
        path.write_bytes((script or self.script("local")).encode())
        return subprocess.Popen(
            ["bash", str(path)],
            cwd=self.root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "ROWTUI_JOB_ID": "7", "TMPDIR": str(self.temporary), **(env or {})},
            start_new_session=True,
        )

    def run(self, script: str | None = None, **rest: Mapping[str, str]) -> tuple[int, list[str]]:
        """Run it to its end: its exit code and what it says."""
        return over(self.start(script, **rest))

    def wait_for(self, *paths: str) -> None:
        """Until all of these are in the project."""
        eventually(
            lambda: all((self.root / path).exists() for path in paths), what=f"{paths}", every=0.02
        )

    def stop_at_limit(self, process: subprocess.Popen[bytes]) -> tuple[int, list[str]]:
        """The warning and, once it was heard, what schedulers send at the limit."""
        process.send_signal(signal.SIGUSR1)
        eventually(lambda: any(self.temporary.glob("*/warned")), what="the warning", every=0.02)
        return stop(process, signal.SIGTERM)

    def job(self, name: str) -> PlannedJob:
        """The job of a directory."""
        return next(job for job in self.jobs if job.directories == (name,))

    def log(self, name: str, job_id: int = 7) -> str:
        """What a job wrote."""
        path = self.root / self.job(name).log_path.replace("%j", str(job_id))
        return path.read_text(errors="replace")

    def ended(self, name: str) -> list[str]:
        """The words of a job on its end: exit code, cause, ..."""
        path = self.root / ".row/rowtui/ended" / self.job(name).token
        return path.read_text().splitlines() if path.exists() else []

    def fence(self, name: str) -> str:
        """Who ran a job, "" if nobody."""
        path = self.root / ".row/rowtui/fence" / self.job(name).token
        return os.readlink(path) if path.is_symlink() else ""

    def said(self, lines: Sequence[str]) -> dict[str, str]:
        """What the bundle says of each job, by directory."""
        names = {job.name: job.directories[0] for job in self.jobs}
        found = {}
        for line in lines:
            for name, directory in names.items():
                if line.startswith(f"rowtui: {name}: "):
                    found[directory] = line.removeprefix(f"rowtui: {name}: ")
        return found


def over(process: subprocess.Popen[bytes]) -> tuple[int, list[str]]:
    """Wait for the end of a script: its exit code and what it said."""
    out, _ = process.communicate(timeout=60)
    return process.returncode, os.fsdecode(out).splitlines()


def stop(process: subprocess.Popen[bytes], *numbers: signal.Signals) -> tuple[int, list[str]]:
    """Send signals to the script and wait for its end."""
    for number in numbers:
        process.send_signal(number)
    return over(process)


def as_written(script: str, old: str, new: str) -> str:
    """The script with something in it replaced that is there."""
    assert old in script
    return script.replace(old, new)


def layout(lanes: Sequence[Sequence[int]], seconds: int = 60) -> BundleLayout:
    """A bundle with these positions in its lanes, each with a CPU."""
    return BundleLayout(
        node_type="small",
        cpus=len(lanes),
        memory_mb=60 * len(lanes),
        gpus=0,
        whole_node=False,
        lanes=tuple(map(tuple, lanes)),
        seconds=tuple((seconds,) * len(lane) for lane in lanes),
    )


def bundled(plan: Plan, *layouts: BundleLayout) -> Plan:
    """The plan with its jobs in these bundles."""
    changed = plan._replace(jobs=with_bundles(plan.jobs, layouts))
    return changed._replace(id=plan_id(changed))


def in_lanes(plan: Plan, lanes: int) -> Plan:
    """All jobs in one bundle, dealt out."""
    numbers = range(len(plan.jobs))
    return bundled(plan, layout([numbers[lane::lanes] for lane in range(lanes)]))
