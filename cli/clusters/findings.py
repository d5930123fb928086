"""Findings of `rowtui doctor` on this machine, the project, its mapping files and all clusters.

Each finding is a value: the checked item, whether it is well, the result, and what to do.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

from rowtui.cli.asker import TerminalAsker
from rowtui.cli.environment import cluster_name
from rowtui.cli.mapping.files import project_root, usual_files
from rowtui.core.base.document import TextOrNull
from rowtui.core.base.errors import Problem, RowtuiError
from rowtui.core.base.text import count, plural, visible
from rowtui.core.clusters.config.builtin import CLUSTERS
from rowtui.core.clusters.config.load import load_clusters
from rowtui.core.clusters.config.load_remote import ssh_target
from rowtui.core.clusters.identify import identify_cluster, runs_here
from rowtui.core.clusters.model import Cluster, Identified, Partition, Remote
from rowtui.core.clusters.polling.description_cache import remember_description
from rowtui.core.clusters.polling.probe import Visit, visit
from rowtui.core.clusters.schedulers.kind import kind_of
from rowtui.core.clusters.schedulers.slurm.describe import why_no_slurm
from rowtui.core.clusters.transports.cluster_transport import transport_for
from rowtui.core.clusters.transports.ssh_config import Hop, missing_files, route_to
from rowtui.core.mapping.files.load import load_mapping
from rowtui.core.mirror.model import MirrorError
from rowtui.core.mirror.place import refuse_unwritable
from rowtui.core.project.context.connections import scheduler_of
from rowtui.core.project.context.credentials import LoginCredentials
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.planning.plan_submission import project_problems
from rowtui.core.workflow.find import has_mapping_files
from rowtui.core.workspace.list import list_workspace
from rowtui.core.workspace.watch import LOCAL_FILE_SYSTEMS, file_system_type

Verdict: TypeAlias = Literal["ok", "warning", "error"]
OK: Final = "ok"
WARNING: Final = "warning"
ERROR: Final = "error"
TOLERABLE_SECONDS = 5.0  # between two clocks: file times are compared to find new files


class DoctorFinding(NamedTuple):
    """One checked item."""

    topic: str
    verdict: Verdict
    text: str
    hint: TextOrNull = ""


def project_findings(project: OpenProject) -> Iterator[DoctorFinding]:
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
        text = f"{number} not counted: {name}: {why}" + (", ..." if len(bad) > 1 else "")
        hint = "'rowtui show directories --json' lists them under \"bad\""
        yield DoctorFinding("directories", WARNING, text, hint)
    kind = file_system_type(project.root)
    local = kind in LOCAL_FILE_SYSTEMS
    how = "changes are noticed at once" if local else "changes are noticed by looking every 2 s"
    yield DoctorFinding("files", OK, f"{kind}: {how}")


def _set_aside(project: OpenProject) -> dict[str, str]:
    """Return the directories whose values cannot be used, by name, and why."""
    try:
        project.synchronise()
    except RowtuiError:  # reported where the workspace is listed
        return {}
    return project.state.set_aside


def problem_findings(project: OpenProject) -> Iterator[DoctorFinding]:
    """Yield the problems of workflow.toml and clusters.toml that are known without a login."""
    try:
        cluster = project.recognised.cluster
        if project.connections.is_remote(cluster):
            try:
                project.connections.described(cluster, ask=False)
            except RowtuiError as error:
                yield from map(
                    problem_finding, (*project.configured.problems, *project.workflow.problems)
                )
                text = f"{error.message}: job sizes cannot be checked"
                name = visible(cluster.name)
                hint = f"'rowtui doctor --cluster {name} --connect' queries the cluster"
                yield DoctorFinding("partitions", WARNING, text, hint)
                return
        problems = project_problems(project)
    except RowtuiError as error:
        yield DoctorFinding("problems", ERROR, error.message, error.hint)
        problems = project.configured.problems  # these problems may be the reason
    yield from map(problem_finding, problems)


def problem_finding(problem: Problem) -> DoctorFinding:
    """Return a problem of a configuration file as a finding."""
    verdict: Verdict = ERROR if problem.severity == "error" else WARNING
    place = f"{problem.file}:{problem.line}: " if problem.line else ""
    return DoctorFinding("problem", verdict, place + problem.message, problem.hint)


def cluster_findings(
    args: argparse.Namespace, project: OpenProject | None
) -> Iterator[DoctorFinding]:
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
    centres = {it.name for it in CLUSTERS}
    others = [it for it in identified.considered if it.partition(":")[0] not in centres]
    lines = [f"not {why}" for why in others]
    yield DoctorFinding("cluster", OK, text, "\n".join(lines))

    if not runs_here(cluster, os.environ):
        return
    yield from _scheduler(identified)
    if not kind_of(cluster).describes and shutil.which("sbatch"):
        yield DoctorFinding("slurm", WARNING, f"sbatch is here, but: {why_no_slurm()}")


def _scheduler(identified: Identified) -> Iterator[DoctorFinding]:
    cluster = identified.cluster
    kind = kind_of(cluster)
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
        verdict: Verdict = ERROR if errors else WARNING
        yield DoctorFinding(
            "mapping", verdict, text, f"{problems[0]}\nall of them: rowtui mapping lint"
        )
    elif not found.sources:
        yield DoctorFinding("mapping", OK, "the folder for your mapping files is empty")


# Findings of `rowtui doctor` on the clusters that are reached over SSH.
#
# The input is the clusters; the result is findings on how each would be reached, without
# connecting. Only if the user requests it (`--connect`), rowtui logs in to each cluster and checks
# it.


def ssh_findings(clusters: Sequence[Cluster], *, connect: bool) -> Iterator[DoctorFinding]:
    """Yield how the clusters with `ssh` are reached; with `connect` also the state of each."""
    for cluster in clusters:
        remote = cluster.remote
        if remote is None:
            continue
        if runs_here(cluster, os.environ):
            text = f"{cluster.name}: this is its login node, nothing goes over SSH"
            yield DoctorFinding("ssh", OK, text)
            continue
        yield from _way(cluster.name, remote)
        if connect:
            yield from _look(cluster, remote)


def _way(name: str, remote: Remote) -> Iterator[DoctorFinding]:
    target = ssh_target(remote)
    for file in missing_files(target):
        yield DoctorFinding("ssh", WARNING, f"{name}: {file} cannot be read", "nothing in it holds")
    if remote.transport == "openssh" and shutil.which("ssh") is None:
        hint = 'install the OpenSSH client, or use transport = "asyncssh"'
        yield DoctorFinding("ssh", ERROR, f"{name}: there is no `ssh` on PATH", hint)
    try:
        hops = asyncio.run(route_to(target))
    except RowtuiError as error:
        yield DoctorFinding("ssh", ERROR, f"{name}: {error.message}", error.hint)
        return
    *jumps, last = hops
    text = f"{name}: {last} with {remote.transport}"
    if jumps:
        text += f", through {', '.join(str(jump) for jump in jumps)}"
    if last.proxied:
        text += ", through a ProxyCommand"
    lines: list[str] = []
    for hop in hops:
        lines += _facts(hop, str(hop) + ": " if jumps else "", remote.transport)
    lines += [f"{pair.local} is {pair.remote} there" for pair in remote.paths]
    lines.append(f"projects {'elsewhere ' if remote.paths else ''}are copied below {remote.mirror}")
    known = all(hop.known or hop.vouched for hop in hops)
    yield DoctorFinding("ssh", OK if known else WARNING, text, "\n".join(lines))


def _facts(hop: Hop, prefix: str, transport: str) -> Iterator[str]:
    keys = ", ".join(_short(file) for file in hop.identities)
    yield prefix + (f"keys: {keys}" if keys else "no key file exists")
    if hop.agent_keys is None:
        yield prefix + "no agent"
    else:
        yield (
            prefix
            + f"the agent has {plural(hop.agent_keys, 'key') if hop.agent_keys else 'no key'}"
        )
    if hop.known:
        places = "; ".join(f"{it.kind} in {_short(Path(it.file))}:{it.line}" for it in hop.known)
        yield prefix + f"the host key is known: {places}"
    elif hop.vouched:
        yield prefix + "the host key is vouched for by an authority"
    else:
        then = "the first login asks" if transport == "asyncssh" else "log in once with ssh"
        yield prefix + f"the host key is unknown: {then}"


def _look(cluster: Cluster, remote: Remote) -> Iterator[DoctorFinding]:
    name = cluster.name
    seen, hint, no_copies = asyncio.run(_visit(cluster, remote))
    if seen.error:
        yield DoctorFinding("login", ERROR, f"{name}: {seen.error}", hint)
        return
    yield DoctorFinding("login", OK, f"{name}: answers a command in {seen.answer * 1000:.0f} ms")
    if no_copies is not None:
        yield DoctorFinding("copies", ERROR, no_copies.message, no_copies.hint)
    if seen.described is not None:
        yield from _slurm(cluster, seen.described, seen.version)
    elif kind_of(cluster).describes:
        yield DoctorFinding(
            "slurm", ERROR, f"{name}: {seen.silence}", "is it set up by a module there?"
        )
    if seen.rsync:
        here = "" if shutil.which("rsync") else ", but not here: commands copy files"
        yield DoctorFinding("rsync", OK, f"{name}: {seen.rsync}{here}")
    else:
        yield DoctorFinding("rsync", OK, f"{name}: none there: commands copy files")
    if seen.ahead is None:
        yield DoctorFinding("clock", WARNING, f"{name}: its clock could not be read")
    elif abs(seen.ahead) > TOLERABLE_SECONDS:
        side = "ahead of" if seen.ahead > 0 else "behind"
        text = f"{name}: its clock is {abs(seen.ahead):,.0f} s {side} this machine's"
        yield DoctorFinding(
            "clock", WARNING, text, "one of the two is wrong: ask who looks after it"
        )
    else:
        yield DoctorFinding(
            "clock", OK, f"{name}: its clock is within {TOLERABLE_SECONDS:.0f} s of ours"
        )


def _slurm(cluster: Cluster, described: Cluster, version: str) -> Iterator[DoctorFinding]:
    most = described.maximum_array_size
    text = f"{cluster.name}: {version}, cluster {described.name}"
    text += "" if most is None else f", arrays of at most {count(most)} tasks"
    yield DoctorFinding("slurm", OK, text)
    there = {partition.name for partition in described.partitions}
    gone = [it.name for it in cluster.partitions if it.name not in there]
    if gone:
        text = f"{cluster.name}: Slurm has no partition {', '.join(gone)}"
        yield DoctorFinding("partitions", WARNING, text, f"it has {', '.join(sorted(there))}")
    names = partition_names(cluster.partitions or described.partitions)
    yield DoctorFinding("partitions", OK, f"{cluster.name}: {names}")


async def _visit(cluster: Cluster, remote: Remote) -> tuple[Visit, str, RowtuiError | None]:
    """Return the findings, what the user can do if there are none, and why no copy can be made."""
    no_copies = None
    person = TerminalAsker(cluster.name)
    # A stored password is tried before the user is asked.
    credentials = LoginCredentials(remote, lambda: person)
    transport = transport_for(remote, credentials, cluster=cluster.name)
    try:
        seen = await visit(cluster, transport)
        hint = "" if transport.error is None else transport.error.hint
        if not seen.error:
            await refuse_unwritable(transport, remote.mirror, cluster.name)
    except MirrorError as error:
        no_copies = error
    finally:
        await transport.close()
    if seen.described is not None:
        remember_description(cluster, seen.described)
    return seen, hint, no_copies


def _short(file: Path) -> str:
    """Return the path with `~` for the home folder."""
    home = Path("~").expanduser()
    return visible(f"~/{file.relative_to(home)}" if file.is_relative_to(home) else str(file))
