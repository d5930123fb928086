"""Make the directories of samples; each appears in the workspace only with all its files.

Takes names, values and the content of inputs.json; gives which directories were made, which existed
already with the same value, and which cannot be made. A directory is filled in a staging folder
elsewhere on the file system (Row would treat a hidden one in the workspace as a directory) and then
renamed. A crash therefore leaves no partial directory, and a repeated call makes the rest. Existing
directories are not changed.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.files import sync_folder, write_all
from rowtui.core.base.text import visible
from rowtui.core.network.definition.spec import JSON
from rowtui.core.runs.directories.inputs import FILE as INPUTS_FILE
from rowtui.core.runs.directories.inputs import for_each
from rowtui.core.workspace.read import read_directories

if TYPE_CHECKING:
    from rowtui.core.project.open_project import OpenProject

Value = Mapping[str, JSON]

# Directories made, synced and renamed together; a crash loses at most one batch.
BATCH = 10_000
# From here on, one sync of the file system is quicker than one of each file (measured on ext4: 0.6
# ms a file, 0.03 ms each in a batch of 20,000).
_SYNC_TOGETHER_FROM = 200

_LONGEST_NAME = 255
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class DirectoryConflict(NamedTuple):
    """A directory that is not made. `found`: its present value, None if it has none.

    `why`: a sentence about the conflict, for the user.
    """

    name: str
    wanted: Value
    found: JSON
    why: str


class MadeDirectories(NamedTuple):
    """The result for the requested directories."""

    made: list[str]
    kept: list[str]
    conflicts: list[DirectoryConflict]


def make_directories(
    project: OpenProject,
    wanted: Iterable[tuple[str, Value]],
    note: Callable[[Sequence[str]], None] = lambda _: None,
    progress: Callable[[int], None] = lambda _: None,
    inputs: Mapping[str, bytes] | None = None,
) -> MadeDirectories:
    """Make directories of the workspace with these values; keep existing ones with the same value.

    `inputs`: the content of inputs.json by directory name, for the directories that get one. `note`
    gets the names of each batch before the batch is made (`Run.note_made`); `progress` gets the
    number of names that are done. Raises: RowtuiError if the project has no value file, or if no
    directory can be made at all. Directories made before an error are complete.
    """
    value_file = required_value_file(project)
    workspace = project.workflow.workspace
    made = MadeDirectories([], [], [])
    iterator = iter(wanted)
    try:
        workspace.mkdir(parents=True, exist_ok=True)
        with _staging(project.root, workspace) as stage:
            there = set(os.listdir(workspace))
            while batch := list(islice(iterator, BATCH)):
                new, old = _sorted_out(batch, there, made)
                compare(project, value_file, old, made)
                note([name for name, _, _ in new])
                failed = stage.make(new, value_file, inputs or {})
                there.update(name for name, _, _ in new)
                lost = {name for name, _ in failed}
                made.made.extend(name for name, _, _ in new if name not in lost)
                compare(project, value_file, failed, made)
                progress(len(made.made) + len(made.kept) + len(made.conflicts))
    except OSError as error:
        raise RowtuiError(
            f"cannot make directories in {visible(str(workspace))}: {error.strerror or error}",
            "the directories made so far are complete; correct the error, then repeat the command",
        ) from None
    return made


def required_value_file(project: OpenProject) -> str:
    """Return the name of the project's value files. Raises: RowtuiError if it has none."""
    name = project.workflow.value_file
    if not name or "\0" in name or os.path.basename(name) != name or name in (".", ".."):
        raise RowtuiError(
            "a network needs value files in its directories",
            'set `value_file = "value.json"` in the [workspace] table of workflow.toml',
        )
    return name


