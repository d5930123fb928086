"""Row's files in `.row/`, read independently of rowtui's own reader."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Completed = dict[str, frozenset[str]]
Submitted = dict[str, dict[str, tuple[str, int]]]


@dataclass(frozen=True)
class Records:
    """What Row would read. Values keep the spelling of numbers and the order of keys."""

    modified: Any
    values: dict[str, str]
    completed: Completed
    submitted: Submitted
    staged: Completed

    @property
    def effective(self) -> Completed:
        """What counts as completed once everything staged is merged."""
        names = self.completed.keys() | self.staged.keys()
        return {
            name: self.completed.get(name, frozenset()) | self.staged.get(name, frozenset())
            for name in names
        }


def read_records(root: Path) -> Records:
    """The records of a project; a missing file is empty."""
    folder = root / ".row"
    modified, values = _directories(folder / "directories.json")
    staged: dict[str, frozenset[str]] = {}
    if (folder / "completed").is_dir():
        for path in (folder / "completed").iterdir():
            if path.suffix == ".postcard":
                for action, names in _completed(path.read_bytes()).items():
                    staged[action] = staged.get(action, frozenset()) | names
    completed = _bytes(folder / "completed.postcard")
    submitted = _bytes(folder / "submitted.postcard")
    return Records(
        modified,
        values,
        _completed(completed) if completed else {},
        _submitted(submitted) if submitted else {},
        staged,
    )


def _bytes(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


class _Number(str):
    """A number as it is spelled in the file."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _directories(path: Path) -> tuple[Any, dict[str, str]]:
    text = _bytes(path)
    if not text:
        return None, {}
    document = json.loads(text, parse_int=_Number, parse_float=_Number, object_pairs_hook=list)
    fields = dict(document)
    return fields["modified_time"], {name: repr(value) for name, value in fields["values"]}


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def number(self) -> int:
        result = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            result |= (byte & 127) << shift
            if byte < 128:
                return result
            shift += 7

    def text(self) -> str:
        length = self.number()
        self.at += length
        return self.data[self.at - length : self.at].decode()


def _completed(data: bytes) -> Completed:
    """Action -> names; actions without any are left out."""
    reader = _Reader(data)
    found = {}
    for _ in range(reader.number()):
        action = reader.text()
        names = frozenset(reader.text().rstrip("/") for _ in range(reader.number()))
        if names:
            found[action] = names
    return found


def _submitted(data: bytes) -> Submitted:
    reader = _Reader(data)
    found = {}
    for _ in range(reader.number()):
        action = reader.text()
        jobs = {}
        for _ in range(reader.number()):
            name = reader.text().rstrip("/")  # Row means the same by `d0/` and `d0`
            jobs[name] = (reader.text(), reader.number())
        if jobs:
            found[action] = jobs
    return found
