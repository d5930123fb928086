"""Small real projects whose jobs are run by a real bash."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from rowtui.core.base.text import Cost
from rowtui.core.clusters.model import Cluster, Identify, Launchers, Partition
from rowtui.core.clusters.schedulers.base import Scheduler
from rowtui.core.clusters.schedulers.local.machine import user_name
from rowtui.core.clusters.schedulers.local.scheduler import LocalScheduler
from rowtui.core.groups.form import job_requests
from rowtui.core.groups.model import Group, JobRequest
from rowtui.core.state.model import State, positions
from rowtui.core.state.row.postcard import decode_completed
from rowtui.core.state.row.staging import decode_names
from rowtui.core.state.store.store import Store
from rowtui.core.submission.plan.draft import draft_jobs
from rowtui.core.submission.plan.make_plan import make_plan
from rowtui.core.submission.plan.model import Plan
from rowtui.core.submission.plan.planner import Setting
from rowtui.core.submission.reconcile.conclude import SeenProducts, concluded, look_at_ended
from rowtui.core.submission.reconcile.ending import OverJob
from rowtui.core.submission.reconcile.reconcile import settle
from rowtui.core.submission.reconcile.reconcile_state import ReconciledJob, apply_settled
from rowtui.core.submission.scripts.script import framed_script, script_frame, write_recipe
from rowtui.core.submission.sending.carry_out import carry_out
from rowtui.core.submission.sending.journal import Journal
from rowtui.core.submission.sending.release_held import SendingProgress, Tools
from rowtui.core.submission.sending.reservations import StoredReservations
from rowtui.core.submission.sending.site import Access, LocalSite
from rowtui.core.workflow.model import Action, Resources, SubmitOptions, Workflow
from rowtui.core.workflow.template import parse_command
from rowtui.core.workspace.sync import synchronise
from rowtui.core.workspace.update import Disk
from rowtui.core.workspace.workers import Workers

from tests.eventually import eventually, eventually_async

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
        recipe = write_recipe(parse_command(command), workspace_path, prefix)
        request = make_request(action, len(self.names))
        frame = script_frame(recipe, request, cluster, partition)
        values = values or [None] * len(self.names)
        return framed_script(frame, request, self.names, values, token)

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
        self.wait_until(lambda: (self.root / path).exists() or process.poll() is not None)
        assert process.poll() is None, process.communicate()
        process.send_signal(signal.Signals(number))
        process.communicate(timeout=30)
        return process.returncode

    def wait_for(self, path: str) -> None:
        """Until `path` exists."""
        self.wait_until((self.root / path).exists)

    def wait_for_report(self) -> None:
        """Until a staged file is there, whole."""
        self.wait_until(lambda: any(self.root.glob(".row/completed/*.postcard")))

    @staticmethod
    def wait_until(holds: Callable[[], bool]) -> None:
        """Until it holds."""
        eventually(holds)

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


class RealProject:
    """A project with records and a real scheduler: what a submission works with."""

    def __init__(
        self, root: Path, names: Sequence[str], scheduler: Scheduler, cluster: Cluster | None = None
    ) -> None:
        self.root = root
        kind = "bash" if scheduler.immediate else "local"
        self.cluster = cluster or Cluster(scheduler.cluster, Identify(always=True), kind)
        self.scheduler = scheduler
        (root / "workspace").mkdir(parents=True)
        (root / "workflow.toml").touch()
        for name in names:
            (root / "workspace" / name).mkdir()
        # Every run of a command leaves a line.
        command = "echo x >> workspace/{directory}/runs; touch workspace/{directory}/out"
        self.action = Action(0, "one", command, products=("out",))
        self.store = Store(root)
        self.journal = Journal(root)
        self.synchronise()

    @property
    def state(self) -> State:
        stored = self.store.load().stored
        assert stored is not None
        return stored.state

    def synchronise(self) -> None:
        workflow = Workflow(self.root, actions=(self.action,))
        synchronise(self.store, workflow, disk=Disk(workers=Workers(1, 1)))

    def with_command(self, command: str) -> RealProject:
        self.action = self.action._replace(command=command)
        return self

    def plan(self, nonce: str = "", size: int = 1) -> Plan:
        """A plan for everything that is neither complete nor submitted.

        Leave out `nonce` where jobs run on this machine: each process of this user with the token
        of a job may be taken for one of it.
        """
        nonce = nonce or secrets.token_hex(6)
        state = self.state
        taken = state.completed["one"] | state.submitted_set("one")
        free = positions(state.everything & ~taken)
        groups = [
            Group(self.action, tuple(free[start : start + size]))
            for start in range(0, len(free), size)
        ]
        setting = Setting(self.cluster, Launchers({}), "2026-01-01T00:00:00Z", user_name(), nonce)
        workflow = Workflow(self.root, actions=(self.action,))
        return make_plan(draft_jobs(workflow, [job_requests(groups)], state.directories, setting))

    def tools(self, **rest: Any) -> Tools:
        return Tools(
            {self.cluster.name: self.access},
            self.journal,
            StoredReservations(self.store),
            self.root,
            **{"lookup_pause": 0.0, "look": self.completions, **rest},
        )

    @property
    def access(self) -> Access:
        return Access(self.scheduler, LocalSite(self.root))

    async def submit(self, plan: Plan, **rest: Any) -> list[SendingProgress]:
        return [progress async for progress in carry_out(plan, self.tools(**rest))]

    async def settle(self) -> tuple[ReconciledJob, ...]:
        reservations = StoredReservations(self.store)
        settled = await settle(self.journal, self.access, self.root, reservations=reservations)
        self.synchronise()
        return self.enter(settled)

    def completions(self, jobs: Sequence[OverJob]) -> list[SeenProducts]:
        """What `Jobs` gives a submission and the conclusions about ended jobs."""
        return look_at_ended(self.store, Workflow(self.root, actions=(self.action,)), jobs)

    def enter(
        self, settled: Iterable[ReconciledJob], reservations: StoredReservations | None = None
    ) -> tuple[ReconciledJob, ...]:
        """Conclude and record what was settled."""
        found = concluded(settled, self.completions, time.time())
        apply_settled(found, reservations or StoredReservations(self.store))
        return found

    async def wait(self) -> None:
        """Until none of the jobs in its journal is active: others may use the same scheduler."""
        plans = map(self.journal.latest, self.journal.plan_ids())
        mine = tuple({token.rpartition("-")[0] + "-" for latest in plans for token in latest})
        await eventually_async(
            self.scheduler.queue,
            lambda snapshot: (
                not snapshot.error
                and not any(it.state.active and it.token.startswith(mine) for it in snapshot.jobs)
            ),
        )

    def runs(self) -> dict[str, int]:
        """How often each directory's command ran."""
        found = {}
        for folder in (self.root / "workspace").iterdir():
            log = folder / "runs"
            found[folder.name] = len(log.read_text().splitlines()) if log.exists() else 0
        return found

    def steps(self, plan: Plan) -> list[str]:
        latest = self.journal.latest(plan.id)
        return [latest[job.token].step.value if job.token in latest else "" for job in plan.jobs]


@pytest.fixture
def scheduler(tmp_path: Path) -> LocalScheduler:
    return LocalScheduler(folder=tmp_path / "queue")


@pytest.fixture
def real(tmp_path: Path, scheduler: LocalScheduler) -> RealProject:
    return RealProject(tmp_path / "project", ["a", "b c", "d\udcff"], scheduler)
