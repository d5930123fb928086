"""A small project in memory that really changes: for tests, screenshots and for looking at.

It is an Engine with four actions over 240 directories and a make-believe scheduler with two
slots. Time passes only through `advance`, so that everything is the same on every run; `python -m
tests.tui.sample` opens the dashboard on it with a clock that ticks.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rowtui.core.base.errors import Problem, RowtuiError
from rowtui.core.base.text import Cost, in_words, plural
from rowtui.core.clusters.schedulers.base import Job, JobAnswer, JobState
from rowtui.core.clusters.schedulers.job_terms import JobTerms
from rowtui.core.clusters.transports.login import Asker
from rowtui.core.engine.api.groups import DirectoriesPage, DirectoryRow, GroupsPage, GroupSummary
from rowtui.core.engine.api.snapshot import ActionSummary, ProjectSnapshot
from rowtui.core.groups.model import Status
from rowtui.core.mapping.files.places import FileTrust
from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.project.context.questions import LoginQuestion, OpenQuestions, Withdrawn
from rowtui.core.project.next_attempt import AmountChange
from rowtui.core.project.planning.pack_views import PackChoice, PackedPlan
from rowtui.core.project.views.files import FileContent, json_lines
from rowtui.core.project.views.views import (
    AS_IS,
    ClusterView,
    FailedJob,
    JobsView,
    ListRequest,
    LogTail,
    PlacementExplanation,
    TransferView,
    WhatIfRequest,
)
from rowtui.core.runs.limits.limits import RunLimits
from rowtui.core.runs.service import RunStanding
from rowtui.core.runs.views import NetworkView, RedoView, SamplesPage, WaitPath
from rowtui.core.submission.plan.model import JobStep, Plan, PlannedDestination, PlannedJob
from rowtui.core.submission.plan.outcome import read_old_end
from rowtui.core.submission.plan.record import JobRecord
from rowtui.core.submission.sending.release_held import SendingProgress

from tests.core.engine.flat import FlatEngine
from tests.job_records import a_record
from tests.tui.sample_cluster_details import SampleClusterDetails
from tests.tui.sample_lists import directories_page, groups_page
from tests.tui.sample_logs import SampleLogs
from tests.tui.sample_needs import SampleNeeds
from tests.tui.sample_past import SamplePast
from tests.tui.sample_queue import SampleQueue
from tests.tui.sample_review import SampleReview

if TYPE_CHECKING:
    from tests.tui.sample_network import SampleNetwork

START = 1_795_236_600.0
RUN_SECONDS = 60
SLOTS = 2


@dataclass(frozen=True)
class SampleAction:
    name: str
    command: str
    previous: tuple[str, ...]
    product: str
    per_group: int
    processes: int
    walltime: int
    gpus: int = 0
    sort_by: tuple[str, ...] = ()


ACTIONS = (
    SampleAction(
        "initialize", "python project.py initialize {directory}", (), "init.gsd", 40, 1, 600
    ),
    SampleAction(
        "equilibrate", "python project.py equilibrate {directories}", ("initialize",),
        "equilibrated.gsd", 12, 16, 14_400, sort_by=("/T",),
    ),
    SampleAction(
        "sample", "python project.py sample {directories}", ("equilibrate",),
        "trajectory.gsd", 8, 32, 43_200, sort_by=("/T", "/rho"),
    ),
    SampleAction(
        "analyze", "python project.py analyze {directory}", ("sample",), "rdf.json", 30, 1, 900
    ),
)  # fmt: skip


@dataclass
class SampleJob:
    record: JobRecord
    state: JobState = JobState.PENDING
    started: float = 0.0
    ended: float = 0.0
    limit: int = 3600
    log: list[str] = field(default_factory=list)
    fails: bool = False
    reason: str = ""


class SampleEngine(
    SampleQueue, SampleNeeds, SampleClusterDetails, SampleLogs, SamplePast, SampleReview, FlatEngine
):
    """An Engine over dictionaries. `advance` lets time pass; the rest is what any engine does."""

    def __init__(
        self,
        *,
        actions: Sequence[SampleAction] = ACTIONS,
        directories: int = 240,
        fresh: bool = False,
        live: bool = False,
    ) -> None:
        super().__init__()
        FlatEngine.__init__(self)
        self.actions = tuple(actions)
        self.values = dict(_directories(directories))
        self.names = sorted(self.values)
        self.now = START
        self.generation = 1
        self.live = live
        self.completed: dict[str, set[str]] = {action.name: set() for action in self.actions}
        self.failed: dict[str, dict[str, str]] = {action.name: {} for action in self.actions}
        self.jobs_by_token: dict[str, SampleJob] = {}
        self.problems: tuple[Problem, ...] = ()
        self.notices: tuple[str, ...] = ()
        self.bad: tuple[tuple[str, str], ...] = ()
        self.refresh_error: Exception | None = None
        self.plan_error: Exception | None = None
        self.group_problems: dict[int, str] = {}  # by the group's number
        self.group_warnings: dict[int, str] = {}
        self.groups_not_whole: set[int] = set()
        self.pack_error: Exception | None = None
        self.pack_gate: Callable[[PackChoice], Awaitable[None]] | None = None
        self.packings: list[PackChoice] = []  # what was asked for, in order
        self.queue_error = ""
        self.remote: dict[str, ClusterView] = {}  # without our jobs, which are added
        self.logins: dict[
            str, Callable[[Asker], Awaitable[None]]
        ] = {}  # what `connect` goes through
        self.refusals: dict[str, str] = {}  # token -> why its cancel, hold or release is refused
        self.calls: list[str] = []
        self.submitted_plans: list[Plan] = []
        self.project_run: RunStanding | None = None
        self.destination = self.scheduler = "local"  # of all planned jobs
        self.transfer_views: tuple[TransferView, ...] = ()
        self.transfers_gate: asyncio.Event | None = None  # waited for before they are known
        self.transfers_error: Exception | None = None
        self.gate: Callable[[int], object] | None = None  # awaited before each job that is sent
        self.graph: SampleNetwork | None = None  # with_network() gives one
        self.mapping_text: str | bytes | None = (
            None  # a mapping file's text instead of the sample's
        )
        self.trusted = True
        self.explain_error: Exception | None = None
        self.explain_gate: Callable[[WhatIfRequest | None], Awaitable[None]] | None = None
        self.wondered: list[WhatIfRequest | None] = []  # what was asked, in order
        self._next_id = 4711
        self._listeners: list[asyncio.Queue[str]] = []
        self._questions = OpenQuestions()
        self._closed = False
        if not fresh and len(self.actions) == len(ACTIONS) and directories == 240:
            self._some_history()

    def _some_history(self) -> None:
        names = self.names
        self.completed["initialize"] = set(names)
        self.completed["equilibrate"] = set(names[:150])
        self.completed["sample"] = set(names[:64])
        self.completed["analyze"] = set(names[:30])
        for at in (3, 4, 5):
            name = names[150 + at]
            self.failed["equilibrate"][name] = "exit code 2"
        for start, action in ((64, 2), (72, 2), (160, 1)):
            size = self.actions[action].per_group
            self._queue(self.actions[action], tuple(names[start : start + size]))
        self.advance(25)
        done = self._queue(self.actions[3], tuple(names[:30]))
        done.state, done.started, done.ended = JobState.COMPLETED, self.now - 400, self.now - 340
        done.record = done.record._replace(
            step=JobStep.ENDED, end=read_old_end(0, "", self.now - 340)
        )
        lost = self._queue(self.actions[1], tuple(names[153:156]))
        lost.state, lost.started, lost.ended = JobState.FAILED, self.now - 300, self.now - 290
        lost.record = lost.record._replace(
            step=JobStep.ENDED,
            end=read_old_end(2, "exit code 2", self.now - 290),
        )
        lost.log += ["Traceback (most recent call last):", "FloatingPointError: NaN in forces"]

    # Time

    def advance(self, seconds: float) -> None:
        """Let time pass: jobs start, write their logs, end; directories complete."""
        self.now += seconds
        changed = False
        for job in self.jobs_by_token.values():
            if job.state is JobState.RUNNING:
                steps = int((self.now - job.started) // 10)
                while len(job.log) < 1 + steps:
                    at = len(job.log)
                    name = job.record.directories[(at - 1) % len(job.record.directories)]
                    job.log.append(f"{name}  step {at * 100_000:>9,}  E {-5.4 - at / 1000:.3f}")
                if self.now - job.started >= RUN_SECONDS:
                    self._end(job)
                    changed = True
        running = sum(1 for job in self.jobs_by_token.values() if job.state is JobState.RUNNING)
        for job in self.jobs_by_token.values():
            if job.state is JobState.PENDING and running < SLOTS:
                job.state, job.started = JobState.RUNNING, self.now
                job.log.append(f"{job.record.action}: {len(job.record.directories)} directories")
                running += 1
                changed = True
        if changed:
            self.tell("jobs")

    def _end(self, job: SampleJob) -> None:
        job.ended = self.now
        action = job.record.action
        code = 2 if job.fails else 0
        job.state = JobState.FAILED if job.fails else JobState.COMPLETED
        reason = "exit code 2" if job.fails else ""
        job.record = job.record._replace(
            step=JobStep.ENDED, end=read_old_end(code, reason, self.now)
        )
        for name in job.record.directories:
            if job.fails:
                self.failed[action][name] = reason
            else:
                self.completed[action].add(name)
                self.failed[action].pop(name, None)
        job.log.append("done" if not job.fails else "error: it did not work")

    def complete(self, action: str, names: Sequence[str]) -> None:
        """Somebody made products by hand."""
        self.completed[action] |= set(names)
        self.tell("completed")

    def tell(self, word: str) -> None:
        """Something changed on disk."""
        self.generation += 1
        for queue in self._listeners:
            queue.put_nowait(word)

    # What is where

    def _status(self, action: SampleAction, name: str) -> Status:
        if name in self.completed[action.name]:
            return Status.COMPLETED
        if name in self._submitted(action.name):
            return Status.SUBMITTED
        if any(name not in self.completed[before] for before in action.previous):
            return Status.WAITING
        return Status.FAILED if name in self.failed[action.name] else Status.ELIGIBLE

    def _submitted(self, action: str) -> dict[str, str]:
        return {
            name: f"{job.record.cluster}/{job.record.job_id}"
            for job in self.jobs_by_token.values()
            if job.state.active and job.record.action == action
            for name in job.record.directories
        }

    def _groups(self, index: int, statuses: Sequence[Status]) -> list[tuple[str, ...]]:
        action = self.actions[index]
        wanted = set(statuses) | ({Status.FAILED} if Status.ELIGIBLE in statuses else set())
        submitted = self._submitted(action.name)
        names = [
            name
            for name in self.names
            if (
                Status.SUBMITTED
                if name in submitted and name not in self.completed[action.name]
                else self._status_quick(action, name)
            )
            in wanted
        ]
        groups: list[tuple[str, ...]] = []
        for key in sorted({self._sort_key(action, name) for name in names}):
            same = [name for name in names if self._sort_key(action, name) == key]
            size = action.per_group
            groups += [tuple(same[at : at + size]) for at in range(0, len(same), size)]
        return groups

    def _status_quick(self, action: SampleAction, name: str) -> Status:
        if name in self.completed[action.name]:
            return Status.COMPLETED
        if any(name not in self.completed[before] for before in action.previous):
            return Status.WAITING
        return Status.FAILED if name in self.failed[action.name] else Status.ELIGIBLE

    def _sort_key(self, action: SampleAction, name: str) -> tuple[float, ...]:
        return tuple(self.values[name][pointer[1:]] for pointer in action.sort_by)

    def _cost(self, action: SampleAction, directories: int) -> Cost:
        hours = action.processes * action.walltime / 3600
        jobs = -(-directories // action.per_group)
        return Cost(jobs * hours, 0.0)

    # Engine

    async def refresh(self, *, full: bool = False) -> ProjectSnapshot:
        self.calls.append("refresh full" if full else "refresh")
        await asyncio.sleep(0)
        if self.refresh_error is not None:
            raise self.refresh_error
        summaries = []
        for index, action in enumerate(self.actions):
            counts = dict.fromkeys(Status, 0)
            submitted = self._submitted(action.name)
            for name in self.names:
                status = self._status_quick(action, name)
                if status is not Status.COMPLETED and name in submitted:
                    status = Status.SUBMITTED
                counts[status] += 1
            left = len(self.names) - counts[Status.COMPLETED]
            summaries.append(
                ActionSummary(
                    index=index,
                    name=action.name,
                    command=action.command,
                    completed=counts[Status.COMPLETED],
                    submitted=counts[Status.SUBMITTED],
                    eligible=counts[Status.ELIGIBLE] + counts[Status.FAILED],
                    waiting=counts[Status.WAITING],
                    failed=counts[Status.FAILED],
                    remaining_cost=self._cost(action, left),
                    products=(action.product,),
                    previous_actions=action.previous,
                    resources=f"{plural(action.processes, 'CPU')}, "
                    + in_words(action.walltime / 3600),
                    grouping=f"at most {action.per_group} directories"
                    + (f" with the same {action.sort_by[0][1:]}" if action.sort_by else ""),
                )
            )
        return ProjectSnapshot(
            generation=self.generation,
            at=self.now,
            root="/home/someone/lj-fluid",
            cluster="local",
            cluster_because="no other cluster identified itself",
            scheduler="local",
            directories=len(self.names),
            bad=self.bad,
            bad_count=len(self.bad),
            actions=tuple(summaries),
            problems=self.problems,
            notices=self.notices,
            failures=self.failure_causes(),
            untrusted=tuple(self.untrusted),
            run=self.project_run,
        )

    async def groups_page(
        self,
        action_index: int,
        statuses: Sequence[Status],
        start: int,
        length: int,
        *,
        asked: ListRequest = AS_IS,
        find: str = "",
    ) -> GroupsPage:
        self.calls.append("groups")
        await asyncio.sleep(0)
        action = self.actions[action_index]
        groups = self._groups(action_index, statuses)
        shown = [
            GroupSummary(
                number=number,
                size=len(names),
                first=names[0],
                sort_key=json.dumps(list(self._sort_key(action, names[0])))
                if action.sort_by
                else "",
                processes=action.processes,
                cpus=action.processes,
                gpus=action.gpus,
                walltime_seconds=action.walltime,
                cost=Cost(action.processes * action.walltime / 3600, 0.0),
                problem=self.group_problems.get(number, ""),
                warning=self.group_warnings.get(number, ""),
                whole=number not in self.groups_not_whole,
            )
            for number, names in enumerate(groups, 1)
        ]
        about = (self.generation, action_index, start, length)
        page = groups_page(about, shown, self.values, asked, find)
        return replace(page, sort_by=action.sort_by)

    async def groups_members(
        self,
        action_index: int,
        statuses: Sequence[Status],
        group: int | None,
        start: int,
        length: int,
        *,
        asked: ListRequest = AS_IS,
    ) -> DirectoriesPage:
        await asyncio.sleep(0)
        action = self.actions[action_index]
        groups = self._groups(action_index, statuses)
        if group is None:
            names = [name for names in groups for name in names]
        else:
            names = list(groups[group]) if group < len(groups) else []
        rows = self._directory_rows(action, names)
        return directories_page((self.generation, start, length), rows, self.values, asked)

    async def groups_directories(
        self,
        action_index: int,
        statuses: Sequence[Status],
        start: int,
        length: int,
        *,
        asked: ListRequest = AS_IS,
        find: str = "",
    ) -> DirectoriesPage:
        self.calls.append("directories")
        await asyncio.sleep(0)
        action = self.actions[action_index]
        names = sorted(name for names in self._groups(action_index, statuses) for name in names)
        rows = self._directory_rows(action, names)
        about = (self.generation, start, length)
        return directories_page(about, rows, self.values, asked, action.sort_by, find)

    def _directory_rows(self, action: SampleAction, names: Sequence[str]) -> list[DirectoryRow]:
        submitted = self._submitted(action.name)
        return [
            DirectoryRow(
                name,
                self._status(action, name),
                json.dumps(self.values[name]),
                submitted.get(name, ""),
                self.failed[action.name].get(name, ""),
            )
            for name in names
        ]

    async def mapping_explain(
        self,
        action_index: int,
        statuses: Sequence[Status],
        group: int,
        what_if: WhatIfRequest | None = None,
    ) -> PlacementExplanation:
        from tests.tui.sample_mapping import MAPPING, decision_of, mapper_of

        self.calls.append("explain")
        self.wondered.append(what_if)
        await asyncio.sleep(0)
        if self.explain_gate is not None:
            await self.explain_gate(what_if)
        if self.explain_error is not None:
            raise self.explain_error
        action = self.actions[action_index]
        groups = self._groups(action_index, statuses)
        about = (self.generation, action_index, group + 1, len(groups))
        if group >= len(groups):
            return PlacementExplanation(*about, 0, "", None, problem="no such group")
        mapper = mapper_of(
            MAPPING if self.mapping_text is None else self.mapping_text, sealed=not self.trusted
        )
        decision = decision_of(
            mapper,
            action.name,
            groups[group],
            cores=action.processes,
            walltime=action.walltime,
            what_if=what_if,
        )
        return PlacementExplanation(
            *about,
            len(groups[group]),
            groups[group][0],
            decision,
            (FileTrust("mapping.yml", self.trusted, ""),),
            mapper.configuration.problems,
            loads_at=self.now - 12,
        )

    async def plans_stop_run(self) -> None:
        assert self.project_run is not None
        self.project_run = self.project_run._replace(driver="", why="its user stopped it")

    async def plans_confirm_run(self, limits: RunLimits) -> None:
        assert self.project_run is not None
        self.project_run = self.project_run._replace(limits=limits)

    async def plans_make(
        self,
        action_index: int | None,
        groups: Sequence[int] | None,
        limit: int | None,
        *,
        directories: Sequence[str] | None = None,
    ) -> Plan:
        self.calls.append("plan")
        await asyncio.sleep(0)
        if self.plan_error is not None:
            raise self.plan_error
        indices = range(len(self.actions)) if action_index is None else [action_index]
        jobs = []
        for index in indices:
            formed = self._groups(index, (Status.ELIGIBLE,))
            if directories is not None:
                some = [tuple(n for n in names if n in directories) for names in formed]
                formed = [names for names in some if names]
            chosen = range(len(formed)) if groups is None else groups
            jobs += [self._planned(index, formed[number]) for number in chosen]
        jobs = jobs[:limit]
        if not jobs:
            raise RowtuiError("there is nothing to submit", "no directory is eligible")
        cost = Cost(sum(job.cost.cpu_hours for job in jobs), 0.0)
        return Plan(
            f"plan-{self.generation}-{len(jobs)}", "2026-11-21T04:50:00Z", "someone",
            self.destination, self.scheduler, tuple(jobs), cost,
        )  # fmt: skip

    async def plans_pack(
        self,
        action_index: int | None,
        groups: Sequence[int] | None,
        limit: int | None,
        choice: PackChoice,
    ) -> PackedPlan:
        from tests.tui.sample_packing import packed

        self.calls.append("pack")
        self.packings.append(choice)
        if self.pack_gate is not None:
            await self.pack_gate(choice)
        if self.pack_error is not None:
            raise self.pack_error
        return packed(await self.plans_make(action_index, groups, limit), choice)

    def _planned(self, index: int, names: tuple[str, ...]) -> PlannedJob:
        action = self.actions[index]
        token = f"{action.name}-{names[0]}-{self._next_id}-{self.generation}"
        command = action.command.replace("{directory}", '"${directory}"')
        command = command.replace("{directories}", '"${directories[@]}"')
        quoted = " ".join(f"'{name}'" for name in names)
        script = f"""#!/bin/bash
