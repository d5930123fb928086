"""The text of a first network.toml: a workflow's actions as nodes, in their order.

The input is a workflow; the result is commented TOML that can be loaded at once. An action with
previous actions is linked to the node of the last of them; one without is linked to the source.
"""

from __future__ import annotations

import graphlib
import itertools
import json
import os
import re
from typing import TYPE_CHECKING

from rowtui.core.base.text import visible
from rowtui.core.network.definition.allowed import dimension_fault, name_fault
from rowtui.core.workflow.template import parse_command

if TYPE_CHECKING:
    from rowtui.core.workflow.model import Action, Workflow

_HEAD = """\
# The network of this project: samples come from sources, pass nodes (actions of workflow.toml)
# and end in sinks. docs/network.md of rowtui has it all.
#
#   rowtui network check     what is wrong here
#   rowtui network show      what it comes to
#   rowtui network run       makes the directories and runs everything
"""
_VALUES = """\
# Where samples come from. Each dimension has values; all combinations become directories.
[[source]]
name = "%s"
[source.values]
%sreplica = { range = 2 }                   # 0 and 1
# Other sources: csv = "table.csv", json = "table.json", files = "data/*.txt", workspace = true
"""
_PARAMETER = "parameter = { linspace = [0.0, 1.0, 3] }  # from, to, how many; or logspace, a list\n"
_KEY = "%s = [1, 2, 3]  # the command of action '%s' needs it\n"
_WORKSPACE = """\
# The directories that are in the workspace already are the samples.
[[source]]
name = "%s"
workspace = true
# dimensions = ["parameter"]              # keys of their value files, to collapse over
# Other sources: [source.values], csv = "table.csv", json = "table.json", files = "data/*.txt"
"""
_TAIL = """\
# A node that comes together from many: once for each parameter, over all replicas.
# [[node]]
# name = "average"
# from = "%(last)s"
# output = "%(product)s"
# collapse = ["replica"]
# require = 0.8                           # do with 80 %% of them, if some fail

# Results that are copied out of the workspace. Where there are sinks, only what they need is run.
# [[sink]]
# name = "results"
# from = "%(last)s"
# output = "%(product)s"
# publish = "results/{sample}{ext}"

# [schedule]
# priority = "sample"                     # or sink, critical-path, source:+1, row
# execution = "jobs"                      # or sequential, pilot
"""


def has_samples(workflow: Workflow) -> bool:
    """Whether directories exist already, with values if the project has value files."""
    try:
        with os.scandir(workflow.workspace) as entries:
            # Most directories are alike, so a few are sufficient.
            for entry in itertools.islice(entries, 1000):
                if not entry.name.startswith(".") and entry.is_dir():
                    value = workflow.value_file
                    if value is None or os.path.exists(os.path.join(entry.path, value)):
                        return True
    except OSError:
        pass
    return False


def draft(workflow: Workflow, *, there: bool) -> str:
    """Return the text. `there`: the samples are the directories of the workspace."""
    names = _ordered(workflow)
    nodes = dict(zip(names, _node_names(names), strict=True))
    source = _free("state", set(nodes.values()))
    parts = [_HEAD, _WORKSPACE % source if there else _VALUES % (source, _keys(workflow))]
    first = {name: workflow.named(name)[0] for name in names}
    parts += [_node(name, first[name], nodes, source) for name in names]
    last = first[names[-1]] if names else None
    product = next(iter(last.products), "result.json") if last else "result.json"
    known = {"last": nodes[names[-1]] if names else "node", "product": _comment(product)}
    return "\n".join([*parts, _TAIL % known])


def _keys(workflow: Workflow) -> str:
    """Return a line for each key of a value file in a command; a sample key if there is none."""
    lines: dict[str, str] = {}
    for action in workflow.actions:
        for pointer in parse_command(action.command).pointers:
            key = pointer.removeprefix("/")
            if pointer.startswith("/") and not re.search("[/~]", key) and not dimension_fault(key):
                lines.setdefault(key, _KEY % (_toml(key), visible(action.name)))
    return "".join(lines.values()) or _PARAMETER


def _ordered(workflow: Workflow) -> list[str]:
    """Return the actions' names, each after its previous actions; in file order for a cycle."""
    names = list(dict.fromkeys(workflow.action_names()))
    needs = {
        name: [it for it in workflow.named(name)[0].previous_actions if it in names]
        for name in names
    }
    try:
        return list(graphlib.TopologicalSorter(needs).static_order())
    except graphlib.CycleError:
        return names


def _node_names(actions: list[str]) -> list[str]:
    """Return a name for the node of each action: the action's name, made a plain word."""
    taken: set[str] = set()
    found = []
    for action in actions:
        word = re.sub(r"[^\w.-]", "_", action).lstrip(".-")[:60] or "node"
        word = _free("node" if name_fault(word) else word, taken)
        taken.add(word)
        found.append(word)
    return found


def _free(name: str, taken: set[str]) -> str:
    numbered = (f"{name}_{number}" for number in itertools.count(2))
    return next(it for it in itertools.chain([name], numbered) if it not in taken)


def _node(name: str, action: Action, nodes: dict[str, str], source: str) -> str:
    before = [nodes[it] for it in action.previous_actions if it in nodes]
    upstream = before[-1] if before else source
    lines = ["[[node]]", f"name = {_toml(nodes[name])}"]
    if nodes[name] != name:
        lines.append(f"action = {_toml(name)}")
    lines.append(f"from = {_toml(upstream)}")
    if len(before) > 1:
        others = ", ".join(before[:-1])
        lines.append(f"# it also waits for {others}, in the same directories (previous_actions)")
    if not action.products:
        lines.append("# The action has no products in workflow.toml, so that it never completes.")
    return "\n".join(lines) + "\n"


def _toml(text: str) -> str:
    """Return a basic string: JSON's, with characters escaped that TOML does not accept."""
    return json.dumps(text).replace("\x7f", "\\u007f")


def _comment(text: str) -> str:
    return visible(text).replace("\\", "\\\\").replace('"', '\\"')
