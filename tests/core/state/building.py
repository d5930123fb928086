"""Directories in memory for the tests, from plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rowtui.core.base.values import compact
from rowtui.core.state.directories import StoredDirectories
from rowtui.core.state.merge import build_directories

POINTERS = ("", "/a", "/b/0", "a", "/~0", "/")


@dataclass
class Read:
    raw: list[bytes | None]
    stamps: list[tuple[int, int]]
    bad: dict[int, str] = field(default_factory=dict)
    vanished: list[int] = field(default_factory=list)
    completed: dict[str, int] = field(default_factory=dict)


def reading(values: dict[bytes, Any], names: list[bytes]) -> Read:
    """`values`: a JSON value, or an Exception for a bad directory."""
    read = Read([], [])
    for at, name in enumerate(names):
        value = values[name]
        if isinstance(value, Exception):
            read.bad[at] = str(value)
            read.raw.append(None)
        else:
            read.raw.append(compact(value).encode())
        read.stamps.append((len(str(value)), at))
    return read


def built(values: dict[bytes, Any], **more: Any) -> StoredDirectories:
    names = list(values)
    pointers = more.pop("pointers", POINTERS)
    return build_directories(
        names, reading(values, names), value_file="v.json", pointers=pointers, **more
    )
