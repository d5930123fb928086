"""The submission of a plan: show it, ask, send, and follow the jobs.

Texts, prompt and order are Row's; on `local` the jobs are followed and Ctrl-C detaches.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from rowtui.cli.environment import run as run_async
from rowtui.cli.output.output import WARN, Output
from rowtui.cli.output.transfers import (
    CopyingLine,
    conflict_errors,
    planned_transfers,
    say_transfers,
)
from rowtui.cli.project.open import (
    ADD_YES,
    NOTHING,
    ask,
    say_left_out,
    say_notices,
    say_totals,
    send_messages,
)
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import Cost, plural, visible
from rowtui.core.clusters.schedulers.kind import is_this_machine, kind_of
from rowtui.core.project.open_project import OpenProject
from rowtui.core.runs.limits.limits import RunLimits, Spent, fits
from rowtui.core.submission.bundles.script import bundle_script
from rowtui.core.submission.plan.model import JobStep, Plan, PlannedJob, count_jobs

if TYPE_CHECKING:
    from rowtui.core.project.sizing.measured import ExpectedCost
    from rowtui.core.project.views.views import TransferView
    from rowtui.core.submission.sending.release_held import SendingProgress


class PlanMessages(NamedTuple):
    """A command's messages about a plan. `why` follows the number of jobs; `before` precedes it."""

    verb: str = "Submitting"
    nothing: str = NOTHING
    why: str = ""
    before: Sequence[str] = ()


def send_if_confirmed(
    args: argparse.Namespace, project: OpenProject, plan: Plan, out: Output, words: PlanMessages
) -> int:
    """Send a plan after the user confirmed; 1 if a job was left out or did not end well.

    `args`: --dry-run, --json, --yes, --over-budget and --detach.
    """
    say_left_out(plan.skipped, out)
    for sentence in plan.warnings:
        out.warn(sentence)
    enough = getattr(args, "n", None) is not None and len(plan.jobs) == args.n
    incomplete = 1 if plan.skipped and not enough else 0
    if not plan.jobs and project.unfinished and not args.dry_run:
        return _finish(args, project, plan, out) or incomplete
    if not plan.jobs:
        out.warn(words.nothing)
        if args.json:
            print_answers(plan, {}, project, out)
        project.close()
        return incomplete
    _say_what(plan, out)
    if args.dry_run:
        if args.json:
            print_plan(plan, out, scripts=True)
        else:
            for _, script in scripts_of(project, plan):
                out.text(script)
        project.close()
        return incomplete
    if args.json and not args.yes:
        hint = f"{ADD_YES}; 'rowtui plan --json' only shows the plan"
        raise RowtuiError("with --json no question is asked", hint)
    transfers = planned_transfers(project, plan)
    if not args.json:
        number, jobs = str(count_jobs(plan.jobs)).split(" ", 1)
        count = out.style(number, "yellow bold")
        cost = out.style(str(plan.cost), "cyan bold")
        out.lines(words.before)
        out.print(f"{words.verb} {count} {jobs}{words.why} that may cost up to {cost}.")
        say_packing(plan, out)
        say_transfers(transfers, out)
        _say_here(project, out)
    if conflicts := conflict_errors(transfers):
        for error in conflicts:
            out.error(str(error))
        if args.json:
            print_answers(plan, {}, project, out, transfers)
        return 1
    if getattr(args, "check", False) and not args.json:
        from rowtui.cli.submit.review import say_checks

        if not say_checks(project, plan, out):
            out.warn("Nothing was submitted: a check failed. Without --check nothing is checked.")
            return 1
    beyond = () if args.over_budget else beyond_limits(project, plan, RunLimits())
    if beyond and (args.json or args.yes):
        raise RowtuiError(
            "; ".join(beyond),
            "submit fewer jobs with -n, or add --over-budget for all of them",
        )
    if not (args.json or args.yes or ask("Proceed?", out)):
        out.warn("Nothing was submitted.")
        return 0
    if beyond and not _exceeds_budgets(beyond, out):
        out.warn("Nothing was submitted.")
        return 1
    return _submit(args, project, plan, out, transfers) or incomplete


