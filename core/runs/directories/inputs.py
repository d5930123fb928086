"""inputs.json: what a job needs from other jobs, written to its directory when it becomes ready.

Takes the members of each input of a sample; gives a file that is identical for the same inputs, and
that is replaced only if it changed. Paths in the file are relative to the directory.
"""

from __future__ import annotations

import os
import resource
import stat
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.files import read_bounded, replace_file
from rowtui.core.base.text import visible
from rowtui.core.network.definition.spec import JSON
from rowtui.core.runs.model import json_line

# Run a function on many files, in several threads where the file system is slow.


# Several threads are used where the file system blocks a thread more often than once in this many
# files (network file systems and syncs). Elsewhere several threads are four times slower than one.
_FILES_PER_WAIT = 4
_THREADS = 8
_PROBE = 64


def for_each(act: Callable[[int], None], count: int) -> None:
    """Call `act` with each number below `count`. Raises: the exceptions of `act`."""
    probed = min(count, _PROBE)
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
    for at in range(probed):
        act(at)
    waits = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw - before
    if count > probed and waits * _FILES_PER_WAIT > probed:
        with ThreadPoolExecutor(_THREADS) as pool:
            for _ in pool.map(act, range(probed, count)):
                pass
    else:
        for at in range(probed, count):
            act(at)


VERSION = 1
FILE = "inputs.json"
LIMIT = 1 << 30


class InputSample(NamedTuple):
    """One sample of an input: its directory, and the product that is taken from the directory.

    `output` is a path in that directory, "" for the directory itself. `value` is the selected entry
    of a list product, if `is_entry`.
    """

    directory: str
    output: str
    sample: Mapping[str, JSON]
    value: JSON = None
    is_entry: bool = False


class MissingMember(NamedTuple):
    """A missing member of a collapsed sample, as `require` allows."""

    directory: str
    input: str
    reason: str


class SampleInputs(NamedTuple):
    """All inputs of one sample of a node; `directory` is where the sample's job runs."""

    directory: str
    node: str
    sample: Mapping[str, JSON]
    inputs: Mapping[str, tuple[InputSample, ...]]
    left_out: tuple[MissingMember, ...] = ()


class WrittenInputs(NamedTuple):
    """The results of writing: directories by name; `failed` with the reasons."""

    written: list[str]
    unchanged: list[str]
    failed: list[tuple[str, str]]


def write_inputs(workspace: Path, samples: Iterable[SampleInputs]) -> WrittenInputs:
    """Update inputs.json of each directory.

    A file that cannot be written does not stop the others.
    """
    wanted = list(samples)
    became: list[bool | str] = [False] * len(wanted)  # whether the file was written; or the error

    def write(at: int) -> None:
        each = wanted[at]
        try:
            became[at] = _write(workspace / each.directory, inputs_bytes(each))
        except OSError as error:
            became[at] = f"its {FILE} cannot be written: {error.strerror or error}"
        except (RowtuiError, ValueError) as error:
            became[at] = f"its {FILE} cannot be written: {error}"

    for_each(write, len(wanted))
    result = WrittenInputs([], [], [])
    for each, said in zip(wanted, became, strict=True):
        if isinstance(said, str):
            result.failed.append((each.directory, said))
        else:
            (result.written if said else result.unchanged).append(each.directory)
    return result


def inputs_bytes(inputs: SampleInputs) -> bytes:
    """Return the bytes of the file. Raises: RowtuiError for a value that JSON cannot represent."""
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


def _member(own: str, member: InputSample) -> dict[str, Any]:
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
        pass  # the file is missing or unreadable: a new one replaces it
    replace_file(path, data)
    return True
