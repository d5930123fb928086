"""Packing of a plan's jobs onto as few and as cheap nodes as possible: planned jobs become bundles.

The input is planned jobs, the clusters' node types and the user's choices. The result is the jobs
in bundles, with their cost and savings. Jobs that go to one destination with the same options are
packed together. A job that fits on no node type, or cannot share a node with others, is sent alone,
with the reason. Source: CAVATICA's documentation, "Multi-instance scheduling algorithm"; Fastr's
rule for a list of jobs (a lane).
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from rowtui.core.base import errors
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural, visible
from rowtui.core.clusters.config.node_types import node_types_for, packing_for
from rowtui.core.clusters.model import NodeType, PackingDefaults
from rowtui.core.clusters.schedulers.kind import kind_of
from rowtui.core.packing.model import (
    Demand,
    GoOn,
    InstanceType,
    PackingProblem,
    PackResult,
    ResourceAmounts,
    UnplacedRequests,
    assign,
    bundle_seconds,
)
from rowtui.core.packing.pack import ROUNDING, installed_packers, pack, packers
from rowtui.core.packing.packers import OURS
from rowtui.core.packing.unplaced import find_unplaced
from rowtui.core.project.context.cluster_context import cluster_named
from rowtui.core.project.planning.pack_terms import (
    PackedBundle,
    PackedThere,
    alone_cost,
    by_cpus,
    charge,
    core_share_mb,
    cpu_hours,
    demand_of,
    node_type_of,
    seconds_of,
    unit_of,
)
from rowtui.core.project.planning.pack_views import PackChoice, PackedDestination, PackedPlan
from rowtui.core.submission.bundles.bundles import BundleLayout, with_bundles
from rowtui.core.submission.plan.dependencies import cannot_share, shared_options
from rowtui.core.submission.plan.model import PackedJobs, PlannedDestination, PlannedJob
from rowtui.core.submission.plan.planner import PlanError
from rowtui.core.workflow.toml_file import did_you_mean

if TYPE_CHECKING:
    from rowtui.core.packing.model import Packer
    from rowtui.core.project.open_project import OpenProject
    from rowtui.core.submission.plan.model import Plan

SHOWN_TYPES = 10  # most node types that a refusal names
NO_NODE_TYPES = "{} has no node types in clusters.toml (`rowtui doctor --node-types {}` finds them)"


def refuse_small_hints(
    project: OpenProject, node_types: Sequence[InstanceType], jobs: Sequence[PlannedJob]
) -> None:
    """Refuse jobs that do not fit on the node type on which they must run.

    Raises: PlanError.
    """
    asked: dict[tuple[int, Demand], int] = {}
    for job in jobs if node_types else ():
        if job.node_type:
            demand = demand_of(job, 0.0, 1.0)._replace(seconds=0)
            key = (job.action_index, demand)
            asked[key] = asked.get(key, 0) + 1
    if not asked:
        return
    demands, wanted = tuple(demand for _, demand in asked), list(asked)
    problem = PackingProblem(tuple(node_types), demands, tuple(asked.values()))
    by_type: dict[str, list[UnplacedRequests]] = {}
    for each in find_unplaced(problem):
        by_type.setdefault(wanted[each.demand][1].hint, []).append(each)
    problems = []
    for name, those in by_type.items():
        place = project.mapping.place_of("params.node_type", name)
        actions = list(dict.fromkeys(wanted[each.demand][0] for each in those))
        names = ", ".join(f"'{visible(project.workflow.actions[at].name)}'" for at in actions)
        more = f"; so for {plural(len(those) - 1, 'other size')}" if len(those) > 1 else ""
        problems.append(
            errors.Problem(
                *place,
                f"{plural(sum(each.requests for each in those), 'job')} of {names} must run "
                f"on a node type that is too small: {those[0]}{more}",
                "name another `node_type` here, or ask for less",
                action=actions[0],
            )
        )
    if problems:
        raise PlanError(tuple(problems))


class PlanPacking:
    """Packs the jobs of one plan: see `Setting.pack`.

    Afterwards `packed` returns the result.
    """

    def __init__(
        self,
        project: OpenProject,
        choice: PackChoice | None,
        others: Mapping[str, Packer] | None = None,
        go_on: GoOn = lambda: True,
    ) -> None:
        """Set up the packing. `choice` None: pack only as clusters.toml configures it.

        `others`: packers of third parties; None: the installed ones. `go_on` is called while a
        better packing is searched, within the choice's budget.
        """
        self._project, self._go_on = project, go_on
        self._choice = choice or PackChoice()
        self._wanted = choice is not None
        self._others = others
        self._found: list[PackedThere] = []
        self._before: tuple[PlannedJob, ...] = ()

    def __call__(self, jobs: tuple[PlannedJob, ...]) -> PackedJobs:
        """Return the jobs in bundles.

        Raises: RowtuiError for an unknown packer or node type; PlanError for a job that does not
        fit on the node type on which it must run.
        """
        self._before = jobs
        self._found = []
        there: dict[PlannedDestination, list[int]] = {}
        for position, job in enumerate(jobs):
            there.setdefault(job.destination, []).append(position)
        self._refuse_unknown_types(there)
        deadline = time.monotonic() + self._choice.budget
        left = len(there)
        for destination, positions in there.items():
            defaults = self._defaults(destination)
            if self._wanted or (defaults is not None and defaults.enabled):
                now = time.monotonic()
                # time that one destination does not use passes to the others
                own = now + (deadline - now) / left
                self._found.append(self._pack_there(destination, positions, defaults, own))
            left -= 1
        layouts = [made.layout for found in self._found for made in found.made]
        packed = tuple(found.summary() for found in self._found if found.jobs)
        # a sentence for each reason for which jobs are not packed
        warnings = tuple(it for found in self._found for it in found.warnings(self._before))
        return PackedJobs(with_bundles(jobs, layouts), packed, warnings)

    def _defaults(self, destination: PlannedDestination) -> PackingDefaults | None:
        cluster = cluster_named(self._project, destination.cluster)
        return None if cluster is None else packing_for(cluster, destination.partition)

    def _refuse_unknown_types(self, there: Collection[PlannedDestination]) -> None:
        """Refuse a chosen node type that no destination has, if any destination has node types."""
        known: dict[str, None] = {}
        for destination in there if self._choice.node_types else ():
            cluster = cluster_named(self._project, destination.cluster)
            if cluster is not None:
                kinds = node_types_for(cluster, destination.partition)
                known.update(dict.fromkeys(kind.name for kind in kinds))
        unknown = [name for name in self._choice.node_types if known and name not in known]
        if unknown:
            names = list(known)
            more = ", ..." if len(names) > SHOWN_TYPES else ""
            there_are = f"there are {', '.join(map(visible, names[:SHOWN_TYPES]))}{more}"
            meant = did_you_mean(unknown[0], names)
            where = " or ".join(visible(str(destination)) for destination in there)
            raise RowtuiError(
                f"there is no node type {visible(unknown[0])} in {where}",
                f"{meant} {there_are}" if meant else there_are,
            )

    def _pack_there(
        self,
        destination: PlannedDestination,
        positions: Sequence[int],
        defaults: PackingDefaults | None,
        deadline: float,
    ) -> PackedThere:
        cluster = cluster_named(self._project, destination.cluster)
        kinds = node_types_for(cluster, destination.partition) if cluster is not None else ()
        found = PackedThere(destination, kinds, unit_of(kinds, cluster.currency if cluster else ""))
        types = tuple(node_type_of(kind, None, None) for kind in kinds)
        refuse_small_hints(self._project, types, [self._before[at] for at in positions])
        if not kinds:
            why = NO_NODE_TYPES.format(visible(str(destination)), visible(destination.cluster))
            found.left.append((tuple(positions), why))
            return found
        chosen = self._choice.node_types
        if chosen:
            found.kinds = kinds = tuple(kind for kind in kinds if kind.name in chosen)
            if not kinds:
                names = " or ".join(map(visible, chosen))
                found.left.append((tuple(positions), f"no node there is a {names}"))
                return found
        together: dict[object, list[int]] = {}
        refused: dict[str, list[int]] = {}
        for position in positions:
            job = self._before[position]
            if why := cannot_share(job):
                refused.setdefault(why, []).append(position)
            else:
                together.setdefault(shared_options(job), []).append(position)
        found.left += [(tuple(those), why) for why, those in refused.items()]
        for number, those in enumerate(together.values()):
            now = time.monotonic()
            own = now + (deadline - now) / (len(together) - number)
            self._pack_group(found, those, defaults or PackingDefaults(), own)
        return found

    def _pack_group(
        self,
        found: PackedThere,
        positions: Sequence[int],
        defaults: PackingDefaults,
        deadline: float,
    ) -> None:
        """Pack jobs that may share a scheduler job."""
        choice = self._choice
        factor = choice.time_factor or defaults.time_factor
        name = choice.packer or defaults.packer
        longest = choice.longest_seconds or defaults.longest_seconds
        largest = choice.largest_bundle or defaults.largest_bundle
        found.settings = choice._replace(
            packer=name, largest_bundle=largest, longest_seconds=longest, time_factor=factor
        )
        core_mb = core_share_mb(found.kinds)
        demands: dict[Demand, int] = {}
        classes = []
        for position in positions:
            demand = demand_of(self._before[position], core_mb, factor)
            classes.append(demands.setdefault(demand, len(demands)))
        counts = [0] * len(demands)
        for number in classes:
            counts[number] += 1
        partition = self._limit(found.destination)
        problem = PackingProblem(
            node_types=tuple(node_type_of(kind, longest, partition) for kind in found.kinds),
            demands=tuple(demands),
            counts=tuple(counts),
            largest_bundle=largest,
        )
        began = time.monotonic()
        others = self._known_packers(name)
        result = pack(problem, name, lambda: self._go_on() and time.monotonic() < deadline, others)
        found.took += time.monotonic() - began
        self._take(found, result, positions, classes, factor)

    def _known_packers(self, name: str) -> Mapping[str, Packer]:
        """Return the packers of third parties.

        They are loaded once, and only if the user chose one.
        """
        if self._others is None and name not in OURS:
            self._others = installed_packers().packers
        return self._others or {}

    def _limit(self, destination: PlannedDestination) -> int | None:
        cluster = cluster_named(self._project, destination.cluster)
        partitions = cluster.partitions if cluster is not None else ()
        limits = (
            it.maximum_walltime_seconds for it in partitions if it.name == destination.partition
        )
        return next(limits, None)

    def _take(
        self,
        found: PackedThere,
        result: PackResult,
        positions: Sequence[int],
        classes: Sequence[int],
        factor: float,
    ) -> None:
        """Record one result; its numbers refer to the classes and positions that were packed."""
        problem = result.problem
        placed = assign(result, classes)
        for bundle, lanes in placed.bundles:
            kind = found.kinds[bundle.node_type]
            own = tuple(tuple(positions[at] for at in lane) for lane in lanes)
            amounts = tuple(
                reduce(ResourceAmounts.most, (problem.demands[classes[at]].amounts for at in lane))
                for lane in lanes
            )
            total = reduce(ResourceAmounts.plus, amounts)
            layout = self._layout(own, kind, total, factor)
            cost = charge(kind, total, bundle_seconds(bundle, problem.demands))
            found.made.append(PackedBundle(layout, bundle.node_type, cost, amounts))
            found.cost += cost
        for unplaced in result.unplaced:
            those = tuple(positions[at] for at in placed.unplaced[unplaced.demand])
            found.left.append((those, str(unplaced)))
        left = sum(unplaced.requests for unplaced in result.unplaced)
        found.packer = result.packer
        found.jobs += len(positions) - left
        found.bundles += result.nodes
        out = {unplaced.demand for unplaced in result.unplaced}
        packed = [
            (demand, count)
            for number, (demand, count) in enumerate(
                zip(problem.demands, problem.counts, strict=True)
            )
            if number not in out
        ]
        found.alone += self._alone(found, problem, positions, classes, out)
        if by_cpus(found.kinds):  # any packing is charged at least what its jobs ask for
            least = sum(count * cpu_hours(demand) for demand, count in packed)
            found.bound += least
            found.proven = found.proven and found.cost <= found.bound * (1 + ROUNDING)
        else:
            found.bound += result.bound
            found.proven = found.proven and result.proven

    def _alone(
        self,
        found: PackedThere,
        problem: PackingProblem,
        positions: Sequence[int],
        classes: Sequence[int],
        out: Collection[int],
    ) -> float:
        """Return the cost of the packed jobs if they were sent one by one, as a plan states it."""
        cluster = cluster_named(self._project, found.destination.cluster)
        known: dict[tuple[int, int], float] = {}
        costs = []
        for position, number in zip(positions, classes, strict=True):
            seconds = self._before[position].walltime_seconds
            if number not in out and (number, seconds) not in known:
                limit = seconds if cluster is None else kind_of(cluster).limit(seconds)
                demand = problem.demands[number]
                known[number, seconds] = alone_cost(demand, limit, problem, found.kinds)
            costs.append(known.get((number, seconds), 0.0))
        return math.fsum(costs)

    def _layout(
        self,
        own: tuple[tuple[int, ...], ...],
        kind: NodeType,
        total: ResourceAmounts,
        factor: float,
    ) -> BundleLayout:
        jobs = [self._before[position] for lane in own for position in lane]
        stated = any(job.memory_mb is not None for job in jobs)
        return BundleLayout(
            node_type=kind.name,
            cpus=total.cpus,
            memory_mb=total.memory_mb if stated and total.memory_mb else None,
            gpus=total.gpus,
            whole_node=kind.whole_node,
            lanes=own,
            seconds=tuple(
                tuple(seconds_of(self._before[position], factor) for position in lane)
                for lane in own
            ),
        )

    # Results

    def destinations(self, jobs: Sequence[PlannedJob]) -> tuple[PackedDestination, ...]:
        """Return the result for each destination, with the positions of jobs in the packed list."""
        there = {(job.action_index, job.directories): at for at, job in enumerate(jobs)}
        after = [there[job.action_index, job.directories] for job in self._before]
        return tuple(it.view(jobs, after, self._limit(it.destination)) for it in self._found)

    def packed(self, plan: Plan) -> PackedPlan:
        """Return the plan with the result for each destination."""
        return PackedPlan(plan, self.destinations(plan.jobs), packers(self._others or {}))


def chosen_packing(project: OpenProject, choice: PackChoice, go_on: GoOn) -> PlanPacking:
    """Return the packing for a user's choice, with the installed packers of third parties."""
    installed = installed_packers()
    for left_out in installed.left_out:
        project.notice(f"{left_out.name}: {left_out.why} ({left_out.hint})")
    return PlanPacking(project, choice, installed.packers, go_on)
