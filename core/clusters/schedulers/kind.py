"""Kinds of schedulers: what rowtui must know about a scheduler besides the connection to it.

Kinds of other packages are found by the entry points of the group `rowtui.schedulers`, which are
read only for a name that is not built in. Each entry point names a subclass of `SchedulerKind`, and
has the kind's name in clusters.toml as its name. Every other room asks the kind of a cluster, so
that no room has to distinguish schedulers by name. A kind is imported for each plan, so it imports
the modules that talk to a cluster only when they are used.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.plug_ins import PlugInError, PlugIns
from rowtui.core.base.text import plural, visible

if TYPE_CHECKING:
    from rowtui.core.base.document import Flat
    from rowtui.core.clusters.commands import Transport
    from rowtui.core.clusters.model import Cluster, ClusterLoad, NodeType, Partition
    from rowtui.core.clusters.schedulers.base import Job, JobKey, Scheduler
    from rowtui.core.clusters.schedulers.job_terms import WaitingTerms
    from rowtui.core.clusters.schedulers.reason_table import Reasons
    from rowtui.core.workflow.model import Resources, SubmitOptions


class HeaderRequest(NamedTuple):
    """The totals and options of one job, for the header of its script."""

    resources: Resources
    options: SubmitOptions
    log_path: str
    processes: int
    cpus: int
    gpus: int
    walltime_seconds: int


class CommandOutput(NamedTuple):
    """One command and its output as names and values; `problem`: why there is no output."""

    command: str
    fields: tuple[tuple[str, str], ...] = ()
    problem: str = ""


class SchedulerDetail(NamedTuple):
    """The details of a job. None: not queried, or unknown.

    `start`: epoch seconds. `ahead`: how many of the `waiting` jobs of its partition have a higher
    priority; an array counts as one. `problem`: the information that the scheduler does not offer.
    """

    asked: tuple[CommandOutput, ...] = ()
    priority: tuple[tuple[str, int], ...] = ()
    start: int | None = None
    on: str = ""
    ahead: int | None = None
    waiting: int | None = None
    estimated: bool = False
    problem: str = ""


class Everybody(NamedTuple):
    """Jobs with their users; `cut`: there are more; `problem`: why there is no answer."""

    jobs: tuple[tuple[str, Job], ...] = ()
    problem: str = ""
    cut: bool = False


class FoundKind(NamedTuple):
    """Equal nodes of one partition, and how many of them are down or asleep now.

    `example`: the name of one node. `closed`: the state of a partition that accepts no jobs now.
    """

    kind: Flat[NodeType]
    nodes: int
    down: int = 0
    asleep: int = 0
    example: str = ""
    closed: str = ""

    @property
    def remarks(self) -> tuple[str, ...]:
        """Lines for the user with facts that the figures do not show."""
        text = plural(self.nodes, "node")
        text += f" such as {self.example}" if self.nodes > 1 else f": {self.example}"
        if self.down:
            text += f"; {self.down:,} down or drained now"
        if self.asleep:
            text += f"; {self.asleep:,} asleep now"
        lines = [text]
        if self.kind.boot_seconds:
            lines.append("boot_time is the longest that Slurm waits for one (ResumeTimeout)")
        if self.closed:
            lines.append(f"the partition is {self.closed} now")
        return tuple(lines)


class FoundNodes(NamedTuple):
    """All kinds, the default partition's first, and notices about unreadable or unknown data."""

    kinds: tuple[FoundKind, ...]
    notices: tuple[str, ...] = ()


class AccountLimit(NamedTuple):
    """One limit on one account (or on this user in it). Hours; `unit` as in `HOURS`."""

    account: str
    user: str  # "": all users of the account together
    unit: str
    whole: float
    used: float


class Allocations(NamedTuple):
    """The allocations that could be read. `why`: the reason if there are none.

    `shares`: fair-share factors by account, None if the site has none.
    """

    found: tuple[AccountLimit, ...] = ()
    shares: Mapping[str, float | None] = {}
    default: str = ""  # the account of jobs that name none, if the user has only one
    why: str = ""


USERS_SHELL = '"${SHELL:-/bin/sh}"; exit 0'
"""How a line of `SchedulerKind.shell_beside` ends: with 0 after every shell that was opened."""


