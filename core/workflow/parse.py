"""Parse the tables of workflow.toml as written, typed, before inheritance.

The input is a `TomlFile`; the output is a `RawWorkflow` in which None means "not set". Wrong keys,
types and values are recorded in the file and left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, time
from math import isfinite
from typing import Any

from rowtui.core.base.text import visible
from rowtui.core.workflow.duration import DurationError, parse_duration
from rowtui.core.workflow.model import Condition, Processes, Selector, SubmitOptions, Walltime
from rowtui.core.workflow.positions import KeyPath
from rowtui.core.workflow.toml_file import TomlFile, TomlTable, did_you_mean, kind_of
from rowtui.core.workflow.toml_keys import Key, Kind, TableKeys

OPERATORS = ("<", "<=", "==", "!=", ">=", ">")

_CONDITION_HINT = 'write it as ["/pointer", "==", value]'
_CONDITION: dict[str, Any] = {
    "type": "array",
    "minItems": 3,
    "prefixItems": [{"type": "string"}, {"enum": list(OPERATORS)}],
}
_FILE_NAME = {"not": {"pattern": "\0"}}


def _hint_at_amount(path: KeyPath, value: object) -> str:
    key = str(path[-1])
    if key == "processes" and isinstance(value, int):
        return f"write {key}.per_submission = {value}, or per_directory"
    if key == "walltime" and isinstance(value, str):
        return f'write {key}.per_submission = "...", or per_directory'
    return ""


def _hint_at_cluster(path: KeyPath, _: object) -> str:
    hint = "write submit_options.<cluster>.account = ..., with the name of a cluster"
    near = did_you_mean(str(path[-1]), _SUBMIT_OPTIONS)
    return f"{near[:-1]} of a cluster? {hint}" if near else hint


def _amount(about: str, kind: Kind) -> Key:
    each = {
        "per_submission": Key(kind, f"{about} of the whole job"),
        "per_directory": Key(kind, f"{about} for each directory of the job"),
    }
    return Key("table", f"{about}.", hint=_hint_at_amount, keys=TableKeys(each, one=True))


_SUBMIT_OPTIONS = {
    "account": Key("string", "The account that the jobs are charged to."),
    "setup": Key("string", "Commands that each job script runs before the action's command."),
    "custom": Key("strings", "More options for the header of the job script."),
    "partition": Key("string", "The partition of all jobs; chosen from the resources if not set."),
    "output_file_path": Key("string", "The folder of the jobs' logs."),
    "output_file_name": Key("string", "The name of a job's log; %j is the job's id."),
}
_RESOURCES = {
    "processes": _amount("Processes", "integer"),
    "threads_per_process": Key("integer", "CPUs of each process."),
    "gpus_per_process": Key("integer", "GPUs of each process."),
    "walltime": _amount('The time limit, such as "01:30:00",', "string"),
    "memory_per_cpu_mb": Key("integer", "Memory for each CPU, in MB."),
    "memory_per_gpu_mb": Key("integer", "Memory for each GPU, in MB."),
}
_SELECTOR = {
    "condition": Key("array", "A condition on the value of a directory.", words=_CONDITION),
    "all": Key("array", "Conditions that must all be true.", words={"items": _CONDITION}),
}
_GROUP = {
    "include": Key(
        "tables",
        "The directories to take: those for which any of these is true; all if not set.",
        keys=TableKeys(_SELECTOR, one=True),
    ),
    "sort_by": Key("strings", "JSON pointers of the values that order the directories."),
    "split_by_sort_key": Key("boolean", "Whether a group has one value of `sort_by` only."),
    "reverse_sort": Key("boolean", "Whether the order is reversed."),
    "maximum_size": Key("integer", "The most directories of one job."),
    "submit_whole": Key("boolean", "Whether a group is only submitted as a whole."),
}
_ACTION = {
    "name": Key("string", "The name of the action."),
    "command": Key("string", "The command of a job; it has `{directory}` or `{directories}`."),
    "launchers": Key("strings", 'Prefixes of the command, such as "mpi" (launchers.toml).'),
    "previous_actions": Key("strings", "Actions that must be complete in a directory first."),
    "products": Key("strings", "Files in the directory that show that it is complete."),
    "resources": Key("table", "What a job asks for.", keys=TableKeys(_RESOURCES)),
    "submit_options": Key(
        "table",
        "Options of the scheduler, by the name of a cluster.",
        keys=TableKeys(
            {},
            Key(
                "table",
                "Options for this cluster.",
                hint=_hint_at_cluster,
                keys=TableKeys(_SUBMIT_OPTIONS),
            ),
        ),
    ),
    "group": Key("table", "How directories form groups, one for a job.", keys=TableKeys(_GROUP)),
    "from": Key("string", "The name of another action, whose settings this one takes over."),
}
_WORKSPACE = {
    "path": Key("string", "The folder of the directories.", words=_FILE_NAME),
    "value_file": Key(
        "string", "The JSON file in each directory that holds its value.", words=_FILE_NAME
    ),
}
WORKFLOW_KEYS = TableKeys(
    {
        "workspace": Key("table", "Where the directories are.", keys=TableKeys(_WORKSPACE)),
        "default": Key(
            "table",
            "Settings for all actions.",
            keys=TableKeys(
                {
                    "action": Key(
                        "table",
                        "Settings that an action has if it does not set them itself.",
                        keys=TableKeys(_ACTION, words={"not": {"required": ["from"]}}),
                    )
                }
            ),
        ),
        "action": Key("tables", "A command that runs on directories.", keys=TableKeys(_ACTION)),
    }
)


@dataclass(frozen=True, slots=True)
class RawAction:
    """One action table as written. `path` is its key path; `written` the table itself."""

    path: KeyPath = ()
    written: Mapping[str, Any] = field(default_factory=dict)
    name: str | None = None
    command: str | None = None
    launchers: tuple[str, ...] | None = None
    previous_actions: tuple[str, ...] | None = None
    products: tuple[str, ...] | None = None
    processes: Processes | None = None
    threads_per_process: int | None = None
    gpus_per_process: int | None = None
    walltime: Walltime | None = None
    memory_per_cpu_mb: int | None = None
    memory_per_gpu_mb: int | None = None
    include: tuple[Selector, ...] | None = None
    sort_by: tuple[str, ...] | None = None
    split_by_sort_key: bool | None = None
    reverse_sort: bool | None = None
    maximum_size: int | None = None
    submit_whole: bool | None = None
    submit_options: Mapping[str, SubmitOptions] = field(default_factory=dict)
    from_action: str | None = None


@dataclass(frozen=True, slots=True)
class RawWorkflow:
    """A whole file as written."""

    workspace_path: str = "workspace"
    value_file: str | None = None
    default: RawAction = RawAction()
    actions: tuple[RawAction, ...] = ()


def parse_tables(file: TomlFile) -> RawWorkflow:
    """Return all tables of workflow.toml. Problems are recorded in `file.problems`."""
    top = file.top
    path, value_file = "workspace", None
    if workspace := top.table("workspace"):
        given = _file_name(workspace, "path")
        path = path if given is None else given
        value_file = _file_name(workspace, "value_file")
    return RawWorkflow(
        path,
        value_file,
        _default(top),
        tuple(_action(table) for table in top.tables("action") or ()),
    )


def _file_name(table: TomlTable, key: str) -> str | None:
    name = table.string(key)
    if name is not None and "\0" in name:
        table.problem(key, f"`{key}` has a NUL character, which no file name can have")
        return None
    return name


def _default(top: TomlTable) -> RawAction:
    default = top.table("default")
    table = None if default is None else default.table("action")
    if table is None:
        return RawAction()
    action = _action(table)
    if "from" in table:
        table.problem("from", "the default action must not set `from`")
    return action


def _action(table: TomlTable) -> RawAction:
    resources = table.table("resources") or TomlTable(table.file, (), {}, TableKeys(_RESOURCES))
    group = table.table("group") or TomlTable(table.file, (), {}, TableKeys(_GROUP))
    return RawAction(
        path=table.path,
        written=table.values,
        name=table.string("name"),
        command=table.string("command"),
        launchers=table.strings("launchers"),
        previous_actions=table.strings("previous_actions"),
        products=table.strings("products"),
        processes=_processes(resources),
        threads_per_process=resources.integer("threads_per_process"),
        gpus_per_process=resources.integer("gpus_per_process"),
        walltime=_walltime(resources),
        memory_per_cpu_mb=resources.integer("memory_per_cpu_mb"),
        memory_per_gpu_mb=resources.integer("memory_per_gpu_mb"),
        include=_include(group),
        sort_by=group.strings("sort_by"),
        split_by_sort_key=group.boolean("split_by_sort_key"),
        reverse_sort=group.boolean("reverse_sort"),
        maximum_size=group.integer("maximum_size"),
        submit_whole=group.boolean("submit_whole"),
        submit_options=_submit_options(table),
        from_action=table.string("from"),
    )


def _processes(resources: TomlTable) -> Processes | None:
    table = resources.table("processes")
    key = None if table is None else table.only_key()
    value = None if table is None or key is None else table.integer(key)
    return None if value is None else Processes(value, key == "per_directory")


def _walltime(resources: TomlTable) -> Walltime | None:
    table = resources.table("walltime")
    key = None if table is None else table.only_key()
    text = None if table is None or key is None else table.string(key)
    if table is None or key is None or text is None:
        return None
    try:
        return Walltime(parse_duration(text), key == "per_directory")
    except DurationError as error:
        message = f"the walltime '{visible(text)}' is not usable: {error}"
        table.problem(key, message, error.hint)
        return None


def _include(group: TomlTable) -> tuple[Selector, ...] | None:
    tables = group.tables("include")
    if tables is None:
        return None
    return tuple(selector for table in tables if (selector := _selector(table)) is not None)


def _selector(table: TomlTable) -> Selector | None:
    key = table.only_key()
    if key is None or (triples := table.array(key)) is None:
        return None
    if key == "condition":
        condition = _condition(table, (key,), triples)
        return None if condition is None else Selector((condition,))
    conditions = []
    for index, triple in enumerate(triples):
        if not isinstance(triple, list):
            wrong = f"a condition must be an array, not {kind_of(triple)}"
            table.problem((key, index), wrong, _CONDITION_HINT)
        elif condition := _condition(table, (key, index), triple):
            conditions.append(condition)
    return Selector(tuple(conditions))


def _condition(table: TomlTable, path: KeyPath, triple: list[Any]) -> Condition | None:
    if len(triple) < 3:
        table.problem(path, f"a condition has 3 elements, not {len(triple)}", _CONDITION_HINT)
        return None
    if len(triple) > 3:
        message = "a condition has 3 elements, the others are ignored"
        table.problem(path, message, _CONDITION_HINT, "warning")
    pointer, operator, operand = triple[:3]
    if not isinstance(pointer, str):
        message = f"the pointer of a condition must be a string, not {kind_of(pointer)}"
        table.problem((*path, 0), message, _CONDITION_HINT)
        return None
    if not isinstance(operator, str) or operator not in OPERATORS:
        shown = f"'{visible(operator)}'" if isinstance(operator, str) else kind_of(operator)
        expected = "expected one of " + ", ".join(f"'{known}'" for known in OPERATORS)
        hint = {"=": "did you mean '=='?", "=>": "did you mean '>='?", "=<": "did you mean '<='?"}
        table.problem(
            (*path, 1),
            f"the operator of a condition cannot be {shown}",
            hint.get(str(operator), expected),
        )
        return None
    return Condition(pointer, operator, _operand(operand))


def _operand(value: Any) -> Any:
    """Return a TOML value as the JSON value that Row compares with."""
    if isinstance(value, list):
        return [_operand(element) for element in value]
    if isinstance(value, dict):
        return {key: _operand(element) for key, element in value.items()}
    if isinstance(value, float) and not isfinite(value):
        return None
    if isinstance(value, (date, time)):  # an object in Row, which has no order
        return {"datetime": value.isoformat()}
    return value


def _submit_options(action: TomlTable) -> dict[str, SubmitOptions]:
    clusters = action.table("submit_options")
    found = {}
    for name in clusters or ():
        if clusters is not None and (table := clusters.table(name)) is not None:
            found[name] = SubmitOptions(
                table.string("account"),
                table.string("setup"),
                table.strings("custom") or (),
                table.string("partition"),
                table.string("output_file_path"),
                table.string("output_file_name"),
            )
    return found
