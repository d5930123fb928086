"""Findings of `rowtui doctor` on this machine, the project, its cluster and its mapping files.

Each finding is a value: the checked item, whether it is well, the result, and what to do.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from rowtui.cli.environment import cluster_name
from rowtui.cli.mapping.files import project_root, usual_files
from rowtui.core.base.errors import Problem, RowtuiError
from rowtui.core.base.text import plural, visible
from rowtui.core.clusters.config.load import load_clusters
from rowtui.core.clusters.identify import identify_cluster, runs_here
from rowtui.core.clusters.model import Identified, Partition
from rowtui.core.clusters.schedulers.slurm.describe import why_no_slurm
from rowtui.core.engine.api.json.values import bad_of
from rowtui.core.mapping.files.load import load_mapping
from rowtui.core.project.context.connections import scheduler_of
from rowtui.core.project.mapping_files import has_mapping_files
from rowtui.core.project.planning.plan import project_problems
from rowtui.core.project.project import Project
from rowtui.core.workspace.list import list_workspace
from rowtui.core.workspace.watch import LOCAL_FILE_SYSTEMS, file_system_type

OK, WARNING, ERROR = "ok", "warning", "error"


class DoctorFinding(NamedTuple):
    """One checked item."""

    topic: str
    verdict: str
    text: str
    hint: str = ""


def terminal_findings() -> Iterator[DoctorFinding]:
    """Yield whether the terminal can draw the dashboard."""
    terminal = os.environ.get("TERM", "")
    if terminal in {"", "dumb"}:
        text = f"TERM is '{terminal}': the dashboard cannot be drawn"
        yield DoctorFinding("terminal", WARNING, text, "the commands work; 'rowtui show status'")
    else:
        colours = os.environ.get("COLORTERM") or "no COLORTERM: 256 colours at most"
        yield DoctorFinding("terminal", OK, f"{terminal}, {colours}")


def project_findings(project: Project) -> Iterator[DoctorFinding]:
    """Yield findings on the project's files: workflow, workspace, values and state."""
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
    try:
        project.synchronise()
    except RowtuiError:  # reported where the workspace is listed
        return {}
    return bad_of(project)


def problem_findings(project: Project) -> Iterator[DoctorFinding]:
    """Yield the problems of workflow.toml and clusters.toml that are known without a login."""
    try:
        cluster = project.recognised.cluster
        if project.reach.is_remote(cluster):
            try:
                project.reach.described(cluster, ask=False)
            except RowtuiError as error:
                yield from map(
                    problem_finding, (*project.configured.problems, *project.workflow.problems)
                )
                text = f"{error.message}: whether jobs fit there is not known"
                hint = f"'rowtui doctor --cluster {visible(cluster.name)} --connect' asks"
                yield DoctorFinding("partitions", WARNING, text, hint)
                return
        problems = project_problems(project)
    except RowtuiError as error:
        yield DoctorFinding("problems", ERROR, error.message, error.hint)
        problems = project.configured.problems  # these problems may be the reason
    yield from map(problem_finding, problems)


def problem_finding(problem: Problem) -> DoctorFinding:
    """Return a problem of a configuration file as a finding."""
    verdict = ERROR if problem.severity == "error" else WARNING
    place = f"{problem.file}:{problem.line}: " if problem.line else ""
    return DoctorFinding("problem", verdict, place + problem.message, problem.hint)


def cluster_findings(args: argparse.Namespace, project: Project | None) -> Iterator[DoctorFinding]:
    """Yield the recognised cluster and, on the cluster itself, whether its scheduler answers."""
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

    if not runs_here(cluster, os.environ):
        return
    yield from _scheduler(identified)
    if not cluster.kind.describes and shutil.which("sbatch"):
        yield DoctorFinding("slurm", WARNING, f"sbatch is here, but: {why_no_slurm()}")


def _scheduler(identified: Identified) -> Iterator[DoctorFinding]:
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
        yield DoctorFinding("partitions", OK, partition_names(cluster.partitions))


def partition_names(partitions: Sequence[Partition]) -> str:
    """Return the names, with a mark on partitions that are used only by name."""
    return ", ".join(
        partition.name + (" (by name only)" if partition.prevent_auto_select else "")
        for partition in partitions
    )


def mapping_findings() -> Iterator[DoctorFinding]:
    """Yield findings on the mapping files in effect; they are read only if there are any."""
    root = project_root()
    if not has_mapping_files(root or Path(os.sep, "nowhere"), os.environ):
        yield DoctorFinding(
            "mapping", OK, "no mapping file: jobs go where the cluster's limits allow"
        )
        return

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
