"""`rowtui doctor`: the cluster of this machine and why, working parts, and problems.

With `--node-types` the command prints a cluster's node types, as an entry for rowtui's
clusters.toml.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rowtui.cli.clusters.findings import (
    ERROR,
    OK,
    WARNING,
    DoctorFinding,
    cluster_findings,
    mapping_findings,
    problem_finding,
    problem_findings,
    project_findings,
    ssh_findings,
)
from rowtui.cli.clusters.machine import folder_findings, terminal_findings
from rowtui.cli.environment import cluster_name
from rowtui.cli.environment import run as run_async
from rowtui.cli.output.output import Output
from rowtui.cli.project.open import ask, sit_before
from rowtui.core import __version__
from rowtui.core.base.document import TextOrNull
from rowtui.core.base.errors import NoProjectError, RowtuiError
from rowtui.core.base.text import is_utf8, plural, visible
from rowtui.core.clusters.config.load import load_clusters
from rowtui.core.clusters.config.user_config import Added, add_entry, own_file
from rowtui.core.clusters.model import Cluster
from rowtui.core.clusters.schedulers.kind import FoundKind
from rowtui.core.project.context.cluster_context import ClusterContext
from rowtui.core.project.context.clusters import entry_toml, live_node_types
from rowtui.core.project.open_project import OpenProject

_MARKS = {OK: ("✓", "+", "green"), WARNING: ("▲", "!", "yellow"), ERROR: ("✗", "x", "red bold")}


class DoctorFindings(NamedTuple):
    """`doctor`."""

    findings: list[DoctorFinding]


class ShownNodeTypes(NamedTuple):
    """`doctor --node-types`: node types for clusters.toml. `written`: `file` has them now."""

    cluster: str
    node_types: tuple[FoundKind, ...]
    notices: tuple[str, ...]
    toml: str
    file: str
    written: bool
    backup: TextOrNull


def run(args: argparse.Namespace, out: Output) -> int:
    """Print all findings; 1 if one of them is an error."""
    if args.node_types is not None:
        return show_node_types(args, out)
    if args.write:
        raise RowtuiError("--write needs --node-types: nothing else is written")
    findings = []
    for finding in _examine(args):
        findings.append(finding)
        if not args.json:  # printed at once: a login may prompt in between, and take its time
            _say(finding, out)
            sys.stdout.flush()
    if args.json:
        out.json(DoctorFindings(findings))
    return 1 if any(finding.verdict == ERROR for finding in findings) else 0


def _say(finding: DoctorFinding, out: Output) -> None:
    mark, plain, style = _MARKS[finding.verdict]
    mark = mark if is_utf8(sys.stdout.encoding) else plain
    topic = out.style(f"{finding.topic:<11}", "bold")
    out.print(f"{out.style(mark, style)} {topic} {visible(finding.text)}")
    for line in finding.hint.splitlines():
        out.print(f"              {out.style(visible(line), 'dim')}")


def _examine(args: argparse.Namespace) -> Iterator[DoctorFinding]:
    python = ".".join(map(str, sys.version_info[:3]))
    yield DoctorFinding("rowtui", OK, f"{__version__} on Python {python}, {sys.platform}")
    yield from terminal_findings()

    project: OpenProject | None = None
    try:
        project = OpenProject.open(cluster=cluster_name(args))
    except NoProjectError as error:
        yield DoctorFinding("project", WARNING, error.message, error.hint)
    except RowtuiError as error:
        yield DoctorFinding("project", ERROR, "workflow.toml cannot be used", str(error))
    if project is not None:
        yield from project_findings(project)
    yield from folder_findings(project)
    yield from cluster_findings(args, project)
    yield from _over_ssh(args, project is not None)
    if project is not None:  # a cluster that was just checked has reported its partitions
        yield from problem_findings(project)
    yield from mapping_findings()


def _over_ssh(args: argparse.Namespace, problems_said: bool) -> Iterator[DoctorFinding]:
    """Yield findings on the clusters reached over SSH, or on the named one."""
    configured = load_clusters(os.environ)
    if not problems_said:
        yield from map(problem_finding, configured.problems)
    name = cluster_name(args)
    clusters = [
        cluster
        for cluster in configured.clusters
        if cluster.remote is not None and name in (None, cluster.name)
    ]
    if clusters:
        yield from ssh_findings(clusters, connect=args.connect)
    elif args.connect:
        yield DoctorFinding("ssh", OK, "no cluster is described that is reached over SSH")


# `--node-types`


def show_node_types(args: argparse.Namespace, out: Output) -> int:
    """Print the entry, and add it to the file on request."""
    around = ClusterContext(args.node_types or cluster_name(args))
    sit_before(around)
    out.problems(around.configured.problems)
    cluster = around.recognised.cluster
    found = run_async(live_node_types(around.connections, cluster, around.environment))
    for notice in found.notices:
        out.warn(notice)
    if not found.kinds:
        raise RowtuiError(f"{visible(cluster.name)} has no nodes for jobs")
    file = own_file(os.environ)
    text = entry_toml(cluster, found)
    if not args.json:
        out.write(text)
    added = _write(args, cluster, text, file, out) if args.write else None
    if args.json:
        backup = "" if added is None else str(added.backup or "")
        written = added is not None
        shown = (cluster.name, found.kinds, found.notices, text, str(file), written, backup)
        out.json(ShownNodeTypes(*shown))
    elif not args.write:
        _say_where(cluster, file, out)
    return 0


def _say_where(cluster: Cluster, file: Path, out: Output) -> None:
    place = visible(str(file))
    if cluster.node_types:
        name = visible(cluster.name)
        where = f"{name} has node types already: these may replace them in {place}."
    else:
        where = f"These lines can be added to {place}; --write puts it there."
    out.note(where)
    if all(kind.price_per_hour is None for kind in cluster.node_types):
        out.note("If its nodes cost something, give each type a `price_per_hour`.")


def _write(
    args: argparse.Namespace, cluster: Cluster, text: str, file: Path, out: Output
) -> Added | None:
    """Add the entry, if the user agrees."""
    if cluster.node_types:
        raise RowtuiError(
            f"{visible(cluster.name)} has node types already, so nothing was written",
            f"change them by hand in {visible(cluster.node_types[0].source)}",
        )
    question = f"Add this to {visible(str(file))}?"
    if not (args.yes or ask(question, out, default=False, as_json=args.json)):
        out.warn("Nothing was written.")
        return None
    added = add_entry(text, cluster.name, os.environ)
    kept = "" if added.backup is None else f"; {visible(str(added.backup))} is as it was before"
    number = plural(text.count("\n[[cluster.node_type]]\n"), "node type")
    out.note(f"Added {number} to {visible(str(added.file))}{kept}.")
    return added