def _sorted_out(
    batch: list[tuple[str, Value]], there: set[str], made: MadeDirectories
) -> tuple[list[tuple[str, Value, bytes]], list[tuple[str, Value]]]:
    """Return the directories to be made, with their values' bytes, and the existing ones.

    Names that cannot be made are appended to the conflicts of `made`.
    """
    new: dict[str, tuple[str, Value, bytes]] = {}
    old: list[tuple[str, Value]] = []
    for name, value in batch:
        if why := _why_no_name(name):
            made.conflicts.append(DirectoryConflict(name, value, None, why))
        elif name in there:
            old.append((name, value))
        elif name in new:
            if same_value(new[name][1], value):
                continue
            why = "two samples have this name, with different values"
            made.conflicts.append(DirectoryConflict(name, value, dict(new[name][1]), why))
        else:
            try:
                new[name] = (name, value, value_bytes(value))
            except ValueError as error:
                why = f"its value cannot be written to a value file: {error}"
                made.conflicts.append(DirectoryConflict(name, value, None, why))
    return list(new.values()), old


def value_bytes(value: Value) -> bytes:
    """Return the bytes of a value file.

    Raises: ValueError for NaN, infinities and non-Unicode text.
    """
    text = json.dumps(dict(value), ensure_ascii=False, allow_nan=False, default=_no_json)
    try:
        return f"{text}\n".encode()
    except UnicodeEncodeError:
        raise ValueError("it has text that is not UTF-8") from None


def _no_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise ValueError(f"{type(value).__name__} is not JSON")


def _why_no_name(name: str) -> str:
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        return "this cannot be the name of a directory"
    if len(os.fsencode(name)) > _LONGEST_NAME:
        return f"its name is longer than {_LONGEST_NAME} bytes"
    return ""


def compare(
    project: OpenProject, value_file: str, old: Sequence[tuple[str, Value]], made: MadeDirectories
) -> None:
    """Sort existing directories into kept ones (with the wanted value) and conflicts."""
    if not old:
        return
    found = read_values(project.workflow.workspace, [name for name, _ in old], value_file)
    for (name, value), (is_value, other, why) in zip(old, found, strict=True):
        if is_value and same_value(other, value):
            made.kept.append(name)
        else:
            shown = why or "it exists already, with another value"
            made.conflicts.append(DirectoryConflict(name, value, other, shown))


def read_values(
    workspace: Path, names: Sequence[str], value_file: str
) -> Iterator[tuple[bool, JSON, str]]:
    """Yield for each directory whether it has a value, the value, and otherwise why it has none."""
    reading = read_directories(
        workspace, [os.fsencode(name) for name in names], value_file=value_file, products={}
    )
    vanished = frozenset(reading.vanished)
    for at, raw in enumerate(reading.raw):
        if raw is not None:
            yield True, json.loads(raw), ""
        elif at in vanished:
            yield False, None, "it is not a directory, or was deleted just now"
        else:
            yield False, None, reading.bad.get(at, "it has no value")


def same_value(one: JSON, other: JSON) -> bool:
    """Whether two JSON values are equal: numbers by their value; true is not 1."""
    if isinstance(one, Mapping):
        return (
            isinstance(other, Mapping)
            and one.keys() == other.keys()
            and all(same_value(each, other[key]) for key, each in one.items())
        )
    if isinstance(one, list | tuple):
        return (
            isinstance(other, list | tuple)
            and len(one) == len(other)
            and all(map(same_value, one, other))
        )
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)


# Creation


