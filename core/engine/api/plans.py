"""Requests about placements and plans: explanations, mapping files, packings, submissions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rowtui.core.groups.model import Status
    from rowtui.core.project.next_attempt import AmountChange
    from rowtui.core.project.planning.pack_views import PackChoice, PackedPlan
    from rowtui.core.project.review.views import (
        ExportedFiles,
        PlanCheck,
        ScriptBefore,
        ScriptRequest,
    )
    from rowtui.core.project.views.mapping_trust import MappingReview
    from rowtui.core.project.views.views import (
        Edit,
        EditRequest,
        FailedJob,
        PlacementExplanation,
        TransferView,
        WhatIfRequest,
    )
    from rowtui.core.submission.plan.model import Plan
    from rowtui.core.submission.sending.release_held import SendingProgress


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
