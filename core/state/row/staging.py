"""Staged completions: files of jobs and scans in `.row/completed/` for the next command.

The input is completions to stage, or names of staged files. The module writes and reads Row's
format (`<32 hex>.postcard`) and rowtui's format for names that Row's cannot hold (`<32 hex>.names`:
action and names, NUL-separated). A staged file is created under another name, fsynced and renamed,
so a reader sees the whole file or none.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from operator import lt
from pathlib import Path
from typing import NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.files import read_bounded, sync_folder, write_synced
from rowtui.core.base.text import visible
from rowtui.core.state.row.postcard import (
    PostcardError,
    decode_completed,
    encode_completed_blocks,
    is_utf8,
)
from rowtui.core.state.row.postcard import encode_names as encode_block

ENDINGS = (".postcard", ".names")
LIMIT = 1 << 30


class Staged(NamedTuple):
    """One staged file: its name and the names of directories by action."""

    file: str
    records: Mapping[str, Sequence[bytes]]


class StagedRead(NamedTuple):
    """Staged files that were read.

    `unreadable`: (file, why); `vanished`: merged by other processes.
    """

    staged: tuple[Staged, ...]
    unreadable: tuple[tuple[str, str], ...] = ()
    vanished: bool = False


def staging_folder(root: Path) -> Path:
    """Return the folder of staged files."""
    return root / ".row" / "completed"


def list_staged(root: Path) -> list[str]:
    """Return the names of the waiting staged files; empty if there is no such folder."""
    try:
        return [name for name in os.listdir(staging_folder(root)) if name.endswith(ENDINGS)]
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []


def read_staged(root: Path, files: Iterable[str]) -> StagedRead:
    """Read staged files. Unreadable files are reported and do not stop the others."""
    folder = staging_folder(root)
    staged: list[Staged] = []
    unreadable: list[tuple[str, str]] = []
    vanished = False
    for file in sorted(files):
        try:
            data = read_bounded(folder / file, LIMIT)
            records = decode_names(data) if file.endswith(".names") else decode_completed(data)
        except FileNotFoundError:
            vanished = True
        except OSError as error:
            unreadable.append((file, error.strerror or str(error)))
        except RowtuiError as error:
            unreadable.append((file, error.message))
        else:
            staged.append(Staged(file, records))
    return StagedRead(tuple(staged), tuple(unreadable), vanished)


def stage_completions(root: Path, completions: Mapping[str, Iterable[str | bytes]]) -> list[Path]:
    """Stage completions for the next command, as Row's scan does; return the new files.

    There is one file, or two if some names are not UTF-8, or none if nothing is complete. Other
    state is never touched, so that any number of compute nodes may stage at the same time. Raises:
    RowtuiError if a file cannot be written.
    """
    plain: dict[str, list[bytes]] = {}
    other: dict[str, list[bytes]] = {}
    for action, given in completions.items():
        names = [name if type(name) is bytes else os.fsencode(name) for name in given]
        if not all(map(lt, names, islice(names, 1, None))):
            names = sorted(set(names))
        if b"".join(names).isascii():  # the usual case
            plain[action] = names
            continue
        plain[action] = [name for name in names if is_utf8(name)]
        other[action] = [name for name in names if not is_utf8(name)]
    made = []
    try:
        if any(plain.values()):
            blocks = {it: (len(names), encode_block(names)) for it, names in plain.items() if names}
            made.append(_publish(root, ".postcard", encode_completed_blocks(blocks)))
        if any(other.values()):
            named = {action: names for action, names in other.items() if names}
            made.append(_publish(root, ".names", encode_names(named)))
    except OSError as error:
        place = visible(str(staging_folder(root)))
        raise RowtuiError(
            f"completions cannot be saved in {place}: {error.strerror}",
            "free some space or correct the permissions, then run `rowtui scan`",
        ) from None
    return made


def discard_staged(root: Path, files: Iterable[str]) -> None:
    """Delete staged files whose completions are saved elsewhere. Missing files are ignored."""
    folder = staging_folder(root)
    for file in files:
        with contextlib.suppress(OSError):
            os.unlink(folder / file)


def set_aside_staged(root: Path, file: str) -> bool:
    """Rename a staged file so that it is not read again; return whether that worked."""
    path = staging_folder(root) / file
    try:
        os.rename(path, path.with_name(f"{file}.unreadable"))
    except OSError:
        return False
    return True


def encode_names(records: Mapping[str, Sequence[bytes]]) -> bytes:
    """Return rowtui's format: each action is a block `action NUL name NUL name NUL ... NUL`."""
    blocks = (
        b"\0".join([action.encode(), *names, b""]) + b"\0" for action, names in records.items()
    )
    return b"".join(blocks)


def decode_names(data: bytes) -> dict[str, list[bytes]]:
    """Return the records from the bytes of `encode_names`.

    Raises: PostcardError if the bytes are cut short, or not UTF-8 where they should be.
    """
    records: dict[str, list[bytes]] = {}
    if data and not data.endswith(b"\0\0"):
        raise PostcardError("it ends in the middle")
    for block in data.split(b"\0\0")[:-1]:
        action, *names = block.split(b"\0")
        try:
            records.setdefault(action.decode(), []).extend(name for name in names if name)
        except UnicodeDecodeError:
            raise PostcardError("the name of an action is not UTF-8") from None
    return records


def _publish(root: Path, ending: str, data: bytes) -> Path:
    import uuid

    folder = staging_folder(root)
    folder.mkdir(parents=True, exist_ok=True)
    name = uuid.uuid4().hex
    temporary = folder / f"{name}.tmp"
    try:
        write_synced(temporary, data)
        final = folder / f"{name}{ending}"
        os.rename(temporary, final)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    sync_folder(folder)
    return final
