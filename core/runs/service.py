"""What drives a run without its user: a unit of `systemd --user`, or jobs of the scheduler.

The unit restarts a driver that was killed, but not one that paused or ended. Source of the quoting:
systemd.syntax(7), and "Command lines" in systemd.service(5).

A driver job asks for one CPU, runs `rowtui run --resume` within the limits that the user confirmed,
and ends before its time limit. Some minutes after its start it submits its successor, which the
scheduler starts when this job has ended in any way; a run that is over, paused or stopped by the
user cancels the successor. The lock of the run allows one driver at a time. A driver job is in the
journal like every other job (a plan with one job and without directories), so that it runs once.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import NotSavedError, RowtuiError
from rowtui.core.base.text import Cost, visible
from rowtui.core.clusters.schedulers.kind import kind_of
from rowtui.core.clusters.schedulers.local.machine import user_name
from rowtui.core.groups.model import Group, JobRequest
from rowtui.core.project.planning.plan_submission import plan_setting
from rowtui.core.project.queue.verbs import cancel_jobs
from rowtui.core.runs.limits.limits import RunLimits
from rowtui.core.runs.model import RunStatus, Stopped
from rowtui.core.submission.plan.draft import draft_jobs
from rowtui.core.submission.plan.make_plan import make_plan
from rowtui.core.submission.plan.planner import PlanError
from rowtui.core.submission.plan.record import DRIVER_MARK
from rowtui.core.submission.scripts.parts import options_for, quote
from rowtui.core.workflow.model import Action, Resources, SubmitOptions, Walltime

if TYPE_CHECKING:
    from rowtui.core.project.open_project import OpenProject
    from rowtui.core.runs.run import Run
    from rowtui.core.submission.plan.model import Plan
    from rowtui.core.submission.plan.record import JobRecord

# Exit codes of `rowtui run` after which only the user can decide, see docs/run.md.
_FINAL_EXITS = "1 2 130"
_RESTART_SECONDS = 30
_STOP_SECONDS = 60
# A service does not inherit the user's shell: these variables decide what a driver finds.
KEPT_VARIABLES = (
    "PATH",
    "ROWTUI_LOCAL_DIR",
    "ROW_HOME",
    "SGE_CELL",
    "SGE_ROOT",
    "SLURM_CONF",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
)
_SHELL = 'cd -- "$0" || exit 75; exec "$@"'  # the folder may not be mounted yet


def service_name(root: Path) -> str:
    """Return the unit's name, such as `rowtui-study-1a2b3c4d.service`: one for each folder."""
    word = re.sub(r"[^A-Za-z0-9_]+", "-", root.name).strip("-")[:40] or "project"
    path = str(root.resolve()).encode("utf-8", "surrogateescape")
    return f"rowtui-{word}-{hashlib.sha256(path).hexdigest()[:8]}.service"


def service_path(root: Path, environment: Mapping[str, str]) -> Path:
    """Return where the user's unit for this folder is stored."""
    home = Path(environment.get("HOME") or Path.home())
    configuration = environment.get("XDG_CONFIG_HOME") or ""
    base = Path(configuration) if configuration.startswith("/") else home / ".config"
    return base / "systemd" / "user" / service_name(root)


