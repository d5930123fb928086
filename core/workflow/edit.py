"""Change a few resources of one action in workflow.toml, and no other character.

The input is the bytes of the file, the action and the settings; the output is the new bytes.
Comments, order, spacing, line ends, inline tables and dotted keys stay as the user wrote them. The
result is parsed again: if anything except the resources of this action would change, the edit is
refused.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rowtui.core.base.errors import InvalidFileError, Problem, WorkflowError
from rowtui.core.base.text import visible
from rowtui.core.workflow.edit_amounts import EditRefusedError, Key, Settings
from rowtui.core.workflow.load import parse_workflow
from rowtui.core.workflow.model import Workflow
from rowtui.core.workflow.toml_file import TomlFile

FILE = "workflow.toml"
_MARK = "\N{BYTE ORDER MARK}"
_ODD = "this workflow.toml is written in a way in which it cannot be changed safely"


def edit_resources(data: bytes, action: int, settings: Settings) -> bytes:
    """Return the file with these resources of the action at this index.

    Raises: EditRefusedError; WorkflowError if the file is already invalid.
    """
    from rowtui.core.workflow.toml_edit import NotEditableError, with_setting

    before = parse_workflow(data, Path("/"), FILE)
    text = data.decode("utf-8")
    mark = _MARK if text.startswith(_MARK) else ""
    new = text.removeprefix(mark)
    try:
        for key, value in settings.keys.items():
            literal = None if value is None else _literal(key, value)
            new = with_setting(new, action, ("resources", *key), literal)
    except NotEditableError:
        raise EditRefusedError(_ODD) from None
    after = (mark + new).encode("utf-8")
    _check(data, before, after, action, settings)
    return after


def _literal(key: Key, value: int) -> str:
    if key[0] != "walltime":
        return str(value)
    return f'"{value // 3600:02}:{value // 60 % 60:02}:{value % 60:02}"'


def _check(data: bytes, before: Workflow, after: bytes, action: int, settings: Settings) -> None:
    """Raises: EditRefusedError if anything except the requested resources has changed."""
    try:
        now = parse_workflow(after, Path("/"), FILE)
    except (WorkflowError, ValueError) as error:
        why = error.problems[0].message if isinstance(error, WorkflowError) else str(error)
        raise EditRefusedError(f"{_ODD}: {why}") from None
    wanted = list(before.actions)
    wanted[action] = wanted[action]._replace(resources=settings.resources)
    if len(now.actions) != len(wanted):
        raise EditRefusedError(_ODD)
    others = [
        visible(old.name)
        for old, new in zip(wanted, now.actions, strict=True)
        if old.index != action and not _same(old.resources, new.resources)
    ]
    if others:
        verb = "takes its" if len(others) == 1 else "take their"
        names = ", ".join(dict.fromkeys(others))
        raise EditRefusedError(f"{names} {verb} resources from this action, and would change too")
    if not _same(now.actions[action].resources, settings.resources):
        raise EditRefusedError(
            "the present value is inherited, and workflow.toml cannot remove an inherited value"
            if None in settings.keys.values()
            else _ODD
        )
    if not _same(_written(after, action, {}), _written(data, action, settings.keys)):
        raise EditRefusedError(_ODD)
    known = {_said(problem) for problem in before.problems}
    for problem in now.problems:
        if _said(problem) not in known:
            raise EditRefusedError(problem.message, problem.hint)


def _said(problem: Problem) -> tuple[str, str, int | None]:
    return problem.message, problem.severity, problem.action


def _written(data: bytes, action: int, keys: Mapping[Key, int | None]) -> dict[str, Any]:
    """Return the tables as written, with these resources of the action."""
    try:
        tables = TomlFile(data, FILE).data
    except InvalidFileError:
        raise EditRefusedError(_ODD) from None
    table = tables["action"][action]
    resources = table.setdefault("resources", {})
    for key, value in keys.items():
        inner = resources
        for part in key[:-1]:
            inner = inner.setdefault(part, {})
        if value is None:
            inner.pop(key[-1], None)
        else:
            inner[key[-1]] = _read(key, value)
    if not resources:
        del table["resources"]
    return tables


def _read(key: Key, value: int) -> object:
    # a string or an integer has the same form in TOML and JSON
    return json.loads(_literal(key, value))


def _same(one: Any, other: Any) -> bool:
    """Whether two values are equal and of the same types; a NaN is equal to itself."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, float) and math.isnan(one):
        return math.isnan(other)
    return bool(one == other)
