"""`rowtui cancel`, `hold` and `release`: choose jobs, ask, send the requests, print the answers."""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from rowtui.cli.environment import run as run_async
from rowtui.cli.jobs.job_text import read_job_name
from rowtui.cli.output.output import Output
from rowtui.cli.project.open import ask, open_project, say_notices
from rowtui.core.base.document import TextOrNull
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.lazy import asyncio
from rowtui.core.base.text import plural, visible
from rowtui.core.clusters.identify import cluster_not_found
from rowtui.core.clusters.schedulers.base import JobAnswer, JobState
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.queue.verbs import cancel_jobs, hold_jobs, release_jobs
from rowtui.core.submission.plan.record import JobRecord
from rowtui.core.workflow.find import matches

# The jobs that a command applies to: by id, by action, or all of the project's.
#
# The input is the command's arguments and the jobs of the project; the result is the chosen jobs. A
# directory stands for its active jobs. A verb defines the states in which a job can be chosen. An
# id without a job gives a warning and stops no other; an id of jobs on two clusters requires
# `--cluster`.


T = TypeVar("T")


class JobAnswerJson(NamedTuple):
    """What became of `cancel`, `hold` or `release` for one job. `error`: null if it was done."""

    id: str
    cluster: str
    error: TextOrNull


class JobAnswersJson(NamedTuple):
    """`cancel`, `hold` and `release`."""

    answers: Sequence[JobAnswerJson]


class Verb(NamedTuple):
    """A verb for jobs.

    `of_all`: states that -a and --all include; `by_id`: states that ids may name.

    `asks_from`: number of jobs from which the user is asked for confirmation.
    """

    name: str
    past: str
    of_all: frozenset[JobState]
    by_id: frozenset[JobState]
    asks_from: int = 2


ACTIVE = frozenset(state for state in JobState if state.active)
# The scheduler did not answer, or hides other users' jobs.
_PERHAPS = frozenset({JobState.UNKNOWN})
CANCEL = Verb("cancel", "cancelled", ACTIVE | _PERHAPS, ACTIVE | _PERHAPS, asks_from=1)
HOLD = Verb(
    "hold",
    "held",
    frozenset({JobState.PENDING}),
    frozenset({JobState.PENDING, JobState.HELD}) | _PERHAPS,
)
# Right after `hold` a poll may still show the state before.
RELEASE = Verb("release", "released", frozenset({JobState.HELD}), HOLD.by_id)


def given_clusters(args: argparse.Namespace) -> list[str]:
    """Return the clusters of `--cluster`, to which jobs are restricted; none for any."""
    clusters: list[str] = getattr(args, "clusters", [])
    return clusters


def known_clusters(
    args: argparse.Namespace, project: OpenProject, used: Iterable[str]
) -> list[str]:
    """Return the clusters of `--cluster`; those of jobs (`used`) need not be configured any more.

    Raises: RowtuiError for a cluster that does not exist.
    """
    given = given_clusters(args)
    if given:
        known = dict.fromkeys([*(it.name for it in project.configured.clusters), *sorted(used)])
        for name in given:
            if name not in known and project.connections.known(name) is None:
                raise cluster_not_found(name, known)
    return given


def choose_jobs(
    args: argparse.Namespace, jobs: Iterable[JobRecord], verb: Verb, out: Output
) -> list[JobRecord]:
    """Return the chosen jobs. Raises: RowtuiError if an id is ambiguous."""
    clusters = given_clusters(args)
    jobs = [it for it in jobs if it.job_id]
    if clusters:
        jobs = [it for it in jobs if it.cluster in clusters]
    chosen = {
        it.token: it
        for it in jobs
        if (args.all or (args.action and matches(args.action, it.action)))
        and it.state in verb.of_all
    }
    for text in args.jobs:
        chosen.update((it.token, it) for it in _called(text, jobs, verb, out))
    return list(chosen.values())


def _called(text: str, jobs: Sequence[JobRecord], verb: Verb, out: Output) -> list[JobRecord]:
    """Return the jobs of one id or directory to which the verb applies; warn if there is none."""
    name = read_job_name(text)
    named = [it for it in jobs if name is not None and name.means(it)]
    if not named and (directory := text.rstrip("/")):
        found = [it for it in jobs if directory in it.directories and it.state in verb.by_id]
        if found:
            return found
    found = [it for it in named if it.state in verb.by_id]
    if not found and any(it.state.active for it in named):
        states = sorted({it.state.value for it in named if it.state.active})
        out.warn(f"Job {text} is {' and '.join(states)}: there is nothing to {verb.name}.")
    elif not found:
        out.warn(f"'{visible(text)}' is no active job of this project.")
    refuse_several_clusters(text, found)
    return found


def refuse_several_clusters(text: str, records: Iterable[JobRecord]) -> None:
    """Refuse jobs of one id that are on several clusters. Raises: RowtuiError."""
    clusters = sorted({visible(record.cluster) for record in records})
    if len(clusters) > 1:
        raise RowtuiError(
            f"there is a job {visible(text)} on {', '.join(clusters[:-1])} and {clusters[-1]}",
            "choose one with --cluster",
        )


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


def _act(args: argparse.Namespace, out: Output, verb: Verb, request: JobRequests) -> int:
    """Apply the verb to the chosen jobs; 1 if a job was not accepted."""
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
    if len(jobs) >= verb.asks_from and not args.yes and not _confirmed(args, jobs, verb, out):
        out.warn(f"Nothing was {verb.past}.")
        return 0
    answers = run_async(_send(project, jobs, request))
    project.close()
    return _say(args, answers, verb, out)


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
