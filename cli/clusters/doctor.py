"""`rowtui doctor`: the cluster of this machine and why, working parts, and problems.

Each finding is a value: the checked item, whether it is well, the result, and what to do.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rowtui.cli.loop import run as run_async
from rowtui.cli.project.open import ask, cluster_name, sit_before
from rowtui.core import __version__
from rowtui.core.base.errors import NoProjectError, RowtuiError
from rowtui.core.base.json_objects import VERSION
from rowtui.core.base.text import plural, visible
from rowtui.core.clusters.config.user_config import Added, add_entry, own_file
from rowtui.core.engine.api.json_views import node_kind_of
from rowtui.core.project.context.cluster_context import ClusterContext
from rowtui.core.project.context.clusters import entry_toml, live_node_types

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output.output import Output
    from rowtui.core.base import json_objects as to
    from rowtui.core.base.errors import Problem
    from rowtui.core.clusters.model import Cluster, Identified
    from rowtui.core.clusters.schedulers.kind import FoundKind, FoundNodes
    from rowtui.core.project.project import Project


# `rowtui doctor --node-types`: a cluster's node types, as an entry for rowtui's clusters.toml.


def show_node_types(args: argparse.Namespace, out: Output) -> int:
    """Print the entry, and add it to the file on request."""
    around = ClusterContext(args.node_types or cluster_name(args))
    sit_before(around)
    out.problems(around.configured.problems)
    cluster = around.recognised.cluster
    found = run_async(live_node_types(around.reach, cluster, around.environment))
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
        out.print(json.dumps(_values(cluster, found, text, file, added), indent=2))
    elif not args.write:
        _say_where(cluster, file, out)
    return 0


def _say_where(cluster: Cluster, file: Path, out: Output) -> None:
    place = visible(str(file))
    if cluster.node_types:
        name = visible(cluster.name)
        where = f"{name} has node types already: these may replace them in {place}."
    else:
        where = f"This may stand at the end of {place}; --write puts it there."
    out.note(where)
    if all(kind.price is None for kind in cluster.node_types):
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


def _values(
    cluster: Cluster, found: FoundNodes, text: str, file: Path, added: Added | None
) -> to.NodeTypesJson:
    return {
        "version": VERSION,
        "cluster": cluster.name,
        "node_types": [_found(each) for each in found.kinds],
        "notices": list(found.notices),
        "toml": text,
        "file": str(file),
        "written": added is not None,
        "backup": str(added.backup) if added is not None and added.backup is not None else None,
    }


def _found(found: FoundKind) -> to.FoundNodeTypeJson:
    return {
        **node_kind_of(found.kind),
        "nodes": found.nodes,
        "down": found.down,
        "asleep": found.asleep,
        "closed": found.closed,
    }


OK, WARNING, ERROR = "ok", "warning", "error"
_MARKS = {OK: ("✓", "green"), WARNING: ("▲", "yellow"), ERROR: ("✗", "red bold")}


class DoctorFinding(NamedTuple):
    """One checked item."""

    topic: str
    verdict: str
    text: str
    hint: str = ""


def run(args: argparse.Namespace, out: Output) -> int:
    """Print all findings; 1 if one of them is an error."""
    if args.node_types is not None:
        from rowtui.cli.clusters.doctor import show_node_types

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
        values = [{**it._asdict(), "hint": it.hint or None} for it in findings]
        out.print(json.dumps(values, indent=2))
    return 1 if any(finding.verdict == ERROR for finding in findings) else 0


def _say(finding: DoctorFinding, out: Output) -> None:
    mark, style = _MARKS[finding.verdict]
    topic = out.style(f"{finding.topic:<11}", "bold")
    out.print(f"{out.style(mark, style)} {topic} {visible(finding.text)}")
    for line in finding.hint.splitlines():
        out.print(f"              {out.style(visible(line), 'dim')}")


def _examine(args: argparse.Namespace) -> Iterator[DoctorFinding]:
    python = ".".join(map(str, sys.version_info[:3]))
    yield DoctorFinding("rowtui", OK, f"{__version__} on Python {python}, {sys.platform}")
    yield from _terminal()
    from rowtui.core.project.project import Project

    project: Project | None = None
    try:
        project = Project.open(cluster=cluster_name(args))
    except NoProjectError as error:
        yield DoctorFinding("project", WARNING, error.message, error.hint)
    except RowtuiError as error:
        yield DoctorFinding("project", ERROR, "workflow.toml cannot be used", str(error))
    if project is not None:
        yield from _project(project)
    yield from _cluster(args, project)
    yield from _over_ssh(args, project is not None)
    if project is not None:  # a cluster that was just checked has reported its partitions
        yield from _problems(project)
    yield from _mapping()


def _terminal() -> Iterator[DoctorFinding]:
    terminal = os.environ.get("TERM", "")
    if terminal in {"", "dumb"}:
        text = f"TERM is '{terminal}': the dashboard cannot be drawn"
        yield DoctorFinding("terminal", WARNING, text, "the commands work; 'rowtui show status'")
    else:
        colours = os.environ.get("COLORTERM") or "no COLORTERM: 256 colours at most"
        yield DoctorFinding("terminal", OK, f"{terminal}, {colours}")


def _project(project: Project) -> Iterator[DoctorFinding]:
    from rowtui.core.workspace.list import list_workspace
    from rowtui.core.workspace.watch import LOCAL_FILE_SYSTEMS, file_system_type

    actions = plural(len(project.workflow.actions), "action")
    yield DoctorFinding("project", OK, f"{project.root} with {actions}")
    try:
        listing = list_workspace(project.workflow.workspace)
        directories = plural(len(listing.names), "directory", "directories")
        yield DoctorFinding("workspace", OK, f"{directories} in {project.workflow.workspace}")
    except RowtuiError as error:
        yield DoctorFinding("workspace", ERROR, error.message, error.hint)
    if bad := _set_aside(project):
        name, why = next(iter(bad.items()))
        number = plural(len(bad), "directory is", "directories are")
        text = f"{number} set aside: {name}: {why}" + (", ..." if len(bad) > 1 else "")
        hint = "'rowtui show directories --json' lists them under \"bad\""
        yield DoctorFinding("directories", WARNING, text, hint)
    kind = file_system_type(project.root)
    local = kind in LOCAL_FILE_SYSTEMS
    how = "changes are noticed at once" if local else "changes are noticed by looking every 2 s"
    yield DoctorFinding("files", OK, f"{kind}: {how}")
    state = project.store.folder
    folder = next((it for it in (state, *state.parents) if it.exists()), Path("/"))
    if os.access(folder, os.W_OK):
        yield DoctorFinding("state", OK, f"{state} can be written")
    else:
        hint = "you can look, but nothing can be submitted or remembered"
        yield DoctorFinding("state", WARNING, f"{folder} cannot be written", hint)


def _set_aside(project: Project) -> dict[str, str]:
    """Return the directories whose values cannot be used, by name, and why."""
    from rowtui.core.engine.api.json_views import bad_of

    try:
        project.synchronise()
    except RowtuiError:  # reported where the workspace is listed
        return {}
    return bad_of(project)


def _problems(project: Project) -> Iterator[DoctorFinding]:
    """Yield the problems of workflow.toml and clusters.toml that are known without a login."""
    try:
        cluster = project.recognised.cluster
        if project.reach.is_remote(cluster):
            try:
                project.reach.described(cluster, ask=False)
            except RowtuiError as error:
                yield from map(_problem, (*project.configured.problems, *project.workflow.problems))
                text = f"{error.message}: whether jobs fit there is not known"
                hint = f"'rowtui doctor --cluster {visible(cluster.name)} --connect' asks"
                yield DoctorFinding("partitions", WARNING, text, hint)
                return
        problems = project.problems()
    except RowtuiError as error:
        yield DoctorFinding("problems", ERROR, error.message, error.hint)
        problems = project.configured.problems  # these problems may be the reason
    yield from map(_problem, problems)


def _problem(problem: Problem) -> DoctorFinding:
    verdict = ERROR if problem.severity == "error" else WARNING
    place = f"{problem.file}:{problem.line}: " if problem.line else ""
    return DoctorFinding("problem", verdict, place + problem.message, problem.hint)


def _cluster(args: argparse.Namespace, project: Project | None) -> Iterator[DoctorFinding]:
    from rowtui.core.clusters.config.load import load_clusters
    from rowtui.core.clusters.identify import identify_cluster
    from rowtui.core.clusters.schedulers.slurm.describe import why_no_slurm

    try:
        if project is not None:
            identified = project.recognised
        else:
            clusters = load_clusters(os.environ).clusters
            identified = identify_cluster(clusters, os.environ, cluster_name(args))
    except RowtuiError as error:
        yield DoctorFinding("cluster", ERROR, error.message, error.hint)
        return
    cluster = identified.cluster
    text = f"{cluster.name} ({cluster.scheduler}), because {identified.because}"
    yield DoctorFinding(
        "cluster", OK, text, "\n".join(f"not {why}" for why in identified.considered)
    )
    from rowtui.core.clusters.identify import runs_here

    if not runs_here(cluster, os.environ):
        return
    yield from _scheduler(identified)
    if not cluster.kind.describes and shutil.which("sbatch"):
        yield DoctorFinding("slurm", WARNING, f"sbatch is here, but: {why_no_slurm()}")


def _scheduler(identified: Identified) -> Iterator[DoctorFinding]:
    import asyncio

    from rowtui.core.project.context.connections import scheduler_of

    cluster = identified.cluster
    kind = cluster.kind
    missing = [name for name in kind.programs if not shutil.which(name)]
    if missing:
        text = f"{', '.join(missing)} not found on PATH"
        yield DoctorFinding("scheduler", ERROR, text, f"load the cluster's {kind.title} module")
        return
    snapshot = asyncio.run(scheduler_of(cluster).queue())
    if snapshot.error:
        yield DoctorFinding("scheduler", ERROR, f"the queue cannot be asked: {snapshot.error}")
    else:
        active = sum(job.state.active for job in snapshot.jobs)
        yield DoctorFinding("scheduler", OK, f"answers; {plural(active, 'active job')} of yours")
    if cluster.partitions and kind.describes:
        names = ", ".join(
            partition.name + (" (by name only)" if partition.prevent_auto_select else "")
            for partition in cluster.partitions
        )
        yield DoctorFinding("partitions", OK, names)


def _over_ssh(args: argparse.Namespace, problems_said: bool) -> Iterator[DoctorFinding]:
    """Yield findings on the clusters reached over SSH, or on the named one."""
    from rowtui.core.clusters.config.load import load_clusters

    configured = load_clusters(os.environ)
    if not problems_said:
        yield from map(_problem, configured.problems)
    name = cluster_name(args)
    clusters = [
        cluster
        for cluster in configured.clusters
        if cluster.remote is not None and name in (None, cluster.name)
    ]
    if clusters:
        from rowtui.cli.clusters.ssh_findings import ssh_findings

        yield from ssh_findings(clusters, connect=args.connect)
    elif args.connect:
        yield DoctorFinding("ssh", OK, "no cluster is described that is reached over SSH")


def _mapping() -> Iterator[DoctorFinding]:
    """Yield findings on the mapping files in effect; they are read only if there are any."""
    from rowtui.cli.mapping.files import project_root
    from rowtui.core.project.mapping_files import has_mapping_files

    root = project_root()
    if not has_mapping_files(root or Path(os.sep, "nowhere"), os.environ):
        yield DoctorFinding(
            "mapping", OK, "no mapping file: jobs go where the cluster's limits allow"
        )
        return
    from rowtui.cli.mapping.files import usual_files
    from rowtui.core.mapping.files.load import load_mapping

    found = usual_files()
    for source in found.sources:
        if source.trusted:
            yield DoctorFinding(
                "mapping", OK, f"{source.name}, {source.trusted_because}", source.notice
            )
        else:
            hint = f"jobs that need it wait; see 'rowtui mapping trust {source.name}'"
            yield DoctorFinding("mapping", WARNING, f"{source.name} is not trusted", hint)
    problems = load_mapping(found.sources, found.problems).problems
    if problems:
        errors = sum(problem.severity == "error" for problem in problems)
        text = f"{plural(len(problems), 'problem')} in mapping files, {plural(errors, 'error')}"
        verdict = ERROR if errors else WARNING
        yield DoctorFinding(
            "mapping", verdict, text, f"{problems[0]}\nall of them: rowtui mapping lint"
        )
    elif not found.sources:
        yield DoctorFinding("mapping", OK, "the folder for your mapping files is empty")
