"""`rowtui queue`: all jobs of this user on all clusters, inside or outside of a project."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence

from rowtui.cli.environment import cluster_name
from rowtui.cli.environment import run as run_async
from rowtui.cli.jobs.json import QueueJson, cluster_queue
from rowtui.cli.jobs.queue_text import queue_lines, terminal_width
from rowtui.cli.output.output import Output
from rowtui.cli.output.watch import Reported, changes, reported_queue
from rowtui.cli.project.open import open_project, say_notices, sit_before
from rowtui.core.base.document import document
from rowtui.core.base.errors import InvalidFileError, NoProjectError, RowtuiError
from rowtui.core.base.lazy import asyncio
from rowtui.core.base.text import visible
from rowtui.core.clusters.config.builtin import LOCAL
from rowtui.core.clusters.config.load import load_clusters
from rowtui.core.project.context.cluster_context import ClusterContext
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.queue.queue_list import ClusterRow, cluster_rows
from rowtui.core.project.queue.queues import QueuePolls
from rowtui.core.project.views.views import ClusterView
from rowtui.core.submission.plan.charges import Charge, bundle_charges
from rowtui.core.submission.plan.record import JobRecord


def queue_document(
    clusters: Sequence[ClusterView],
    rows: Mapping[str, Sequence[ClusterRow]],
    project: OpenProject | None,
    now: float,
) -> QueueJson:
    """Return all clusters with their jobs. `project`: None outside of one."""
    root, charges = (None, {}) if project is None else (project.root, _charges(project, rows))
    return QueueJson([cluster_queue(it, rows[it.name], root, charges, now) for it in clusters])


def _charges(project: OpenProject, rows: Mapping[str, Sequence[ClusterRow]]) -> dict[str, Charge]:
    """Return what the bundles among these rows are charged, by their plans."""
    charges: dict[str, Charge] = {}
    for plan_id in {it.plan_id for its in rows.values() for row in its for it in row.requests}:
        charges |= bundle_charges(project.jobs.table.plan(plan_id))
    return charges


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


def _project(args: argparse.Namespace, out: Output) -> OpenProject | None:
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
    looks = QueuePolls(around)
    here = around.here()
    known = sorted(looks.all_names() | ({here.name} if here is not None else set()))
    raise RowtuiError(
        f"cluster '{visible(name)}' cannot be asked from here",
        f"the clusters with a queue are {', '.join(map(visible, known))}",
    )


async def _show(
    args: argparse.Namespace,
    around: ClusterContext,
    project: OpenProject | None,
    names: Sequence[str],
    out: Output,
) -> int:
    looks = QueuePolls(around)
    now = True  # the user has just typed the command; later polls keep the site's interval
    parts: set[str] = set()
    before: Reported | None = None
    while True:
        if project is not None:
            view = await project.jobs.view(everywhere=True, among=names, now=now, fetch=False)
            clusters, jobs = view.clusters, view.jobs
        else:
            clusters, jobs = await _look(looks, names, now), ()
        for failure in _failures(around, project, clusters):
            if failure not in parts:
                parts.add(failure)
                out.warn(failure)
        if project is not None:
            say_notices(project, out)
        if before is None or args.json:
            _print(args, clusters, _rows(args, clusters, jobs), project, out)
        if project is not None:
            sys.stdout.flush()  # fetching results may take long
            await project.jobs.fetch_results()
            say_notices(project, out)
        if args.watch is None:
            answered = any(it.as_of is not None and not it.error for it in clusters)
            return 0 if answered or not clusters else 1
        if not args.json:
            before = _tell(before, clusters, _rows(args, clusters, jobs), project, out)
        sys.stdout.flush()
        await asyncio.sleep(args.watch)
        now = False


def _tell(
    before: Reported | None,
    clusters: Sequence[ClusterView],
    rows: dict[str, list[ClusterRow]],
    project: OpenProject | None,
    out: Output,
) -> Reported:
    """Print the changes since `before`, and return the new state."""
    now = time.time()
    after = reported_queue(document(queue_document(clusters, rows, project, now)))
    out.lines(changes(before, after, time.strftime("%H:%M:%S", time.localtime(now))))
    return after


def _rows(
    args: argparse.Namespace, clusters: Sequence[ClusterView], jobs: Sequence[JobRecord]
) -> dict[str, list[ClusterRow]]:
    return {cluster.name: cluster_rows(cluster, jobs, ended=args.ended) for cluster in clusters}


async def _look(looks: QueuePolls, names: Sequence[str], now: bool) -> tuple[ClusterView, ...]:
    """Poll the clusters without a project."""
    await looks.everywhere(
        lambda name: looks.look(name, now=now), names or looks.all_names(), here=not names
    )
    return looks.views()


def _failures(
    around: ClusterContext, project: OpenProject | None, clusters: Sequence[ClusterView]
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
    rows: Mapping[str, Sequence[ClusterRow]],
    project: OpenProject | None,
    out: Output,
) -> None:
    now = time.time()
    if args.json:
        found = queue_document(clusters, rows, project, now)
        out.json(found, indent=None if args.watch else 2)
        return
    if args.watch:
        out.print(time.strftime("%H:%M:%S", time.localtime(now)))
    if not clusters:
        out.print("No queue was asked.")
    width = terminal_width()
    in_project = project is not None
    out.lines(queue_lines(clusters, rows, now, out, in_project=in_project, width=width))
