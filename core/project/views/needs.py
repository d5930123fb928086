"""Work that needs the user, according to a project's files and records.

This is failed directories by the cause of their failure, and mapping files whose code does not run
because the user has not trusted it. The module reads mapping files, but fetches and runs nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.groups.model import ActionStatus
from rowtui.core.project.mapping_files import has_mapping_files, mapping_paths
from rowtui.core.state.model import LastEnd

if TYPE_CHECKING:
    from rowtui.core.mapping.files.source_places import MappingSource, UserFolders
    from rowtui.core.project.project import Project

MOST_CAUSES = 5
"""Most causes that are listed separately for one action; the others form one entry."""

OTHER_CAUSES = "other causes"

_MOST_LINES = 20_000  # most lines of a mapping file on the screen
_WIDEST = 1_000  # most characters of one of these lines


class FailureCause(NamedTuple):
    """Directories of one action that failed alike. `jobs`: number of jobs in which they failed.

    `cause` is the reason of the failure, or `OTHER_CAUSES` for causes beyond `MOST_CAUSES`.
    """

    action_index: int
    cause: str
    directories: int
    jobs: int


class UntrustedFile(NamedTuple):
    """A mapping file whose code does not run. `place`: the absolute path, or a URL."""

    name: str
    place: str


class MappingReview(NamedTuple):
    """A mapping file as the user reads it before trusting it.

    `lines`: the text, or the differences from the content that was trusted last (`differs`).
    `digest` identifies exactly this content: `trust` refuses any other.
    """

    name: str
    place: str
    digest: str
    lines: tuple[str, ...]
    differs: bool = False


class ProjectNeeds:
    """The work of one project that needs the user; counts are cached until something changes."""

    def __init__(self, project: Project) -> None:
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
                kept = (records, row.failed, _causes(row, records))
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
            self._looked = (key, _untrusted(project))
        return self._looked[1]


def _causes(row: ActionStatus, records: Mapping[int, LastEnd]) -> tuple[FailureCause, ...]:
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
    told = [(cause, directories[cause], len(jobs[cause])) for cause in order[:MOST_CAUSES]]
    rest = order[MOST_CAUSES:]
    if rest:
        at_jobs = set().union(*(jobs[cause] for cause in rest))
        told.append((OTHER_CAUSES, sum(directories[cause] for cause in rest), len(at_jobs)))
    return tuple(FailureCause(row.action.index, *each) for each in told)


def review(project: Project, place: str) -> MappingReview:
    """Return what the user should read before trusting this file. Raises: RowtuiError."""
    from rowtui.core.mapping.files.trust import TrustStore, difference

    source = _source(project, place)
    before = TrustStore(_places(project).trust).last_trusted(source.place)
    if before is None:
        text = source.data.decode(errors="replace").splitlines()
    else:
        text = difference(before, source.data, source.name)
    lines = tuple(line[:_WIDEST] for line in text[:_MOST_LINES])
    if len(text) > _MOST_LINES:
        lines += (f"... {len(text) - _MOST_LINES:,} more lines: read the file itself",)
    return MappingReview(source.name, source.place, source.digest, lines, before is not None)


def trust(project: Project, place: str, digest: str) -> None:
    """Allow the code of this content to run as this user.

    Raises: RowtuiError if the file has changed.
    """
    from rowtui.core.mapping.files.trust import TrustStore

    source = _source(project, place)
    if source.digest != digest:
        raise RowtuiError(f"{source.name} has changed meanwhile", "read it again, then trust it")
    TrustStore(_places(project).trust).trust(source.place, source.data, time.time())


def _places(project: Project) -> UserFolders:
    from rowtui.core.mapping.files.source_places import user_places

    return user_places(project.environment)


def _sources(project: Project) -> tuple[MappingSource, ...]:
    from rowtui.core.mapping.files.source_places import Fetching
    from rowtui.core.mapping.files.sources import find_sources

    offline = Fetching(allowed=False)
    found = find_sources(project.root, places=_places(project), now=time.time(), fetching=offline)
    return found.sources


def _source(project: Project, place: str) -> MappingSource:
    for source in _sources(project):
        if source.place == place:
            return source
    raise RowtuiError(f"there is no mapping file {visible(place)} any more")


def _untrusted(project: Project) -> tuple[UntrustedFile, ...]:
    return tuple(
        UntrustedFile(source.name, source.place)
        for source in _sources(project)
        if not source.trusted
    )


def _identity(path: object) -> tuple[object, ...]:
    try:
        status = os.stat(str(path))
    except OSError:
        return (str(path),)
    return (str(path), status.st_mtime_ns, status.st_size, status.st_ino)
