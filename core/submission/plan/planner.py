"""Data for the jobs of a plan, computed once for each action and size of group.

The input is the workflow, the destination and the user. The planner returns the command, the
partition and the script of a job, and collects problems that stop jobs and warnings for the user.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import is_
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from rowtui.core.base.errors import InvalidFileError, Problem, RowtuiError
from rowtui.core.base.text import plural, visible
from rowtui.core.clusters.model import (
    Cluster,
    Launchers,
    Partition,
    PartitionChoice,
    launcher_prefix,
    starts_processes,
)
from rowtui.core.clusters.partition import choice_reasons, choose_partition, partition_memory_mb
from rowtui.core.clusters.schedulers.base import job_label
from rowtui.core.clusters.schedulers.kind import is_this_machine, kind_of
from rowtui.core.clusters.schedulers.local.machine import Capacity, machine_capacity
from rowtui.core.submission.plan.model import (
    LaunchMethod,
    PlannedDestination,
    PlanRefusal,
    RefusedAt,
    RefusedWork,
)
from rowtui.core.submission.scripts.parts import is_one_command, log_path, options_for
from rowtui.core.submission.scripts.script import (
    Recipe,
    ScriptFrame,
    framed_script,
    script_frame,
    write_recipe,
)
from rowtui.core.workflow.template import CommandTemplate, parse_command

if TYPE_CHECKING:
    from rowtui.core.base.text import Cost
    from rowtui.core.clusters.schedulers.kind import SchedulerKind
    from rowtui.core.groups.model import JobRequest
    from rowtui.core.state.model import LastEnd
    from rowtui.core.submission.plan.apply_placement import PlacedRequest
    from rowtui.core.submission.plan.model import PackedJobs, PlannedJob
    from rowtui.core.workflow.model import Action, Workflow

_SHOWN = 3  # directories named in one problem or warning
# the user fixes these in workflow.toml or clusters.toml
_OF_FILES = (RefusedAt.PARTITION, RefusedAt.SCRIPT)
# bash checks scripts of up to this many directories as they are, larger ones without directories
_ASKED = 1000


class PlanError(InvalidFileError):
    """Some jobs cannot be planned, so none is; `problems` has one for each cause and action."""


class Named(Protocol):
    """The part of `Directories` that a plan needs."""

    @property
    def name(self) -> Callable[[int], str]:
        """Return the name of the directory at a position, in os.fsdecode form."""
        ...

    @property
    def value(self) -> Callable[[int], Any]:
        """Return the directory's JSON value."""
        ...


class Setting(NamedTuple):
    """Where, for whom and when jobs are planned. `created`: ISO 8601, UTC; `nonce`: new each time.

    `check_shell` takes a script and returns its syntax error, "" for none (None: no check).
    `array_tasks`: how many jobs of one shape may become one array on a cluster, 0 for none.
    `machine`: what this machine's own queue can run. `pack` puts jobs into bundles (None: each job
    is sent alone, or in an array). `warnings`: what comes before the plan's own warnings.
    """

    cluster: Cluster
    launchers: Launchers
    created: str
    user: str
    nonce: str
    check_shell: Callable[[str], str] | None = None
    array_tasks: Callable[[Cluster], int] = lambda _: 0
    machine: Callable[[], Capacity] = machine_capacity
    pack: Callable[[tuple[PlannedJob, ...]], PackedJobs] | None = None
    warnings: tuple[str, ...] = ()


class _OfAction:
    """The data that is computed once for an action element."""

    def __init__(self, action: Action) -> None:
        self.action = action
        self.command: CommandTemplate | None = None
        self.recipes: dict[tuple[str, bool], Recipe] = {}
        # by the size of the group, CPUs and GPUs
        self.ways: dict[tuple[int, int, int], LaunchMethod | PlanRefusal | None] = {}
        self.planned = 0
        self.refused: dict[PlanRefusal, list[tuple[int, ...]]] = {}  # directories of each job
        self.checked = False
        self.problems: dict[tuple[str, str], None] = {}  # messages with their hints, in order
        self.warnings: dict[str, int] = {}
        self.failed: list[str] = []