class _Stage:
    """A folder on the workspace's file system in which directories are filled."""

    def __init__(self, fd: int, workspace: int) -> None:
        self._fd = fd
        self._workspace = workspace
        self._count = 0

    def make(
        self,
        new: Sequence[tuple[str, Value, bytes]],
        value_file: str,
        inputs: Mapping[str, bytes],
    ) -> list[tuple[str, Value]]:
        """Make all directories; return those whose names were taken in the workspace in between."""
        first = self._count
        self._count += len(new)
        together = len(new) >= _SYNC_TOGETHER_FROM

        def write(path: str, data: bytes) -> None:
            fd = os.open(path, _NEW, 0o666, dir_fd=self._fd)
            try:
                write_all(fd, data)
                if not together:
                    os.fsync(fd)
            finally:
                os.close(fd)

        def fill(at: int) -> None:
            folder = str(first + at)
            name, _, value = new[at]
            os.mkdir(folder, dir_fd=self._fd)
            write(f"{folder}/{value_file}", value)
            if (data := inputs.get(name)) is not None:
                write(f"{folder}/{INPUTS_FILE}", data)
            if not together:
                inner = os.open(folder, _FOLDER, dir_fd=self._fd)
                try:
                    _sync(inner)
                finally:
                    os.close(inner)

        def show(at: int) -> None:
            try:
                os.rename(
                    str(first + at), new[at][0], src_dir_fd=self._fd, dst_dir_fd=self._workspace
                )
            except OSError as error:
                if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
                    raise
                taken.append(at)

        taken: list[int] = []
        for_each(fill, len(new))
        if together:
            _sync_everything(self._fd)
        for_each(show, len(new))
        _sync(self._workspace)
        return [new[at][:2] for at in sorted(taken)]


def _sync(fd: int) -> None:
    with contextlib.suppress(OSError):  # some file systems do not support fsync of a folder
        os.fsync(fd)


def _sync_everything(fd: int) -> None:
    """Sync all of a file system to disk. Raises: OSError if the sync failed."""
    syncfs = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if syncfs is None:
        os.sync()
    elif syncfs(fd):
        number = ctypes.get_errno()
        if number in (errno.ENOSYS, errno.EINVAL, errno.EPERM):
            os.sync()
        else:
            raise OSError(number, os.strerror(number))


@contextlib.contextmanager
def _staging(root: Path, workspace: Path) -> Iterator[_Stage]:
    """Open a stage for this call, and delete the stages that killed processes left behind."""
    place = beside(root, workspace, "making")
    _sweep(place)
    with contextlib.ExitStack() as stack:
        target = os.open(workspace, _FOLDER)
        stack.callback(os.close, target)
        while True:
            path = place / os.urandom(8).hex()
            path.mkdir()
            try:
                fd = os.open(path, _FOLDER)
            except FileNotFoundError:
                continue  # `_sweep` of another process deleted it before it was opened
            with contextlib.suppress(OSError):
                fcntl.flock(fd, fcntl.LOCK_EX)
            if path.exists():
                break
            os.close(fd)  # `_sweep` of another process deleted it before it was locked
        stack.callback(os.close, fd)
        stack.callback(shutil.rmtree, path, ignore_errors=True)
        yield _Stage(fd, target)


def _sweep(place: Path) -> None:
    for name in os.listdir(place):
        with contextlib.suppress(OSError):
            fd = os.open(place / name, _FOLDER)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails if its process is alive
                shutil.rmtree(place / name, ignore_errors=True)
            finally:
                os.close(fd)


def beside(root: Path, workspace: Path, purpose: str) -> Path:
    """Return a folder, made if needed, from which directories can be renamed into the workspace.

    The folder is in `.row/rowtui/network`, unless the workspace is on another file system: then it
    is beside the workspace. Raises: OSError; RowtuiError if there is no such place.
    """
    device = os.stat(workspace).st_dev
    real = Path(os.path.realpath(workspace))
    candidates = (
        root / ".row" / "rowtui" / "network" / purpose,
        real.parent / f".rowtui-{purpose}",
    )
    for folder in candidates:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
                raise
            continue
        if os.stat(folder).st_dev == device and os.access(folder, os.W_OK):
            sync_folder(folder.parent)
            return folder
        with contextlib.suppress(OSError):
            folder.rmdir()  # empty if it was made just now
    raise RowtuiError(
        f"no directories can be made in {visible(str(workspace))}: neither the project nor the "
        "folder that holds the workspace is a writable folder of its file system",
        "make the workspace a folder inside a folder that you may write to",
    )
