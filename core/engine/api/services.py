"""Requests about jobs, plans, the network and what ran when: the services of an engine.

`groups` holds the service for groups and directories, whose pages have types of their own.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Protocol

from rowtui.core.project.views.views import AS_IS, ROW, ListRequest

if TYPE_CHECKING:
    from rowtui.core.clusters.schedulers.base import JobAnswer
    from rowtui.core.clusters.schedulers.job_terms import JobTerms
    from rowtui.core.groups.model import Status
    from rowtui.core.network.graph.job_model import GraphJobState
    from rowtui.core.project.next_attempt import AmountChange
    from rowtui.core.project.planning.pack_views import PackChoice, PackedPlan
    from rowtui.core.project.queue.rows import MarkedRow, RowKey
    from rowtui.core.project.queue.views import (
        Acted,
        ChosenJobs,
        JobDetail,
        PresentTerms,
        QueuePage,
        QueueRequest,
        ShellBeside,
    )
    from rowtui.core.project.review.views import (
        ExportedFiles,
        PlanCheck,
        ScriptBefore,
        ScriptRequest,
    )
    from rowtui.core.project.views.files import FileContent, FolderListing
    from rowtui.core.project.views.mapping_trust import MappingReview
    from rowtui.core.project.views.views import (
        Edit,
        EditRequest,
        FailedJob,
        JobsView,
        LogHit,
        LogPage,
        LogState,
        LogTail,
        PlacementExplanation,
        TransferView,
        WhatIfRequest,
    )
    from rowtui.core.runs.limits.limits import RunLimits
    from rowtui.core.runs.views import NetworkView, RedoView, SamplesPage, WaitPath
    from rowtui.core.submission.plan.model import Plan
    from rowtui.core.submission.plan.record import JobRecord
    from rowtui.core.submission.sending.release_held import SendingProgress
    from rowtui.core.usage.past import PastRequest, PastView
    from rowtui.core.usage.running import UsageNow
    from rowtui.core.usage.table import UsageRow


class JobsService(Protocol):
    """The jobs of this project, and verbs on them by token."""

    async def view(self, *, now: bool = False) -> JobsView:
        """Return the newest jobs of the project, counts of all jobs, and the clusters.

        Queues are polled where due, or all of them with `now`.
        """

    async def find(self, action: str, directory: str) -> JobRecord | None:
        """Return the newest job of an action with this directory; None if there is none."""

    async def named(self, label: str) -> JobRecord | None:
        """Return the newest job of the project with this label, `4711_3`; None if there is none."""

    async def cancel(self, tokens: Sequence[str]) -> tuple[JobAnswer, ...]:
        """Cancel these jobs."""

    async def hold(self, tokens: Sequence[str]) -> tuple[JobAnswer, ...]:
        """Hold these jobs."""

    async def release(self, tokens: Sequence[str]) -> tuple[JobAnswer, ...]:
        """Release these jobs."""


class QueueService(Protocol):
    """The jobs of all clusters in one list, and verbs on its rows."""

    async def page(self, asked: QueueRequest, start: int, length: int) -> QueuePage:
        """Return a page of the jobs of all clusters, arrays and bundles folded, as last polled."""

    async def all_of(self, asked: QueueRequest, which: str) -> tuple[MarkedRow, ...]:
        """Return the rows of this project with jobs that are `active` or `failed`; bounded."""

    async def marked(self, keys: Sequence[RowKey]) -> tuple[MarkedRow, ...]:
        """Return rows in their present state, without rows that no longer exist."""

    async def chosen(self, keys: Sequence[RowKey], verb: str) -> ChosenJobs:
        """Return the jobs to which `cancel`, `hold`, `release` or `retry` would apply."""

    async def act(self, keys: Sequence[RowKey], verb: str) -> Acted:
        """Cancel, hold or release the jobs of these rows; a refusal does not stop the others."""

    async def terms(self, keys: Sequence[RowKey]) -> PresentTerms:
        """Return the present terms of the jobs of these rows that wait. Raises: RowtuiError."""

    async def change(self, keys: Sequence[RowKey], change: JobTerms) -> Acted:
        """Change the jobs of these rows that wait; a refusal does not stop the others."""

    async def detail(self, key: RowKey, *, estimate: bool = False) -> JobDetail:
        """Return what its scheduler reports about a job, at most a minute ago.

        `estimate`: also when the job starts. The answer states what a scheduler does not offer.
        """

    async def shell(self, key: RowKey) -> ShellBeside:
        """Return what opens a shell beside a running job of this project. Raises: RowtuiError."""

    async def used(self, key: RowKey) -> UsageNow | None:
        """Return what a job of this project uses now, or used if it has ended.

        A cluster is asked at most once in each polling interval: None if it was asked by now, or
        if nothing is known.
        """


class LogsService(Protocol):
    """The logs of jobs, of any size, on any machine; and the files of directories.

    `token` names the log of a job, or a file: `/` and the path of the file in the workspace.
    """

    async def files(self, folder: str) -> FolderListing:
        """Return the entries of a folder in the workspace; bounded. Raises: RowtuiError."""

    async def file(self, path: str, *, as_text: bool = False) -> FileContent:
        """Return a file of the workspace by its kind, or as a text; bounded. Raises: RowtuiError.

        The content of a text is read with `look` and `page`.
        """

    async def look(self, token: str, *, earlier: bool = False, width: int = ROW) -> LogState:
        """Return what is known of a log now; its `error` gives the reason if it is
        unreadable.

        Reading begins at the end; with `earlier`, rows before the first known one are read too.
        `width`: bytes after which a line continues in the next row.
        """

    async def page(self, token: str, start: int, length: int, *, width: int = ROW) -> LogPage:
        """Return rows of a log, at the width of an earlier `log_look`. Raises: RowtuiError."""

    async def find(
        self, token: str, text: str, start: int, *, backwards: bool = False, width: int = ROW
    ) -> LogHit:
        """Return the next row after (before) `start` with this text, among the known rows.

        The text may be `~` and a regular expression, or "!" for likely errors. Raises: RowtuiError.
        """

    async def tail(self, token: str, lines: int) -> LogTail:
        """Return the last lines of a job's log."""


