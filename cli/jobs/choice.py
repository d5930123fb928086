"""The jobs that a command applies to: by id, by action, or all of the project's.

The input is the command's arguments and the jobs of the project; the result is the chosen jobs. A
directory stands for its active jobs. A verb defines the states in which a job can be chosen. An
id without a job gives a warning and stops no other; an id of jobs on two clusters requires
`--cluster`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rowtui.cli.jobs.job_text import read_job_name
from rowtui.cli.output.output import Output
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.clusters.identify import cluster_not_found
from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.project.open_project import OpenProject
from rowtui.core.submission.plan.record import JobRecord
from rowtui.core.workflow.find import matches


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
CHANGE = Verb("change", "changed", HOLD.by_id - _PERHAPS, HOLD.by_id)
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