class SchedulerKind:
    """A kind of scheduler. The defaults are those of a queue without any special abilities.

    `title`: the name of the software. `runs_here`: its jobs are processes of this machine, so a
    cluster cannot be reached over SSH. `immediate`: jobs run inside `submit`. `has_partitions`: a
    job is submitted to one of the cluster's partitions. `describes`: a cluster reports its
    partitions, and `version_command` prints a line with the version. `programs`: names of programs
    that must be on PATH. `waits_for_success`: a job can wait until others have ended well.
    `array_task`: the bash expression of a task's number; "": no arrays. `names_resources`: sites
    choose the names of memory and GPUs. `keeps_accounts`: jobs are charged to accounts.
    `header_refuses`: `header` may refuse a job. `names_job`: the header has the job's name.

    `job_id` and `restarts` are bash expressions for the scheduler's job id and for the number of
    earlier starts, "" if the scheduler counts no starts. BY_HAND stands for an id of a script that
    is run by hand. `bundle_id`: as `job_id`, inside a job that runs many requests; "": the
    scheduler runs no such jobs. `starts_steps`: such a job has an sbatch header, and starts its
    requests as steps with srun. `pilots`: such a job may wait for more requests.

    `node_form`: the form of the names of nodes that a job may exclude. `only_choice`: why a job
    goes to such a cluster, if there is no choice between partitions.
    """

    name = ""
    title = ""
    runs_here = False
    immediate = False
    has_partitions = False
    describes = False
    version_command: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    waits_for_success = False
    array_task = ""
    names_resources = False
    keeps_accounts = False
    header_refuses = False
    names_job = False
    job_id = "${ROWTUI_JOB_ID:-BY_HAND}"
    restarts = ""
    bundle_id = ""
    bundle_restarts = "0"
    starts_steps = False
    pilots = False
    node_form = r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}"
    only_choice = ""

    def connect(self, cluster: str, transport: Transport | None, query_timeout: float) -> Scheduler:
        """Return the scheduler of a cluster; `transport`: None for commands on this machine."""
        raise NotImplementedError

    # Scripts

    def header(
        self, request: HeaderRequest, cluster: Cluster, partition: Partition | None
    ) -> list[str]:
        """Return the lines of a script's header without the job's name. Raises: RowtuiError."""
        return []

    def name_line(self, job_name: str) -> str:
        """Return the line of the header with the job's name, if `names_job`."""
        return ""

    def limit(self, seconds: int) -> int:
        """Return the time limit that the scheduler applies where a job asks for this one."""
        return seconds

    def traps(self, walltime_seconds: int) -> str:
        """Return lines of bash that handle the scheduler's signals; "" for none."""
        return ""

    def placement_options(self, params: Mapping[str, Any]) -> tuple[list[str], list[str]]:
        """Return the options of the header for a destination's parameters, and unknown parameters.

        Raises: RowtuiError for an invalid value.
        """
        return [], list(params)

    def delay_option(self, seconds: int) -> str:
        """Return the option of the header for a start no earlier than this; "" if impossible."""
        return ""

    def exclude_option(self, nodes: Sequence[str], written: Sequence[str]) -> str:
        """Return the option of the header that keeps a job off these nodes; "" if impossible.

        `written`: the options that the header has; nodes that they exclude stay excluded.
        """
        return ""

    def after_end_option(self, job_id: int) -> str:
        """Return the option of the header for a start after the end of a job, good or bad."""
        return ""

    def waiting_jobs(self, transport: Transport) -> WaitingTerms | None:
        """Return what reads and changes the terms of jobs that wait; None: they cannot change."""
        return None

    def shell_beside(self, job: JobKey, node: str) -> str:
        """Return one line of sh that opens a shell beside a running job, on its node.

        The line runs where the scheduler's commands are; it prints a sentence and fails if there is
        no such shell. "": a shell on this machine is beside the job.
        """
        return ""

    # Explanations, and queries on the user's request

    @property
    def reasons(self) -> Reasons | None:
        """The reasons why jobs wait."""
        return None

    async def detail(self, transport: Transport, job: JobKey, *, estimate: bool) -> SchedulerDetail:
        """Return all details of one job; `estimate`: also its start and the queue before it."""
        return SchedulerDetail(
            problem=f"a scheduler of the kind {visible(self.name)} reports no further details"
        )

    async def everybody(self, transport: Transport, most: int) -> Everybody:
        """Return the jobs of all users, at most `most`."""
        return Everybody(problem="its scheduler does not list other people's jobs")

    async def load(self, transport: Transport, cluster: str, timeout: float) -> ClusterLoad | None:  # noqa: ASYNC109
        """Return the current load of a cluster; None if it is not known."""
        return None

    async def describe(self, transport: Transport) -> Cluster | None:
        """Return the cluster as its scheduler describes it, if `describes`; None if there is none.

        Raises: RowtuiError.
        """
        return None

    async def node_types(self, transport: Transport) -> FoundNodes | None:
        """Return the cluster's node types; None if it does not report them. Raises: RowtuiError."""
        return None

    async def allocations(self, transport: Transport, accounts: Collection[str]) -> Allocations:
        """Return what these accounts may still use, if `keeps_accounts`."""
        return Allocations(why="its scheduler keeps no accounts")


