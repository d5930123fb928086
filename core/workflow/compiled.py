"""Convert a workflow to JSON values and back, so that a cache can replace parsing TOML.

The round trip is exact. The caller that stores the values also stores the identity of the
workflow.toml.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rowtui.core.base.errors import Problem
from rowtui.core.workflow.model import (
    Action,
    Condition,
    GroupRule,
    Processes,
    Resources,
    Selector,
    SubmitOptions,
    Walltime,
    Workflow,
)

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
