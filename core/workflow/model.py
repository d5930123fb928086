"""The data types of a checked workflow, and their form in the cache that replaces parsing.

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

    def products(self) -> dict[str, tuple[str, ...]]:
        """Return the products of each name; elements of one name have the same products."""
        return {action.name: action.products for action in self.actions}

    def named(self, name: str) -> tuple[Action, ...]:
        """Return the elements with this name, in file order."""
        return tuple(action for action in self.actions if action.name == name)


# Convert a workflow to JSON values and back, so that a cache can replace parsing TOML.
#
# The round trip is exact. The caller that stores the values also stores the identity of the
# workflow.toml.


VERSION = 1


def workflow_to_json(workflow: Workflow) -> dict[str, Any]:
    """Return the workflow without its root, as dicts, lists, strings, numbers, booleans, None."""
    return {
        "version": VERSION,
        "workspace_path": workflow.workspace_path,
        "value_file": workflow.value_file,
        "actions": [_action_to_json(action) for action in workflow.actions],
        "problems": [list(problem) for problem in workflow.problems],
    }


def workflow_from_json(data: Any, root: Path) -> Workflow:
    """Return the workflow from the result of `workflow_to_json`, for the project at `root`.

    Raises: ValueError if `data` is anything else, or of another version.
    """
    try:
        if data["version"] != VERSION:
            raise ValueError(f"a compiled workflow of version {data['version']}")
        return Workflow(
            root,
            data["workspace_path"],
            data["value_file"],
            tuple([_action_from_json(action) for action in data["actions"]]),
            tuple([Problem(*problem) for problem in data["problems"]]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a compiled workflow: {error!r}") from None


def _action_to_json(action: Action) -> dict[str, Any]:
    resources, group = action.resources, action.group
    return {
        "index": action.index,
        "name": action.name,
        "command": action.command,
        "launchers": list(action.launchers),
        "previous_actions": list(action.previous_actions),
        "products": list(action.products),
        "processes": [resources.processes.value, resources.processes.per_directory],
        "walltime": [resources.walltime.seconds, resources.walltime.per_directory],
        "threads": resources.threads_per_process,
        "gpus": resources.gpus_per_process,
        "memory": [resources.memory_per_cpu_mb, resources.memory_per_gpu_mb],
        "include": [
            [[c.pointer, c.operator, c.operand] for c in selector.conditions]
            for selector in group.include
        ],
        "sort_by": list(group.sort_by),
        "group": [
            group.split_by_sort_key,
            group.reverse_sort,
            group.maximum_size,
            group.submit_whole,
        ],
        "submit_options": {
            cluster: [
                options.account,
                options.setup,
                list(options.custom),
                options.partition,
                options.output_file_path,
                options.output_file_name,
            ]
            for cluster, options in action.submit_options.items()
        },
    }


def _action_from_json(data: dict[str, Any]) -> Action:
    cpu, gpu = data["memory"]
    split, reverse, maximum, whole = data["group"]
    return Action(
        data["index"],
        data["name"],
        data["command"],
        tuple(data["launchers"]),
        tuple(data["previous_actions"]),
        tuple(data["products"]),
        Resources(
            Processes(*data["processes"]),
            data["threads"],
            data["gpus"],
            Walltime(*data["walltime"]),
            cpu,
            gpu,
        ),
        GroupRule(
            tuple([_selector(conditions) for conditions in data["include"]]),
            tuple(data["sort_by"]),
            split,
            reverse,
            maximum,
            whole,
        ),
        {cluster: _options(fields) for cluster, fields in data["submit_options"].items()},
    )


def _selector(conditions: list[list[Any]]) -> Selector:
    return Selector(tuple([Condition(*condition) for condition in conditions]))


def _options(fields: list[Any]) -> SubmitOptions:
    account, setup, custom, partition, path, name = fields
    return SubmitOptions(account, setup, tuple(custom), partition, path, name)