PLUG_INS = PlugIns("rowtui.schedulers", "scheduler", lambda made: isinstance(made, SchedulerKind))


BUILT_IN = {
    "bash": ("bash.kind", "BashKind"),
    "slurm": ("slurm.kind", "SlurmKind"),
    "local": ("local.kind", "LocalKind"),
    "grid_engine": ("grid_engine.kind", "GridEngineKind"),
}
"""The module and the class of each built-in scheduler: entry points are read for other names only.

They are entry points, too (pyproject.toml), so that another package sees them.
"""


def scheduler_names() -> tuple[str, ...]:
    """Return the valid values of `scheduler` in clusters.toml, in alphabetical order."""
    return tuple(sorted({*BUILT_IN, *PLUG_INS.names()}))


def has_scheduler(name: str) -> bool:
    """Whether this is a valid value of `scheduler` in clusters.toml."""
    return name in BUILT_IN or name in PLUG_INS.names()


@cache
def scheduler_kind(name: str) -> SchedulerKind:
    """Return the kind of scheduler with this name.

    Raises: RowtuiError if it is not installed, or its plug-in fails.
    """
    if name in BUILT_IN:
        module, kind_class = BUILT_IN[name]
        made: SchedulerKind = getattr(import_module(f"{__package__}.{module}"), kind_class)()
        return made
    if not has_scheduler(name):
        known = ", ".join(map(visible, scheduler_names()))
        message = f"there is no scheduler '{visible(name)}'"
        raise RowtuiError(message, f"installed are {known}")
    try:
        kind: SchedulerKind = PLUG_INS.load(name)
    except PlugInError as error:
        raise _unusable(name, error.why, error.hint) from None
    if kind.name != name:
        why = f"its plug-in calls itself '{visible(str(kind.name))}'"
        raise _unusable(name, why, PLUG_INS.origin(name))
    return kind


def kind_of(cluster: Cluster) -> SchedulerKind:
    """Return the kind of a cluster's scheduler. Raises: RowtuiError if it is not installed."""
    return scheduler_kind(cluster.scheduler)


def is_this_machine(cluster: Cluster) -> bool:
    """Whether its jobs run in this machine's own queue, and are no larger than this machine."""
    kind = kind_of(cluster)
    return kind.runs_here and not kind.immediate and cluster.remote is None


def needs_description(cluster: Cluster) -> bool:
    """Whether the cluster must be queried for its partitions, over SSH or on this machine."""
    asked = cluster.remote is not None or cluster.asked_partitions
    return asked and not cluster.partitions and kind_of(cluster).describes


def make_scheduler(
    name: str, cluster: str, transport: Transport | None, seconds: float
) -> Scheduler:
    """Return the scheduler with this name, for a cluster. Raises: RowtuiError.

    `seconds`: the time limit of one query.
    """
    kind = scheduler_kind(name)
    try:
        return kind.connect(cluster, transport, seconds)
    except RowtuiError:
        raise
    except (Exception, SystemExit) as error:  # any failure of another package
        why = f"its plug-in failed with {type(error).__name__}"
        raise _unusable(name, why, PLUG_INS.origin(name)) from None


def _unusable(name: str, why: str, hint: str) -> RowtuiError:
    return RowtuiError(f"scheduler '{visible(name)}': {why}", hint)
