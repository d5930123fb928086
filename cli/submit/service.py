"""`rowtui run` without its terminal: what drives a run, or is to drive it, and how to stop it.

`--status` and `--stop` take the newest run. `--install-service` takes a run whose limits the user
is about to confirm, and enables a unit of the user's systemd, also after a restart; where systemd
is missing, the message names the alternatives. `--as-job` submits the driver as a job of the
scheduler, which is replaced before its time limit.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from functools import partial
from typing import TYPE_CHECKING

from rowtui.cli.environment import cluster_name
from rowtui.cli.environment import run as run_async
from rowtui.cli.output.output import Output
from rowtui.cli.project.open import ask, say_notices
from rowtui.cli.submit.json import ProjectRunDocument, RetriedDirectories
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.files import replace_file
from rowtui.core.base.text import Cost, count, plural, visible
from rowtui.core.project.open_project import OpenProject
from rowtui.core.runs.execution.driver import MessageKind
from rowtui.core.runs.execution.result import failed_jobs
from rowtui.core.runs.limits.times import cost_text, describe
from rowtui.core.runs.model import Retried, RunStatus
from rowtui.core.runs.service import (
    ALTERNATIVE,
    DriverJob,
    driven_by,
    driver_plan,
    service_path,
    service_unit,
    stop_driver,
    submit_driver,
)
from rowtui.core.workflow.duration import format_duration

if TYPE_CHECKING:
    from rowtui.core.runs.run import Run
    from rowtui.core.runs.store import RunStore
    from rowtui.core.submission.plan.model import Plan

ALTERNATIVES = (
    "start `nohup rowtui run --yes > run.log 2>&1 &`, or `rowtui run` within tmux or screen"
)
_SECONDS = 30.0


def show_service(args: argparse.Namespace, project: OpenProject, out: Output) -> None:
    """Print the unit that would drive this project.

    Raises: RowtuiError if this machine has no systemd of the user.
    """
    _require_systemd()
    path = service_path(project.root, os.environ)
    out.print(f"Unit {visible(str(path))}:")
    out.lines(f"  {visible(line)}" for line in _unit(args, project).splitlines())


def install_service(args: argparse.Namespace, project: OpenProject, out: Output) -> int:
    """Write the unit, start it, and report whether it stays when the user logs out."""
    path = service_path(project.root, os.environ)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, _unit(args, project).encode())
    except OSError as error:
        raise RowtuiError(f"{path} cannot be written: {error.strerror}", ALTERNATIVES) from None
    _systemctl("daemon-reload")
    _systemctl("enable", path.name)
    _systemctl("restart", path.name)
    out.print(f"systemd drives the run: `systemctl --user status {path.name}`,")
    out.print(f"`journalctl --user -u {path.name}`, or `rowtui run --status`.")
    if not _lingers():
        out.warn(
            "systemd ends the service when you log out: run `loginctl enable-linger`. If the"
            " site does not allow this, " + ALTERNATIVES
        )
    return 0


def uninstall_service(args: argparse.Namespace, project: OpenProject, out: Output) -> int:
    """Stop and remove the unit of this project, after asking; submitted jobs continue."""
    path = service_path(project.root, os.environ)
    if not path.exists():
        out.print("No service is installed for this project.")
        return 0
    out.print(f"{visible(str(path))} is stopped and removed. Submitted jobs continue.")
    if not (args.yes or ask("Proceed?", out, as_json=args.json)):
        out.warn("Nothing was changed.")
        return 1
    _require_systemd()
    _systemctl("disable", "--now", path.name)
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise RowtuiError(f"{path} cannot be removed: {error.strerror}") from None
    _systemctl("daemon-reload")
    out.print("The service is removed. 'rowtui run' goes on with the run.")
    return 0


def resume_words(args: argparse.Namespace, cluster: str = "") -> list[str]:
    """Return the command that goes on with the run. `cluster`: if the options name none."""
    words = [sys.executable, "-P", "-m", "rowtui.cli.main"]
    if name := cluster_name(args) or cluster:
        words += ["--cluster", name]
    words += ["run", "--resume"]
    words += ["--no-retry"] * args.no_retry
    if args.action is not None:
        words.append(f"--action={args.action}")
    return words


def _unit(args: argparse.Namespace, project: OpenProject) -> str:
    return service_unit(project.root, resume_words(args), os.environ)


def _require_systemd() -> None:
    if shutil.which("systemctl") is None:
        raise RowtuiError("this machine has no systemd", ALTERNATIVES)
    if not _done("systemctl", "--user", "show-environment").returncode == 0:
        raise RowtuiError("systemd does not run services for you on this machine", ALTERNATIVES)


def _systemctl(*words: str) -> None:
    done = _done("systemctl", "--user", *words)
    if done.returncode:
        text = visible(done.stderr.strip().splitlines()[-1]) if done.stderr.strip() else "no reason"
        raise RowtuiError(f"`systemctl --user {' '.join(words)}` failed: {text}", ALTERNATIVES)


def _lingers() -> bool:
    """Whether the user's services run while the user is logged out."""
    done = _done("loginctl", "show-user", str(os.getuid()), "--property=Linger", "--value")
    return done.stdout.strip() == "yes"