class Planner:
    """Plans the jobs of one plan in sequence. See `draft_jobs` for the parameters."""

    def __init__(
        self,
        workflow: Workflow,
        directories: Named,
        setting: Setting,
        ends: Mapping[str, Mapping[int, LastEnd]],
    ) -> None:
        self.workflow = workflow
        self.directories = directories
        self.setting = setting
        self.ends = ends
        self.actions: dict[int, _OfAction] = {}
        self._frame: ScriptFrame | None = None  # of the previous job, if it was of this kind
        self._kind: tuple[object, ...] = ()
        self._totals: tuple[int, ...] = ()
        self._machine: Capacity | None = None

    def way_of(
        self, request: JobRequest, place: PlacedRequest | None = None
    ) -> LaunchMethod | PlanRefusal | None:
        """Return how a job is run, or why it cannot be; None with a problem recorded."""
        action, size = request.action, len(request.group.indices)
        known = self._known(action)
        if place is not None:
            recipe = self._recipe(known, action, place.cluster, size)
            choice = PartitionChoice(place.partition, place.warnings)
            if recipe is None:
                return None
            way = self._way(request, recipe, place.cluster, choice, place.reasons)
            return self._too_large(request, way) or way
        key = size, request.cpus, request.gpus
        if key not in known.ways:
            cluster = self.setting.cluster
            recipe = self._recipe(known, action, cluster, size)
            found = self._choice(action, size)
            if recipe is None:
                known.ways[key] = None
            elif isinstance(found, PlanRefusal):
                known.ways[key] = found
            else:
                named = options_for(action, cluster.name).partition
                reasons = choice_reasons(cluster, found, named)
                way = self._way(request, recipe, cluster, found, reasons)
                known.ways[key] = self._too_large(request, way) or way
        return known.ways[key]

    def _way(
        self,
        request: JobRequest,
        recipe: Recipe,
        cluster: Cluster,
        choice: PartitionChoice,
        reasons: tuple[str, ...],
    ) -> LaunchMethod:
        action = request.action
        partition = choice.partition if kind_of(cluster).has_partitions else None
        return LaunchMethod(
            recipe,
            cluster,
            partition,
            choice,
            PlannedDestination(cluster.name, partition.name if partition else ""),
            "" if kind_of(cluster).immediate else log_path(action, cluster.name),
            job_memory_mb(request, partition),
            reasons,
            starts_processes(action, self.setting.launchers, cluster.name),
        )

    def _too_large(self, request: JobRequest, way: LaunchMethod) -> PlanRefusal | None:
        """Return why this machine's own queue would refuse a job at submission."""
        if not is_this_machine(way.cluster):
            return None
        if self._machine is None:
            self._machine = self.setting.machine()
        reason = self._machine.refusal(request.cpus, way.memory_mb, request.gpus)
        if not reason:
            return None
        return PlanRefusal(RefusedAt.MACHINE, f"{visible(way.cluster.name)}: {reason}")

    def refuse(self, action: Action, positions: Sequence[int], why: PlanRefusal) -> None:
        """Leave a job on the directories at these positions out of the plan."""
        self._known(action).refused.setdefault(why, []).append(tuple(positions))

    def refused(self) -> tuple[RefusedWork, ...]:
        """Return the jobs that were left out, by action and reason."""
        name = self.directories.name
        return tuple(
            RefusedWork(
                why.stage,
                known.action.name,
                tuple(tuple(map(name, positions)) for positions in jobs),
                why.reason,
                why.hint,
            )
            for _, known in sorted(self.actions.items())
            for why, jobs in known.refused.items()
        )

    def script(
        self,
        request: JobRequest,
        way: LaunchMethod,
        token: str,
        names: Sequence[str],
        positions: Sequence[int],
    ) -> str | None:
        """Return the script of a job; None with its problems recorded.

        `positions`: of the names.
        """
        known = self._known(request.action)
        # Values are read only when the command needs them, because there may be a million files.
        value = self.directories.value
        values = [value(p) for p in positions] if way.recipe.filled.values else ()
        try:
            script = self._written(request, way, token, names, values)
        except RowtuiError as error:
            why = PlanRefusal(RefusedAt.SCRIPT, error.message, error.hint)
            self.refuse(request.action, positions, why)
            return None
        if self.setting.check_shell and not known.checked:
            known.checked = True
            if not self.is_simple(request.action, way):
                complaint = ""
                # Directories change only the line number.
                if len(names) <= _ASKED or self.setting.check_shell(
                    self._written(request, way, token, (), ())
                ):
                    complaint = self.setting.check_shell(script)
                if complaint:
                    known.problems[f"bash cannot read the command or setup: {complaint}", ""] = None
                    return None
        known.planned += 1
        return script

    def _written(
        self,
        request: JobRequest,
        way: LaunchMethod,
        token: str,
        names: Sequence[str],
        values: Sequence[Any],
    ) -> str:
        """Write the script; the frame of the previous job is reused for a job of the same kind."""
        kind = (request.action, way.recipe, way.cluster, way.partition)
        totals = (request.processes, request.cpus, request.gpus, request.walltime_seconds)
        if self._frame is None or totals != self._totals or not all(map(is_, kind, self._kind)):
            self._frame = script_frame(way.recipe, request, way.cluster, way.partition)
            self._kind, self._totals = kind, totals
        return framed_script(self._frame, request, names, values, token)

    def is_simple(self, action: Action, way: LaunchMethod) -> bool:
        """Whether an action's shell is so simple that bash need not check it."""
        setup = options_for(action, way.cluster.name).setup
        return not setup and is_one_command(way.recipe.filled.text)

    def token(self, index: int) -> str:
        """Return the token of the job with this index in the plan."""
        return f"{self.setting.nonce}-{index}"

    def _known(self, action: Action) -> _OfAction:
        known = self.actions.get(action.index)
        if known is None:
            known = self.actions[action.index] = _OfAction(action)
        return known

    def _recipe(
        self, known: _OfAction, action: Action, cluster: Cluster, count: int
    ) -> Recipe | None:
        try:
            if known.command is None:
                known.command = parse_command(action.command)
            prefix = launcher_prefix(action, self.setting.launchers, cluster.name, count)
            launched = not kind_of(cluster).runs_here and starts_processes(
                action, self.setting.launchers, cluster.name
            )
            recipe = known.recipes.get((prefix, launched))
            if recipe is None:
                path = self.workflow.workspace_path
                recipe = write_recipe(known.command, path, prefix, launched=launched)
                known.recipes[prefix, launched] = recipe
        except RowtuiError as error:
            known.problems[error.message, error.hint] = None
            return None
        return recipe

    def _choice(self, action: Action, count: int) -> PartitionChoice | PlanRefusal:
        cluster = self.setting.cluster
        named = options_for(action, cluster.name).partition
        choice = choose_partition(cluster, action.resources, count, named)
        if choice.partition is None:
            refusals = [str(refusal) for refusal in choice.refusals]
            size = plural(count, "directory", "directories")
            message = f"no partition of {visible(cluster.name)} takes a job on {size}"
            hint = "\n    ".join(refusals) or f"{visible(cluster.name)} has no partitions"
            return PlanRefusal(RefusedAt.PARTITION, message, hint)
        return choice

    def job_warnings(self, request: JobRequest, choice: PartitionChoice) -> tuple[str, ...]:
        """Return the warnings of one job, and count them for `warnings`."""
        known = self._known(request.action)
        warnings = list(choice.warnings)
        ends = self.ends.get(request.action.name) or {}
        indices = request.group.indices if ends else ()
        causes: dict[str, dict[str, str]] = {}  # by reason: the job of each directory
        for at in indices:
            if (end := ends.get(at)) is not None and end.failed:
                label = job_label(end.job_id, end.token)
                job = f"{end.cluster}/{label}" if label else ""
                causes.setdefault(end.reason, {})[self.directories.name(at)] = job
        for reason, jobs in causes.items():
            known.failed += jobs
            labels = list(dict.fromkeys(filter(None, jobs.values())))
            warnings.append(
                f"the last job of {_some([*jobs])} failed: {visible(reason)}"
                + (f" ({_some(labels)})" if labels else "")
            )
        for warning in choice.warnings:
            known.warnings[warning] = known.warnings.get(warning, 0) + 1
        return tuple(warnings)

    def problems(self) -> tuple[Problem, ...]:
        """Return all problems, by action; of many similar ones the first few and the number.

        A reason that refuses every job of an action is a problem of the action.
        """
        found = []
        file = str(self.workflow.path)
        for index, known in sorted(self.actions.items()):
            where = f"action '{visible(known.action.name)}': "
            causes = list(known.problems)
            if not known.planned:
                refused = known.refused
                causes += [(why.reason, why.hint) for why in refused if why.stage in _OF_FILES]
            for message, hint in causes[:_SHOWN]:
                text = message if message.startswith(where[:-2]) else where + message
                found.append(Problem(file, 0, 0, text, hint, action=index))
            if len(causes) > _SHOWN:
                more = plural(len(causes) - _SHOWN, "more job has such a problem", "more jobs do")
                found.append(Problem(file, 0, 0, where + more, action=index))
        return tuple(found)

    def warnings(self) -> tuple[str, ...]:
        """Return the warnings of all jobs, each once for an action with the number of its jobs."""
        found = []
        for _, known in sorted(self.actions.items()):
            name = visible(known.action.name)
            found += [
                f"{name}: {warning} ({plural(jobs, 'job')})"
                for warning, jobs in known.warnings.items()
            ]
            if known.failed:
                found.append(f"{name}: the last job of {_some(known.failed)} failed")
        return tuple(found)


def applied_limit(kind: SchedulerKind, seconds: int, cost: Cost) -> tuple[int, Cost]:
    """Return the time limit that the scheduler applies to a job, and the job's cost with it."""
    limit = kind.limit(seconds)
    return limit, cost if limit == seconds else cost.times(limit / seconds)


def job_memory_mb(request: JobRequest, partition: Partition | None) -> int | None:
    """Return the memory of the whole job in MB, None if it is not stated."""
    resources, gpus = request.action.resources, bool(request.gpus)
    each = resources.memory_per_gpu_mb if gpus else resources.memory_per_cpu_mb
    if each is None and partition is not None:
        each = partition_memory_mb(partition, gpus)
    return None if each is None else each * (request.gpus if gpus else request.cpus)


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(map(visible, names[:_SHOWN]))
    return shown + (f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else "")
