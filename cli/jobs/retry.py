"""`rowtui retry`: submit failed work again, unchanged or with changes, after asking."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from rowtui.cli.output.output import Output
from rowtui.cli.output.progress import busy_with
from rowtui.cli.project.open import (
    chosen_actions,
    given_names,
    open_project,
    say_mapping_problems,
)
from rowtui.cli.submit.sending import PlanMessages, send_if_confirmed
from rowtui.core.base.text import count, plural, visible
from rowtui.core.project.failed_jobs import ChosenFailures
from rowtui.core.project.next_attempt import AmountChange
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.retry import Again, RetryCause, plan_again
from rowtui.core.state.model import LastOutcome
from rowtui.core.submission.plan.json import named_plan
from rowtui.core.workflow.model import Action

_SHOWN = 10  # jobs that are listed before the question


def retry(args: argparse.Namespace, out: Output) -> int:
    """Plan, ask and send; 1 if a job was not sent, or no named work had failed."""
    project = open_project(args, out, errors=False)
    actions = chosen_actions(args, project, out, required=True)
    named = given_names(args.failed)
    choice = _choice(project, actions, named, out)
    with busy_with(project, out, "Planning"):
        again = plan_again(project, choice, _change(args), limit=args.n)
    say_mapping_problems(project, out)
    if not args.json:
        _hint(again.causes, out)
    words = PlanMessages(
        verb="Retrying",
        nothing=(
            "No failed job can be retried, for the reasons above."
            if again.plan.skipped
            else "There is no failed job to retry." + _cancelled_too(project)
        ),
        why=f" ({_why(again.causes)})" if again.causes else "",
        before=_lines(again),
    )
    plan = again.plan if named is None or args.dry_run else named_plan(again.plan)
    code = send_if_confirmed(args, project, plan, out, words)
    return code if again.plan.jobs or not named else 1


def _cancelled_too(project: OpenProject) -> str:
    ends = (end for ends in project.state.ends.values() for end in ends.values())
    any_cancelled = any(end.outcome is LastOutcome.CANCELLED for end in ends)
    return " Name a cancelled job or its directories to send them again." if any_cancelled else ""


def _choice(
    project: OpenProject, actions: tuple[Action, ...], named: Sequence[str] | None, out: Output
) -> ChosenFailures:
    """Return the chosen work; each name is a job id or a directory."""
    if named is None:
        return ChosenFailures(actions)
    records = project.jobs.records()
    ended = {end.token for ends in project.state.ends.values() for end in ends.values()}
    tokens: set[str] = set()
    among: list[int] = []
    for name in named:
        jobs = [
            it for it in records if it.job_id and name in (it.label, str(it.key), str(it.job_id))
        ]
        position = project.state.directories.position(name)
        if jobs:
            tokens.update([it.token for it in jobs if it.token in ended] or [jobs[0].token])
        elif position is not None:
            among.append(position)
        else:
            out.warn(f"'{visible(name)}' is no job and no directory of this project.")
    return ChosenFailures(actions, tuple(among), frozenset(tokens))


def _change(args: argparse.Namespace) -> AmountChange:
    return AmountChange(
        memory=args.memory,
        walltime=args.time,
        cpus=args.cpus,
        partition=args.partition or "",
        cluster=getattr(args, "cluster", None) or "",
    )


def _why(causes: Sequence[RetryCause]) -> str:
    """Return the causes, for example `7 out of memory, 5 time limit`."""
    return ", ".join(f"{count(each.jobs)} {visible(each.cause)}" for each in causes)


def _lines(again: Again) -> list[str]:
    """Return the first jobs, with the differences from the previous attempt."""
    lines = []
    for job in again.plan.jobs[:_SHOWN]:
        more = len(job.directories) - 1
        where = visible(job.directories[0]) + (f" and {more:,} more" if more else "")
        lines.append(f"  {visible(job.action)} on {where}: {job.reasons[0]}")
    if len(again.plan.jobs) > _SHOWN:
        lines.append(f"  and {count(len(again.plan.jobs) - _SHOWN)} more")
    return lines


def _hint(causes: Sequence[RetryCause], out: Output) -> None:
    """Suggest changes for jobs that get no more of what they lacked; nothing changes by itself."""
    for each in causes:
        suggested = each.suggestion
        if not each.unchanged or suggested.is_nothing:
            continue
        amount = suggested.memory or suggested.walltime
        option, what = ("--memory", "memory") if suggested.memory else ("--time", "time")
        assert amount is not None
        out.note(
            f"{plural(each.unchanged, 'job gets', 'jobs get')} no more {what} than before"
            f" ({visible(each.cause)}): '{option} {amount.value:g}x' would give more."
        )
