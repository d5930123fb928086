"""One copy of a project, as a user inspects it and decides about it.

The input is the cluster. The module returns all differences and carries out the user's decisions:
send, fetch, keep one side of a conflict, or remove the copy. Paths that the user did not choose are
not touched, and no file is removed that exists nowhere else.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural, visible
from rowtui.core.mirror.compare import Copy, MirrorConflict, Removed, Side, Transfer, restored
from rowtui.core.mirror.model import FOLDER, MirrorSelection, is_below, is_relative
from rowtui.core.mirror.selection import (
    MirrorRules,
    all_there,
    in_directories,
    log_pattern,
    read_rules,
    to_send,
)
from rowtui.core.submission.plan.model import JobStep
from rowtui.core.submission.scripts.parts import log_path

if TYPE_CHECKING:
    from rowtui.core.clusters.model import Cluster
    from rowtui.core.mirror.transfer.arriving import TransferProgress
    from rowtui.core.project.open_project import OpenProject

_OVER = (JobStep.ENDED, JobStep.REJECTED, JobStep.ABANDONED, JobStep.PLANNED)


class CopyComparison(NamedTuple):
    """The differences between a project and one copy of it. `place` is "" if there is no copy."""

    cluster: str
    place: str
    transfer: Transfer


class Leaving(NamedTuple):
    """The effect of removing a copy. `only_there`: files deleted here, which exist nowhere else."""

    place: str
    only_there: tuple[str, ...] = ()


class CopyByHand:
    """The copy of the project on one cluster."""

    def __init__(self, project: OpenProject, cluster: Cluster) -> None:
        self.project = project
        self.cluster = cluster
        self.mirror = project.connections.mirror(cluster)

    async def compare(
        self, directories: Sequence[str] | None = None, *, make: bool = False
    ) -> CopyComparison:
        """Return all differences, or those of the project's own files and these directories.

        `make`: create a missing copy. Raises: RowtuiError.
        """
        rules, root, workspace = await self._rules()
        logs = await asyncio.to_thread(self._log_patterns)
        ours = to_send(rules, root, workspace, directories, log_patterns=logs)
        theirs = all_there(rules)
        if directories is not None:
            theirs = in_directories(rules, root, workspace, directories)
        return await self._compared(ours, theirs, make=make)

    async def compare_directories(self, directories: Sequence[str]) -> CopyComparison:
        """Return the differences in these directories alone. Raises: RowtuiError."""
        selection = in_directories(*await self._rules(), directories)
        return await self._compared(selection, selection)

    async def _compared(
        self, ours: MirrorSelection, theirs: MirrorSelection, *, make: bool = False
    ) -> CopyComparison:
        with self.project.connections.explained(self.cluster.name):
            place = await (self.mirror.resolve() if make else self.mirror.find())
            if not place:
                return CopyComparison(self.cluster.name, "", Transfer())
            transfer = await self.mirror.plan_both(ours, theirs)
        return CopyComparison(self.cluster.name, place, transfer)

    async def where(self) -> str:
        """Return the copy's folder on the cluster; "" if there is none. Raises: RowtuiError."""
        with self.project.connections.explained(self.cluster.name):
            return await self.mirror.find()

    def to_send(self, compared: CopyComparison) -> Transfer:
        """Return the files that are newer here or were deleted there."""
        return restored(compared.transfer, Side.THERE)

    async def send_now(self, transfer: Transfer) -> AsyncGenerator[TransferProgress, None]:
        """Copy the files of this transfer to the cluster; the last progress holds notices.

        Raises: RowtuiError.
        """
        with self.project.connections.explained(self.cluster.name):
            async with contextlib.aclosing(self.mirror.send(transfer)) as steps:
                async for progress in steps:
                    yield progress

    async def fetch_now(self, transfer: Transfer) -> AsyncGenerator[TransferProgress, None]:
        """Copy the files of this transfer from the cluster; the last progress holds notices.

        Raises: RowtuiError.
        """
        with self.project.connections.explained(self.cluster.name):
            async with contextlib.aclosing(self.mirror.fetch(transfer)) as steps:
                async for progress in steps:
                    yield progress

    async def decide(self, side: Side, paths: Sequence[str]) -> CopyComparison:
        """Make this side win for these paths, or for all conflicts in these folders.

        Returns the copies that `send_now` or `fetch_now` then makes, for these paths and no others.
        A path that was deleted on the other side is decided in the same way. Raises: RowtuiError if
        a path is in no conflict, or the user must resolve its conflict by hand.
        """
        wanted = [_inside(path) for path in paths]
        rules, root, workspace = await self._rules()
        logs = await asyncio.to_thread(self._log_patterns)
        ours = to_send(rules, root, workspace, None, log_patterns=logs)
        compared = await self._compared(ours, all_there(rules))
        if not compared.place:
            raise self.no_copy()
        chosen = _chosen(compared.transfer, wanted, side)
        if chosen.conflicts:
            with self.project.connections.explained(self.cluster.name):
                await self.mirror.prefer([it.path for it in chosen.conflicts], side)
        return compared._replace(transfer=_carried(chosen, side))

    async def look_before_leaving(self) -> Leaving:
        """Return whether the copy may be removed. Raises: RowtuiError with the reason if not."""
        name = visible(self.cluster.name)
        view = await self.project.jobs.view()
        if view.error:
            raise RowtuiError(
                f"the jobs of this project on {name} cannot be listed: {view.error}",
                "the copy is kept until the jobs can be listed",
            )
        here = [it for it in self.project.jobs.records() if it.cluster == self.cluster.name]
        active = [it for it in here if it.step not in _OVER]
        if active:
            jobs = plural(len(active), "job of this project is", "jobs of this project are")
            raise RowtuiError(f"{jobs} on {name}", "wait for them, or cancel them first")
        rules, root, workspace = await self._rules()
        logs = await asyncio.to_thread(self._log_patterns)
        ours = to_send(rules, root, workspace, None, log_patterns=logs)
        compared = await self._compared(ours, all_there(rules, reports=True))
        if not compared.place:
            raise self.no_copy()
        newer = [it.path for it in compared.transfer.fetch]
        newer += [it.path for it in compared.transfer.conflicts]
        if newer:
            raise RowtuiError(
                f"{plural(len(newer), 'file is', 'files are')} newer there: {_some(newer)}",
                f"'rowtui mirror {name}' shows them, '--fetch' brings them",
            )
        gone = [it.path for it in compared.transfer.removed if it.gone is Side.HERE]
        return Leaving(compared.place, tuple(gone))

    async def remove(self) -> None:
        """Remove the copy; the caller has checked that this is allowed. Raises: RowtuiError."""
        with self.project.connections.explained(self.cluster.name):
            await self.mirror.remove()
        self.project.connections.forget_mirror(self.cluster)

    def no_copy(self) -> RowtuiError:
        """Return the error that there is no copy."""
        name = visible(self.cluster.name)
        return RowtuiError(
            f"{name} has no copy of this project",
            f"the first submission makes it, or 'rowtui mirror {name} --send'",
        )

    async def _rules(self) -> tuple[MirrorRules, Path, str]:
        rules = await asyncio.to_thread(read_rules, self.project.root)
        return rules, self.project.root, self.project.workflow.workspace_path

    def _log_patterns(self) -> list[str]:
        """Return patterns for the logs of this project's jobs on any cluster."""
        names = {record.cluster for record in self.project.jobs.records()} | {self.cluster.name}
        paths = {
            log_path(action, name) for action in self.project.workflow.actions for name in names
        }
        return sorted(log_pattern(path) for path in paths)


