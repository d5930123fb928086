"""Placements and plans for a screen: explanations, mapping files, packings, submissions."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError
from rowtui.core.project.explaining import explain_group
from rowtui.core.project.failed_jobs import ChosenFailures
from rowtui.core.project.planning.plan_submission import pack_submission, plan_submission
from rowtui.core.project.retry import plan_again
from rowtui.core.project.review.review import review, scheduler_kinds
from rowtui.core.project.review.views import (
    ExportedFiles,
    PlanCheck,
    ScriptBefore,
    ScriptRequest,
    ScriptsBefore,
)
from rowtui.core.project.review.without import export_plan, without
from rowtui.core.project.views.mapping_trust import MappingReview, review_file, trust
from rowtui.core.project.views.views import PlacementExplanation
from rowtui.core.project.workflow_edit import edit_back, edit_for_what_if
from rowtui.core.runs.execution.run_messages import report_lost_driver
from rowtui.core.runs.service import RESUME, RunStanding, standing_of, stop_driver
from rowtui.core.runs.store import PROJECT_RUNS, RunStore
from rowtui.core.submission.plan.json import load_plan

if TYPE_CHECKING:
    from rowtui.core.engine.local.pages import ListPages
    from rowtui.core.engine.local.planned_run import PlannedRun
    from rowtui.core.engine.local.polling import ClusterPolls
    from rowtui.core.groups.model import Status
    from rowtui.core.project.next_attempt import AmountChange
    from rowtui.core.project.open_project import OpenProject
    from rowtui.core.project.planning.pack_views import PackChoice, PackedPlan
    from rowtui.core.project.views.views import (
        Edit,
        EditRequest,
        FailedJob,
        TransferView,
        WhatIfRequest,
    )
    from rowtui.core.runs.limits.limits import RunLimits
    from rowtui.core.submission.plan.model import Plan
    from rowtui.core.submission.sending.release_held import SendingProgress
    from rowtui.core.workflow.model import Action

LOAD_SECONDS = 60.0  # between two polls of a cluster's load


class MappingWork:
    """Placements of one engine. `turn`: the lock of the project's records.

    `say` announces that something has changed; `synchronise` reads the project again.
    """

    def __init__(
        self,
        project: OpenProject,
        turn: asyncio.Lock,
        pages: ListPages,
        polls: ClusterPolls,
        *,
        say: Callable[[str], None],
        synchronise: Callable[[], None],
    ) -> None:
        self._project = project
        self._turn = turn
        self._pages = pages
        self._polls = polls
        self._say = say
        self._synchronise = synchronise

    async def explain(
        self,
        action_index: int,
        statuses: Sequence[Status],
        group: int,
        what_if: WhatIfRequest | None = None,
    ) -> PlacementExplanation:
        """Explain where the job of group `group` (from 0) of these statuses would go.

        The answer has a `problem` if this cannot be determined.
        """
        project = self._project
        self._pages.action(action_index)
        await self._polls.briefly("loads", partial(project.mapping.ask_loads, LOAD_SECONDS))
        async with self._turn:
            action = self._pages.action(action_index)  # the workflow may have changed by now
            try:
                groups = await asyncio.to_thread(self._pages.cut, action, tuple(statuses))
            except RowtuiError as error:
                return PlacementExplanation(
                    self._pages.generation,
                    action_index,
                    group + 1,
                    0,
                    0,
                    "",
                    None,
                    problem=str(error),
                )
            found = await asyncio.to_thread(
                explain_group,
                project,
                action,
                groups,
                group,
                generation=self._pages.generation,
                what_if=what_if,
            )
            if found.decision is None:
                return found
            need = await asyncio.to_thread(self._project.usage.needs.of, action, found.directories)
            return found._replace(measured=need.what_if, measured_jobs=need.jobs)

    async def edit_workflow(self, asked: EditRequest) -> Edit:
        """Preview or write a what-if as a change of workflow.toml, or undo such a change.

        The answer contains the reason if the change is impossible. Raises: RowtuiError if a
        confirmed change is not written.
        """
        async with self._turn:
            if asked.undo:
                edit = await asyncio.to_thread(edit_back, self._project, asked)
            else:
                action = self._pages.action(asked.action_index)
                groups = await asyncio.to_thread(self._pages.cut, action, asked.statuses)
                write = partial(edit_for_what_if, self._project, action, groups, asked)
                edit = await asyncio.to_thread(write)
            if edit.written:  # so that the next answer matches the written file
                # the next refresh reports the error
                with contextlib.suppress(RowtuiError, OSError):
                    await asyncio.to_thread(self._synchronise)
        return edit

    async def file(self, place: str) -> MappingReview:
        """Return a mapping file for the user to review before trusting it. Raises: RowtuiError."""
        return await asyncio.to_thread(review_file, self._project, place)

    async def trust(self, place: str, digest: str) -> None:
        """Allow the code of this content to run as this user. Raises: RowtuiError if it changed."""
        await asyncio.to_thread(trust, self._project, place, digest)
        self._say("mapping")


class PlansWork:
    """The plans of one engine. `turn`: the lock of the project's records."""

    def __init__(
        self,
        project: OpenProject,
        turn: asyncio.Lock,
        pages: ListPages,
        polls: ClusterPolls,
        planned: PlannedRun,
    ) -> None:
        self._project = project
        self._turn = turn
        self._pages = pages
        self._polls = polls
        self._planned = planned
        self._packings = 0
        self._before: ScriptsBefore | None = None
        self._runs = RunStore(project.root, PROJECT_RUNS)

    def run(self) -> RunStanding | None:
        """Return the newest run of the project's actions, and report a driver that died."""
        try:
            run = self._runs.latest()
            found = None if run is None else standing_of(run, self._project)
        except RowtuiError as error:
            self._project.notice(str(error))
            return None
        messages = self._project.messages
        if run and messages and found and not found.driver and run.interrupted:
            report_lost_driver(messages, run, f"To continue: {RESUME}")
        return found

    async def stop_run(self) -> None:
        """Stop what drives the newest run, on any machine. Raises: RowtuiError."""
        if (run := self._runs.latest()) is not None:
            await stop_driver(run, self._project, "stopped from the dashboard")

    async def confirm_run(self, limits: RunLimits) -> None:
        """Record that the user confirmed limits of the newest run. Raises: RowtuiError."""
        if (run := self._runs.latest()) is not None:
            await asyncio.to_thread(run.confirm, limits, time.time())

    async def make(
        self,
        action_index: int | None,
        groups: Sequence[int] | None,
        limit: int | None,
        *,
        directories: Sequence[str] | None = None,
    ) -> Plan:
        """Plan a submission: one action or all; these eligible groups (from 0) or all.

        `directories`: groups are formed only of these. Raises: RowtuiError with every problem at
        once.
        """
        actions, only = self._chosen(action_index, groups)
        async with self._turn:
            among = None if directories is None else self._pages.positions(directories)
            plan = partial(plan_submission, self._project, actions, among, only=only, limit=limit)
            return await asyncio.to_thread(plan)

    async def pack(
        self,
        action_index: int | None,
        groups: Sequence[int] | None,
        limit: int | None,
        choice: PackChoice,
    ) -> PackedPlan:
        """Plan in bundles: the number of nodes of each type, with costs and savings.

        A newer request ends the search of an older one, which returns its best result so far.
        Raises: RowtuiError, as `make`.
        """
        self._packings += 1
        newest = self._packings
        actions, only = self._chosen(action_index, groups)
        pack = partial(pack_submission, self._project, actions, choice, only=only, limit=limit)
        async with self._turn:
            return await asyncio.to_thread(pack, go_on=lambda: self._packings == newest)

    def _chosen(
        self, action_index: int | None, groups: Sequence[int] | None
    ) -> tuple[Sequence[Action], Mapping[int, Collection[int]] | None]:
        if action_index is None:
            return self._project.workflow.actions, None
        only = None if groups is None else {action_index: set(groups)}
        return (self._pages.action(action_index),), only

    async def failed_jobs(
        self, action_index: int, groups: Sequence[int] | None
    ) -> tuple[FailedJob, ...]:
        """Return the jobs in which these groups (from 0; None: all) of directories failed."""
        async with self._turn:
            return await asyncio.to_thread(self._pages.failed_jobs, action_index, groups)

    async def again(self, tokens: Sequence[str], change: AmountChange) -> Plan:
        """Return a plan that retries the failed directories of these jobs. Raises: as `make`."""
        project = self._project
        choice = ChosenFailures(project.workflow.actions, tokens=frozenset(tokens))
        async with self._turn:
            return (await asyncio.to_thread(plan_again, project, choice, change)).plan

    async def review(self, plan: Plan) -> AsyncIterator[PlanCheck]:
        """Yield the checks of a plan: all as pending at once, then each again when it is done.

        Clusters are queried without the lock of the records.
        """
        async with contextlib.aclosing(review(self._project, plan)) as checks:
            async for check in checks:
                yield check

    async def script_before(self, asked: ScriptRequest) -> ScriptBefore | None:
        """Return the script last submitted for this action on this cluster, or a similar one."""
        async with self._turn:
            if self._before is None:
                load = partial(load_plan, self._project.root)
                self._before = ScriptsBefore(self._project.jobs.journal, load)
            return await asyncio.to_thread(self._before.find, asked)

    async def without(self, plan: Plan, tokens: Sequence[str]) -> Plan:
        """Return a plan without these jobs and their dependents, with its own id.

        Raises: RowtuiError if no job is left.
        """
        left = await asyncio.to_thread(without, plan, frozenset(tokens))
        self._planned.replace(plan, left)
        return left

    async def export(self, plan: Plan, folder: str, *, overwrite: bool = False) -> ExportedFiles:
        """Write all scripts and plan.json to a folder (relative to the project, or with `~`).

        Nothing is written if files exist there, unless `overwrite`. Raises: RowtuiError.
        """
        return await asyncio.to_thread(self._export, plan, folder, overwrite)

    def _export(self, plan: Plan, folder: str, overwrite: bool) -> ExportedFiles:
        place = Path(os.path.expanduser(folder))
        if not place.is_absolute():
            place = self._project.root / place
        kinds = scheduler_kinds(self._project, plan)
        return export_plan(plan, place, kinds, overwrite=overwrite)

    async def transfers(self, plan: Plan) -> tuple[TransferView, ...]:
        """Return what a plan would copy to clusters without access to the project's folder."""
        return await self._project.copies.preview(plan)

    async def submit(self, plan: Plan) -> AsyncIterator[SendingProgress]:
        """Submit a plan that the user confirmed. Closing the iterator stops between two jobs."""
        # The user has confirmed sending, so unfinished earlier submissions may be completed.
        await self._polls.ask_for_jobs(may_send=True)
        try:
            sending = contextlib.aclosing(self._project.jobs.submit(plan))
            async with self._planned.submitting(plan), sending as steps:
                async for step in steps:
                    yield step
        finally:
            for name in {job.destination.cluster for job in plan.jobs}:
                ask = partial(self._polls.ask_for_new, name)
                self._polls.begin(f"queue of {name} with new jobs", ask)
