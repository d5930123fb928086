"""`rowtui report`: what the project's jobs did, as one HTML file, as Markdown, or as a trace."""

from __future__ import annotations

import argparse
import io
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rowtui.cli.environment import run as run_async
from rowtui.cli.jobs.choice import given_clusters, known_clusters
from rowtui.cli.output.output import Output
from rowtui.cli.project.open import open_project
from rowtui.cli.usage.report_html import GENERATOR, html
from rowtui.cli.usage.report_text import ReportSource, RunSummary, markdown, when
from rowtui.cli.usage.usage_json import write_csv
from rowtui.core import __version__
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.files import read_bounded, replace_file
from rowtui.core.base.text import count, plural, visible
from rowtui.core.clusters.schedulers.local.machine import host_name, user_name
from rowtui.core.usage.report import UsageReport, usage_report
from rowtui.core.usage.table import chosen_usage
from rowtui.core.workflow.find import has_network

if TYPE_CHECKING:
    from rowtui.core.project.open_project import OpenProject


class WrittenReport(NamedTuple):
    """`report`: the written files; null for one that was not asked for."""

    file: str | None
    trace: str | None


def report(args: argparse.Namespace, out: Output) -> int:
    """Write the report, and print where it is."""
    project = open_project(args, out)
    everything = run_async(project.usage.with_unmeasured())
    columns = chosen_usage(
        everything,
        actions=[args.action] if args.action else (),
        clusters=known_clusters(args, project, everything.clusters()),
        since=args.since or 0.0,
    )
    costs = project.usage.costs(columns)
    path = None if args.trace and not args.file else Path(args.file or "report.html")
    if args.trace:
        trace = io.StringIO()
        write_csv(columns, costs, trace)
        _write(Path(args.trace), trace.getvalue(), out, own=None)
    if path is not None or args.markdown:
        found = usage_report(columns, costs)
        source = ReportSource(
            visible(project.root.name),
            _head(project.root, time.time()),
            tuple(_conditions(args)),
            found,
            _logs(project, found),
            project.usage.energy_factors(columns),
            _run(project, out),
        )
        if args.markdown:
            out.lines(markdown(source))
        elif path is not None:
            _write(path, "\n".join(html(source)) + "\n", out, own=GENERATOR)
    if args.json:
        file = None if path is None else str(path)
        out.json(WrittenReport(file, args.trace))
    return 0


def _head(root: Path, now: float) -> tuple[tuple[str, str], ...]:
    """Return when, by whom and from where the report is written."""
    here = datetime.fromtimestamp(now, UTC).astimezone()
    return (
        ("Written", when(now)),
        ("Time zone", f"{here:%Z, UTC%z}"),
        ("By", f"{visible(user_name())} on {host_name()}"),
        ("With", f"rowtui {__version__}"),
        ("Project", visible(str(root))),
    )


def _conditions(args: argparse.Namespace) -> Iterator[str]:
    """Yield the conditions of the options that choose jobs."""
    if args.action:
        yield f"actions that match {visible(args.action)}"
    if clusters := given_clusters(args):
        yield f"jobs on {' and '.join(visible(name) for name in clusters)}"
    if args.since:
        yield f"jobs that ended since {when(args.since)}"


def _logs(project: OpenProject, found: UsageReport) -> Mapping[str, str]:
    """Return the paths of the logs of the failed jobs that are named, by token."""
    named = {job.token for cause in found.failures for job in cause.newest}
    if not named:
        return {}
    return {it.token: it.log_path for it in project.jobs.records() if it.token in named}


def _run(project: OpenProject, out: Output) -> RunSummary | None:
    """Return the newest run of the project's network; None without one."""
    if not has_network(project.root):
        return None
    # Most projects have no network, and its rooms take time to import.
    from rowtui.core.network.graph.job_model import GraphJobState
    from rowtui.core.runs.model import Retried
    from rowtui.core.runs.networks import Networks

    networks = Networks(project)
    try:
        run = networks.run()
        if run is None:
            return None
        view = networks.view(run.id)
        events = run.events()
    except RowtuiError as error:
        out.warn(f"the report is without the network: {error.message}")
        return None
    retried: dict[str, int] = {}
    for event in events:
        if isinstance(event, Retried) and not event.continues:
            retried[event.node] = retried.get(event.node, 0) + len(event.samples)
    ends = (GraphJobState.COMPLETED, GraphJobState.FAILED, GraphJobState.CANCELLED)
    nodes = []
    sums = [0, 0]
    for node in view.nodes:
        if node.kind != "node" or not node.counts:
            continue
        ended = [node.counts[state] for state in ends]
        sums = [sums[0] + ended[0], sums[1] + ended[1]]
        still = sum(node.counts) - sum(ended)
        cells = (sum(node.counts), *ended, still, retried.get(node.name, 0))
        nodes.append((visible(node.name), *(count(it) for it in cells)))
    again = sum(retried.values())
    status = view.run.status.value if view.run is not None else run.status.value
    return RunSummary(
        f"Run {run.id} of the network {visible(view.name)} is {status}: of "
        f"{plural(view.jobs, 'job')} in {plural(len(nodes), 'node')}, {count(sums[0])} are "
        f"completed and {count(sums[1])} failed; {count(again)} were tried again.",
        tuple(nodes),
    )


def _write(path: Path, text: str, out: Output, *, own: str | None) -> None:
    """Write a file. A file with other contents than `own` is not overwritten."""
    try:
        if own is not None and path.exists() and own.encode() not in read_bounded(path, 1 << 26):
            raise RowtuiError(
                f"{visible(str(path))} is not a report of rowtui", "name another file"
            )
        replace_file(path, text.encode("utf-8", "replace"))
    except OSError as error:
        raise RowtuiError(f"cannot write {visible(str(path))}: {error.strerror}") from None
    out.note(f"Written: {path}")
