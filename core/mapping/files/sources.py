"""Find the mapping files that apply, in their order, and whether the code in each may run.

The input is the project's folder and the user's places; the output is the contents in the order in
which they are merged (later ones override): the user's own folder, then the project's
`mapping.yml`, each after the files that it includes. A file that cannot be read is reported as a
problem, and the other files are still used.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urljoin

from rowtui.core.base.errors import InvalidFileError, Problem, RowtuiError
from rowtui.core.base.files import read_bounded
from rowtui.core.base.text import visible
from rowtui.core.mapping.files.places import Fetching, FoundSources, MappingSource, UserFolders
from rowtui.core.mapping.files.trust import (
    LARGEST_SOURCE,
    TrustStore,
    day,
    digest_of,
    own_file_objection,
)
from rowtui.core.mapping.yaml.nodes import Items, Scalar, YamlTable
from rowtui.core.mapping.yaml.text import read_yaml
from rowtui.core.workflow.find import PROJECT_FILES, find_project

DEEPEST_INCLUDE = 5
MOST_SOURCES = 100
NOT_FETCHED = "fetching is switched off"
_ENDINGS = (".yml", ".yaml")

_USUALLY = Fetching()


class Include(NamedTuple):
    """One entry of `global.include` and its place."""

    name: str
    file: str
    line: int
    column: int


def read_includes(data: bytes, file: str) -> tuple[tuple[Include, ...], tuple[Problem, ...]]:
    """Return the files that `global.include` names, and only the problems of this key.

    Other problems of the file are reported when it is loaded.
    """
    if b"include" not in data:
        return (), ()
    try:
        root = read_yaml(data, file)
    except InvalidFileError:
        return (), ()
    settings = root.entries.get("global") if isinstance(root, YamlTable) else None
    entry = (
        settings[1].entries.get("include")
        if settings and isinstance(settings[1], YamlTable)
        else None
    )
    if entry is None or (isinstance(entry[1], Scalar) and entry[1].value is None):
        return (), ()
    found: list[Include] = []
    problems: list[Problem] = []
    for node in entry[1].items if isinstance(entry[1], Items) else [entry[1]]:
        _, line, column = node.place
        if isinstance(node, Scalar) and isinstance(node.value, str) and node.value:
            found.append(Include(node.value, file, line, column))
        else:
            message = "`include` names something that is not a file, a folder or an https URL"
            hint = "include: [tools.yml, site/, https://example.org/mapping.yml]"
            problems.append(Problem(file, line, column, message, hint))
    return tuple(found), tuple(problems)


def _is_url(name: str) -> bool:
    """Whether a name is a URL, including URLs of kinds that are not fetched."""
    return "://" in name or name.lower().startswith(("https:", "http:", "file:", "ftp:"))


def _joined(url: str, name: str) -> str:
    """Return the URL of a name in a file from a URL: never a file of this machine."""
    try:
        return urljoin(url, name)
    except ValueError:
        return name


def _unreadable(data: bytes) -> str:
    """Return why new content is no YAML map; "" if it is one."""
    try:
        root = read_yaml(data, "it")
    except InvalidFileError as error:
        return str(error.problems[0])
    return "" if isinstance(root, YamlTable) else "it is not a YAML map"


def find_sources(
    project_root: Path | None,
    *,
    places: UserFolders,
    now: float,
    fetching: Fetching = _USUALLY,
) -> FoundSources:
    """Return the user's mapping files, sorted by name, then the project's.

    `now`: seconds since 1970.
    """
    walk = _Walk(project_root, places, now, fetching)
    if places.configuration is not None and os.path.lexists(places.configuration):
        walk.add_folder(places.configuration, None)
    if project_root is not None:
        paths = [project_root / file for file in PROJECT_FILES]
        there = [path for path in paths if os.path.lexists(path)]
        if len(there) > 1:
            one, other = (walk.shown(path) for path in paths)
            message = f"there is {one} as well, so that neither is read"
            walk.problems.append(Problem(other, 0, 0, message, "keep one of the two"))
        else:
            for path in there:
                walk.add_file(path, None, project_root)
    return FoundSources(tuple(walk.sources), tuple(walk.problems))


def sources_from(
    names: Sequence[str],
    *,
    base: Path,
    places: UserFolders,
    now: float,
    fetching: Fetching = _USUALLY,
) -> FoundSources:
    """Return the files, folders and URLs that the user named, instead of the usual ones.

    `base`: the folder that relative names start from.
    """
    walk = _Walk(base, places, now, fetching)
    for name in names:
        walk.add_named(name, base, None)
    return FoundSources(tuple(walk.sources), tuple(walk.problems))


class _Asker(NamedTuple):
    """The file that includes another one, and its entry."""

    source: MappingSource
    include: Include


class _Walk:
    """Collects sources, included files first; each source once."""

    def __init__(
        self,
        root: Path | None,
        places: UserFolders,
        now: float,
        fetching: Fetching,
    ) -> None:
        self.root = None if root is None else Path(os.path.abspath(root))
        self.places = places
        self.now = now
        self.fetching = fetching
        self.store = TrustStore(places.trust)
        self.fetch_until = time.monotonic() + fetching.total_seconds
        self.sources: list[MappingSource] = []
        self.problems: list[Problem] = []
        self._seen: set[str] = set()
        self._open: dict[str, str] = {}  # the chain of includes: place -> name
        self._full = False

    def add_named(
        self, name: str, base: Path, by: _Asker | None, within: Path | None = None
    ) -> None:
        """Add a file, a folder or a URL by a name. `within`: see `add_file`."""
        if _is_url(name):
            self.add_url(name, by)
            return
        home = self.places.home
        if name.startswith("~/") and home is not None:
            base, name = home, name[2:]
        path = Path(os.path.abspath(base / name))
        if not _can_be_a_path(path):
            self._problem(visible(name), "is not the name of a file", by)
        elif by is not None and self._is_outside(path, within):
            self._refuse_outside(path, by)
        elif os.path.isdir(path):
            self.add_folder(path, by, within)
        else:
            self.add_file(path, by, within)

    def add_folder(self, path: Path, by: _Asker | None, within: Path | None = None) -> None:
        """Add the mapping files in a folder, without its subfolders."""
        try:
            files = sorted(os.listdir(path), key=os.fsencode)
        except OSError as error:
            self._problem(self.shown(path), f"cannot be read: {error.strerror}", by)
            return
        files = [file for file in files if file.endswith(_ENDINGS) and not file.startswith(".")]
        for file in files:
            self.add_file(path / file, by, within)
        if not files and path != self.places.configuration:
            self._problem(self.shown(path), "has no *.yml or *.yaml", by, severity="warning")

    def add_file(self, path: Path, by: _Asker | None, within: Path | None = None) -> None:
        """Add a file, after the files that it includes.

        `within`: the folder that the file must be in, with links resolved, unless the user has
        trusted its content; None for a file that the user or a trusted file names.
        """
        name = self.shown(path)
        real = Path(os.path.realpath(path))
        if by is not None and self._is_outside(path, within):
            self._refuse_outside(path, by)
            return
        if not self._enter(str(real), name, by):
            return
        own = self.places.configuration
        objection = None
        if own is not None and (own in path.parents or Path(os.path.realpath(own)) in real.parents):
            # checked before reading, so that the file cannot be replaced in between
            objection = own_file_objection(real, own)
        try:
            data = read_bounded(real, LARGEST_SOURCE)
        except OSError as error:
            self._problem(name, f"cannot be read: {error.strerror}", by)
            return
        except RowtuiError as error:  # not a regular file, or too large
            self._problem(name, f"cannot be used: {visible(error.message)}", by)
            return
        source = self._judged(name, data, visible(str(path)), objection)
        if not source.trusted and self._is_outside(path, within):
            message = "is a link that leads out of the project to a file that is not trusted"
            hint = f"look at that file with `rowtui mapping trust {name}` first"
            self._problem(name, message, by, hint)
            return
        inside = None if source.trusted else within or self._project_of(real)
        self._add(source, str(real), lambda name, by: self.add_named(name, path.parent, by, inside))

    def _project_of(self, file: Path) -> Path:
        """Return the folder that the includes of an untrusted file must not leave."""
        try:
            return find_project(file.parent)
        except RowtuiError:  # the file is in no project
            return file.parent

    def _is_outside(self, path: Path, folder: Path | None) -> bool:
        """Whether a resolved path is outside of a folder and of the user's configuration."""
        if folder is None:
            return False
        real = Path(os.path.realpath(path))
        inside = (folder, self.places.configuration)
        allowed = {Path(os.path.realpath(each)) for each in inside if each is not None}
        return not allowed & {real, *real.parents}

    def _refuse_outside(self, path: Path, by: _Asker) -> None:
        includer = by.source.name
        message = f"is not read: it lies outside the project, and {includer} is not trusted"
        hint = f"look at {includer} with `rowtui mapping trust` first"
        self._problem(self.shown(path), message, by, hint)

    def add_url(self, url: str, by: _Asker | None) -> None:
        """Add the content of a URL, after the files that it includes."""
        url = url.partition("#")[0]
        if not self._enter(url, visible(url), by):
            return
        from rowtui.core.mapping.files.fetch import fetch

        why_not, hint = self._why_not_fetch(by)
        try:
            fetched = fetch(
                url,
                self.places.cache,
                now=self.now,
                seconds=max(0.1, min(self.fetching.seconds, self.fetch_until - time.monotonic())),
                fresh_seconds=self.fetching.fresh_seconds,
                fetch_allowed=not why_not,
                why_not=why_not,
                check=_unreadable,
            )
        except RowtuiError as error:
            # The message begins with the URL, unless the URL must not be shown.
            name = visible(url) if error.message.startswith(visible(url)) else ""
            self._problem(name, error.message.removeprefix(f"{name} "), by, error.hint or hint)
            return
        source = self._judged(visible(url), fetched.data, url, None)
        self._add(
            source._replace(notice=fetched.notice),
            url,
            lambda name, by: self.add_url(_joined(url, name), by),
        )

    def shown(self, path: Path) -> str:
        """Return a path for the user: below the project, with ~, or absolute."""
        path = Path(os.path.abspath(path))
        if self.root is not None and self.root in path.parents:
            return visible(str(path.relative_to(self.root)))
        home = self.places.home
        if home is not None and home in path.parents:
            return visible(f"~/{path.relative_to(home)}")
        return visible(str(path))

    def _enter(self, place: str, name: str, by: _Asker | None) -> bool:
        """Whether to read a source: it is new, within the limits, and not including itself."""
        if place in self._open:
            chain = [*self._open.values(), name]
            chain = chain[list(self._open).index(place) :]
            self._problem("", f"this includes itself: {' -> '.join(chain)}", by)
            return False
        if place in self._seen or self._full:
            return False
        if len(self._open) > DEEPEST_INCLUDE:
            message = f"is not read: includes go more than {DEEPEST_INCLUDE} files deep"
            self._problem(name, message, by)
            return False
        if len(self._seen) >= MOST_SOURCES:
            self._full = True
            message = f"and all after it are not read: there are more than {MOST_SOURCES} files"
            self._problem(name, message, by)
            return False
        self._seen.add(place)
        return True

    def _judged(self, name: str, data: bytes, place: str, objection: str | None) -> MappingSource:
        """Return a source with the verdict on its code.

        `objection`: why it is not the user's own configuration, None if it is elsewhere.
        """
        digest = digest_of(data)
        if objection == "":
            return MappingSource(name, data, digest, True, "your own configuration", "", place)
        record = self.store.record(digest)
        if record is not None:
            because = f"you trusted this content on {day(record.at)}"
            return MappingSource(name, data, digest, True, because, "", place)
        if objection:
            message = f"its code does not run, as if it were not yours: {objection}"
            hint = "chmod go-w the files, or check them with `rowtui mapping trust`"
            self.problems.append(Problem(name, 0, 0, message, hint, "warning"))
        return MappingSource(name, data, digest, False, "", "", place)

    def _add(self, source: MappingSource, place: str, add: Callable[[str, _Asker], None]) -> None:
        """Append a source, after the files that it includes."""
        self._open[place] = source.name
        found, problems = read_includes(source.data, source.name)
        self.problems += problems
        for include in found:
            add(include.name, _Asker(source, include))
        del self._open[place]
        self.sources.append(source)

    def _why_not_fetch(self, by: _Asker | None) -> tuple[str, str]:
        """Return why only a copy may be used, and a hint; "" if a request may be sent."""
        if not self.fetching.allowed:
            return NOT_FETCHED, ""
        if by is not None and not by.source.trusted and not self.fetching.for_untrusted:
            why = f"{by.source.name}, which includes it, is not trusted"
            return why, "look at that file with `rowtui mapping trust` first"
        if time.monotonic() >= self.fetch_until:
            return f"{self.fetching.total_seconds:g} s of fetching are over", ""
        return "", ""

    def _problem(
        self, name: str, message: str, by: _Asker | None, hint: str = "", severity: str = "error"
    ) -> None:
        """Record a problem at the entry that includes the source, if there is one."""
        if by is None:
            self.problems.append(Problem(name or "mapping", 0, 0, message, hint, severity))
            return
        _, file, line, column = by.include
        text = f"{name} {message}".strip()
        self.problems.append(Problem(file, line, column, text, hint, severity))


def _can_be_a_path(path: Path) -> bool:
    """Whether the system accepts a path: YAML can write NULs and lone surrogates."""
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False
