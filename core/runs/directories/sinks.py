"""Publishing through sinks: products are copied to their places in the project, and recorded.

Takes the sink and its samples. A place belongs to the first sample of any sink that is published
there; no other sample replaces it. A copy appears only when it is complete. An unchanged copy is
left alone, and only published files are replaced. No target leaves the project, not even through
symbolic links, and no target is one of rowtui's own files or a file that the user writes.
"""

from __future__ import annotations

import contextlib
import errno
import filecmp
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural, visible
from rowtui.core.network.definition.load_tables import PublishError, pieces_of
from rowtui.core.network.definition.spec import JSON, Sink
from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.network.samples.names import escaped, text_of
from rowtui.core.runs.model import Published
from rowtui.core.runs.store import Run, RunStore

if TYPE_CHECKING:
    from rowtui.core.network.definition.spec import Sink
    from rowtui.core.network.graph.dynamic_graph import Growth
    from rowtui.core.project.open_project import OpenProject


_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_PIECE = 1 << 24
# Entries of the project's folder that rowtui or the user owns.
_NOT_OURS = frozenset(
    (".row", ".git", "workflow.toml", "network.toml", "mapping.yml", "mirror.toml", ".rowtui-copy")
)


class Publication(NamedTuple):
    """A sample to be published: its directory, and its dimensions' values."""

    directory: str
    sample: Mapping[str, JSON]


class PublishedFiles(NamedTuple):
    """The result of publishing: (directory, target) each; `failed` with the reason.

    Targets are relative to the project.
    """

    published: list[tuple[str, str]]
    unchanged: list[tuple[str, str]]
    failed: list[tuple[str, str]]


class Owner(NamedTuple):
    """The sink and directory that a target belongs to."""

    sink: str
    directory: str


class Targets:
    """The targets of products and the owner of each. `root`: the project's folder."""

    def __init__(self, root: Path) -> None:
        self._ignores_case = _ignores_case(root)
        self._owners: dict[str, Owner] = {}

    def owner(self, path: str) -> Owner | None:
        """Return the owner of a target; None if it has no owner."""
        return self._owners.get(self._key(path))

    def take(self, path: str, owner: Owner) -> Owner:
        """Return the owner of a target from now on: the first one that took it."""
        return self._owners.setdefault(self._key(path), owner)

    def _key(self, path: str) -> str:
        return path.casefold() if self._ignores_case else path


def target_of(sink: Sink, network: str, each: Publication) -> str:
    """Return the target of one sample's product, relative to the project. Raises: RowtuiError."""
    product = PurePosixPath(sink.output)
    known = {
        "sample": each.directory,
        "node": escaped(sink.source),
        "network": escaped(network),
        "file": product.name,
        "ext": product.suffix,
    }
    known |= {name: text_of(value) for name, value in each.sample.items()}

    try:
        pieces = pieces_of(sink.publish)
    except PublishError as error:
        raise RowtuiError(f"sink {visible(sink.name)}: `publish` cannot be read: {error}") from None
    found: list[str] = []
    for piece in pieces:
        text = known.get(piece.text) if piece.is_field else piece.text
        if text is None:
            raise RowtuiError(
                f"sink {visible(sink.name)}: `publish` has {{{visible(piece.text)}}}, which sample "
                f"{visible(each.directory)} does not have",
                f"it may name {', '.join(f'{{{visible(name)}}}' for name in known)}",
            )
        found.append(text)
    path = "".join(found)
    parts = path.split("/")
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise RowtuiError(
            f'sink {visible(sink.name)}: "{visible(path)}" is not a path inside the project',
            "`publish` is relative to the project's folder, without `..`, and names a file",
        )
    if parts[0] in _NOT_OURS:
        raise RowtuiError(
            f'sink {visible(sink.name)}: nothing is published to "{visible(path)}"',
            "choose a folder of its own, like `results/`",
        )
    return path


def _anything(_: str) -> bool:
    return True


