"""Mapping files that the user has to trust before their code runs, and their text."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.mapping.files.places import Fetching, user_places
from rowtui.core.mapping.files.sources import find_sources
from rowtui.core.mapping.files.trust import TrustStore, difference

if TYPE_CHECKING:
    from rowtui.core.mapping.files.places import MappingSource, UserFolders
    from rowtui.core.project.open_project import OpenProject


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


_MOST_LINES = 20_000  # most lines of a mapping file on the screen
_WIDEST = 1_000  # most characters of one of these lines


def untrusted_files(project: OpenProject) -> tuple[UntrustedFile, ...]:
    """Return the mapping files whose code does not run."""
    return tuple(
        UntrustedFile(source.name, source.place)
        for source in _sources(project)
        if not source.trusted
    )


def review_file(project: OpenProject, place: str) -> MappingReview:
    """Return what the user should read before trusting this file. Raises: RowtuiError."""
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


def trust(project: OpenProject, place: str, digest: str) -> None:
    """Allow the code of this content to run as this user.

    Raises: RowtuiError if the file has changed.
    """
    source = _source(project, place)
    if source.digest != digest:
        raise RowtuiError(f"{source.name} has changed meanwhile", "read it again, then trust it")
    TrustStore(_places(project).trust).trust(source.place, source.data, time.time())


def _places(project: OpenProject) -> UserFolders:
    return user_places(project.environment)


def _sources(project: OpenProject) -> tuple[MappingSource, ...]:
    offline = Fetching(allowed=False)
    found = find_sources(project.root, places=_places(project), now=time.time(), fetching=offline)
    return found.sources


def _source(project: OpenProject, place: str) -> MappingSource:
    for source in _sources(project):
        if source.place == place:
            return source
    raise RowtuiError(f"there is no mapping file {visible(place)} any more")