class MappingService(Protocol):
    """Where jobs would go, and the files that decide it."""

    async def explain(
        self,
        action_index: int,
        statuses: Sequence[Status],
        group: int,
        what_if: WhatIfRequest | None = None,
    ) -> PlacementExplanation:
        """Explain where the job of group `group` (from 0) of these statuses would go."""

    async def edit_workflow(self, asked: EditRequest) -> Edit:
        """Preview or write a what-if as a change of workflow.toml, or undo such a change.

        The answer contains the reason if the change is impossible. Raises: RowtuiError if a
        confirmed change is not written.
        """

    async def file(self, place: str) -> MappingReview:
        """Return a mapping file for the user to review before trusting it. Raises: RowtuiError."""

    async def trust(self, place: str, digest: str) -> None:
        """Allow the code of this content to run as this user. Raises: RowtuiError if it changed."""


class PlansService(Protocol):
    """Plans of submissions, their review, and their submission."""

    async def make(
        self,
        action_index: int | None,
        groups: Sequence[int] | None,
        limit: int | None,
        *,
        directories: Sequence[str] | None = None,
    ) -> Plan:
        """Plan a submission: one action or all; these eligible groups (from 0) or all.

        `directories`: groups are formed only of these.
        """

    async def pack(
        self,
        action_index: int | None,
        groups: Sequence[int] | None,
        limit: int | None,
        choice: PackChoice,
    ) -> PackedPlan:
        """Plan in bundles: the number of nodes of each type, with costs and savings."""

    async def transfers(self, plan: Plan) -> tuple[TransferView, ...]:
        """Return what a plan would copy to clusters without access to the project's folder."""

    async def failed_jobs(
        self, action_index: int, groups: Sequence[int] | None
    ) -> tuple[FailedJob, ...]:
        """Return the jobs in which these groups (from 0; None: all) of directories failed."""

    async def again(self, tokens: Sequence[str], change: AmountChange) -> Plan:
        """Return a plan that retries the failed directories of these jobs."""

    def review(self, plan: Plan) -> AsyncIterator[PlanCheck]:
        """Yield the checks of a plan: all as pending at once, then each again when it is done."""

    async def script_before(self, asked: ScriptRequest) -> ScriptBefore | None:
        """Return the script last submitted for this action on this cluster, or a similar one."""

    async def without(self, plan: Plan, tokens: Sequence[str]) -> Plan:
        """Return a plan without these jobs and their dependents, with its own id.

        Raises: RowtuiError if no job is left.
        """

    async def export(self, plan: Plan, folder: str, *, overwrite: bool = False) -> ExportedFiles:
        """Write all scripts and plan.json to a folder (relative to the project, or with `~`).

        Nothing is written if files exist there, unless `overwrite`. Raises: RowtuiError.
        """

    def submit(self, plan: Plan) -> AsyncIterator[SendingProgress]:
        """Submit a plan that the user confirmed."""


