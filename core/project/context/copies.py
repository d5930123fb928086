"""Copies of a project on clusters that do not share its folder: sending files and fetching results.

Before a job is submitted, its input is copied: the project's own files and the job's directories.
After the job has ended, its products and log are fetched first, and its completion report last, so
that no directory counts as completed here before its products are here. A file that changed on both
sides is reported and never overwritten. A job whose results cannot be fetched now stays submitted,
and the fetch is retried later.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import os
import re
import time
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.files import replace_file
from rowtui.core.base.text import file_size, plural, visible
from rowtui.core.clusters.commands import Transport
from rowtui.core.mirror.compare import Transfer
from rowtui.core.mirror.manifest import manifest_path
from rowtui.core.mirror.model import FOLDER, MirrorSelection
from rowtui.core.mirror.selection import MirrorRules, log_pattern, read_rules, to_fetch, to_send
from rowtui.core.mirror.transfer.arriving import TransferProgress
from rowtui.core.project.views.views import TransferView
from rowtui.core.state.row.postcard import decode_completed
from rowtui.core.state.row.staging import decode_names, staging_folder
from rowtui.core.submission.plan.model import Plan
from rowtui.core.submission.reconcile.reconcile_state import ReconciledJob

if TYPE_CHECKING:
    from rowtui.core.clusters.model import Cluster
    from rowtui.core.mirror.mirror import Mirror
    from rowtui.core.project.project import Project
    from rowtui.core.submission.sending.job_records import JobTable

FIRST_PAUSE, LONGEST_PAUSE = 10.0, 600.0  # seconds before the fetch of results is retried
SHOWN = 20  # files that a message names
_SECONDS = 60.0
_LIST = """\
cd -- "$1/.row/completed" 2>/dev/null || exit 0
for file in *.postcard *.names; do
    [ -f "$file" ] || continue
    printf '%s ' "$file" && base64 -w 0 <"$file" && echo || exit 3