def publish(
    root: Path,
    workspace: Path,
    sink: Sink,
    network: str,
    samples: Sequence[Publication],
    *,
    targets: Targets | None = None,
    was_published: Callable[[str], bool] = _anything,
) -> PublishedFiles:
    """Copy the product of each of these samples to its target; a failure does not stop the others.

    `root`: the project's folder. `targets`: the known targets, which are extended. `was_published`:
    whether a file at a target without an owner may be replaced. Raises: OSError if the project's
    folder cannot be opened.
    """
    result = PublishedFiles([], [], [])
    known = Targets(root) if targets is None else targets
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    touched: set[str] = set()
    try:
        for each in samples:
            directory, owner, target = each.directory, Owner(sink.name, each.directory), ""
            try:
                target = target_of(sink, network, each)
                ours = known.owner(target)
                if ours is not None and ours != owner:
                    raise _of_another(ours, sink)
                source = workspace / directory / sink.output
                mine = was_published if ours is None else _anything
                changed = _copy(fd, source, target, mine)
            except OSError as error:
                why = f"cannot be published to {visible(target)}: {error.strerror or error}"
                result.failed.append((directory, why))
            except RowtuiError as error:
                why = f"cannot be published to {visible(target)}: " if target else ""
                result.failed.append((directory, why + error.message))
            else:
                known.take(target, owner)
                (result.published if changed else result.unchanged).append((directory, target))
                if changed:
                    touched.add(os.path.dirname(target))
        for folder in touched:
            with contextlib.suppress(OSError, RowtuiError), _folder(fd, folder) as inner:
                os.fsync(inner)
    finally:
        os.close(fd)
    return result


def _of_another(owner: Owner, sink: Sink) -> RowtuiError:
    whose = "" if owner.sink == sink.name else f" by sink {visible(owner.sink)}"
    return RowtuiError(
        f"sample {visible(owner.directory)} is published there{whose}: name each dimension in "
        "`publish`, or use {sample}"
    )


def _ignores_case(root: Path) -> bool:
    try:
        return os.path.samefile(root / "workflow.toml", root / "WORKFLOW.TOML")
    except OSError:
        return False


def _copy(root: int, source: Path, target: str, may_replace: Callable[[str], bool]) -> bool:
    """Copy a product; return False if an unchanged copy exists. Raises: OSError, RowtuiError."""
    reading = os.open(source, _FILE)
    try:
        status = os.fstat(reading)
        if not stat.S_ISREG(status.st_mode):
            raise RowtuiError(f"{visible(source.name)} is not a regular file")
        folder, name = os.path.split(target)
        with _folder(root, folder) as there:
            if _is_same(source, status, there, name):
                return False
            if _is_there(there, name) and not may_replace(target):
                raise RowtuiError("a file that no run published exists: move it away")
            temporary = f".rowtui-{os.urandom(8).hex()}.tmp"
            try:
                writing = os.open(temporary, _NEW, 0o666, dir_fd=there)
                try:
                    while os.sendfile(writing, reading, None, _PIECE):
                        pass
                    os.utime(writing, ns=(status.st_mtime_ns, status.st_mtime_ns))
                    os.fsync(writing)
                finally:
                    os.close(writing)
                os.rename(temporary, name, src_dir_fd=there, dst_dir_fd=there)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(temporary, dir_fd=there)
                raise
    finally:
        os.close(reading)
    return True


def _is_same(source: Path, status: os.stat_result, there: int, name: str) -> bool:
    """Whether the target has the product's content, by size and time, otherwise byte by byte."""
    try:
        now = os.stat(name, dir_fd=there, follow_symlinks=False)
    except FileNotFoundError:
        return False
    if os.path.samestat(now, status):
        raise RowtuiError("that is the product itself")
    if stat.S_ISDIR(now.st_mode):
        raise RowtuiError("a folder of that name exists")
    if not stat.S_ISREG(now.st_mode) or now.st_size != status.st_size:
        return False
    if now.st_mtime_ns == status.st_mtime_ns:
        return True
    return filecmp.cmp(source, f"/proc/self/fd/{there}/{name}", shallow=False)


def _is_there(folder: int, name: str) -> bool:
    try:
        os.lstat(name, dir_fd=folder)
    except FileNotFoundError:
        return False
    return True


