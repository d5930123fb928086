"""Make the project that is measured: `python -m bench.make_project N FOLDER`.

N directories named by 32 hex digits, each with a value.json of about 175 bytes and ten leaves, and
ten actions in a chain. Everything follows from the number of a directory, so that two runs make
the same project; one that is there already is used again. The workspace is shared by one project
folder per tool (`FOLDER/rowtui`, `FOLDER/row`), so that each has its own `.row` and both read the
same files.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import stat
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from rowtui.core.workspace.workers import Workers, in_chunks

VERSION = 1  # of what is made: raise it when anything below changes
TOOLS = ("rowtui", "row")

# Of 20 directories, so many have completed this many actions of the chain: 1.35 on average.
_PROGRESS = [0] * 9 + [1] * 5 + [2] * 2 + [3] * 1 + [4] * 1 + [5] * 1 + [6] * 1

WORKFLOW = """\
[workspace]
path = "../workspace"
value_file = "value.json"

[default.action.resources]
walltime.per_directory = "00:10:00"

[[action]]
name = "a0"
products = ["a0.out"]
command = "echo {directory}"

[[action]]
name = "a1"
products = ["a1.out"]
previous_actions = ["a0"]
command = "echo {directory}"
group.maximum_size = 100

[[action]]
name = "a2"
products = ["a2.out", "a2.log"]
previous_actions = ["a1"]
command = "echo {directory}"
[action.group]
include = [{ all = [["/temperature", "<", 2.5], ["/kind", "==", "lj"]] }]
sort_by = ["/temperature", "/pressure"]
split_by_sort_key = true
maximum_size = 100

[[action]]
name = "a3"
products = ["a3.out"]
previous_actions = ["a0"]
command = "echo {directory}"
[action.group]
sort_by = ["/temperature", "/pressure"]
split_by_sort_key = true
maximum_size = 100

[[action]]
name = "a4"
products = ["a4.out"]
previous_actions = ["a3"]
command = "echo {directory}"
[action.group]
include = [{ condition = ["/flag", "==", true] }]
sort_by = ["/x"]
maximum_size = 50
"""
for _number in range(5, 10):
    WORKFLOW += f"""
[[action]]
name = "a{_number}"
products = ["a{_number}.out"]
previous_actions = ["a{_number - 1}"]
command = "echo {{directory}}"
"""


def directory_name(number: int) -> str:
    """32 hex digits."""
    return hashlib.md5(str(number).encode(), usedforsecurity=False).hexdigest()


def value(number: int) -> bytes:
    """Ten leaves, two of them nested; x has 10,000 different values."""
    spread = int.from_bytes(hashlib.md5(b"v%d" % number).digest()[:4], "little")
    content = {
        "temperature": (number % 10) * 0.5,
        "pressure": (number // 10) % 7 * 1.25,
        "kind": ("lj", "wca", "hard", "ideal")[spread % 4],
        "flag": spread % 3 == 0,
        "x": spread % 10_000 / 7,
        "replica": number % 5,
        "seed": number,
        "box": {"length": 10.5, "dimensions": 3},
        "label": f"run-{number:08}",
    }
    return json.dumps(content, indent=None).encode()


def completed_actions(number: int) -> int:
    """How many actions of the chain have their products."""
    return _PROGRESS[hashlib.md5(b"p%d" % number).digest()[0] % len(_PROGRESS)]


class Maker:
    """Makes the directories of some numbers (given as decimal digits)."""

    def __init__(self, workspace: bytes) -> None:
        self._root = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY)

    def close(self) -> None:
        os.close(self._root)

    def __call__(self, names: Sequence[bytes]) -> int:
        for digits in names:
            number = int(digits)
            name = directory_name(number)
            try:
                os.mkdir(name, dir_fd=self._root)
            except FileExistsError:
                continue
            flags = os.O_WRONLY | os.O_CREAT
            file = os.open(f"{name}/value.json", flags, 0o644, dir_fd=self._root)
            os.write(file, value(number))
            os.close(file)
            products = [f"a{action}.out" for action in range(completed_actions(number))]
            if "a2.out" in products:
                products.append("a2.log")
            for product in products:
                os.mknod(f"{name}/{product}", 0o644 | stat.S_IFREG, dir_fd=self._root)
        return len(names)


def make_project(folder: Path, count: int) -> None:
    """Make the project of `count` directories in `folder`, or use the one that is there."""
    marker = folder / "bench.json"
    wanted = {"version": VERSION, "directories": count}
    for tool in TOOLS:
        (folder / tool).mkdir(parents=True, exist_ok=True)
        (folder / tool / "workflow.toml").write_text(WORKFLOW)
    if marker.exists():
        if json.loads(marker.read_text()) == wanted:
            return
        raise SystemExit(f"{folder} holds another project; remove it or name another folder")
    workspace = folder / "workspace"
    workspace.mkdir(exist_ok=True)
    numbers = [b"%d" % number for number in range(count)]
    done, began = 0, time.monotonic()
    workers = Workers(1, 1)  # more would wait for the lock of the workspace
    for _, made in in_chunks(Maker, (os.fsencode(workspace),), numbers, workers):
        done += made
        _show(done, count, began)
    marker.write_text(json.dumps(wanted))


def _show(done: int, count: int, began: float) -> None:
    if not sys.stderr.isatty():
        return
    width = 40
    filled = width * done // count
    left = (time.monotonic() - began) / done * (count - done)
    end = "\n" if done == count else ""
    bar = f"\r{count:,} directories [{'#' * filled}{'.' * (width - filled)}] {left:4.0f} s left"
    print(bar, end=end, file=sys.stderr, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("folder", type=Path)
    chosen = parser.parse_args()
    make_project(chosen.folder, chosen.count)