def _say_here(project: OpenProject, out: Output) -> None:
    """Print that the jobs run on this machine, where clusters are described and none was named."""
    if project.cluster_name is not None or not is_this_machine(project.cluster):
        return
    if far := project.connections.remote():  # connections take long to load
        name = visible(far[0].name)
        out.print(f"The jobs run on this machine; with '--cluster {name}' they go to {name}.")


def _finish(args: argparse.Namespace, project: OpenProject, plan: Plan, out: Output) -> int:
    """Send the jobs of an unfinished submission again, if the user confirms that."""
    for why in project.unfinished:
        out.warn(f"{why}; it must be sent again")
    jobs = plural(len(project.unfinished), "job")
    if not args.json:
        out.print(f"Sending {jobs} of an unfinished submission again.")
    if not (args.yes or ask("Proceed?", out, as_json=args.json)):
        out.warn("Nothing was submitted.")
        return 0
    run_async(project.jobs.ask(may_send=True))
    say_notices(project, out)
    if args.json:
        print_answers(plan, {}, project, out)
    project.close()
    return 0


def beyond_limits(project: OpenProject, plan: Plan, limits: RunLimits) -> tuple[str, ...]:
    """Return a sentence for each of these limits, and each budget, that this plan would exceed."""
    balances = project.balances_of(plan)
    if not balances and limits == RunLimits():
        return ()
    fit = fits(limits, Spent(), plan, time.time(), {}, balances=balances)
    return tuple(breach.sentence for breach in fit.breaches)


def _exceeds_budgets(beyond: Sequence[str], out: Output) -> bool:
    """Ask for confirmation to exceed budgets; the default answer is no."""
    for sentence in beyond:
        out.warn(f"{sentence[0].upper()}{sentence[1:]}.")
    return ask("Exceed the budget?", out, default=False)


def say_packing(plan: Plan, out: Output) -> None:
    """Print a line for each destination whose jobs share nodes: the cost before and after."""
    if plan.packed:
        from rowtui.cli.pack.text import head

        for packed in plan.packed:
            out.print(f"Packed by {visible(packed.packer)}: {head(packed)}, {packed.saving}.")


