"""From job requests to a plan: where each job goes and why, its script, what there is to know.

Takes the workflow, the job requests, the cluster and its launchers, the directories, and who and
when and a nonce (no clock or chance of its own); gives an immutable `Plan`, or every problem that
would stop one of its jobs, before anything is sent: once for each action, not for each job.
Source: DESIGN's contracts; Row A5.2 (these errors came in the middle of a submission).
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from rowtui.core.clusters.launcher_prefix import launcher_prefix, starts_processes
from rowtui.core.clusters.model import Cluster, Launchers, Partition, PartitionChoice
from rowtui.core.clusters.partition import choose_partition, partition_memory_mb
from rowtui.core.errors import InvalidFileError, Problem, RowtuiError
from rowtui.core.grouping.model import JobRequest
from rowtui.core.state.model import Failure
from rowtui.core.submission.arrays import with_arrays
from rowtui.core.submission.header import job_name, log_path, options_for
from rowtui.core.submission.model import Destination, Packed, Plan, PlannedJob
from rowtui.core.submission.plan_json import plan_id
from rowtui.core.submission.script import Recipe, job_script, write_recipe
from rowtui.core.text import Cost, plural, visible
from rowtui.core.workflow.model import Action, Workflow
from rowtui.core.workflow.template import Command, parse_command

if TYPE_CHECKING:
    from rowtui.core.submission.placed import Placed

_SHOWN = 3  # directories named in one problem or warning


class PlanError(InvalidFileError):
    """Some jobs cannot be planned, so none is; `problems` has one for each cause and action."""


class Named(Protocol):
    """What a plan needs of `Directories`."""

    def name(self, position: int) -> str:
        """The name, in os.fsdecode form."""
        ...

    def value(self, position: int) -> object:
        """The JSON value."""
        ...


class PackedJobs(NamedTuple):
    """The jobs of a plan in bundles, what that did, and what a person should know of it."""

    jobs: tuple[PlannedJob, ...]
    packed: tuple[Packed, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Setting:
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


def make_plan(
    workflow: Workflow,
    requests: Sequence[JobRequest],
    directories: Named,
    setting: Setting,
    *,
    failed: Mapping[str, Mapping[int, Failure]] | None = None,
    skipped: Sequence[str] = (),
    places: Sequence[Placed] | None = None,
) -> Plan:
    """The plan for these requests, in their order.

    `failed` are the state's records of directories whose last job failed; `skipped` says which
    groups were left out before; `places`, one for each request, where the mapper sends them
    (without: the first partition that takes them). Raises: PlanError with every problem of every
    job.
    """
    planner = _Planner(workflow, directories, setting, failed or {})
    if places is None:
        jobs = [planner.job(at, request) for at, request in enumerate(requests)]
    else:
        jobs = [planner.job(at, place.request, place) for at, place in enumerate(places)]
    problems = planner.problems()
    if problems:
        raise PlanError(problems)
    planned = tuple(job for job in jobs if job is not None)
    packing = PackedJobs(planned) if setting.pack is None else setting.pack(planned)
    planned = packing.jobs
    most = {job.destination.cluster: 0 for job in planned}
    for cluster in (setting.cluster, *(place.cluster for place in places or ())):
        most[cluster.name] = setting.array_tasks(cluster)
    if any(most.values()):
        planned = with_arrays(planned, most)
    cost = Cost()
    for job in planned:
        cost = cost.plus(job.cost)
    plan = Plan(
        id="",
        created=setting.created,
        user=setting.user,
        cluster=setting.cluster.name,
        scheduler=setting.cluster.scheduler,
        jobs=planned,
        cost=cost,
        warnings=(*planner.warnings(), *packing.warnings),
        skipped=tuple(skipped),
        packed=packing.packed,
    )
    return replace(plan, id=plan_id(plan))


@dataclass
class _OfAction:
    """What is worked out once for an action element."""

    command: Command | None = None
    recipes: dict[str, Recipe] = field(default_factory=dict)
    choices: dict[int, PartitionChoice] = field(default_factory=dict)
    checked: bool = False
    # What is wrong, and in which directories or jobs.
    problems: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    warnings: dict[str, int] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)


class _Planner:
    def __init__(
        self,
        workflow: Workflow,
        directories: Named,
        setting: Setting,
        failed: Mapping[str, Mapping[int, Failure]],
    ) -> None:
        self.workflow = workflow
        self.directories = directories
        self.setting = setting
        self.failed = failed
        self.actions: dict[int, _OfAction] = {}
        self.named: dict[int, Action] = {}

    def job(
        self, index: int, request: JobRequest, place: Placed | None = None
    ) -> PlannedJob | None:
        """One job, or None with its problems noted."""
        action, positions = request.action, request.group.indices
        self.named[action.index] = action
        known = self.actions.setdefault(action.index, _OfAction())
        cluster = self.setting.cluster if place is None else place.cluster
        names = tuple(map(self.directories.name, positions))
        count = len(names)
        named = options_for(action, cluster.name).partition
        recipe = self.recipe(known, action, cluster, count)
        if place is None:
            choice = self.choice(known, action, count, named)
            if recipe is None or choice.partition is None:
                return None
            reasons = choice_reasons(cluster, choice, named)
        else:
            choice = PartitionChoice(place.partition, place.warnings)
            reasons = place.reasons
        if recipe is None:
            return None
        partition = choice.partition if cluster.has_partitions else None
        token = f"{self.setting.nonce}-{index}"
        # Values are read only when the command needs them: that may be a million files' worth.
        values = [self.directories.value(p) for p in positions] if recipe.filled.values else ()
        try:
            script = job_script(
                recipe,
                request,
                names=names,
                values=values,
                cluster=cluster,
                partition=partition,
                token=token,
            )
        except RowtuiError as error:
            self.note(known, error.message, error.hint, names)
            return None
        if self.setting.check_shell and not known.checked:
            known.checked = True
            simple = not options_for(action, cluster.name).setup and is_one_command(recipe)
            complaint = "" if simple else self.setting.check_shell(script)
            if complaint:
                self.note(known, f"bash cannot read the command or setup: {complaint}", "", ())
                return None
        return PlannedJob(
            token=token,
            name=job_name(action, names),
            action=action.name,
            action_index=action.index,
            directories=names,
            destination=Destination(cluster.name, partition.name if partition else ""),
            script=script,
            log_path="" if cluster.scheduler == "bash" else log_path(action, cluster.name),
            processes=request.processes,
            cpus=request.cpus,
            gpus=request.gpus,
            memory_mb=job_memory_mb(request, partition),
            walltime_seconds=request.walltime_seconds,
            cost=request.cost,
            attempt=request.attempt,
            warnings=self.job_warnings(known, request, choice),
            reasons=reasons,
            depends_on=tuple(f"{self.setting.nonce}-{other}" for other in request.depends_on),
            basis="" if place is None else place.basis.text,
            starts_steps=starts_processes(action, self.setting.launchers, cluster.name),
            node_type="" if place is None else place.node_type,
            requires=request.requires,
        )

    def recipe(
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
            self.note(known, error.message, error.hint, ())
            return None
        return recipe

    def choice(
        self, known: _OfAction, action: Action, count: int, named: str | None
    ) -> PartitionChoice:
        choice = known.choices.get(count)
        if choice is None:
            choice = choose_partition(self.setting.cluster, action.resources, count, named)
            known.choices[count] = choice
        if choice.partition is None:
            refusals = [str(refusal) for refusal in choice.refusals]
            size = plural(count, "directory", "directories")
            self.note(
                known,
                f"no partition of {visible(self.setting.cluster.name)} takes a job on {size}",
                "\n    ".join(refusals)
                or f"{visible(self.setting.cluster.name)} has no partitions",
                (),
            )
        return choice

    def job_warnings(
        self, known: _OfAction, request: JobRequest, choice: PartitionChoice
    ) -> tuple[str, ...]:
        warnings = list(choice.warnings)
        failures = self.failed.get(request.action.name, {})
        again = [at for at in request.group.indices if at in failures]
        if again:
            first = failures[again[0]]
            names = [self.directories.name(at) for at in again]
            known.failed += names
            warnings.append(
                f"the last job of {_some(names)} failed: {visible(first.reason)}"
                + (f" ({first.cluster}/{first.job_id})" if first.job_id else "")
            )
        for warning in choice.warnings:
            known.warnings[warning] = known.warnings.get(warning, 0) + 1
        return tuple(warnings)

    def note(self, known: _OfAction, message: str, hint: str, names: Sequence[str]) -> None:
        known.problems.setdefault((message, hint), []).extend(names[:1])

    def problems(self) -> tuple[Problem, ...]:
        """Everything that is wrong, by action; of many alike the first few and how many."""
        found = []
        file = str(self.workflow.path)
        for index, known in sorted(self.actions.items()):
            where = f"action '{visible(self.named[index].name)}': "
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
        for index, known in sorted(self.actions.items()):
            name = visible(self.named[index].name)
            found += [
                f"{name}: {warning} ({plural(jobs, 'job')})"
                for warning, jobs in known.warnings.items()
            ]
            if known.failed:
                found.append(f"{name}: the last job of {_some(known.failed)} failed")
        return tuple(found)


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(map(visible, names[:_SHOWN]))
    return shown + (f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else "")


def choice_reasons(cluster: Cluster, choice: PartitionChoice, named: str | None) -> tuple[str, ...]:
    """Why a job goes to this partition, and why not to those before it. `named`: in the file."""
    refusals = tuple(f"not {refusal}" for refusal in choice.refusals)
    if cluster.scheduler == "local":
        return ("this machine's own queue runs it in the background, when cores are free",)
    if cluster.scheduler == "bash":
        return ("it runs here and now, one job after another",)
    if choice.partition is None:
        return refusals
    name = visible(choice.partition.name)
    if named is not None:
        return (f"{name}: named in submit_options.{visible(cluster.name)}.partition", *refusals)
    return (f"{name}: the first partition that takes the job", *refusals)


def job_memory_mb(request: JobRequest, partition: Partition | None) -> int | None:
    """The memory of the whole job in MB, None if nobody states it."""
    resources, gpus = request.action.resources, bool(request.gpus)
    each = resources.memory_per_gpu_mb if gpus else resources.memory_per_cpu_mb
    if each is None and partition is not None:
        each = partition_memory_mb(partition, gpus)
    return None if each is None else each * (request.gpus if gpus else request.cpus)


# Words that stand for themselves, and our templates as they stand between words.
_WORD = r"[A-Za-z0-9_+,./:@%=-]+"
_RESERVED = "if|then|else|elif|fi|do|done|case|esac|while|until|for|in|function|time|select|coproc"
_ONE_COMMAND = re.compile(
    rf"(?!(?:{_RESERVED}) )(?!(?:{_RESERVED})$){_WORD}"
    rf"(?: +(?:{_WORD}|\"\$\w+\"|\"\$\{{directories\[@\]\}}\"))*"
)


def is_one_command(recipe: Recipe) -> bool:
    """Whether a command is so plain that no bash has anything against it: it need not be asked."""
    return _ONE_COMMAND.fullmatch(recipe.filled.text) is not None


def bash_complaint(script: str) -> str:
    """What bash has against a script's syntax, "" if nothing. `bash -n` runs none of it."""
    try:
        done = subprocess.run(
            ["bash", "-n"], input=script.encode(), capture_output=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""  # cannot be asked here: the node will tell
    # A here-document that does not end is only a warning to bash.
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    return visible(lines[0].removeprefix("bash: ")) if lines else ""
