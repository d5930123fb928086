"""The `[[node]]` tables of network.toml: actions, and the links into their inputs.

Takes tables, gives `Node`s; problems are recorded in the file object. `structure` checks the
targets of links, and `shape` checks whether dimensions match.
"""

from __future__ import annotations

import math
import re
from typing import Any, Final, NamedTuple

from rowtui.core.base.text import visible
from rowtui.core.network.definition.load_tables import (
    NAME_HINT,
    checked_name,
    dimension_fault,
    is_text,
    kind_said,
    name_fault,
    path_fault,
    place_of,
    scalar_fault,
)
from rowtui.core.network.definition.network_keys import INPUT_KEYS, LINK_KEYS, SELECT_FORM
from rowtui.core.network.definition.spec import (
    ALL,
    JSON,
    NODE_KEY,
    CardinalitySlice,
    Input,
    Link,
    Node,
    Require,
)
from rowtui.core.network.samples.shape import COMBINATIONS
from rowtui.core.workflow.positions import KeyPath
from rowtui.core.workflow.toml_file import TomlTable, did_you_mean
from rowtui.core.workflow.toml_keys import LARGEST_INTEGER

_DEEPEST: Final = 32  # levels of a constant

_SELECT_HINT: Final = 'write "0" for the first value, "-1" for the last, "0:2" for the first two'
_REQUIRE_HINT: Final = 'write a number of samples (4), a share of them (0.8), or "all"'


class ReadNode(NamedTuple):
    """A node; `sound`: whether it has no errors, so that its links are as intended."""

    node: Node
    sound: bool


def read_node(table: TomlTable) -> ReadNode:
    """Read one node; its name is "" if it has none."""
    noted = len(table.file.problems)
    name = checked_name(table, "a node")
    action = table.string("action")
    if action == "":
        table.problem("action", "`action` is empty", "the default is the name of the node")
    inputs = read_inputs(table, name)
    directories = table.string("directories")
    node = Node(
        name,
        name if action is None else action,
        inputs,
        _combine(table, inputs),
        _constants(table),
        "own" if directories == "own" else "auto",
        place_of(table, "name"),
        table.boolean("scratch") or False,
    )
    return ReadNode(node, all(it.severity != "error" for it in table.file.problems[noted:]))


def _combine(table: TomlTable, inputs: tuple[Input, ...]) -> str:
    combine = table.string("combine")
    if combine is None:
        return "join"
    if combine not in COMBINATIONS:
        if fault := name_fault(combine):
            table.problem("combine", f"`combine` {fault}", "write join, cross or zip")
            return combine
        hint = did_you_mean(combine, COMBINATIONS) or "a plug-in of this name must be installed"
        message = f"`combine` is '{visible(combine)}', which is not join, cross or zip"
        table.problem("combine", message, hint, "warning")
    elif (
        combine != "join"
        and inputs[1:]
        and inputs[0].group
        and len({it.group for it in inputs}) < 2
    ):
        message = f'combine = "{combine}" is for groups, and all inputs are in one'
        hint = "inputs of one group are joined; those without `group` are each on their own"
        table.problem("combine", message, hint, "warning")
    return combine


