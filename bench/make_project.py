"""Make the project that is measured: `python -m bench.make_project N FOLDER`.

N directories named by 32 hex digits, each with a value.json of about 175 bytes and ten leaves, and
ten actions in a chain; with `--keys` and `--actions` other workloads: 4 leaves are 70 bytes, 40 are
600. Everything follows from the number of a directory, so that two runs make the same project; one
that is there already is used again. The workspace is shared by one project folder per tool
(`FOLDER/rowtui`, `FOLDER/row`), so that each has its own `.row` and both read the same files.
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
KEYS, ACTIONS = 10, 10  # the workload of all figures, where none is named
FEWEST_KEYS, FEWEST_ACTIONS = 4, 2

# Of 20 directories, so many have completed this many actions of the chain: 1.35 on average.
_PROGRESS = [0] * 9 + [1] * 5 + [2] * 2 + [3] * 1 + [4] * 1 + [5] * 1 + [6] * 1

_HEAD = """\
[workspace]
path = "../workspace"
value_file = "value.json"

[default.action.resources]
walltime.per_directory = "00:10:00"
"""
_SPECIAL = (
    """
[[action]]
name = "a0"
products = ["a0.out"]
command = "echo {directory}"
""",
    """
[[action]]
name = "a1"
products = ["a1.out"]
previous_actions = ["a0"]
command = "echo {directory}"
group.maximum_size = 100
""",
    """
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
""",
    """
[[action]]
name = "a3"
products = ["a3.out"]
previous_actions = ["a0"]
command = "echo {directory}"
[action.group]
sort_by = ["/temperature", "/pressure"]
split_by_sort_key = true
maximum_size = 100
""",
    """
[[action]]
name = "a4"
products = ["a4.out"]
previous_actions = ["a3"]
command = "echo {directory}"
[action.group]
include = [{ condition = CONDITION }]
sort_by = ["/x"]
maximum_size = 50
""",
)
_PLAIN = """
[[action]]
name = "a{number}"
products = ["a{number}.out"]
previous_actions = ["a{before}"]
command = "echo {{directory}}"
"""


def workflow(keys: int = KEYS, actions: int = ACTIONS) -> str:
    """The text of workflow.toml, of at least two actions."""
    condition = '["/flag", "==", true]' if keys >= KEYS else '["/kind", "!=", "lj"]'
    texts = [text.replace("CONDITION", condition) for text in _SPECIAL[:actions]]
    texts += [
        _PLAIN.format(number=number, before=number - 1) for number in range(len(_SPECIAL), actions)
    ]
    return _HEAD + "".join(texts)


def listed_action(actions: int = ACTIONS) -> str:
    """The action that sorts by two values, splits and chunks; of two actions the second one."""
    return f"a{min(actions - 1, 3)}"


def directory_name(number: int) -> str:
    """32 hex digits."""
    return hashlib.md5(str(number).encode(), usedforsecurity=False).hexdigest()


def value(number: int, keys: int = KEYS) -> bytes:
    """So many leaves: four, or from ten on, two of them nested; x has 10,000 different values."""
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
    if keys < KEYS:
        content = {name: content[name] for name in ("temperature", "pressure", "kind", "x")}
    for more in range(KEYS, keys):
        content[f"k{more}"] = (spread * more % 1000 / 8, f"of {more}", spread % more)[more % 3]
    return json.dumps(content, indent=None).encode()


def completed_actions(number: int) -> int:
    """How many actions of the chain have their products."""
    return _PROGRESS[hashlib.md5(b"p%d" % number).digest()[0] % len(_PROGRESS)]


class Maker:
    """Makes the directories of some numbers (given as decimal digits)."""

    def __init__(self, workspace: bytes, keys: int, actions: int) -> None:
        self._root = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY)
        self._keys = keys
        self._actions = actions

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
            os.write(file, value(number, self._keys))
            os.close(file)
            done = min(completed_actions(number), self._actions)
            products = [f"a{action}.out" for action in range(done)]
            if "a2.out" in products:
                products.append("a2.log")
            for product in products:
                os.mknod(f"{name}/{product}", 0o644 | stat.S_IFREG, dir_fd=self._root)
        return len(names)


def make_project(folder: Path, count: int, keys: int = KEYS, actions: int = ACTIONS) -> None:
    """Make the project of `count` directories in `folder`, or use the one that is there.

    Raises: SystemExit if another one is there, or such a workload can't be made.
    """
    if actions < FEWEST_ACTIONS or (keys < KEYS and keys != FEWEST_KEYS):
        keys_said, actions_said = (
            f"{FEWEST_KEYS} keys, or {KEYS} and more",
            f"{FEWEST_ACTIONS} actions",
        )
        raise SystemExit(f"a project has {keys_said}; and {actions_said} or more")
    marker = folder / "bench.json"
    wanted = {"version": VERSION, "directories": count, "keys": keys, "actions": actions}
    for tool in TOOLS:
        (folder / tool).mkdir(parents=True, exist_ok=True)
    if marker.exists():
        # The first ones did not say how many keys and actions they have.
        there = {"keys": KEYS, "actions": ACTIONS, **json.loads(marker.read_text())}
        if there != wanted:
            raise SystemExit(f"{folder} holds another project; remove it or name another folder")
    for tool in TOOLS:
        file, text = folder / tool / "workflow.toml", workflow(keys, actions)
        if not file.exists() or file.read_text() != text:  # what was kept of it holds otherwise
            file.write_text(text)
    if marker.exists():
        return
    workspace = folder / "workspace"
    workspace.mkdir(exist_ok=True)
    numbers = [b"%d" % number for number in range(count)]
    done, began = 0, time.monotonic()
    workers = Workers(1, 1)  # more would wait for the lock of the workspace
    for _, made in in_chunks(Maker, (os.fsencode(workspace), keys, actions), numbers, workers):
        done += made
        _show(done, count, began)
    set_back(workspace)
    marker.write_text(json.dumps(wanted))


def set_back(workspace: Path) -> None:
    """Let the workspace look as if it had changed a minute ago, as nearly all have.

    What has just changed may change again within the same tick of the clock, and is looked at anew.
    """
    then = time.time() - 60
    os.utime(workspace, (then, then))


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
    parser.add_argument(
        "--keys", type=int, default=KEYS, help="leaves of a value: 4, or 10 and more"
    )
    parser.add_argument("--actions", type=int, default=ACTIONS, help="2 or more")
    chosen = parser.parse_args()
    make_project(chosen.folder, chosen.count, chosen.keys, chosen.actions)
