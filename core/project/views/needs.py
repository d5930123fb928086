"""Work that needs the user, according to a project's files and records.

This is failed directories by the cause of their failure, and mapping files whose code does not run
because the user has not trusted it. The module reads mapping files, but fetches and runs nothing.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.files import own_config_folder
from rowtui.core.workflow.find import PROJECT_FILES, has_mapping_files

if TYPE_CHECKING:
    from rowtui.core.groups.model import ActionStatus
    from rowtui.core.project.open_project import OpenProject
    from rowtui.core.project.views.mapping_trust import UntrustedFile
    from rowtui.core.state.model import LastEnd

MOST_CAUSES = 5
"""Most causes that are listed separately for one action; the others form one entry."""

OTHER_CAUSES = "other causes"


class FailureCause(NamedTuple):
    """Directories of one action that failed alike. `jobs`: number of jobs in which they failed.

    `cause` is the reason of the failure, or `OTHER_CAUSES` for causes beyond `MOST_CAUSES`.
    """

    action_index: int
    cause: str
    directories: int
    jobs: int


class ProjectNeeds:
    """The work of one project that needs the user; counts are cached until something changes."""

    def __init__(self, project: OpenProject) -> None:
        self._project = project
        self._counted: dict[int, tuple[object, int, tuple[FailureCause, ...]]] = {}
        self._looked: tuple[tuple[object, ...], tuple[UntrustedFile, ...]] = ((), ())

    def failures(self, rows: Iterable[ActionStatus]) -> tuple[FailureCause, ...]:
        """Return why failed directories of these actions failed, the most common cause first."""
        found: list[FailureCause] = []
        for row in rows:
            records = self._project.state.ends.get(row.action.name, {})
            kept = self._counted.get(row.action.index)
            if kept is None or kept[0] is not records or kept[1] != row.failed:
                kept = (records, row.failed, causes_of_failures(row, records))
                self._counted[row.action.index] = kept
            found += kept[2]
        return tuple(found)

    def untrusted(self) -> tuple[UntrustedFile, ...]:
        """Return the mapping files that must be trusted before their code runs."""
        project = self._project
        if not has_mapping_files(project.root, project.environment):
            return ()
        key = tuple(_identity(path) for path in mapping_paths(project))
        if key != self._looked[0]:
            from rowtui.core.project.views.mapping_trust import untrusted_files

            self._looked = (key, untrusted_files(project))
        return self._looked[1]


def causes_of_failures(
    row: ActionStatus, records: Mapping[int, LastEnd]
) -> tuple[FailureCause, ...]:
    """Return why the failed directories of an action failed, the most common cause first."""
    if not row.failed:
        return ()
    directories: dict[str, int] = {}
    jobs: dict[str, set[str]] = {}
    failed = row.failed.to_bytes((row.failed.bit_length() + 7) // 8, "little")
    for position, failure in records.items():
        cell = position >> 3
        if cell >= len(failed) or not failed[cell] >> (position & 7) & 1:
            continue  # completed, submitted or removed from the action since the failure
        cause = failure.reason
        directories[cause] = directories.get(cause, 0) + 1
        jobs.setdefault(cause, set()).add(failure.token)
    order = sorted(directories, key=lambda cause: (-directories[cause], cause))
    parts = [(cause, directories[cause], len(jobs[cause])) for cause in order[:MOST_CAUSES]]
    rest = order[MOST_CAUSES:]
    if rest:
        at_jobs = set().union(*(jobs[cause] for cause in rest))
        parts.append((OTHER_CAUSES, sum(directories[cause] for cause in rest), len(at_jobs)))
    return tuple(FailureCause(row.action.index, *each) for each in parts)


def mapping_paths(project: OpenProject) -> tuple[Path, ...]:
    """Return the paths to watch for mapping files that are made, edited, deleted or trusted.

    Files that are included by mapping files are among these once the mapping files were read.
    """
    root, environment = project.root, project.environment
    paths = [root / name for name in PROJECT_FILES]
    own = own_config_folder(environment)
    if own is not None:
        paths.append(own / "mapping")
    if has_mapping_files(root, environment):
        from rowtui.core.mapping.files.places import user_places

        paths.append(user_places(environment).trust)
        if own is not None:
            with contextlib.suppress(OSError):
                paths += sorted(path for path in (own / "mapping").iterdir() if path.is_file())
        paths += map(Path, known_mapping_places(project))
    return tuple(dict.fromkeys(paths))


def known_mapping_places(project: OpenProject) -> tuple[str, ...]:
    """Return the mapping files on disk, as far as they were read already, without reading."""
    mapping = vars(project).get("mapping")
    return () if mapping is None else mapping.known_places()


def _identity(path: object) -> tuple[object, ...]:
    try:
        status = os.stat(str(path))
    except OSError:
        return (str(path),)
    return (str(path), status.st_mtime_ns, status.st_size, status.st_ino)