#SBATCH --job-name={action.name}-{names[0]}+{len(names) - 1}
#SBATCH --ntasks={action.processes}
#SBATCH --time={action.walltime // 60}
# {action.name}: {len(names)} directories

set -e
cd workspace
directories=({quoted})
export ACTION_CLUSTER="{self.destination}"
trap 'printf "%s\\n" "the job was stopped" >&2' TERM

for directory in "${{directories[@]}}"; do
    echo "working on ${{directory}}"
    {command}
    if [ ! -f "${{directory}}/{action.product}" ]; then
        exit 2
    fi
done
"""
        warnings = ()
        if len(names) < action.per_group // 2:
            warnings = (f"only {len(names)} of up to {action.per_group} directories",)
        return PlannedJob(
            token=token,
            name=f"{action.name}-{names[0]}+{len(names) - 1}",
            action=action.name,
            action_index=index,
            directories=names,
            destination=PlannedDestination(self.destination),
            script=script,
            log_path=f"logs/{action.name}-%j.out",
            processes=action.processes,
            cpus=action.processes,
            gpus=action.gpus,
            memory_mb=None,
            walltime_seconds=action.walltime,
            cost=Cost(action.processes * action.walltime / 3600, 0.0),
            warnings=warnings,
            reasons=(f"{self.destination}: the only cluster that identified itself",),
        )

    async def plans_failed_jobs(
        self, action_index: int, groups: Sequence[int] | None
    ) -> tuple[FailedJob, ...]:
        await asyncio.sleep(0)
        action = self.actions[action_index].name
        formed = self._groups(action_index, (Status.FAILED,))
        chosen = range(len(formed)) if groups is None else groups
        names = {name for number in chosen for name in formed[number]}
        found = []
        for token, job in self.jobs_by_token.items():
            here = names.intersection(job.record.directories)
            if job.record.action == action and job.state.bad and here:
                names -= here
                cause = self.failed[action][min(here)]
                found.append(FailedJob(token, str(job.record.key), action, cause, len(here)))
        return tuple(found)

    async def plans_again(self, tokens: Sequence[str], change: AmountChange) -> Plan:
        from tests.tui.sample_again import tried_again

        self.calls.append(f"plan_again {change}".strip())
        await asyncio.sleep(0)
        if self.plan_error is not None:
            raise self.plan_error
        jobs, skipped = [], []
        for token in tokens:
            record = self.jobs_by_token[token].record
            names = tuple(name for name in record.directories if name in self.failed[record.action])
            if names:
                index = [action.name for action in self.actions].index(record.action)
                jobs.append(tried_again(self._planned(index, names), record, change))
            else:
                skipped.append(f"job {record.key}: nothing of it is to be tried again")
        cost = Cost(sum(job.cost.cpu_hours for job in jobs), 0.0)
        return Plan(
            f"again-{self.generation}-{len(jobs)}", "2026-11-21T04:50:00Z", "someone", "local",
            "local", tuple(jobs), cost, skipped=tuple(skipped),
        )  # fmt: skip

    async def plans_transfers(self, plan: Plan) -> tuple[TransferView, ...]:
        self.calls.append("transfers")
        await asyncio.sleep(0)
        if self.transfers_gate is not None:
            await self.transfers_gate.wait()
        if self.transfers_error is not None:
            raise self.transfers_error
        return self.transfer_views

    async def plans_submit(self, plan: Plan) -> AsyncIterator[SendingProgress]:
        self.calls.append("submit")
        self.submitted_plans.append(plan)
        for view in self.transfer_views:
            said = f"copying to {view.cluster}: 1 of {view.files} files and folders"
            yield SendingProgress(0, len(plan.jobs), "", said, copies_to=view.cluster)
            if self.gate is not None:
                await self.gate(0)  # type: ignore[misc]
        for number, job in enumerate(plan.jobs, 1):
            yield SendingProgress(number - 1, len(plan.jobs), job.token, f"submitting {job.name}")
            if self.gate is not None:
                await self.gate(number)  # type: ignore[misc]
            elif self.live:
                await asyncio.sleep(0.3)
            else:
                await asyncio.sleep(0)
            action = self.actions[job.action_index]
            queued = self._queue(action, job.directories, job.token)
            self.generation += 1
            yield SendingProgress(
                number, len(plan.jobs), job.token, f"job {queued.record.job_id}", "",
                JobStep.ACCEPTED,
            )  # fmt: skip
        self.advance(0)
        self.tell("jobs")

    def _queue(self, action: SampleAction, names: tuple[str, ...], token: str = "") -> SampleJob:
        self._next_id += 1
        record = a_record(
            token or f"{action.name}-{names[0]}-{self._next_id}",
            action=action.name,
            directories=names,
            name=f"{action.name}-{names[0]}+{len(names) - 1}",
            job_id=self._next_id,
            at=self.now,
            log_path=f"logs/{action.name}-{self._next_id}.out",
        )
        job = SampleJob(record, limit=action.walltime)
        self.jobs_by_token[record.token] = job
        for name in names:
            self.failed[action.name].pop(name, None) if token else None
        return job

    def all_jobs(self) -> JobsView:
        views = tuple(self._view(job) for job in reversed(self.jobs_by_token.values()))
        clusters = [ClusterView("local", "local", as_of=self.now, error=self.queue_error)]
        clusters += self.remote.values()
        known = tuple(
            cluster._replace(jobs=_as_jobs(views, cluster.name) + cluster.jobs)
            for cluster in clusters
        )
        return JobsView(self.generation, self.now, views, self.queue_error, known)

    def _view(self, job: SampleJob) -> JobRecord:
        if job.state.active:
            elapsed = int(self.now - job.started) if job.started else None
        else:
            elapsed = int(job.ended - job.started) if job.started else 0
        reason = job.reason or ("Resources" if job.state is JobState.PENDING else "")
        its = job.record
        queued = Job(
            its.job_id, job.state, its.name, its.token, reason, its.partition, elapsed, job.limit,
            task=its.task,
        )  # fmt: skip
        end = its.end and its.end._replace(seconds=float(elapsed or 0))
        return its._replace(queued=queued, end=end)

    async def jobs_cancel(self, tokens: Sequence[str]) -> tuple[JobAnswer, ...]:
        self.calls.append("cancel")
        return await self._act(tokens, self._cancel, lambda state: state.active)

    def _cancel(self, job: SampleJob) -> None:
        job.state, job.ended = JobState.CANCELLED, self.now
        job.record = job.record._replace(
            step=JobStep.ENDED, end=read_old_end(None, "cancelled", self.now)
        )
        for name in job.record.directories:
            self.failed[job.record.action][name] = "cancelled"

    async def jobs_hold(self, tokens: Sequence[str]) -> tuple[JobAnswer, ...]:
        self.calls.append("hold")
        return await self._act(
            tokens,
            lambda job: setattr(job, "state", JobState.HELD),
            lambda state: state is JobState.PENDING,
        )

    async def jobs_release(self, tokens: Sequence[str]) -> tuple[JobAnswer, ...]:
        self.calls.append("release")
        return await self._act(
            tokens,
            lambda job: setattr(job, "state", JobState.PENDING),
            lambda state: state is JobState.HELD,
        )

    async def jobs_change(self, tokens: Sequence[str], change: JobTerms) -> tuple[JobAnswer, ...]:
        self.calls.append("change")

        def act(job: SampleJob) -> None:
            job.limit = change.limit or job.limit

        return await self._act(tokens, act, lambda state: state.waits)

    async def _act(
        self,
        tokens: Sequence[str],
        act: Callable[[SampleJob], None],
        can: Callable[[JobState], bool],
    ) -> tuple[JobAnswer, ...]:
        await asyncio.sleep(0)
        answers = []
        for token in tokens:
            job = self.jobs_by_token[token]
            error = self.refusals.get(token, "") or ("" if can(job.state) else "it is too late")
            if not error:
                act(job)
            answers.append(JobAnswer(job.record.key, error))
        self.tell("jobs")
        return tuple(answers)

    # Logins

    async def clusters_connect(self, cluster: str) -> None:
        self.calls.append(f"connect {cluster}")
        await asyncio.sleep(0)
        if cluster in self.logins:
            await self.logins[cluster](self._questions.asker(cluster))
        self.remote[cluster] = self.remote[cluster]._replace(
            connected=True, login="", error="", as_of=self.now, next_at=self.now + 60
        )

    async def clusters_questions(self) -> AsyncIterator[LoginQuestion | Withdrawn]:
        async for question in self._questions.stream():
            yield question

    def clusters_answer(self, number: int, answers: Sequence[str] | None) -> None:
        self._questions.answer(number, answers)

    async def logs_tail(self, token: str, lines: int) -> LogTail:
        await asyncio.sleep(0)
        job = self.jobs_by_token[token]
        path = job.record.log_path
        if not job.started:
            return LogTail(path, 0, (), "the log does not exist yet: the job has not started")
        text = tuple(job.log[-lines:])
        return LogTail(path, sum(len(one) + 1 for one in job.log), text)

    async def changes(self) -> AsyncIterator[str]:
        queue: asyncio.Queue[str] = asyncio.Queue()
        self._listeners.append(queue)
        try:
            while not self._closed:
                if not self.live:
                    yield await queue.get()
                    continue
                try:
                    async with asyncio.timeout(1.0):
                        yield await queue.get()
                except TimeoutError:
                    self.advance(5)
        finally:
            self._listeners.remove(queue)

    # The network: none, unless a test gives one

    async def network_view(self, *, frozen: bool = True) -> NetworkView | None:
        await asyncio.sleep(0)
        return None if self.graph is None else self.graph.view(frozen=frozen)

    async def network_samples(
        self,
        node: str,
        states: Sequence[GraphJobState],
        start: int,
        length: int,
        *,
        frozen: bool = True,
        asked: ListRequest = AS_IS,
        find: str = "",
    ) -> SamplesPage:
        assert self.graph is not None
        await asyncio.sleep(0)
        return self.graph.samples(node, states, start, length, asked, find)

    async def network_product(self, action: str, directory: str, name: str) -> FileContent:
        lines = tuple(json_lines('{"energy": -5.412, "samples": [1, 2]}'))
        return FileContent("energy.json", "json", 40, 0.0, lines)

    async def network_waits(self, job: int) -> WaitPath:
        assert self.graph is not None
        return self.graph.waits(job)

    async def network_redo_view(self, jobs: Sequence[int]) -> RedoView:
        assert self.graph is not None
        return self.graph.redo_view(jobs)

    async def network_redo(self, jobs: Sequence[int], expected: int) -> tuple[int, tuple[str, ...]]:
        assert self.graph is not None
        done = await self.graph.redo(jobs, expected)
        self.tell("network")
        return done

    async def network_dependents(self, jobs: Sequence[int]) -> int:
        return 5 * len(jobs)

    async def network_start(self, limits: RunLimits, *, anew: bool = False) -> None:
        assert self.graph is not None
        await self.graph.start(limits, anew=anew)
        self.tell("network")

    async def network_stop(self) -> None:
        assert self.graph is not None
        await self.graph.stop()
        self.tell("network")

    async def network_plan(self) -> tuple[Plan | None, tuple[str, ...]]:
        assert self.graph is not None
        await self.graph.act("plan")
        return self.graph.plan, self.graph.blocked

    async def network_retry(self, jobs: Sequence[int]) -> None:
        assert self.graph is not None
        await self.graph.retry(jobs)
        self.tell("network")

    async def network_cancel(self, jobs: Sequence[int]) -> None:
        assert self.graph is not None
        await self.graph.cancel(jobs)
        self.tell("network")

    async def close(self) -> None:
        self._closed = True


def _as_jobs(records: Sequence[JobRecord], cluster: str) -> tuple[Job, ...]:
    """Our jobs on a cluster as its scheduler has them."""
    return tuple(
        it.queued
        for it in records
        if it.cluster == cluster and (it.state.active or cluster != "local") and it.queued
    )


def _directories(count: int) -> list[tuple[str, dict[str, float]]]:
    found = []
    for at in range(count):
        temperature, rest = divmod(at, 40)
        density, seed = divmod(rest, 5)
        value = {
            "T": round(0.7 + temperature / 10, 2),
            "rho": round(0.1 + density / 10, 2),
            "seed": seed + 1,
        }
        name = f"T{value['T']:.1f}-rho{value['rho']:.1f}-s{seed + 1}"
        found.append((name, value))
    return found


def main() -> int:
    import time

    from rowtui.tui.shell.app import run_dashboard

    engine = SampleEngine(live=True)
    engine.now = time.time()
    return run_dashboard(engine)


if __name__ == "__main__":
    raise SystemExit(main())