def read_inputs(table: TomlTable, name: str) -> tuple[Input, ...]:
    """Read the inputs of the node with this name."""
    what = f"node '{visible(name)}'" if name else "the node"
    if "inputs" in table:
        for key in ("from", *LINK_KEYS):
            if key in table:
                message = f"{what} has `inputs`, so `{key}` cannot stand on the node itself"
                table.problem(key, message, "write it in the table of an input")
        return _named_inputs(table, what)
    if "from" not in table:
        hint = 'write from = "...", the name of a source or node'
        table.problem((), f"{what} has no inputs", hint)
        return ()
    source = table.values["from"]
    if isinstance(source, str):
        if not source:
            table.problem("from", "`from` is empty")
            return ()
        link = _link(table, source)
        return (Input(source, (link,), "", link.place),)
    if not isinstance(source, list):
        wrong = f"`from` must be a name or a list of names, not {kind_said(source)}"
        table.problem("from", wrong)
        return ()
    for key in LINK_KEYS:
        if key in table:
            message = f"`{key}` stands on a node only where `from` is one name"
            table.problem(key, message, "name each input in [node.inputs]")
    if not source:
        table.problem("from", f"{what} has no inputs: `from` is an empty list")
    inputs: dict[str, Input] = {}
    for index, each in enumerate(source):
        where: KeyPath = ("from", index)
        if not isinstance(each, str) or not each:
            found = "an empty string" if each == "" else kind_said(each)
            table.problem(where, f"element {index} of `from` must be a name, not {found}")
        elif each in inputs:
            hint = "for two inputs from one node, name each in [node.inputs]"
            table.problem(where, f"`from` has '{visible(each)}' twice", hint)
        else:
            place = place_of(table, *where)
            inputs[each] = Input(each, (Link(each, place=place),), "", place)
    return tuple(inputs.values())


def _named_inputs(table: TomlTable, what: str) -> tuple[Input, ...]:
    inputs = table.table("inputs")
    if inputs is None:
        return ()
    if not inputs.values:
        table.problem("inputs", f"{what} has no inputs: `inputs` is empty")
    return tuple(_input(inputs, name) for name in inputs)


def _input(inputs: TomlTable, name: str) -> Input:
    if fault := name_fault(name):
        inputs.problem(name, f"the name of input '{visible(name)}' {fault}", NAME_HINT)
    written = inputs.values[name]
    links: list[Link] = []
    groups: dict[str, None] = {}
    for index, each in enumerate(written if isinstance(written, list) else [written]):
        where: KeyPath = (name, index) if isinstance(written, list) else (name,)
        if isinstance(each, str):
            if each:
                links.append(Link(each, place=place_of(inputs, *where)))
                groups[""] = None
            else:
                inputs.problem(where, f"input '{visible(name)}' comes from an empty name")
        elif isinstance(each, dict):
            table = TomlTable(inputs.file, (*inputs.path, *where), each, INPUT_KEYS)
            noted = len(table.file.problems)
            groups[table.string("group") or ""] = None
            source = table.string("from")
            if source:
                links.append(_link(table, source))
            elif source == "" or ("from" not in table and len(table.file.problems) == noted):
                wrong = f"input '{visible(name)}' has no inputs"
                table.problem((), wrong, 'write from = "...", the name of a source or node')
        else:
            message = f"input '{visible(name)}' must be a name, a table, or a list of these"
            inputs.problem(where, f"{message}, not {kind_said(each)}")
    if written == []:
        inputs.problem(name, f"input '{visible(name)}' has no inputs")
    group = next(iter(groups), "")
    if len(groups) > 1:
        shown = " and ".join(f"'{visible(each)}'" for each in groups)
        inputs.problem(name, f"the links of input '{visible(name)}' are in the groups {shown}")
    if group and (fault := name_fault(group)):
        where = (name, 0, "group") if isinstance(written, list) else (name, "group")
        inputs.problem(where, f"the group '{visible(group)}' {fault}", NAME_HINT)
    return Input(name, tuple(links), group, place_of(inputs, name))


def _link(table: TomlTable, source: str) -> Link:
    """Return the link that a table describes: a node's or an input's."""
    place = place_of(table, "from")
    output = table.string("output")
    if output is not None and (fault := path_fault(output, "the directory")):
        message = f"the output '{visible(output)}' {fault}"
        hint = f"name a product of '{visible(source)}': a file in its directories"
        table.problem("output", message, hint)
    select = _select(table)
    collapse = _collapse(table)
    expand = _expand(table)
    for key in ("select", "expand"):
        if key in table and "output" not in table:
            hint = 'write output = "...", a JSON file that holds a list'
            table.problem(key, f"`{key}` needs an `output` that is a list", hint)
        elif key == "select" and key in table and "expand" not in table:
            hint = 'add expand = "..." and, to have the values in one sample, collapse the same'
            table.problem(key, "`select` is of the entries that `expand` makes samples of", hint)
    require = _require(table)
    if "require" in table and not collapse:
        message = "`require` is about samples that are collapsed, and nothing is"
        table.problem("require", message, "collapse a dimension, or take it out", "warning")
    return Link(source, output or "", select, collapse, expand, require, place)