def scripts_of(project: OpenProject, plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield a title and the script of each scheduler job.

    Jobs of arrays are listed individually.
    """
    total = f"{len(plan.jobs):,}"
    at = 0
    for token, group in groupby(plan.jobs, _bundle):
        jobs = list(group)
        first, at = at + 1, at + len(jobs)
        if token:
            bundle = jobs[0].bundle
            kind = visible(bundle.node_type) if bundle is not None else ""
            title = f"Jobs {first:,}-{at:,} of {total}, a bundle on {kind}"
            yield title, bundle_script(jobs, _scheduler(project, plan, jobs[0]))
        else:
            for number, job in enumerate(jobs, first):
                yield f"Job {number} of {total}", job.script


def _bundle(job: PlannedJob) -> str:
    return "" if job.bundle is None else job.bundle.token


def _scheduler(project: OpenProject, plan: Plan, job: PlannedJob) -> str:
    """Return the kind of scheduler of a job's cluster."""
    name = job.destination.cluster
    if name == plan.cluster:
        return plan.scheduler
    cluster = project.connections.known(name) or project.configured.named(name)
    return plan.scheduler if cluster is None else cluster.scheduler


def _say_what(plan: Plan, out: Output) -> None:
    """With -v, print a line for each action."""
    totals: dict[str, tuple[int, Cost]] = {}
    for job in plan.jobs:
        jobs, cost = totals.get(job.action, (0, Cost()))
        totals[job.action] = (jobs + 1, cost.plus(job.cost))
    clusters = sorted({job.destination.cluster for job in plan.jobs}) or [plan.cluster]
    say_totals(clusters, totals, out)


def _submit(
    args: argparse.Namespace,
    project: OpenProject,
    plan: Plan,
    out: Output,
    transfers: Sequence[TransferView],
) -> int:
    copying = CopyingLine(out)
    followed = not args.detach and is_this_machine(project.cluster)
    if followed:
        send_messages(project, out)
    if project.unfinished:
        run_async(project.jobs.ask(may_send=True))
    try:
        answers, failed = run_async(_send(args, project, plan, out, copying))
    except KeyboardInterrupt:
        copying.interrupted()
        raise
    finally:
        copying.close()
    if args.json:
        print_answers(plan, answers, project, out, transfers)
    say_notices(project, out)
    if followed and not args.json:
        from rowtui.cli.jobs.follow import follow

        here = project.cluster.name
        tokens = [job.token for job in plan.jobs if job.destination.cluster == here]
        with_output = out.level >= WARN  # not with -q
        ended_well = run_async(follow(project, tokens, out, with_output=with_output))
        failed = not ended_well or failed
        if project.messages is not None:
            project.messages.all_ended(plan.id)
    project.close()
    return 1 if failed else 0


async def _send(
    args: argparse.Namespace, project: OpenProject, plan: Plan, out: Output, copying: CopyingLine
) -> tuple[dict[str, str], bool]:
    """Send the jobs one by one; return errors by token, and whether any was not submitted."""
    started = time.monotonic()
    jobs = {job.token: (number, job) for number, job in enumerate(plan.jobs, start=1)}
    sizes = Counter(job.bundle.token for job in plan.jobs if job.bundle is not None)
    answers: dict[str, str] = {}
    failed = False
    async for step in project.jobs.submit(plan):
        if step.copies_to:
            copying.show(step.message)
            continue
        copying.close()
        failed = failed or bool(step.error)
        if args.json:
            if step.answered:
                answers[step.token] = step.error or answers.get(step.token, "")
        elif step.error:
            out.error(step.error)
        elif step.answered:
            _say_answer(project, step, out)
        elif step.token not in jobs:
            out.note(step.message)
        else:
            number, job = jobs[step.token]
            size = sizes[job.bundle.token] if job.bundle is not None else 0
            out.print(_line(number, len(plan.jobs), job, size, time.monotonic() - started))
            _flush()
    return answers, failed


def print_plan(
    plan: Plan,
    out: Output,
    *,
    scripts: bool,
    transfers: Sequence[TransferView] | None = None,
    expected: ExpectedCost | None = None,
) -> None:
    """Print a plan for programs."""
    from rowtui.cli.submit.json import plan_document

    found = plan_document(plan, scripts=scripts)
    out.json(found._replace(transfers=transfers, expected=expected))


def print_answers(
    plan: Plan | None,
    answers: Mapping[str, str],
    project: OpenProject,
    out: Output,
    transfers: Sequence[TransferView] = (),
) -> None:
    """Print the outcome of each job and the copies made for the jobs, for programs."""
    from rowtui.cli.submit.json import sent_document

    records = project.jobs.show({}).jobs if plan is not None and plan.jobs else ()
    out.json(sent_document(plan, answers, records, project.root, transfers))


def _say_answer(project: OpenProject, step: SendingProgress, out: Output) -> None:
    if step.became is JobStep.ABANDONED:
        out.warn(step.message)
    elif not kind_of(project.cluster).immediate:
        out.print(f"Row submitted {step.message.replace(f'{project.cluster.name}/', '', 1)}.")


def _line(number: int, total: int, job: PlannedJob, size: int, seconds: float) -> str:
    """Return the line for a job. `size`: number of jobs in its bundle."""
    if job.bundle is not None:
        return (
            f"[{number:,}/{total:,}] Submitting a bundle of {plural(size, 'job')} on "
            f"{visible(job.bundle.node_type) or 'a node'}, from {visible(job.name)} on "
            f"({_duration(seconds)})."
        )
    if not job.directories:  # a pilot
        name = visible(job.name)
        return f"[{number:,}/{total:,}] Submitting a {name} ({_duration(seconds)})."
    more = len(job.directories) - 1
    what = f"[{number:,}/{total:,}] Submitting action '{visible(job.action)}'"
    where = f" on directory {visible(job.directories[0])}" + (f" and {more:,} more" if more else "")
    return f"{what}{where} ({_duration(seconds)})."


def _duration(seconds: float) -> str:
    """Return `0ms`, `3s` or `2m`, rounded down as in Row."""
    if seconds < 1:
        return f"{int(seconds * 1000)}ms"
    if seconds < 60:
        return f"{int(seconds)}s"
    return f"{int(seconds // 60)}m {int(seconds % 60)}s"


def _flush() -> None:
    """Flush, so that a job's own output comes after rowtui's line."""
    sys.stdout.flush()
