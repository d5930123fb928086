"""`rowtui run`: print what it will do and its limits, ask once, and drive the project to its end.

The input is a project without a network, or its open run; the result is a line for each event and
how the run ended. For programs each event is an object on its own line.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, NotRequired, TypedDict

from rowtui.cli.environment import run as run_async
from rowtui.cli.network.shared.text import clock, limit_lines, retry_lines
from rowtui.cli.output.output import Output
from rowtui.cli.output.progress import ProgressBar
from rowtui.cli.project.open import ask, chosen_actions, open_project, say_notices, send_messages
from rowtui.cli.submit import service
from rowtui.cli.submit.json import RetryRuleJson, RetryRulesJson
from rowtui.cli.submit.limits import chosen_limits
from rowtui.core.base.document import utc
from rowtui.core.base.errors import NotSavedError, RowtuiError
from rowtui.core.base.text import Cost, plural, visible
from rowtui.core.project.failed_jobs import FailedAttempt, failed_before
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.retry_policy import NO_RETRIES, RetryPolicy, RetryRule, load_policy
from rowtui.core.runs.execution.driver import WAITS, DriverMessage, MessageKind
from rowtui.core.runs.execution.project_run import ProjectRun
from rowtui.core.runs.limits.limits import PROJECT_FAILURES_IN_A_ROW, RunLimits
from rowtui.core.runs.limits.spending import RemainingCost
from rowtui.core.runs.lock import PROJECT_DRIVER, RunHeldError
from rowtui.core.runs.run import TERMINATED, Run
from rowtui.core.runs.store import PROJECT_RUNS, RunStore
from rowtui.core.submission.bundles.pilot_model import is_pilot
from rowtui.core.workflow.find import has_network

if TYPE_CHECKING:
    from rowtui.core.workflow.model import Action

INTERRUPTED = 130
TRY_AGAIN = 75  # sysexits.h: a service that ended so is started again
TELL_SECONDS = 5.0
MOST_FAILURES = 100
LOCK_SECONDS, LOCK_PAUSE = 600.0, 2.0
_COUNTED = (MessageKind.SENT, MessageKind.HAPPENED)


class ProjectRunEventJson(TypedDict):
    """One line of `run`. The first, `run`, has the `id`; the others have the rest.

    `plan`: the id of what was sent. `completed`, `failed`: jobs that ended since the last line.
    """

    event: str
    id: NotRequired[str]
    at: NotRequired[str | None]
    sentence: NotRequired[str]
    success: NotRequired[bool]
    plan: NotRequired[str | None]
    completed: NotRequired[int]
    failed: NotRequired[int]


def run(args: argparse.Namespace, out: Output) -> int:
    """Drive the project; 0 only if all directories are complete.

    A driver's job waits for the driver before it, whose lock a file server may keep for a while.
    """
    deadline = time.monotonic() + LOCK_SECONDS * bool(args.in_job)
    while True:
        try:
            return _run(args, out)
        except NotSavedError as error:
            out.error(str(error))
            return TRY_AGAIN
        except RunHeldError as error:
            if time.monotonic() >= deadline:
                raise
            out.warn(f"{error.message}; this job waits for its end")
        time.sleep(LOCK_PAUSE)


def _run(args: argparse.Namespace, out: Output) -> int:
    project = open_project(args, out, errors=False)
    policy = NO_RETRIES if args.no_retry else load_policy(project.root)
    if args.rules:
        _print_rules(policy, project, args, out)
        return 0
    store = RunStore(project.root, PROJECT_RUNS)
    if args.status or args.stop:
        return service.stop_or_show(store, project, args, out)
    if has_network(project.root):
        raise RowtuiError(
            "this project has a network, which decides what runs",
            "drive it with 'rowtui network run'",
        )
    actions = chosen_actions(args, project, out, required=True)
    if not actions:
        return 1
    if args.uninstall_service:
        return service.uninstall_service(args, project, out)
    had = _open_run(store, args)
    if args.resume:
        if had is None or not had.may_go_on:
            out.print(
                "No run was interrupted. 'rowtui run' begins one, or goes on with new limits."
            )
            return 0
        job = service.job_of(args, project)
        with store.hold():
            if job is None:
                service.refuse_beside_job(project)
            send_messages(project, out)
            code = _drive(args, ProjectRun(project, had, policy, args.action, job=job), out)
        return 0 if job is not None else code  # the run's journal has how the run ended
    before, cost = (None, _remaining(actions, project)) if had is None else (had.limits, Cost())
    if before is None and args.pool is not None:
        from rowtui.core.project.planning.pool_packing import pool_cost  # numpy

        with contextlib.suppress(RowtuiError):  # the run reports it
            cost = Cost(*map(max, cost, pool_cost(project, actions)))
    work = RemainingCost(cost=cost)
    limits = chosen_limits(args, project, before, work, PROJECT_FAILURES_IN_A_ROW)
    if not args.json:
        _say_what(project, had, policy, limits, out)
    if args.json and (args.install_service or args.as_job):
        name = "--as-job" if args.as_job else "--install-service"
        raise RowtuiError(f"{name} has no output as JSON", "leave out --json")
    if args.install_service:
        service.show_service(args, project, out)
    plan = service.planned_driver(args, project, out) if args.as_job else None
    if not (args.yes or ask("Proceed?", out, as_json=args.json)):
        out.warn("Nothing was begun.")
        return 1
    with store.hold():
        service.refuse_beside_job(project)
        if had is None:
            had = store.create(None, limits=limits, cluster=project.cluster_name or "")
        else:
            had.confirm(limits, time.time())
        if plan is not None:
            return service.start_as_job(plan, had, project, out)
        if not args.install_service:
            send_messages(project, out)
            return _drive(args, ProjectRun(project, had, policy, args.action), out)
    return service.install_service(args, project, out)


def _open_run(store: RunStore, args: argparse.Namespace) -> Run | None:
    """Return the run to go on with; None for a new one. Raises: RunHeldError."""
    newest = store.latest()
    if newest is None:
        return None
    holder = newest.holder()
    if holder is not None:
        raise RunHeldError(newest.id, holder, PROJECT_DRIVER)
    return None if args.new or newest.status.is_over else newest


def _remaining(actions: Sequence[Action], project: OpenProject) -> Cost:
    chosen = {action.index for action in actions}
    rows = project.status_table().rows
    return Cost.total(row.remaining_cost for row in rows if row.action.index in chosen)


def _say_what(
    project: OpenProject, had: Run | None, policy: RetryPolicy, limits: RunLimits, out: Output
) -> None:
    """Print what the run will do, and the limits beyond which it pauses."""
    name = "A new run" if had is None else f"Run {had.id} goes on"
    out.print(f"{name}: {visible(project.root.name)} is driven until all is complete.")
    if not project.mapping.exists:  # whose rules may send each job elsewhere
        name, here = visible(project.cluster.name), project.cluster.scheduler == "local"
        out.print("Jobs run on this machine." if here else f"Jobs go to {name}.")
    for why in project.unfinished:
        out.warn(f"{why}; it is sent again")
    out.print("Limits, beyond which it pauses:")
    out.lines(f"  {line}" for line in limit_lines(limits))
    out.print("Failures that are retried, within these limits:")
    out.lines(f"  {line}" for line in retry_lines(policy))
    sys.stdout.flush()


def _print_rules(
    policy: RetryPolicy, project: OpenProject, args: argparse.Namespace, out: Output
) -> None:
    """Print the rules, how many of the last failures each decides, and failures without a rule."""
    records = project.jobs.records()
    failed = [it for it in records if it.end is not None and it.end.outcome.failed][:MOST_FAILURES]
    before = failed_before(records, failed)
    found: defaultdict[RetryRule | None, Counter[str]] = defaultdict(Counter)
    for record in failed:
        failure = FailedAttempt.of(record, before.get(record.token, ()))
        decided = policy.decide(project.workflow, failure)
        found[decided.rule][decided.effect.value if decided.rule else failure.cause] += 1
    if args.json:
        rules = [
            RetryRuleJson(
                it.action, it.on, it.attempts, str(it.change), it.wait_seconds, it.line or None,
                it.continues, it.progress, found[it],
            )
            for it in policy.rules
        ]  # fmt: skip
        out.json(RetryRulesJson(rules, len(failed), found[None]))
        return
    for line, rule in zip(retry_lines(policy), policy.rules or (None,), strict=True):
        out.print(line)
        out.lines([f"  {_counts(found[rule])}"] if rule in found else ())
    if without := found[None].total():
        last = plural(len(failed), "failed job")
        out.print(f"No rule matches {without:,} of the last {last} ({_counts(found[None])}).")


def _counts(numbers: Counter[str]) -> str:
    return ", ".join(f"{visible(what)}: {count:,}" for what, count in numbers.most_common())


def _drive(args: argparse.Namespace, driver: ProjectRun, out: Output) -> int:
    if args.json:
        out.print(json.dumps({"event": "run", "id": driver.run.id}))
    else:
        out.print(f"Run {driver.run.id}:")
    sys.stdout.flush()
    last: DriverMessage | None = None
    printer = _Printer(driver, out, as_json=args.json)
    interrupted = False
    try:
        last = run_async(printer.drive())
    except (KeyboardInterrupt, asyncio.CancelledError):
        interrupted = True
    finally:
        driver.project.close()
    if last is not None and last.kind is MessageKind.OVER:
        if not args.json and last.success:
            out.print(out.style("Done: all directories are complete.", "green"))
        elif not args.json:
            out.error(f"The run is over: {last.sentence}.")
            out.note("'rowtui show status' shows where, 'rowtui retry' tries failed work again.")
        return 0 if last.success else 1
    if last is not None and last.kind is MessageKind.PAUSED and not interrupted:
        if not args.json:
            out.error(f"Paused: {last.sentence}.")
            out.note("Submitted jobs continue. 'rowtui run' goes on; --max-cpu-hours and others")
            out.note("give it new limits.")
        return 1
    out.note("The run has stopped: submitted jobs continue, and 'rowtui run' goes on.")
    return INTERRUPTED


class _Printer:
    """Prints the messages of one run."""

    def __init__(self, driver: ProjectRun, out: Output, *, as_json: bool) -> None:
        self.driver = driver
        self.out = out
        self.as_json = as_json
        self.bar = ProgressBar(out, "Directories")
        self._opened = self._sent = self._good = self._bad = 0  # jobs that no line has counted yet
        self._told_at = 0.0

    async def drive(self) -> DriverMessage | None:
        """Drive the run until it is over or pauses; return the last message. Raises: RowtuiError.

        The first Ctrl-C lets the current step finish, the second cancels it.
        """
        last: DriverMessage | None = None
        loop, me = asyncio.get_running_loop(), asyncio.current_task()
        assert me is not None
        for signal_number in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(ValueError, RuntimeError):  # the main thread has signals
                loop.add_signal_handler(signal_number, self._interrupt, me, signal_number)
        try:
            async with aclosing(self.driver.drive()) as messages:
                async for last in messages:
                    self._print(last)
        finally:
            loop.remove_signal_handler(signal.SIGINT)
            loop.remove_signal_handler(signal.SIGTERM)
            self.bar.close()
        return last

    def _interrupt(self, me: asyncio.Task[object], number: signal.Signals) -> None:
        if self.driver.stopping:
            me.cancel()
        with contextlib.suppress(RowtuiError):
            self.driver.stop(TERMINATED if number is signal.SIGTERM else "interrupted")

    def _print(self, message: DriverMessage) -> None:
        project = self.driver.project
        self.bar.clear()
        if self.as_json:
            line: ProjectRunEventJson = {
                "event": message.kind.value,
                "at": utc(time.time()),
                "sentence": message.sentence,
                "success": message.success,
                "plan": None if message.plan is None else message.plan.id,
                "completed": message.completed,
                "failed": message.failed,
            }
            self.out.print(json.dumps(line))
        else:
            self._count(message)
            if message.kind is MessageKind.PROBLEM:
                self.out.warn(message.sentence)
            elif message.kind is MessageKind.WAITING:
                self.out.warn(f"{message.sentence}{WAITS}")
            elif message.kind in (MessageKind.RETRY, MessageKind.CONTINUES):
                self.out.print(f"{clock()}  {message.kind.value}: {message.sentence}")
            elif message.kind is MessageKind.BEGUN:
                self.out.print(f"{clock()}  {visible(message.sentence)}")
        sys.stdout.flush()
        say_notices(project, self.out)
        if not self.out.progress:
            return
        rows = [project.status_row(action) for action in self.driver.actions]
        done = sum(row.completed.bit_count() for row in rows)
        total = sum(
            (row.completed | row.submitted | row.eligible | row.waiting).bit_count() for row in rows
        )
        self.bar(done, max(total, 1))

    def _count(self, message: DriverMessage) -> None:
        """Print how many jobs were sent and ended, at most one line in some seconds."""
        if message.kind is MessageKind.SENT and message.plan is not None:
            opened = sum(is_pilot(job.token) for job in message.plan.jobs)
            self._opened += opened
            self._sent += len(message.plan.jobs) - opened
        self._good += message.completed
        self._bad += message.failed
        if time.monotonic() - self._told_at < TELL_SECONDS and message.kind in _COUNTED:
            return
        words = [f"opened {plural(self._opened, 'allocation')}"] * bool(self._opened)
        words += [f"sent {plural(self._sent, 'job')}"] * bool(self._sent)
        words += [f"{plural(self._good, 'job')} completed"] * bool(self._good)
        words += [f"{plural(self._bad, 'job')} failed"] * bool(self._bad)
        if words:
            self.out.print(f"{clock()}  {', '.join(words)}")
            self._opened = self._sent = self._good = self._bad = 0
            self._told_at = time.monotonic()