def _collapse(table: TomlTable) -> tuple[str, ...]:
    names = table.strings("collapse") or ()
    for index, name in enumerate(names):
        if name in names[:index]:
            message = f"`collapse` has the dimension '{visible(name)}' twice"
            table.problem(("collapse", index), message)
    return names


def _expand(table: TomlTable) -> str:
    name = table.string("expand")
    if name is None:
        return ""
    if fault := dimension_fault(name) or name_fault(name):
        hint = NAME_HINT if name_fault(name) else ""
        table.problem("expand", f"the dimension '{visible(name)}' {fault}", hint)
    return name


def _select(table: TomlTable) -> CardinalitySlice | None:
    written = table.values.get("select")
    if written is None:
        return None
    text = str(written) if type(written) is int else written
    match = re.fullmatch(SELECT_FORM, text) if isinstance(text, str) else None
    if match is None:
        shown = f"'{visible(text)}'" if isinstance(text, str) else kind_said(written)
        table.problem("select", f"`select` cannot be {shown}", _SELECT_HINT)
        return None
    if match[1]:
        start = int(match[1])
        return CardinalitySlice(start, None if start == -1 else start + 1)
    start = int(match[2] or 0)
    stop = int(match[3]) if match[3] else None
    if stop is not None and (stop == 0 or ((start < 0) == (stop < 0) and stop <= start)):
        table.problem("select", f"`select` of '{visible(text)}' takes no value", _SELECT_HINT)
    return CardinalitySlice(start, stop)


def _require(table: TomlTable) -> Require:
    written = table.values.get("require")
    if written is None or written == "all":
        return ALL
    fault = ""
    if isinstance(written, bool) or not isinstance(written, (int, float)):
        shown = f"'{visible(written)}'" if isinstance(written, str) else kind_said(written)
        fault = f"cannot be {shown}"
    elif isinstance(written, int):
        if 1 <= written <= LARGEST_INTEGER:
            return Require(number=written)
        fault = f"is {written}, and must be at least 1"
    elif 0 < written <= 1:
        return Require(share=written)
    else:
        fault = f"is {written}, and a share is greater than 0 and at most 1.0"
    table.problem("require", f"`require` {fault}", _REQUIRE_HINT)
    return ALL


def _constants(table: TomlTable) -> dict[str, JSON]:
    constants = table.table("constants")
    if constants is None:
        return {}
    for key, value in constants.values.items():
        if fault := dimension_fault(key) or _key_fault(key):
            constants.problem(key, f"the constant '{visible(key)}' {fault}")
        if key != NODE_KEY and (fault := _value_fault(value, 0)):
            constants.problem(key, f"the constant '{visible(key)}' {fault}")
    return dict(constants.values)


def _key_fault(key: str) -> str:
    return "" if is_text(key) else "is not UTF-8"


def _value_fault(value: Any, depth: int) -> str:
    """Return why a value cannot be in a value file, which is JSON; "" if it can."""
    if depth > _DEEPEST:
        return "is nested too deeply"
    if isinstance(value, list):
        faults = (_value_fault(each, depth + 1) for each in value)
        return next(filter(None, faults), "")
    if isinstance(value, dict):
        faults = (_key_fault(key) or _value_fault(each, depth + 1) for key, each in value.items())
        return next(filter(None, faults), "")
    if isinstance(value, float) and not math.isfinite(value):
        return f"is {value}, which JSON does not have"
    return scalar_fault(value).replace("a number, a string", "a JSON value: a number, a string")
