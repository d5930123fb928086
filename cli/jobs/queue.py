"""`rowtui queue`: all jobs of this user on all clusters, inside or outside of a project."""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rowtui.cli.environment import cluster_name
from rowtui.cli.environment import run as run_async
from rowtui.cli.jobs.queue_text import queue_lines, terminal_width
from rowtui.cli.output.output import Output
from rowtui.cli.output.watch import Reported, changes, reported_queue
from rowtui.cli.project.open import open_project, say_notices, sit_before
from rowtui.core.base.errors import InvalidFileError, NoProjectError, RowtuiError
from rowtui.core.base.json import VERSION
from rowtui.core.base.text import visible
from rowtui.core.clusters.config.builtin import LOCAL
from rowtui.core.clusters.config.load import load_clusters
from rowtui.core.engine.api.json.jobs import JobRecords, elapsed_of, known_jobs
from rowtui.core.engine.api.json.queue import Queued, cluster_queue
from rowtui.core.project.context.cluster_context import ClusterContext
from rowtui.core.project.project import Project
from rowtui.core.project.queue.joined import JoinedJob, rows_of
from rowtui.core.project.queue.queues import Looks
from rowtui.core.project.views.views import ClusterView, JobView

if TYPE_CHECKING:
    from rowtui.core.base.json import jobs as to


def queue_json(
    clusters: Sequence[ClusterView],
    rows: Mapping[str, Sequence[JoinedJob]],
    known: JobRecords | None,
    now: float,
) -> to.QueueJson:
    """Return all clusters with their jobs.

    `known`: the project's jobs, None outside of a project.
    """
    return {
        "version": VERSION,
        "clusters": [
            cluster_queue(cluster, map(_queued, rows[cluster.name]), known, now)
            for cluster in clusters
        ],
    }


def _queued(row: JoinedJob) -> Queued:
    ours = row.requests or ((row.record,) if row.record is not None else ())
    return Queued(row.job, row.name, tuple(it.token for it in ours), bundled=bool(row.requests))


def run(args: argparse.Namespace, out: Output) -> int:
    """Print the queues; 1 if none of the clusters answered."""
    names = _named(args)
    project = _project(args, out)
    around: ClusterContext = project if project is not None else _outside(args)
    out.problems(around.configured.problems)
    if args.no_login:
        around.person, around.always_ask = None, False
    for name in names:
        _refuse_unknown(around, name)
    return run_async(_show(args, around, project, names, out))


def _named(args: argparse.Namespace) -> list[str]:
    """Return the clusters to ask, none for all; set `args.cluster` to a named local cluster."""
    names: list[str] = getattr(args, "clusters", [])
    configured = load_clusters(os.environ)
    args.cluster = None
    for name in names:
        cluster = configured.named(name)
        if cluster is not None and cluster.remote is None and name != LOCAL.name:
            args.cluster = name  # only a process on that cluster can ask it
    return names


def _project(args: argparse.Namespace, out: Output) -> Project | None:
    """Return the project of this folder, for its jobs' actions and directories, or None."""
    try:
        return open_project(args, out, ask_queue=False)
    except NoProjectError:
        return None
    except InvalidFileError as error:
        out.problems(error.problems)
    except RowtuiError as error:
        out.warn(str(error))
    out.warn("Jobs are shown without their actions and directories.")
    return None


def _outside(args: argparse.Namespace) -> ClusterContext:
    around = ClusterContext(cluster_name(args))
    sit_before(around)
    return around


def _refuse_unknown(around: ClusterContext, name: str) -> None:
    if around.connections.known(name) is not None:
        return
    if around.failure:
        raise RowtuiError(around.failure)
    looks = Looks(around)
    here = around.here()
    known = sorted(looks.all_names() | ({here.name} if here is not None else set()))
    raise RowtuiError(
        f"cluster '{visible(name)}' cannot be asked from here",
        f"the clusters with a queue are {', '.join(map(visible, known))}",
    )