def copy_by_hand(project: OpenProject, name: str) -> CopyByHand:
    """Return the copy on one cluster, for the decisions of a user.

    Raises: RowtuiError if the cluster can have no copy.
    """
    connections, shown = project.connections, visible(name)
    cluster = connections.known(name) or project.configured.named(name)
    if cluster is None:
        raise RowtuiError(
            f"there is no cluster '{shown}'", "'rowtui show cluster --all --short' lists them"
        )
    if not connections.is_remote(cluster):
        raise RowtuiError(f"'{shown}' is this machine: it uses the project itself, not a copy")
    if not connections.is_copied(cluster):
        raise RowtuiError(
            f"{shown} sees this folder itself (`paths` in clusters.toml): it has no copy"
        )
    return CopyByHand(project, cluster)


def _inside(path: str) -> str:
    """Return a path as comparisons name it; "" for the whole project. Raises: RowtuiError."""
    normal = os.path.normpath(path)
    if normal == ".":
        return ""
    if not is_relative(normal):
        raise RowtuiError(
            f"'{visible(path)}' is not a path in the project",
            "write it as 'rowtui mirror' shows it",
        )
    return normal


def _chosen(transfer: Transfer, wanted: Sequence[str], side: Side) -> Transfer:
    """Return the wanted conflicts and deleted files. Raises: RowtuiError."""

    def meant(path: str) -> bool:
        return any(is_below(path, base) for base in wanted)

    conflicts = tuple(it for it in transfer.conflicts if meant(it.path))
    removed = tuple(it for it in transfer.removed if it.path in wanted)
    for base in wanted:
        found: list[MirrorConflict | Removed] = [*conflicts, *removed]
        if not any(is_below(it.path, base) for it in found):
            raise RowtuiError(f"{visible(base or '.')}: {_why_none(transfer, base)}")
    for it in removed:
        if it.gone is side:
            where = "here" if side is Side.HERE else "there"
            raise RowtuiError(
                f"{visible(it.path)} was deleted {where}, and nothing is deleted for that",
                "delete it on the other side too, or keep the other side",
            )
    by_hand = [it for it in conflicts if not _can_replace(it)]
    if by_hand:
        raise RowtuiError(
            "\n".join(f"{visible(it.path)}: {it.reason}" for it in by_hand),
            "move one of them away by hand",
        )
    return Transfer(conflicts=conflicts, removed=removed)


def _why_none(transfer: Transfer, path: str) -> str:
    newer: Mapping[str, Iterable[Copy]] = {"here": transfer.send, "there": transfer.fetch}
    for where, copies in newer.items():
        if any(it.path == path for it in copies):
            option = "--send" if where == "here" else "--fetch"
            return f"it is newer {where} and in no conflict; {option} copies it"
    return "it is in no conflict"


def _can_replace(conflict: MirrorConflict) -> bool:
    """Whether one side may be overwritten with the other."""
    return (
        conflict.here is not None
        and conflict.there is not None
        and FOLDER not in (conflict.here.kind, conflict.there.kind)
    )


def _carried(chosen: Transfer, side: Side) -> Transfer:
    """Return the copies that make the other side equal to this side."""
    copies = []
    for it in chosen.conflicts:
        assert it.here is not None
        assert it.there is not None
        ours = side is Side.HERE
        copies.append(
            Copy(it.path, it.here, it.there) if ours else Copy(it.path, it.there, it.here)
        )
    copies += [Copy(it.path, it.facts) for it in chosen.removed]
    copies.sort(key=lambda copy: copy.path.split("/"))
    return Transfer(send=tuple(copies)) if side is Side.HERE else Transfer(fetch=tuple(copies))


def _some(paths: Sequence[str]) -> str:
    more = len(paths) - 3
    return ", ".join(map(visible, paths[:3])) + (f" and {more:,} more" if more > 0 else "")
