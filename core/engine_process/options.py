"""What the engine's process is told at its start, and what it says once the project is open."""

from __future__ import annotations

from typing import NamedTuple

from rowtui.core.errors import Problem


class Demo(NamedTuple):
    """In place of a project that is there: one that is made in an empty folder, or goes on."""

    scenario: str
    directories: int
    seed: int = 1


class EngineOptions(NamedTuple):
    """Which project, and how. `start`: its folder or one below; `generation`: the last one seen."""

    start: str
    cluster: str | None = None
    io_threads: int | None = None
    generation: int = 0
    demo: Demo | None = None


class Opened(NamedTuple):
    """The project is open; what there is to say of it."""

    problems: tuple[Problem, ...]
    notices: tuple[str, ...]