async def _show(
    args: argparse.Namespace,
    around: ClusterContext,
    project: Project | None,
    names: Sequence[str],
    out: Output,
) -> int:
    looks = Looks(around)
    now = True  # the user has just typed the command; later polls keep the site's interval
    said: set[str] = set()
    before: Reported | None = None
    while True:
        if project is not None:
            view = await project.jobs.view(everywhere=True, among=names, now=now, fetch=False)
            clusters, jobs = view.clusters, view.jobs
        else:
            clusters, jobs = await _look(looks, names, now), ()
        for failure in _failures(around, project, clusters):
            if failure not in said:
                said.add(failure)
                out.warn(failure)
        if project is not None:
            say_notices(project, out)
        if before is None or args.json:
            _print(args, clusters, jobs, project, out)
        if project is not None:
            sys.stdout.flush()  # fetching results may take long
            await project.jobs.fetch_results()
            say_notices(project, out)
        if args.watch is None:
            answered = any(it.as_of is not None and not it.error for it in clusters)
            return 0 if answered or not clusters else 1
        if not args.json:
            rows = _rows(args, clusters, jobs, project)
            before = _tell(before, clusters, rows, _known(project, jobs), out)
        sys.stdout.flush()
        await asyncio.sleep(args.watch)
        now = False


def _tell(
    before: Reported | None,
    clusters: Sequence[ClusterView],
    rows: dict[str, list[JoinedJob]],
    known: JobRecords | None,
    out: Output,
) -> Reported:
    """Print the changes since `before`, and return the new state."""
    now = time.time()
    after = reported_queue(queue_json(clusters, rows, known, now))
    out.lines(changes(before, after, time.strftime("%H:%M:%S", time.localtime(now))))
    return after


def _rows(
    args: argparse.Namespace,
    clusters: Sequence[ClusterView],
    jobs: Sequence[JobView],
    project: Project | None,
) -> dict[str, list[JoinedJob]]:
    rows = {cluster.name: rows_of(cluster, jobs, ended=args.ended) for cluster in clusters}
    if project is not None and args.ended:
        views = {view.record.token: view for view in jobs}
        rows = {
            name: [_with_elapsed(row, views, project) for row in its] for name, its in rows.items()
        }
    return rows


def _with_elapsed(row: JoinedJob, views: Mapping[str, JobView], project: Project) -> JoinedJob:
    """Return a job of the project that has ended, with its run time."""
    view = None if row.record is None else views.get(row.record.token)
    if view is None or row.job.state.active:
        return row
    elapsed = elapsed_of(view, project.root)
    if elapsed is None:
        return row
    return row._replace(job=replace(row.job, elapsed=math.ceil(elapsed)))


async def _look(looks: Looks, names: Sequence[str], now: bool) -> tuple[ClusterView, ...]:
    """Poll the clusters without a project."""
    await looks.everywhere(
        lambda name: looks.look(name, now=now), names or looks.all_names(), here=not names
    )
    return looks.views()


def _failures(
    around: ClusterContext, project: Project | None, clusters: Sequence[ClusterView]
) -> Iterator[str]:
    """Yield notes on facts that are missing in the clusters' lines."""
    if around.failure:
        yield f"The local cluster cannot be identified: {around.failure}"
    if project is None:
        return
    shown = {cluster.name: cluster.error for cluster in clusters}
    for name, why in project.jobs.queues.unanswered.items():
        if why not in (shown.get(name), around.failure):
            yield f"{visible(name)}: {why}"


def _print(
    args: argparse.Namespace,
    clusters: Sequence[ClusterView],
    jobs: Sequence[JobView],
    project: Project | None,
    out: Output,
) -> None:
    now = time.time()
    rows = _rows(args, clusters, jobs, project)
    if args.json:
        known = _known(project, jobs)
        values = queue_json(clusters, rows, known, now)
        out.print(json.dumps(values, indent=None if args.watch else 2))
        return
    if args.watch:
        out.print(time.strftime("%H:%M:%S", time.localtime(now)))
    if not clusters:
        out.print("No queue was asked.")
    width = terminal_width()
    in_project = project is not None
    out.lines(queue_lines(clusters, rows, now, out, in_project=in_project, width=width))


def _known(project: Project | None, jobs: Sequence[JobView]) -> JobRecords | None:
    """Return the project's records of its jobs."""
    return None if project is None else known_jobs(project, jobs)
