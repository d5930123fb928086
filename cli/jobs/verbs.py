"""`rowtui cancel`, `hold`, `release` and `change`: choose jobs, ask, send, print the answers.

`change` prints each value now and afterwards before it asks.
"""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from rowtui.cli.environment import run as run_async
from rowtui.cli.jobs.choice import CANCEL, CHANGE, HOLD, RELEASE, Verb, choose_jobs
from rowtui.cli.output.output import Output
from rowtui.cli.project.open import ask, open_project, say_notices
from rowtui.core.base.document import TextOrNull
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.lazy import asyncio
from rowtui.core.base.text import plural, visible
from rowtui.core.clusters.schedulers.base import JobAnswer
from rowtui.core.clusters.schedulers.job_terms import (
    TERM_LABELS,
    JobTerms,
    read_terms,
    term_text,
)
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.queue.verbs import (
    cancel_jobs,
    change_jobs,
    hold_jobs,
    present_terms,
    release_jobs,
)
from rowtui.core.project.queue.views import PresentTerms
from rowtui.core.submission.plan.record import JobRecord

T = TypeVar("T")


class JobAnswerJson(NamedTuple):
    """The result of `cancel`, `hold`, `release` or `change` for one job. `error`: null if done."""

    id: str
    cluster: str
    error: TextOrNull


class JobAnswersJson(NamedTuple):
    """`cancel`, `hold`, `release` and `change`."""

    answers: Sequence[JobAnswerJson]


JobRequests = Callable[[OpenProject, Sequence[str]], Awaitable[tuple[JobAnswer, ...]]]
SHOWN_JOBS = 10  # before the question


def cancel(args: argparse.Namespace, out: Output) -> int:
    """Cancel the chosen jobs; 1 if one could not be cancelled."""
    return _act(args, out, CANCEL, cancel_jobs)


def hold(args: argparse.Namespace, out: Output) -> int:
    """Hold the chosen jobs; 1 if one could not be held."""
    return _act(args, out, HOLD, hold_jobs)


def release(args: argparse.Namespace, out: Output) -> int:
    """Release the chosen jobs; 1 if one could not be released."""
    return _act(args, out, RELEASE, release_jobs)


def change(args: argparse.Namespace, out: Output) -> int:
    """Change the chosen jobs, which wait; 1 if one could not be changed."""
    texts = {name: getattr(args, name) or "" for name in TERM_LABELS}
    terms, wrong = read_terms(texts)
    for sentence in wrong.values():
        raise RowtuiError(*sentence.split("; ", 1))
    if terms.is_nothing:
        raise RowtuiError("what is to change?", "give --time, --partition, --nice or --after")
    return _act(args, out, CHANGE, partial(change_jobs, change=terms), terms)


def _act(
    args: argparse.Namespace,
    out: Output,
    verb: Verb,
    request: JobRequests,
    terms: JobTerms | None = None,
) -> int:
    """Apply the verb to the chosen jobs; 1 if a job was not accepted.

    `terms`: the new terms of `change`.
    """
    if not (args.jobs or args.action or args.all):
        raise RowtuiError("which jobs?", "give job ids, -a PATTERN, or --all")
    project = open_project(args, out, ask_queue=False)
    view = run_async(project.jobs.view())
    say_notices(project, out)
    if view.error:
        out.warn(f"The queue could not be asked: {view.error}")
    jobs = choose_jobs(args, view.jobs, verb, out)
    if not jobs:
        out.warn(f"No job to {verb.name}.")
        if args.json:
            out.json(JobAnswersJson(()))
        return 1 if args.jobs else 0
    if terms is not None and not args.json:
        _print_change(out, run_async(present_terms(project, jobs, len(jobs))), terms)
    if len(jobs) >= verb.asks_from and not args.yes and not _confirmed(args, jobs, verb, out):
        out.warn(f"Nothing was {verb.past}.")
        return 0
    answers = run_async(_send(project, jobs, request))
    project.close()
    return _say(args, answers, verb, out)


def _print_change(out: Output, present: PresentTerms, terms: JobTerms) -> None:
    """Print each changed term: now, afterwards, and the number of jobs."""
    for name, after in terms._asdict().items():
        for before, count in present.values.get(name, ()) if after is not None else ():
            change = f"{term_text(before, name)} -> {term_text(after, name)}"
            out.print(f"  {TERM_LABELS[name]}: {change} ({plural(count, 'job')})")


async def _send(
    project: OpenProject, jobs: Sequence[JobRecord], request: JobRequests
) -> list[tuple[str, JobAnswer]]:
    """Return each cluster's answer; the requests are sent to all clusters at the same time."""
    tokens: dict[str, list[str]] = {}
    for job in jobs:
        tokens.setdefault(job.cluster, []).append(job.token)
    answers = await asyncio.gather(*(request(project, each) for each in tokens.values()))
    return [(name, answer) for name, given in zip(tokens, answers, strict=True) for answer in given]


def _say(
    args: argparse.Namespace, answers: Sequence[tuple[str, JobAnswer]], verb: Verb, out: Output
) -> int:
    if args.json:
        found = [JobAnswerJson(answer.label, name, answer.error) for name, answer in answers]
        out.json(JobAnswersJson(found))
    several = len({name for name, _ in answers}) > 1
    for name, answer in answers:
        where = f" on {visible(name)}" if several else ""
        if answer.error:
            out.error(f"Job {answer.label}{where}: {answer.error}")
        elif not args.json:
            out.print(f"{verb.past.capitalize()} job {answer.label}{where}.")
    return 1 if any(answer.error for _, answer in answers) else 0


def _confirmed(
    args: argparse.Namespace, jobs: Sequence[JobRecord], verb: Verb, out: Output
) -> bool:
    several = len({job.cluster for job in jobs}) > 1
    for job in jobs[: 0 if args.json else SHOWN_JOBS]:
        state = f"{job.state.value} on {visible(job.cluster)}" if several else job.state.value
        what = f"{job.label} {visible(job.action)} ({state})"
        out.print(f"  {what} on {plural(len(job.directories), 'directory', 'directories')}")
    if len(jobs) > SHOWN_JOBS and not args.json:
        out.print(f"  and {len(jobs) - SHOWN_JOBS:,} more")
    question = f"{verb.name.capitalize()} {plural(len(jobs), 'job')}?"
    return ask(question, out, default=False, as_json=args.json)
