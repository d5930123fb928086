"""Resubmission of failed work: unchanged, with the user's changes, or by rules of mapping files.

The input is a project, a choice of failed work and a `AmountChange`. The result is an ordinary
plan, in which each job states its attempt number, why the previous attempt failed, and what
differs. A change that the user requests replaces the `resubmit` rules. Without a change the rules
decide; without rules the job is mapped, or given its resources, according to the current files.
Changes that the user requested for earlier attempts are kept. Source: docs/mapping.md,
"Resubmission".
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.clusters.model import Cluster, PartitionChoice
from rowtui.core.clusters.partition import choice_reasons, choose_partition
from rowtui.core.clusters.schedulers.kind import kind_of
from rowtui.core.groups.form import job_requests
from rowtui.core.groups.model import JobRequest
from rowtui.core.mapping.engine.resubmit import Resubmission, next_attempt
from rowtui.core.mapping.model.request import Amounts, WhatIf
from rowtui.core.project.failed_jobs import ChosenFailures, FailedGroup, failed_work
from rowtui.core.project.next_attempt import (
    NO_CHANGE,
    AmountChange,
    amount_asked,
    attempt_reason,
    delayed,
    excluded_nodes,
    had_before,
    has_more,
    nodes_text,
    suggested_change,
    with_amounts,
    with_option,
)
from rowtui.core.project.planning.placing import Retry, place_requests, refused_requests
from rowtui.core.project.planning.plan_submission import (
    Formed,
    UsableActions,
    draft_formed,
    without_broken,
)
from rowtui.core.submission.plan.apply_placement import PlacedRequest
from rowtui.core.submission.plan.basis import PlacementBasis, UserRequest, read_basis
from rowtui.core.submission.plan.draft import decode_names
from rowtui.core.submission.plan.make_plan import make_plan
from rowtui.core.submission.plan.model import Plan, RefusedAt, RefusedWork
from rowtui.core.submission.scripts.parts import options_for
from rowtui.core.usage.past_nodes import node_failures
from rowtui.core.usage.table import chosen_usage
from rowtui.core.workflow.model import Resources, Walltime

if TYPE_CHECKING:
    from rowtui.core.project.open_project import OpenProject
    from rowtui.core.project.planning.plan_submission import Pack

HISTORY_SECONDS = 30 * 86_400.0  # nodes that failed long ago may be gone, and are then refused


class RetryCause(NamedTuple):
    """The number of jobs of a plan that are retried for one cause.

    `suggestion`: the change that would help `unchanged` of these jobs, which would get no more than
    before. Nothing changes unless the user requests it.
    """

    cause: str
    jobs: int
    suggestion: AmountChange = NO_CHANGE
    unchanged: int = 0


class Again(NamedTuple):
    """A plan that retries failed work, and the causes of the failures, the most frequent first."""

    plan: Plan
    causes: tuple[RetryCause, ...] = ()


def plan_again(
    project: OpenProject,
    choice: ChosenFailures,
    change: AmountChange = NO_CHANGE,
    *,
    limit: int | None = None,
    packing: Pack | None = None,
) -> Again:
    """Return the plan for failed work. Work that cannot be sent is left out with its reason.

    Raises: PlanError if none of the actions can be submitted; RowtuiError.
    """

    def again(usable: UsableActions) -> Again:
        found = failed_work(project, choice._replace(actions=tuple(usable.actions)))
        resubmitter = _Resubmitter(project, change)
        tried = resubmitter.tried(found.groups, limit)
        places = [each.place for each in tried]
        requests = [place.request for place in places]
        decode_names(project.state.directories, sum(len(it.group.indices) for it in requests))
        refused = (
            *refused_requests(project, resubmitter.refused, RefusedAt.GROUP),
            *resubmitter.not_placed,
        )
        formed = Formed([requests], places, found.skipped, again=True, refused=refused)
        return Again(make_plan(draft_formed(project, usable, formed, packing)), _causes(tried))

    return without_broken(project, choice.actions, again)


def mapping_rule(project: OpenProject, failed: FailedGroup) -> Resubmission | None:
    """Return the `resubmit` rule of the mapping files that applies to failed work.

    Raises: RowtuiError if the rules end the retries.
    """
    if project.mapping_in_use() is None:
        return None
    (plain,) = job_requests((failed.group,))
    return _Resubmitter(project, NO_CHANGE).rule(failed, plain)


class _Tried(NamedTuple):
    failed: FailedGroup
    place: PlacedRequest


class _NextAttempt(NamedTuple):
    """The request for one job of the next attempt, before its destination is chosen.

    `memory_mb` and `cpus` are for the whole job, None if the user did not set them.
    """

    failed: FailedGroup
    request: JobRequest
    cluster: Cluster | None  # None: the mapping files choose
    memory_mb: int | None
    cpus: int | None
    asked: UserRequest
    rule: Resubmission | None = None
    warnings: tuple[str, ...] = ()


class _Resubmitter:
    def __init__(self, project: OpenProject, change: AmountChange) -> None:
        self.project = project
        self.change = change
        self.mapped = project.mapping_in_use() is not None
        self.refused: dict[tuple[str, str, str], list[JobRequest]] = {}
        self.not_placed: tuple[RefusedWork, ...] = ()
        self.choices: dict[tuple[str, Resources, int, str], PartitionChoice] = {}
        self.clusters: dict[str, Cluster] = {}
        self.bad_nodes: dict[str, list[str]] = {}

    def tried(self, groups: Sequence[FailedGroup], limit: int | None) -> list[_Tried]:
        """Return the groups that have a place, at most `limit`."""
        wishes: list[_NextAttempt] = []
        for failed in groups:
            if limit is not None and len(wishes) >= limit:
                break
            try:
                wishes.append(self.wish(failed))
            except RowtuiError as error:
                self.refuse(job_requests((failed.group,))[0], error)
        return self.by_mapping(wishes) if self.mapped else self.by_partition(wishes)

    def refuse(self, request: JobRequest, error: RowtuiError) -> None:
        key = (request.action.name, error.message, error.hint)
        self.refused.setdefault(key, []).append(request)

    # Requests

    def wish(self, failed: FailedGroup) -> _NextAttempt:
        """Return the request of the next attempt.

        Raises: RowtuiError with the reason if there is none.
        """
        change = self.change
        (plain,) = job_requests((failed.group,))
        cluster = self.cluster(failed)
        if change.partition and cluster is not None and not kind_of(cluster).has_partitions:
            raise RowtuiError(f"{visible(cluster.name)} has no partitions to choose from")
        elsewhere = "" if change.cluster == failed.cluster else change.cluster
        same = change._replace(cluster=elsewhere).is_nothing
        rule = self.rule(failed, plain) if self.mapped and same else None
        before = UserRequest()
        if failed.planned is not None and rule is None:  # with a rule, the rule decides instead
            before = read_basis(failed.planned.basis).asked
        had = had_before(failed)
        count = len(plain.group.indices) if plain.action.resources.walltime.per_directory else 1
        processes = max(1, plain.processes)
        cpus = amount_asked("CPUs", change.cpus, had.cpus, before.cpus, processes)
        memory = amount_asked("memory", change.memory, had.memory_mb, before.memory_mb, processes)
        seconds = amount_asked(
            "time", change.walltime, had.walltime_seconds, before.walltime_seconds, count
        )
        asked = UserRequest(
            memory_mb=None if memory is None else memory / processes,
            cpus=None if cpus is None else cpus / processes,
            walltime_seconds=None if seconds is None else seconds / count,
            partition=change.partition or ("" if elsewhere else before.partition),
        )
        warnings: tuple[str, ...] = ()
        if cpus is not None and cpus % processes:
            each = -(-cpus // processes)
            warnings = (f"{cpus} CPUs for {processes} processes: each gets {each}",)
            cpus = each * processes
        resources = plain.action.resources
        if seconds is not None:
            resources = resources._replace(walltime=Walltime(seconds, per_directory=False))
        if not self.mapped:  # otherwise the mapper receives these amounts and sets them
            resources = with_amounts(resources, len(plain.group.indices), processes, cpus, memory)
        action = plain.action._replace(resources=resources)
        (request,) = job_requests((failed.group._replace(action=action),))
        request = request._replace(attempt=failed.attempt + (not change.continues))
        return _NextAttempt(failed, request, cluster, memory, cpus, asked, rule, warnings)

    def cluster(self, failed: FailedGroup) -> Cluster | None:
        """Return the fixed cluster; None if mapping files choose. Raises: RowtuiError."""
        name = self.change.cluster or ("" if self.mapped else failed.cluster)
        if not name:
            return None
        if name not in self.clusters:
            connections = self.project.connections
            known = connections.known(name)
            if known is None:
                raise RowtuiError(
                    f"{visible(name)}, where it failed, cannot be reached from here"
                    if not self.change.cluster
                    else f"{visible(name)} cannot be reached from here",
                    "another cluster can be named with --cluster",
                )
            self.clusters[name] = connections.described(known)
        return self.clusters[name]

    def rule(self, failed: FailedGroup, plain: JobRequest) -> Resubmission | None:
        """Return the `resubmit` rule that applies to the failed job.

        Raises: RowtuiError if the rules end the retries.
        """
        mapping = self.project.mapping
        before = read_basis(failed.planned.basis) if failed.planned else PlacementBasis()
        retry = Retry(previous_params=before.previous_params)
        asked = retry.of(mapping.request(plain._replace(attempt=failed.attempt)))
        _, placement = mapping.placed(asked)
        if not placement.chosen or not placement.resubmit:
            return None
        rule = next_attempt(placement.resubmit, failed.end)
        if rule is None:
            raise RowtuiError(
                f"its resubmit rules give it up: {visible(failed.cause)} at attempt"
                f" {failed.attempt}",
                "a change that is asked for is made all the same, even one of 1x",
            )
        if rule.destination and rule.destination not in mapping.mapper.all_offers:
            raise RowtuiError(
                f"the rule {visible(rule.handler)} sends it to {visible(rule.destination)},"
                " which is no destination"
            )
        return rule

    # Placement

    def by_partition(self, wishes: Sequence[_NextAttempt]) -> list[_Tried]:
        """Place by the limits of partitions alone."""
        found = []
        for wish in wishes:
            cluster, request = wish.cluster, wish.request
            assert cluster is not None
            of_file = options_for(request.action, cluster.name).partition
            named = (wish.asked.partition if kind_of(cluster).has_partitions else "") or of_file
            key = (
                cluster.name,
                request.action.resources,
                len(request.group.indices),
                named or "",
            )
            choice = self.choices.get(key)
            if choice is None:
                choice = choose_partition(cluster, key[1], key[2], named)
                self.choices[key] = choice
            if choice.partition is None:
                why = "; ".join(map(str, choice.refusals)) or "it has no partitions"
                self.refuse(
                    request, RowtuiError(f"no partition of {visible(cluster.name)} takes it: {why}")
                )
                continue
            if named and named != of_file:
                reasons: tuple[str, ...] = (f"{visible(named)}: asked for by hand",)
            else:
                reasons = choice_reasons(cluster, choice, of_file)
            place = PlacedRequest(request, cluster, choice.partition, choice.warnings, reasons)
            found.append(self.with_reason(wish, place))
        return found

    def by_mapping(self, wishes: Sequence[_NextAttempt]) -> list[_Tried]:
        """Place by the mapping files, which see the requested amounts."""
        retries = [self.retry(wish) for wish in wishes]
        mapped = place_requests(self.project, [wish.request for wish in wishes], retries)
        self.not_placed = mapped.refused
        return [
            self.with_reason(wishes[number], place)
            for number, place in zip(mapped.numbers, mapped.places, strict=True)
        ]

    def retry(self, wish: _NextAttempt) -> Retry:
        planned = wish.failed.planned
        before = read_basis(planned.basis) if planned is not None else PlacementBasis()
        what_if = WhatIf(
            Amounts(cores=wish.cpus, mem=None if wish.memory_mb is None else wish.memory_mb / 1024),
            destination=wish.rule.destination if wish.rule is not None else "",
            cluster=self.change.cluster,
        )
        return Retry(
            what_if=None if what_if == WhatIf() else what_if,
            partition="" if wish.rule is not None else wish.asked.partition,
            previous_params={} if before.params is None else before.params,
        )

    def with_reason(self, wish: _NextAttempt, place: PlacedRequest) -> _Tried:
        warnings = [*place.warnings, *wish.warnings]
        continues = wish.failed.failure.continues + 1 if self.change.continues else 0
        request, nodes = self.without_nodes(wish.failed, place)
        basis = place.basis._replace(asked=wish.asked, continues=continues, excluded=nodes)
        place = place._replace(basis=basis)
        reason = attempt_reason(wish.failed, place)
        if nodes or self.change.exclude:
            reason += f", {nodes_text(nodes)}"
        if wish.rule is not None:
            reason += f", by the rule {visible(wish.rule.handler)}"
            if wish.rule.delay_seconds:
                request = delayed(request, place.cluster, wish.rule.delay_seconds, warnings)
        place = place._replace(
            request=request,
            warnings=tuple(warnings),
            reasons=(reason, *place.reasons),
        )
        return _Tried(wish.failed, place)

    def without_nodes(
        self, failed: FailedGroup, place: PlacedRequest
    ) -> tuple[JobRequest, tuple[str, ...]]:
        """Return the request with the nodes that it excludes, as far as its cluster can."""
        request, cluster = place.request, place.cluster
        names: list[str] = []
        if failed.planned is not None and failed.cluster == cluster.name:
            names += read_basis(failed.planned.basis).excluded
            names += failed.nodes if self.change.exclude else ()
        if self.change.exclude:
            names = [*self.standing_out(cluster.name), *names]
        nodes = excluded_nodes(names, place)
        written = (*cluster.submit_options, *options_for(request.action, cluster.name).custom)
        option = kind_of(cluster).exclude_option(nodes, written) if nodes else ""
        return (with_option(request, cluster, option), nodes) if option else (request, ())

    def standing_out(self, cluster: str) -> list[str]:
        """Return the nodes of a cluster with too many failures for chance, in the last weeks."""
        if cluster not in self.bad_nodes:
            self.bad_nodes[cluster] = []
            since = time.time() - HISTORY_SECONDS
            with contextlib.suppress(RowtuiError):  # a retry does not need the history
                columns = self.project.usage.store.columns()
                nodes = node_failures(chosen_usage(columns, clusters=(cluster,), since=since))
                self.bad_nodes[cluster] = [it.node for it in nodes if it.stands_out]
        return self.bad_nodes[cluster]


def _causes(tried: Sequence[_Tried]) -> tuple[RetryCause, ...]:
    jobs: dict[str, int] = {}
    unchanged: dict[str, int] = {}
    for failed, place in tried:
        jobs[failed.cause] = jobs.get(failed.cause, 0) + 1
        if not has_more(failed, place):
            unchanged[failed.cause] = unchanged.get(failed.cause, 0) + 1
    ordered = sorted(jobs.items(), key=lambda item: (-item[1], item[0]))
    return tuple(
        RetryCause(cause, number, suggested_change(cause), unchanged.get(cause, 0))
        for cause, number in ordered
    )