def _done(*words: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            words,
            check=False,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            timeout=_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(words, 127, "", str(error))


_EXPLAINED = (RunStatus.PAUSED, RunStatus.FAILED, RunStatus.FINISHED)


def stop_or_show(
    store: RunStore, project: OpenProject, args: argparse.Namespace, out: Output
) -> int:
    """Stop the process that drives the newest run, or show how far that run is."""
    run = store.latest()
    if run is None:
        raise RowtuiError("there is no run yet", "'rowtui run' begins one")
    driver = driven_by(run, project)
    if args.stop:
        return _stop(run, driver, project, out)
    standing = run.standing
    retried = [event for event in run.events() if isinstance(event, Retried) and event.why]
    standing.failed = len(failed_jobs(run, project.jobs.records()))
    if args.json:
        shown = ProjectRunDocument(
            run.id,
            standing.status,
            standing.why,
            driver,
            standing.submitted,
            standing.failed,
            standing.cpu_hours,
            standing.gpu_hours,
            describe(run.limits),
            [RetriedDirectories(*event) for event in retried],
        )
        out.json(shown)
        return 0
    on = "; 'rowtui run' continues it" * (standing.status == RunStatus.RUNNING)
    driven = f"driven by {driver}" if driver else f"no process drives it{on}"
    explained = standing.why and standing.status in _EXPLAINED
    why = f" ({visible(standing.why)})" if explained else ""
    out.print(f"Run {run.id}: {standing.status.value}{why}, {driven}.")
    spent = cost_text(Cost(standing.cpu_hours, standing.gpu_hours))
    jobs = plural(standing.submitted, "job")
    out.print(f"{jobs} submitted for at most {spent}, {count(standing.failed)} failed.")
    for event in retried:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(event.at))
        what = MessageKind.CONTINUES if event.continues else MessageKind.RETRY
        out.print(f"  {when}  {what.value}: {visible(event.why)}")
    return 0


def _stop(run: Run, driver: str, project: OpenProject, out: Output) -> int:
    """Stop the run, and cancel the jobs that would drive it; a job that does ends by itself."""
    if not driver:
        out.print(f"No process drives run {run.id}.")
        return 0
    for why in run_async(stop_driver(run, project, "rowtui run --stop")):
        out.warn(f"a job that waits to drive the run was not cancelled: {why}; it will do nothing")
    out.print(f"Run {run.id} stops within seconds; its submitted jobs continue.")
    return 0


def planned_driver(args: argparse.Namespace, project: OpenProject, out: Output) -> Plan:
    """Return the plan of a job that drives the project, and print what it asks for.

    Raises: RowtuiError where a job cannot drive the project.
    """
    plan = _plan(args, project)
    job = plan.jobs[0]
    limit = format_duration(job.walltime_seconds)
    out.print(f"The driver is a job on {job.destination}: 1 CPU, for at most {limit}. Before that")
    out.print("time is over another job takes over, until the run ends or you stop it.")
    return plan


def refuse_beside_job(project: OpenProject) -> None:
    """Refuse to drive a project that a job drives or waits to drive. Raises: RowtuiError."""
    if other := next((it for it in project.jobs.records() if it.drives), None):
        raise RowtuiError(
            f"the project is driven by job {other.name_at}", "stop it with `rowtui run --stop`"
        )


def start_as_job(plan: Plan, run: Run, project: OpenProject, out: Output) -> int:
    """Submit the job that drives a run. The caller holds the project."""
    errors = run_async(submit_driver(project, plan))
    say_notices(project, out)
    if errors:
        raise RowtuiError(f"the driver's job was not submitted: {errors[0]}", ALTERNATIVE)
    job = next(it for it in project.jobs.records() if it.plan_id == plan.id)
    out.print(f"Job {job.name_at} drives run {run.id}: 'rowtui run --status' shows how far it is.")
    out.note(f"Its output is in {visible(job.log_path)}. 'rowtui run --stop' ends it.")
    return 0


def job_of(args: argparse.Namespace, project: OpenProject) -> DriverJob | None:
    """Return the job that this process is, as `--in-job` names it; None without the option."""
    if not args.in_job:
        return None
    record = next((it for it in project.jobs.records() if it.token == args.in_job), None)
    if record is None or record.planned is None:
        raise RowtuiError(f"no job {visible(args.in_job)} is on record", "'rowtui run' goes on")
    limit = args.job_time or record.planned.walltime_seconds
    return DriverJob(project, record, limit, partial(_plan, args, project, record.job_id))


def _plan(args: argparse.Namespace, project: OpenProject, after: int = 0) -> Plan:
    name = project.cluster.name if project.configured.named(project.cluster.name) else ""
    words = resume_words(args, name)
    if args.job_time:
        words.append(f"--job-time={format_duration(args.job_time)}")
    if args.job_partition:
        words.append(f"--job-partition={args.job_partition}")
    return driver_plan(project, words, args.job_time, args.job_partition, after=after)