class NetworkService(Protocol):
    """The network of the project, its newest run, and driving that run."""

    async def view(self, *, frozen: bool = True) -> NetworkView | None:
        """Return the network and its newest run; None without a network.toml. Raises: RowtuiError.

        `frozen` False: the present network.toml, independent of the run.
        """

    async def samples(
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
        """Return a page of the samples of a source or node in these states (none given: all).

        `frozen`: as in `network`; `asked`: as for `groups`; `find`: a job's number, or the
        directory of a source's sample. Raises: RowtuiError.
        """

    async def product(self, action: str, directory: str, name: str) -> FileContent | None:
        """Return the beginning of this product, or with "" of the first one that can be read.

        None if there is none.
        """

    async def waits(self, job: int) -> WaitPath:
        """Return what a job of the graph waits for, or why it was lost. Raises: RowtuiError."""

    async def redo_view(self, jobs: Sequence[int]) -> RedoView:
        """Return what would run again with these complete jobs; without jobs, with all stale ones.

        Raises: RowtuiError.
        """

    async def redo(self, jobs: Sequence[int], expected: int) -> tuple[int, tuple[str, ...]]:
        """Run these jobs and the jobs that used their results again; move products to the trash.

        Returns the number of jobs and notices for the user. Raises: RowtuiError, also if the number
        would not be `expected`.
        """

    async def dependents(self, jobs: Sequence[int]) -> int:
        """Return how many further jobs that may still run depend on these of the newest run."""

    async def start(self, limits: RunLimits, *, anew: bool = False) -> None:
        """Drive the newest open run, or a new one, within limits that were confirmed.

        The run continues in the background; `changes` yields "network" after each of its steps.
        Raises: RowtuiError.
        """

    async def stop(self) -> None:
        """Stop driving. Submitted jobs go on."""

    async def plan(self) -> tuple[Plan | None, tuple[str, ...]]:
        """Return what the run would submit next, for confirmation, and why some jobs cannot be
        submitted.

        Raises: RowtuiError.
        """

    async def retry(self, jobs: Sequence[int]) -> None:
        """Retry failed jobs of the graph. Raises: RowtuiError."""

    async def cancel(self, jobs: Sequence[int]) -> None:
        """Give up jobs of the graph, with their dependents. Raises: RowtuiError."""


class PastService(Protocol):
    """The jobs of this project that have ended."""

    async def view(self, asked: PastRequest) -> PastView:
        """Return throughput, CPUs in use, waits, failures of nodes and single jobs; bounded.

        Raises: RowtuiError if the records cannot be read.
        """

    async def used(self) -> tuple[UsageRow, ...]:
        """Return what the jobs of each action used of what they requested.

        Raises: RowtuiError if the records cannot be read.
        """
