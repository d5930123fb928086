"""Findings of `rowtui doctor` on the clusters that are reached over SSH.

The input is the clusters; the result is findings on how each would be reached, without connecting.
Only if the user requests it (`--connect`), rowtui logs in to each cluster and checks it.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from rowtui.cli.asker import TerminalAsker
from rowtui.cli.clusters.findings import ERROR, OK, WARNING, DoctorFinding, partition_names
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import count, plural, visible
from rowtui.core.clusters.config.load_remote import ssh_target
from rowtui.core.clusters.identify import runs_here
from rowtui.core.clusters.model import Cluster, Remote
from rowtui.core.clusters.polling.description_cache import remember_description
from rowtui.core.clusters.polling.probe import Visit, visit
from rowtui.core.clusters.transports.reach import transport_for
from rowtui.core.clusters.transports.ssh_config import Hop, missing_files, route_to
from rowtui.core.project.context.credentials import Door

# largest tolerated difference between two clocks: file times are compared to find new files
_TOLERABLE_SECONDS = 5.0


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
    yield prefix + (f"keys: {keys}" if keys else "no key file is there")
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
        yield prefix + f"the host key is not known: {then}"


def _look(cluster: Cluster, remote: Remote) -> Iterator[DoctorFinding]:
    name = cluster.name
    seen, hint = asyncio.run(_visit(cluster, remote))
    if seen.error:
        yield DoctorFinding("login", ERROR, f"{name}: {seen.error}", hint)
        return
    yield DoctorFinding("login", OK, f"{name}: answers a command in {seen.answer * 1000:.0f} ms")
    if seen.described is not None:
        yield from _slurm(cluster, seen.described, seen.version)
    elif cluster.kind.describes:
        yield DoctorFinding(
            "slurm", ERROR, f"{name}: {seen.silence}", "is it set up by a module there?"
        )
    if seen.rsync:
        here = "" if shutil.which("rsync") else ", but not here: files go over SFTP"
        yield DoctorFinding("rsync", OK, f"{name}: {seen.rsync}{here}")
    else:
        yield DoctorFinding("rsync", OK, f"{name}: none there: files go over SFTP")
    if seen.ahead is None:
        yield DoctorFinding("clock", WARNING, f"{name}: its clock could not be read")
    elif abs(seen.ahead) > _TOLERABLE_SECONDS:
        side = "ahead of" if seen.ahead > 0 else "behind"
        text = f"{name}: its clock is {abs(seen.ahead):,.0f} s {side} this machine's"
        yield DoctorFinding(
            "clock", WARNING, text, "one of the two is wrong: ask who looks after it"
        )
    else:
        yield DoctorFinding(
            "clock", OK, f"{name}: its clock is within {_TOLERABLE_SECONDS:.0f} s of ours"
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


async def _visit(cluster: Cluster, remote: Remote) -> tuple[Visit, str]:
    """Return the findings, and what the user can do if there are none."""
    person = TerminalAsker(cluster.name)
    door = Door(remote, lambda: person)  # a stored password is tried before the user is asked
    transport = transport_for(remote, door, cluster=cluster.name)
    try:
        seen = await visit(cluster, transport)
        hint = "" if transport.error is None else transport.error.hint
    finally:
        await transport.close()
    if seen.described is not None:
        remember_description(cluster, seen.described)
    return seen, hint


def _short(file: Path) -> str:
    """Return the path with `~` for the home folder."""
    home = Path("~").expanduser()
    return visible(f"~/{file.relative_to(home)}" if file.is_relative_to(home) else str(file))
