"""What a case is: a project on disk, and steps that both programs take on copies of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Directory:
    """One directory of the workspace. `value` is the text of its value file, None for no file."""

    name: str
    value: bytes | None = None
    products: tuple[str, ...] = ()


@dataclass(frozen=True)
class ProjectFiles:
    """Everything that lies on disk before the first step."""

    workflow: dict[str, Any]
    value_file: str | None
    workspace: str
    directories: tuple[Directory, ...]
    clusters: dict[str, Any] | None = None
    launchers: dict[str, Any] | None = None
    loose_files: tuple[str, ...] = ()  # files and symbolic links among the directories


@dataclass(frozen=True)
class Command:
    """One command of both programs. `turn`: whether in a turns case rowtui takes it."""

    argv: tuple[str, ...]
    stdin: bytes | None = None
    environment: tuple[tuple[str, str], ...] = ()
    turn: bool = True
    folder: str = "."  # where it is given, from the project's folder


@dataclass(frozen=True)
class Change:
    """Something that happens to the workspace behind both programs' backs."""

    kind: str  # add, remove, touch, delete_product, edit_value, workflow, run_jobs, drop_jobs
    directory: Directory | None = None
    text: str = ""
    workflow: dict[str, Any] | None = None
    number: int = 0


@dataclass(frozen=True)
class Case:
    """One generated case. `turns`: the second copy is worked on by Row and rowtui in turn."""

    seed: int
    number: int
    project: ProjectFiles
    steps: tuple[Command | Change, ...]
    turns: bool = False
    oddities: frozenset[str] = field(default_factory=frozenset)
