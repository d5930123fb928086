"""inputs.json: what a job needs from others, in its directory, written when it becomes ready.

Takes the members of each input of a sample; gives a file that is the same for the same inputs, and
is only replaced if it changed. Paths in it are relative to the directory.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rowtui.core.errors import RowtuiError
from rowtui.core.files import read_bounded, replace_file
from rowtui.core.network.spec import JSON
from rowtui.core.runs.many_files import for_each
from rowtui.core.runs.model import json_line
from rowtui.core.text import visible

VERSION = 1
FILE = "inputs.json"
LIMIT = 1 << 30


class Member(NamedTuple):
    """One sample that an input has: its directory, and the product that is taken from it.

    `output` is a path in that directory, "" for the directory itself. `value` is the entry of a
    list product that is meant, if `is_entry`.
    """

    directory: str
    output: str
    sample: Mapping[str, JSON]
    value: JSON = None
    is_entry: bool = False


class LeftOut(NamedTuple):
    """A member of a collapsed sample that is not there, as `require` allows."""

    directory: str
    input: str
    reason: str


class SampleInputs(NamedTuple):
    """All that one sample of a node gets; `directory` is where it runs."""

    directory: str
    node: str
    sample: Mapping[str, JSON]
    inputs: Mapping[str, tuple[Member, ...]]
    left_out: tuple[LeftOut, ...] = ()


class Written(NamedTuple):
    """What became of the files: directories by name; `failed` with the reason."""

    written: list[str]
    unchanged: list[str]
    failed: list[tuple[str, str]]


def write_inputs(workspace: Path, samples: Iterable[SampleInputs]) -> Written:
    """Bring inputs.json of each directory up to date. One that cannot be never stops the others."""
    wanted = list(samples)
    became: list[bool | str] = [False] * len(wanted)  # whether it was written; else why not

    def write(at: int) -> None:
        each = wanted[at]
        try:
            became[at] = _write(workspace / each.directory, inputs_bytes(each))
        except OSError as error:
            became[at] = f"its {FILE} cannot be written: {error.strerror or error}"
        except (RowtuiError, ValueError) as error:
            became[at] = f"its {FILE} cannot be written: {error}"

    for_each(write, len(wanted))
    result = Written([], [], [])
    for each, said in zip(wanted, became, strict=True):
        if isinstance(said, str):
            result.failed.append((each.directory, said))
        else:
            (result.written if said else result.unchanged).append(each.directory)
    return result


def inputs_bytes(inputs: SampleInputs) -> bytes:
    """The file. Raises: RowtuiError for a value that JSON cannot say."""
    fields = {
        "version": VERSION,
        "node": inputs.node,
        "sample": inputs.sample,
        "inputs": {
            name: [_member(inputs.directory, member) for member in members]
            for name, members in inputs.inputs.items()
        },
        "left_out": [each._asdict() for each in inputs.left_out],
    }
    return json_line(fields) + b"\n"


def _member(own: str, member: Member) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "directory": member.directory,
        "path": _path(own, member.directory, member.output),
        "sample": member.sample,
    }
    if member.is_entry:
        fields["value"] = member.value
    return fields


def _path(own: str, directory: str, output: str) -> str:
    if directory == own:
        return output or "."
    return f"../{directory}/{output}" if output else f"../{directory}"


def _write(folder: Path, data: bytes) -> bool:
    if not stat.S_ISDIR(os.lstat(folder).st_mode):
        raise RowtuiError(f"{visible(folder.name)} is not a directory")
    path = folder / FILE
    try:
        if stat.S_ISREG(os.lstat(path).st_mode) and read_bounded(path, LIMIT) == data:
            return False
    except (OSError, RowtuiError):
        pass  # there is none, or none that anybody could read: a new one takes its place
    replace_file(path, data)
    return True