def quoted_word(text: str) -> str:
    """Return one word of a unit's setting, in which systemd replaces nothing.

    Raises: RowtuiError for bytes that are no UTF-8, which systemd does not read.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise RowtuiError(
            f"systemd cannot use '{visible(text)}', which is not valid UTF-8",
            "rename the folder, or start `nohup rowtui run --yes &`",
        ) from None
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda it: f"\\x{ord(it[0]):02x}", escaped) + '"'


def quoted_argument(text: str) -> str:
    """Return one argument of a unit's command line, in which `$` is special as well.

    Raises: RowtuiError as `quoted_word`.
    """
    return quoted_word(text).replace("$", "$$")


def service_unit(root: Path, words: Sequence[str], environment: Mapping[str, str]) -> str:
    """Return the text of a unit that runs these words in the folder of the project.

    Raises: RowtuiError if systemd cannot use a path.
    """
    # A shell changes to the folder: WorkingDirectory= has other rules of quoting.
    arguments = " ".join(map(quoted_argument, ("-c", _SHELL, str(root), *words)))
    variables = [
        f"Environment={quoted_word(f'{name}={environment[name]}')}"
        for name in KEPT_VARIABLES
        if environment.get(name)
    ]
    about = visible(root.name).replace("%", "%%").replace("\\", "\\\\")
    return "\n".join(
        [
            "[Unit]",
            f"Description=rowtui run of {about}",
            "",
            "[Service]",
            *variables,
            f"ExecStart=/bin/sh {arguments}",
            "Restart=on-failure",
            f"RestartSec={_RESTART_SECONDS}",
            f"RestartPreventExitStatus={_FINAL_EXITS}",
            f"TimeoutStopSec={_STOP_SECONDS}",
            # Jobs of the queue `local` and shared logins outlive the driver.
            "KillMode=process",
            "",
            "[Install]",
            "WantedBy=default.target",
            "",
        ]
    )


_DAY = 86_400
MEMORY_MB = 1000
# A driver job ends itself this long before its time limit, or a tenth of the limit before.
LAST_SECONDS = 120.0
# A driver job has a successor after this time, or a tenth of its limit: one that fails at once has
# none, so that an error does not start job after job.
STEADY_SECONDS = 300.0
AGAIN_SECONDS = 60.0  # after a submission that failed
RESUME = "rowtui run --resume"
ALTERNATIVE = "start `nohup rowtui run --yes > run.log 2>&1 &` on this machine instead"


def driver_plan(
    project: OpenProject,
    words: Sequence[str],
    seconds: int | None = None,
    partition: str | None = None,
    *,
    after: int = 0,
) -> Plan:
    """Return the plan of a driver job, which runs these words with `--in-job TOKEN`.

    `seconds`: its time limit (None: a day, or less where no partition allows it). `after`: the id
    of the job whose end it waits for. Raises: RowtuiError if jobs of the project's cluster cannot
    drive the project, or no partition accepts this one.
    """
    cluster, kind = project.cluster, kind_of(project.cluster)
    if cluster.remote is not None or not kind.has_partitions:
        why = "is reached over SSH" if cluster.remote is not None else "has no scheduler with nodes"
        raise RowtuiError(
            f"a job cannot drive this project: {visible(cluster.name)} {why}", ALTERNATIVE
        )
    setting = plan_setting(project, user=user_name())
    setting = setting._replace(nonce=f"{DRIVER_MARK}{setting.nonce}", warnings=())
    kept = [f"{it}={os.environ[it]}" for it in ("HOME", *KEPT_VARIABLES) if os.environ.get(it)]
    command = " ".join(map(quote, (*kept, *words, f"--in-job={setting.nonce}-0")))
    accounts = (options_for(it, cluster.name).account for it in project.workflow.actions)
    options = SubmitOptions(
        account=next(filter(None, accounts), None),
        custom=(kind.after_end_option(after),) if after else (),
        partition=partition,
    )
    limits = {min(it.maximum_walltime_seconds or _DAY, _DAY) for it in cluster.partitions} or {_DAY}
    for limit in [seconds] if seconds else sorted(limits, reverse=True):
        action = Action(
            -1,
            "rowtui-driver",
            f": {{directories}}; exec env {command}",
            resources=Resources(walltime=Walltime(limit, False), memory_per_cpu_mb=MEMORY_MB),
            submit_options={cluster.name: options},
        )
        job = JobRequest(Group(action, ()), 1, 1, 0, limit, Cost(limit / 3600, 0.0))
        directories = project.state.directories
        try:
            return make_plan(draft_jobs(project.workflow, [[job]], directories, setting))
        except PlanError as error:
            hint = error.problems[0].hint
    raise RowtuiError(f"no partition of {visible(cluster.name)} accepts the driver's job", hint)


def driven_by(run: Run, project: OpenProject) -> str:
    """Return the process that drives a run, or the job that will; "" if none does."""
    holder = run.holder()
    if holder is not None:
        return str(holder)
    jobs = project.jobs.records() if run.may_go_on else []
    waiting = next((it for it in jobs if it.drives), None)
    return f"job {waiting.name_at}, which waits to start" if waiting else ""


class RunStanding(NamedTuple):
    """An open run for screens. `driver`: see `driven_by`; `why`: what keeps it from going on."""

    id: str
    driver: str
    why: str
    limits: RunLimits = RunLimits()


def standing_of(run: Run, project: OpenProject) -> RunStanding | None:
    """Return how an open run stands; None if it is over. Raises: RowtuiError."""
    standing, driver = run.standing, driven_by(run, project)
    if standing.status.is_over:
        return None
    why = standing.why if standing.status is RunStatus.PAUSED else "its user stopped it"
    if run.interrupted:
        why = "its driver ended without a word"
    return RunStanding(run.id, driver, "" if driver else why, run.limits)


async def submit_driver(project: OpenProject, plan: Plan) -> list[str]:
    """Submit a driver job; return what went wrong. Raises: RowtuiError."""
    return [step.error async for step in project.jobs.submit(plan) if step.error]


async def stop_driver(run: Run, project: OpenProject, why: str) -> list[str]:
    """Stop the process that drives a run, and cancel jobs that wait to; return what failed.

    The process reads the stop in the journal, on any machine, and a job of its own then ends.
    """
    holder = run.holder()
    run.append(Stopped(time.time(), why))
    jobs = project.jobs.records() if holder is not None and holder.job else []
    own = next((it.token for it in jobs if it.name_at == holder.job), "") if holder else ""
    return await cancel_drivers(project, own)


async def cancel_drivers(project: OpenProject, but: str = "") -> list[str]:
    """Cancel the driver jobs of a project, except the job `but`; return why some were not."""
    tokens = [it.token for it in project.jobs.records() if it.drives and it.token != but]
    answers = await cancel_jobs(project, tokens, for_run=True) if tokens else ()
    return [it.error for it in answers if it.error]


@dataclass
class DriverJob:
    """The driver job that this process runs in.

    `limit`: its time limit in seconds. `plan` returns the plan of its successor.
    """

    project: OpenProject
    record: JobRecord
    limit: float
    plan: Callable[[], Plan]
    _follow_at: float | None = field(init=False)  # monotonic; None: the job has a successor

    def __post_init__(self) -> None:
        """Let the successor wait until this job works."""
        self._follow_at = time.monotonic() + min(STEADY_SECONDS, self.limit / 10)

    @property
    def seconds(self) -> float:
        """Return after how many seconds the driver ends, so that its successor takes over."""
        return self.limit - min(LAST_SECONDS, self.limit / 10)

    async def follow(self) -> list[str]:
        """Submit the successor when it is time, once; return what went wrong.

        Raises: NotSavedError.
        """
        if self._follow_at is None or time.monotonic() < self._follow_at:
            return []
        self._follow_at = time.monotonic() + AGAIN_SECONDS
        others = [it for it in self.project.jobs.records() if it.drives]
        errors: list[str] = []
        if all(it.token == self.record.token for it in others):
            try:
                errors = await submit_driver(self.project, self.plan())
            except NotSavedError:
                raise
            except RowtuiError as error:
                errors = [error.message]
        if not errors:
            self._follow_at = None
        return [f"no job takes over from the driver: {it}" for it in errors]

    async def end(self) -> None:
        """Cancel the successor, which would have nothing to do."""
        await cancel_drivers(self.project, self.record.token)
