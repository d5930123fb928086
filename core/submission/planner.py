"""What the jobs of a plan are made with, worked out once for each action and size of group.

Takes the workflow, where and for whom jobs are planned; gives the command, the partition and the
script of a job, and collects what stops jobs and what people should know of them. A plan and a dry
run are both made of this. No clock or chance of its own. Row reports these errors in the middle of
a submission.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import is_
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from rowtui.core.clusters.launcher_prefix import launcher_prefix
from rowtui.core.clusters.model import Cluster, Launchers, Partition, PartitionChoice
from rowtui.core.clusters.partition import choose_partition
from rowtui.core.errors import InvalidFileError, Problem, RowtuiError
from rowtui.core.submission.bash_syntax import is_one_command
from rowtui.core.submission.header import options_for
from rowtui.core.submission.script import Frame, Recipe, framed_script, script_frame, write_recipe
from rowtui.core.text import plural, visible
from rowtui.core.workflow.template import Command, parse_command

if TYPE_CHECKING:
    from rowtui.core.grouping.model import JobRequest
    from rowtui.core.state.model import LastEnd
    from rowtui.core.submission.model import Packed, PlannedJob
    from rowtui.core.submission.placed import Placed
    from rowtui.core.workflow.model import Action, Workflow

_SHOWN = 3  # directories named in one problem or warning
_ASKED = 1000  # bash is shown scripts of so many directories as they are, others without any


class PlanError(InvalidFileError):
    """Some jobs cannot be planned, so none is; `problems` has one for each cause and action."""


class Named(Protocol):
    """What a plan needs of `Directories`."""

    @property
    def name(self) -> Callable[[int], str]:
        """The name of the directory at a position, in os.fsdecode form."""
        ...

    @property
    def value(self) -> Callable[[int], Any]:
        """Its JSON value."""
        ...


class PackedJobs(NamedTuple):
    """The jobs of a plan in bundles, what that did, and what a person should know of it."""

    jobs: tuple[PlannedJob, ...]
    packed: tuple[Packed, ...] = ()
    warnings: tuple[str, ...] = ()


class Setting(NamedTuple):
    """Where, for whom and when jobs are planned. `created`: ISO 8601, UTC; `nonce`: new each time.

    `check_shell` takes a script and says what is wrong with it, "" if nothing is (None: no check).
    `array_tasks`: how many jobs of one shape may become one array on a cluster, 0 for none.
    `pack` puts jobs into bundles (None: each goes alone, or in an array).
    """

    cluster: Cluster
    launchers: Launchers
    created: str
    user: str
    nonce: str
    check_shell: Callable[[str], str] | None = None
    array_tasks: Callable[[Cluster], int] = lambda _: 0
    pack: Callable[[tuple[PlannedJob, ...]], PackedJobs] | None = None


class Way(NamedTuple):
    """How a job is run and where it goes. `partition` is None where the cluster has none."""

    recipe: Recipe
    cluster: Cluster
    partition: Partition | None
    choice: PartitionChoice


class _OfAction:
    """What is worked out once for an action element."""

    def __init__(self, action: Action) -> None:
        self.action = action
        self.command: Command | None = None
        self.recipes: dict[str, Recipe] = {}
        self.ways: dict[int, Way | None] = {}  # by the size of the group
        self.checked = False
        self.problems: dict[tuple[str, str], None] = {}  # messages with their hints, in order
        self.warnings: dict[str, int] = {}
        self.failed: list[str] = []


class Planner:
    """The jobs of one plan, one after another. See `make_plan` for the parameters."""

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
        self._frame: Frame | None = None  # of the job before, which was of this kind
        self._kind: tuple[object, ...] = ()
        self._totals: tuple[int, ...] = ()

    def way(self, action: Action, size: int, place: Placed | None = None) -> Way | None:
        """How a job on so many directories is run; None with its problems noted."""
        known = self._known(action)
        if place is not None:
            recipe = self._recipe(known, action, place.cluster, size)
            choice = PartitionChoice(place.partition, place.warnings)
            return None if recipe is None else _way(recipe, place.cluster, choice)
        if size not in known.ways:
            cluster = self.setting.cluster
            recipe = self._recipe(known, action, cluster, size)
            found = self._choice(known, action, size)
            good = recipe is not None and found.partition is not None
            known.ways[size] = _way(recipe, cluster, found) if recipe and good else None
        return known.ways[size]

    def script(
        self,
        request: JobRequest,
        way: Way,
        token: str,
        names: Sequence[str],
        positions: Sequence[int],
    ) -> str | None:
        """The script of a job; None with its problems noted. `positions`: of the names."""
        known = self._known(request.action)
        # Values are read only when the command needs them: that may be a million files' worth.
        value = self.directories.value
        values = [value(p) for p in positions] if way.recipe.filled.values else ()
        try:
            script = self._written(request, way, token, names, values)
        except RowtuiError as error:
            known.problems[error.message, error.hint] = None
            return None
        if self.setting.check_shell and not known.checked:
            known.checked = True
            if not self.is_simple(request.action, way):
                complaint = ""
                # Directories change nothing but the number of the line.
                if len(names) <= _ASKED or self.setting.check_shell(
                    self._written(request, way, token, (), ())
                ):
                    complaint = self.setting.check_shell(script)
                if complaint:
                    known.problems[f"bash cannot read the command or setup: {complaint}", ""] = None
                    return None
        return script

    def _written(
        self,
        request: JobRequest,
        way: Way,
        token: str,
        names: Sequence[str],
        values: Sequence[Any],
    ) -> str:
        """Its frame is that of the job before, if that was of the same kind."""
        kind = (request.action, way.recipe, way.cluster, way.partition)
        totals = (request.processes, request.cpus, request.gpus, request.walltime_seconds)
        if self._frame is None or totals != self._totals or not all(map(is_, kind, self._kind)):
            self._frame = script_frame(way.recipe, request, way.cluster, way.partition)
            self._kind, self._totals = kind, totals
        return framed_script(self._frame, request, names, values, token)

    def is_simple(self, action: Action, way: Way) -> bool:
        """Whether the shell of an action is so plain that bash need not be asked about it."""
        setup = options_for(action, way.cluster.name).setup
        return not setup and is_one_command(way.recipe)

    def token(self, index: int) -> str:
        """The token of the job with this index in the plan."""
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
            recipe = known.recipes.get(prefix)
            if recipe is None:
                recipe = write_recipe(known.command, self.workflow.workspace_path, prefix)
                known.recipes[prefix] = recipe
        except RowtuiError as error:
            known.problems[error.message, error.hint] = None
            return None
        return recipe

    def _choice(self, known: _OfAction, action: Action, count: int) -> PartitionChoice:
        cluster = self.setting.cluster
        named = options_for(action, cluster.name).partition
        choice = choose_partition(cluster, action.resources, count, named)
        if choice.partition is None:
            refusals = [str(refusal) for refusal in choice.refusals]
            size = plural(count, "directory", "directories")
            message = f"no partition of {visible(cluster.name)} takes a job on {size}"
            hint = "\n    ".join(refusals) or f"{visible(cluster.name)} has no partitions"
            known.problems[message, hint] = None
        return choice

    def job_warnings(self, request: JobRequest, choice: PartitionChoice) -> tuple[str, ...]:
        """What people should know of one job; it is counted for `warnings`."""
        known = self._known(request.action)
        warnings = list(choice.warnings)
        ends = self.ends.get(request.action.name) or {}
        indices = request.group.indices if ends else ()
        failures = {at: ends[at] for at in indices if at in ends and ends[at].failed}
        if failures:
            first = next(iter(failures.values()))
            names = [self.directories.name(at) for at in failures]
            known.failed += names
            warnings.append(
                f"the last job of {_some(names)} failed: {visible(first.reason)}"
                + (f" ({first.cluster}/{first.job_id})" if first.job_id else "")
            )
        for warning in choice.warnings:
            known.warnings[warning] = known.warnings.get(warning, 0) + 1
        return tuple(warnings)

    def problems(self) -> tuple[Problem, ...]:
        """Everything that is wrong, by action; of many alike the first few and how many."""
        found = []
        file = str(self.workflow.path)
        for index, known in sorted(self.actions.items()):
            where = f"action '{visible(known.action.name)}': "
            causes = list(known.problems)
            for message, hint in causes[:_SHOWN]:
                text = message if message.startswith(where[:-2]) else where + message
                found.append(Problem(file, 0, 0, text, hint, action=index))
            if len(causes) > _SHOWN:
                more = plural(len(causes) - _SHOWN, "more job has such a problem", "more jobs do")
                found.append(Problem(file, 0, 0, where + more, action=index))
        return tuple(found)

    def warnings(self) -> tuple[str, ...]:
        """The warnings of all jobs, each once for an action with the number of its jobs."""
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


def _way(recipe: Recipe, cluster: Cluster, choice: PartitionChoice) -> Way:
    return Way(recipe, cluster, choice.partition if cluster.has_partitions else None, choice)


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(map(visible, names[:_SHOWN]))
    return shown + (f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else "")
