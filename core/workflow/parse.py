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

OPERATORS = ("<", "<=", "==", "!=", ">=", ">")

_TOP = ("workspace", "default", "action")
_WORKSPACE = ("path", "value_file")
_ACTION = (
    "name",
    "command",
    "launchers",
    "previous_actions",
    "products",
    "resources",
    "submit_options",
    "group",
    "from",
)
_RESOURCES = (
    "processes",
    "threads_per_process",
    "gpus_per_process",
    "walltime",
    "memory_per_cpu_mb",
    "memory_per_gpu_mb",
)
_GROUP = (
    "include",
    "sort_by",
    "split_by_sort_key",
    "reverse_sort",
    "maximum_size",
    "submit_whole",
)
_SUBMIT_OPTIONS = (
    "account",
    "setup",
    "custom",
    "partition",
    "output_file_path",
    "output_file_name",
)
_AMOUNT = ("per_submission", "per_directory")


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
    top.only(_TOP)
    path, value_file = "workspace", None
    if workspace := top.table("workspace"):
        workspace.only(_WORKSPACE)
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
    if default is None:
        return RawAction()
    default.only(("action",))
    table = default.table("action")
    if table is None:
        return RawAction()
    action = _action(table)
    if "from" in table:
        table.problem("from", "the default action must not set `from`")
    return action


def _action(table: TomlTable) -> RawAction:
    table.only(_ACTION)
    resources = table.table("resources") or TomlTable(table.file, table.path, {})
    resources.only(_RESOURCES)
    group = table.table("group") or TomlTable(table.file, table.path, {})
    group.only(_GROUP)
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
    if table is None:
        if "processes" in resources and isinstance(resources.values["processes"], int):
            number = resources.values["processes"]
            _hint_at_amount(resources, f"processes.per_submission = {number}")
        return None
    key = table.exactly_one(_AMOUNT)
    value = table.integer(key) if key else None
    return None if value is None else Processes(value, key == "per_directory")


def _walltime(resources: TomlTable) -> Walltime | None:
    table = resources.table("walltime")
    if table is None:
        if isinstance(resources.values.get("walltime"), str):
            _hint_at_amount(resources, 'walltime.per_submission = "..."')
        return None
    key = table.exactly_one(_AMOUNT)
    text = table.string(key) if key else None
    if key is None or text is None:
        return None
    try:
        return Walltime(parse_duration(text), key == "per_directory")
    except DurationError as error:
        message = f"the walltime '{visible(text)}' is not usable: {error}"
        table.problem(key, message, error.hint)
        return None


def _hint_at_amount(resources: TomlTable, example: str) -> None:
    last = resources.file.problems[-1]
    resources.file.problems[-1] = last._replace(hint=f"write {example}, or per_directory")


def _include(group: TomlTable) -> tuple[Selector, ...] | None:
    tables = group.tables("include")
    if tables is None:
        return None
    return tuple(selector for table in tables if (selector := _selector(table)) is not None)


def _selector(table: TomlTable) -> Selector | None:
    key = table.exactly_one(("condition", "all"))
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


_CONDITION_HINT = 'write it as ["/pointer", "==", value]'


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
        if clusters is None or (table := clusters.table(name)) is None:
            _hint_at_cluster(action, name)
            continue
        table.only(_SUBMIT_OPTIONS)
        found[name] = SubmitOptions(
            table.string("account"),
            table.string("setup"),
            table.strings("custom") or (),
            table.string("partition"),
            table.string("output_file_path"),
            table.string("output_file_name"),
        )
    return found


def _hint_at_cluster(action: TomlTable, name: str) -> None:
    near = did_you_mean(name, _SUBMIT_OPTIONS)
    hint = "write submit_options.<cluster>.account = ..., with the name of a cluster"
    if near:
        hint = f"{near[:-1]} of a cluster? {hint}"
    action.file.problems[-1] = action.file.problems[-1]._replace(hint=hint)
