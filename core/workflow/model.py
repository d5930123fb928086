"""The data types of a workflow after inheritance: the checked, immutable contents of workflow.toml.

They are named tuples because these are created fastest when a command starts. Source: Row's
workflow.toml (0.3 to 1.x); every field is Row's key of the same name.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rowtui.core.base.errors import Problem


class Processes(NamedTuple):
    """The number of processes of a job: `value` in all, or `value` for each directory."""

    value: int = 1
    per_directory: bool = False

    def total(self, directories: int) -> int:
        """Return the processes of one job on this number of directories."""
        return self.value * directories if self.per_directory else self.value


class Walltime(NamedTuple):
    """A time limit in whole seconds, for the job or for each of its directories."""

    seconds: int = 3600
    per_directory: bool = True

    def total_seconds(self, directories: int) -> int:
        """Return the seconds that one job on this number of directories may take."""
        return self.seconds * directories if self.per_directory else self.seconds


class Resources(NamedTuple):
    """The resources that one job of an action asks for. None means that the key was not set."""

    processes: Processes = Processes()
    threads_per_process: int | None = None
    gpus_per_process: int | None = None
    walltime: Walltime = Walltime()
    memory_per_cpu_mb: int | None = None
    memory_per_gpu_mb: int | None = None

    def total_cpus(self, directories: int) -> int:
        """Return processes times threads."""
        return self.processes.total(directories) * (self.threads_per_process or 1)

    def total_gpus(self, directories: int) -> int:
        """Return processes times GPUs."""
        return self.processes.total(directories) * (self.gpus_per_process or 0)


class Condition(NamedTuple):
    """`[pointer, operator, operand]`; operator: `<`, `<=`, `==`, `!=` (Row 1.1), `>=`, `>`."""

    pointer: str
    operator: str
    operand: Any


class Selector(NamedTuple):
    """All conditions must hold, evaluated in order with short circuit. Empty is true."""

    conditions: tuple[Condition, ...]


class GroupRule(NamedTuple):
    """How an action's directories are chosen, ordered and cut into groups."""

    include: tuple[Selector, ...] = ()  # any of them may hold; empty: every directory
    sort_by: tuple[str, ...] = ()
    split_by_sort_key: bool = False
    reverse_sort: bool = False
    maximum_size: int | None = None
    submit_whole: bool = False


class SubmitOptions(NamedTuple):
    """`submit_options.<cluster>` of an action."""

    account: str | None = None
    setup: str | None = None
    custom: tuple[str, ...] = ()
    partition: str | None = None
    output_file_path: str | None = None
    output_file_name: str | None = None


class Action(NamedTuple):
    """One `[[action]]` element after inheritance. Several elements may share a name."""

    index: int  # type: ignore[assignment]  # hides the unused method of tuple
    name: str
    command: str
    launchers: tuple[str, ...] = ()
    previous_actions: tuple[str, ...] = ()
    products: tuple[str, ...] = ()
    resources: Resources = Resources()
    group: GroupRule = GroupRule()
    submit_options: Mapping[str, SubmitOptions] = {}  # shared, and so of the read-only type Mapping


class Workflow(NamedTuple):
    """One workflow.toml. `root` is the project: the canonical folder that holds the file.

    `problems` are the problems of single actions and all warnings: the project can be opened and
    shown, and `submit` refuses the actions that have an error. Problems that make the whole file
    unusable are raised as `WorkflowError` instead.
    """

    root: Path
    workspace_path: str = "workspace"  # as written: relative to root, or absolute
    value_file: str | None = None
    actions: tuple[Action, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def path(self) -> Path:
        """The path of workflow.toml."""
        return self.root / "workflow.toml"

    @property
    def workspace(self) -> Path:
        """The folder of directories."""
        return self.root / self.workspace_path

    def action_names(self) -> tuple[str, ...]:
        """Return each name once, in file order."""
        return tuple(dict.fromkeys(action.name for action in self.actions))

    def named(self, name: str) -> tuple[Action, ...]:
        """Return the elements with this name, in file order."""
        return tuple(action for action in self.actions if action.name == name)