@contextlib.contextmanager
def _folder(root: int, path: str) -> Iterator[int]:
    """Open a folder inside the project, made if needed, without following symbolic links.

    Raises: OSError; RowtuiError if a part of the path is not a folder.
    """
    at = os.dup(root)
    try:
        for part in PurePosixPath(path).parts:
            try:
                inner = _opened(at, part)
            except OSError as error:
                if error.errno not in (errno.ENOTDIR, errno.ELOOP):
                    raise
                raise RowtuiError(
                    f"{visible(part)} on the way there is not a folder, or is a symbolic link"
                ) from None
            os.close(at)
            at = inner
        yield at
    finally:
        os.close(at)


def _opened(at: int, part: str) -> int:
    try:
        return os.open(part, _FOLDER, dir_fd=at)
    except FileNotFoundError:
        with contextlib.suppress(FileExistsError):
            os.mkdir(part, dir_fd=at)
        return os.open(part, _FOLDER, dir_fd=at)


# Publish products through the sinks of a run, and record what was published. Blocks on the disk.
#
# Each product is published once in a run, and again if it is made again. A file that no run
# published is never replaced. A product that cannot be published is reported in a notice, and is
# tried again the next time the run is driven.


_NAMED = 20  # samples named in the notices of one round


class Publishing:
    """The sinks of one run."""

    def __init__(self, project: OpenProject, run: Run) -> None:
        self._project = project
        self._run = run
        self._targets = Targets(project.root)
        self._done: dict[str, set[str]] = {}  # sample names by sink
        self._earlier: set[str] | None = None  # paths that runs published; None until first needed

    def remember(self, event: Published) -> None:
        """Record a publication from the journal."""
        self._done.setdefault(event.sink, set()).add(event.sample)
        self._targets.take(event.path, Owner(event.sink, event.sample))

    def withdraw(self, growth: Growth, node: str, samples: Iterable[str]) -> None:
        """Mark a node's samples as unpublished, because their products no longer exist."""
        for sink in growth.flow.network.sinks:
            if sink.source == node:
                self._done.get(sink.name, set()).difference_update(samples)

    def publish(self, growth: Growth) -> int:
        """Publish what complete jobs made for sinks; return the number. Raises: RowtuiError."""
        flow = growth.flow
        project, workspace = self._project, self._project.workflow.workspace
        count = 0
        for sink in flow.network.sinks:
            if sink.source not in flow.runs:
                continue
            done = self._done.setdefault(sink.name, set())
            fresh = [name for name in _complete_in(growth, sink) if name not in done]
            if not fresh:
                continue
            places = growth.places(sink.source)
            samples = [Publication(name, flow.values(sink.source, places[name])) for name in fresh]
            result = publish(
                project.root,
                workspace,
                sink,
                flow.network.name,
                samples,
                targets=self._targets,
                was_published=self._was_published,
            )
            now = time.time()
            copied = [*result.published, *result.unchanged]
            if copied:
                self._run.append(*(Published(now, sink.name, name, path) for name, path in copied))
            for name, why in result.failed[:_NAMED]:
                project.notice(f"sink {sink.name}: {visible(name)}: {why}")
            if (more := len(result.failed) - _NAMED) > 0:
                project.notice(f"sink {sink.name}: {plural(more, 'more sample')} likewise")
            done.update(fresh)
            count += len(result.published)
        return count

    def _was_published(self, path: str) -> bool:
        """Whether a run published the file at a path; otherwise the file is the user's."""
        if self._earlier is None:
            runs = RunStore(self._project.root).runs()
            self._earlier = {
                event.path
                for run in runs
                if isinstance(run, Run)
                for event in run.events()
                if isinstance(event, Published)
            }
        return path in self._earlier


def _complete_in(growth: Growth, sink: Sink) -> list[str]:
    states = growth.graph.snapshot().states
    names = growth.flow.directories(sink.source)
    jobs = growth.jobs(sink.source).tolist()
    return [
        name
        for name, job in zip(names, jobs, strict=True)
        if states[job] == GraphJobState.COMPLETED
    ]
