"""The options of the engine's process at its start, and its message once the project is open."""

from __future__ import annotations

from typing import NamedTuple

from rowtui.core.base.errors import Problem


class Demo(NamedTuple):
    """A demo project, made in an empty folder or continued, instead of an existing project."""

    scenario: str
    directories: int
    seed: int = 1


class EngineOptions(NamedTuple):
    """The project and its options.

    `start`: the project's folder or one below; `generation`: the last one that the screen has seen.
    """

    start: str
    cluster: str | None = None
    io_threads: int | None = None
    generation: int = 0
    demo: Demo | None = None


class Opened(NamedTuple):
    """The message that the project is open, with its problems and notices."""

    problems: tuple[Problem, ...]
    notices: tuple[str, ...]