done
echo done
"""
_REMOVE = 'cd -- "$1/.row/completed" && exec xargs -0 rm -f --'
# The file name of a report comes from the cluster and is used here, so it must match this pattern.
_REPORT = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,200}\.(?:postcard|names)", re.ASCII)


class Copies:
    """The copies of one project on clusters."""

    def __init__(self, project: Project, table: JobTable) -> None:
        self.project = project
        self._table = table
        # For each cluster whose results could not be fetched: the next pause (seconds) and the time
        # when the current pause ends.
        self._again: dict[str, tuple[float, float]] = {}

    # Sending to a cluster

    async def preview(self, plan: Plan) -> tuple[TransferView, ...]:
        """Return what carrying out a plan would copy to each cluster. Nothing is created there.

        Raises: RowtuiError.
        """
        views = []
        for cluster in self.project.connections.copied(plan.jobs):
            mirror = self.project.connections.mirror(cluster)
            with self.project.connections.explained(cluster.name):
                transfer = await self._to_send(plan, cluster, mirror, make=False)
                views.append(await self._view(transfer, cluster, mirror, plan))
        return tuple(views)

    async def send(self, plan: Plan) -> AsyncGenerator[tuple[str, str], None]:
        """Copy the files that the jobs of a plan need; yield clusters, and their progress as text.

        Raises: RowtuiError if a file changed on both sides or cannot be copied.
        """
        for cluster in self.project.connections.copied(plan.jobs):
            name = visible(cluster.name)
            mirror = self.project.connections.mirror(cluster)
            with self.project.connections.explained(cluster.name):
                transfer = await self._to_send(plan, cluster, mirror)
                _refuse_conflicts(transfer, cluster.name)
                async with contextlib.aclosing(mirror.send(transfer)) as sending:
                    async for progress in sending:
                        if progress.files:
                            yield cluster.name, f"copying to {name}: {_so_far(progress)}"
                        for notice in progress.notices:
                            self.project.notice(f"{name}: {notice}")
                        _refuse_partial(progress, name)

    def known(self) -> tuple[str, ...]:
        """Return the configured clusters with which a copy was ever synchronised."""
        connections = self.project.connections
        return tuple(
            cluster.name
            for cluster in connections.remote()
            if connections.is_copied(cluster)
            and manifest_path(connections.root, cluster.name).exists()
        )

    async def _to_send(
        self, plan: Plan, cluster: Cluster, mirror: Mirror, *, make: bool = True
    ) -> Transfer:
        here = [job for job in plan.jobs if job.destination.cluster == cluster.name]
        directories = sorted({name for job in here for name in job.directories})
        needed = sorted({path for job in here for path in job.requires})
        rules = await asyncio.to_thread(self._rules)
        logs = {log_pattern(job.log_path) for job in plan.jobs if job.log_path}
        workspace = self.project.workflow.workspace_path
        selection = to_send(
            rules, self.project.root, workspace, directories, needed, log_patterns=sorted(logs)
        )
        return await mirror.plan_send(selection, make=make)

    async def _view(
        self, transfer: Transfer, cluster: Cluster, mirror: Mirror, plan: Plan
    ) -> TransferView:
        products = sorted(
            {
                product
                for job in plan.jobs
                if job.destination.cluster == cluster.name
                for action in self.project.workflow.named(job.action)
                for product in action.products
            }
        )
        rules = await asyncio.to_thread(self._rules)
        files = [copy.path for copy in transfer.send if copy.facts.kind != FOLDER]
        return TransferView(
            cluster=cluster.name,
            place=await mirror.find() or mirror.place,
            files=len(files),
            size=transfer.send_bytes,
            first=tuple(files[:SHOWN]),
            unchanged=transfer.unchanged,
            conflicts=tuple(conflict.path for conflict in transfer.conflicts),
            back=(*products, *rules.fetch),
            notices=transfer.notices,
        )

    def _rules(self) -> MirrorRules:
        return read_rules(self.project.root)

    # Fetching from a cluster

    def has_results(self, job: ReconciledJob) -> bool:
        """Whether results of an ended job are fetched from a copy."""
        cluster = self.project.connections.known(job.cluster)
        began = job.over is not None and job.over.evidence.began
        return began and cluster is not None and self.project.connections.is_copied(cluster)

    async def fetched(self, settled: Sequence[ReconciledJob]) -> tuple[ReconciledJob, ...]:
        """Fetch the results of jobs that ended on copies; return the settled jobs.

        A job whose results cannot be fetched now is not settled, and the fetch is retried later.
        """
        ended: dict[str, list[ReconciledJob]] = {}
        for it in filter(self.has_results, settled):
            ended.setdefault(it.cluster, []).append(it)
        waiting: set[str] = set()
        for name, those in ended.items():
            cluster = self.project.connections.known(name)
            assert cluster is not None
            pause, due = self._again.get(name, (FIRST_PAUSE, 0.0))
            if time.monotonic() < due:
                waiting |= {it.token for it in those}
                continue
            try:
                await self._fetch(cluster, those)
                self._again.pop(name, None)
            except RowtuiError as error:
                self._again[name] = (min(2 * pause, LONGEST_PAUSE), time.monotonic() + pause)
                waiting |= {it.token for it in those}
                jobs = plural(len(those), "job that ended", "jobs that ended")
                self.project.notice(
                    f"the results of {jobs} on {visible(name)} are not here yet: {error.message}"
                )
        return tuple(it for it in settled if it.token not in waiting)

    async def _fetch(self, cluster: Cluster, ended: Sequence[ReconciledJob]) -> None:
        mirror = self.project.connections.mirror(cluster)
        transport = self.project.connections.transport(cluster)
        place = await mirror.resolve()
        staged = await _read_staged(transport, place)
        # By action: the directories whose products are fetched.
        wanted: dict[str, set[str]] = {}
        for completions in staged.values():
            for action, names in completions[1].items():
                wanted.setdefault(action, set()).update(map(os.fsdecode, names))
        known = await asyncio.to_thread(self._table.records)
        records = {record.token: record for record in known}
        logs = []
        for it in ended:
            record = records.get(it.token)
            if record is not None:
                wanted.setdefault(record.action, set()).update(record.directories)
                if record.log_path:
                    logs.append(record.log_path)
        rules = await asyncio.to_thread(self._rules)
        root, workspace = self.project.root, self.project.workflow.workspace_path
        for action, directories in sorted(wanted.items()):
            products = [
                product for one in self.project.workflow.named(action) for product in one.products
            ]
            selection = to_fetch(rules, root, workspace, sorted(directories), products)
            await self._bring(mirror, cluster, selection)
        if logs:
            selection = to_fetch(rules, root, workspace, (), (), logs=logs)
            await self._bring(mirror, cluster, selection)
        await asyncio.to_thread(self._stage, {name: data for name, (data, _) in staged.items()})
        if staged:
            await _remove_staged(transport, place, staged)

    async def _bring(self, mirror: Mirror, cluster: Cluster, selection: MirrorSelection) -> None:
        project = self.project
        transfer = await mirror.plan_fetch(selection)
        name = visible(cluster.name)
        for notice in transfer.notices[:SHOWN]:
            project.notice(f"{name}: {notice}")
        for conflict in transfer.conflicts[:SHOWN]:
            path = visible(conflict.path)
            project.notice(
                f"{path} changed here and on {name}: it was left alone on both sides "
                f"({conflict.reason}); 'rowtui mirror {name}' decides"
            )
        try:
            async with contextlib.aclosing(mirror.fetch(transfer)) as fetching:
                async for progress in fetching:
                    project.fetching(name, progress.done_bytes, progress.bytes)
                    for notice in progress.notices:
                        project.notice(f"{name}: {notice}")
                    if progress.notices and progress.done_files < progress.files:
                        raise RowtuiError(progress.notices[0])
        finally:
            project.fetching(name, 0, 0)

    def _stage(self, files: Mapping[str, bytes]) -> None:
        """Store here the reports that jobs wrote on the copy."""
        folder = staging_folder(self.project.root)
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            replace_file(folder / name, data)


def _refuse_conflicts(transfer: Transfer, cluster: str) -> None:
    if transfer.conflicts:
        shown = ", ".join(visible(it.path) for it in transfer.conflicts[:3])
        more = len(transfer.conflicts) - 3
        shown += f" and {more:,} more" if more > 0 else ""
        raise RowtuiError(
            f"changed here and on {visible(cluster)} since both were equal: {shown}",
            f"'rowtui mirror {visible(cluster)}' shows them and decides which side counts",
        )


def _so_far(progress: TransferProgress) -> str:
    done = f"{progress.done_files:,} of {progress.files:,} files and folders"
    return f"{done}, {file_size(progress.done_bytes)} of {file_size(progress.bytes)}"


def _refuse_partial(progress: TransferProgress, cluster: str) -> None:
    if progress.notices and progress.done_files < progress.files:
        raise RowtuiError(
            f"not everything could be copied to {cluster}: {progress.notices[0]}",
            "no job was submitted; copied files are kept, so that a retry is quick",
        )


async def _read_staged(
    transport: Transport, place: str
) -> dict[str, tuple[bytes, Mapping[str, Sequence[bytes]]]]:
    """Read the reports of jobs on a copy: for each file, its bytes and parsed content.

    Raises: RowtuiError.
    """
    result = await transport.run(["sh", "-c", _LIST, "sh", place], timeout=_SECONDS)
    lines = result.stdout.decode("ascii", "replace").split("\n")
    if (
        result.exit_status != 0
        or result.truncated
        or (result.stdout and lines[-2:] != ["done", ""])
    ):
        raise RowtuiError(f"the reports of jobs cannot be read: {visible(result.complaint)}")
    found: dict[str, tuple[bytes, Mapping[str, Sequence[bytes]]]] = {}
    for line in lines[:-2]:
        name, _, text = line.partition(" ")
        if not _REPORT.fullmatch(name):
            continue  # a file that is no report, or cannot be read, stays where it is
        try:
            data = base64.b64decode(text, validate=True)
            says: Mapping[str, Sequence[bytes]]
            says = (
                dict(decode_completed(data)) if name.endswith(".postcard") else decode_names(data)
            )
        except (ValueError, binascii.Error, RowtuiError):
            continue
        if all(_is_directory(directory) for names in says.values() for directory in names):
            found[name] = (data, says)
    return found


async def _remove_staged(transport: Transport, place: str, names: Iterable[str]) -> None:
    """Remove reports from a copy, by names on stdin, as a command line may be too short."""
    given = "".join(f"{name}\0" for name in names).encode()
    await transport.run(["sh", "-c", _REMOVE, "sh", place], stdin=given, timeout=_SECONDS)


def _is_directory(name: bytes) -> bool:
    """Whether the name can be a directory of a workspace and does not lead to another folder."""
    return name not in (b"", b".", b"..") and b"/" not in name and b"\0" not in name
