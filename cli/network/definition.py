"""`rowtui network init` and `check`: write a first network.toml, and find the problems of one.

The first file is commented TOML that can be loaded at once: the workflow's actions are its nodes,
in their order. An action with previous actions is linked to the node of the last of them, an action
without is linked to the source. `check` finds the problems that need no run of the network.
"""

from __future__ import annotations

import argparse
import graphlib
import itertools
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rowtui.cli.output.output import Output
from rowtui.cli.project.open import open_project
from rowtui.core.base.errors import InvalidFileError, Problem, RowtuiError
from rowtui.core.base.files import replace_file
from rowtui.core.base.text import plural, visible
from rowtui.core.network.definition.load_tables import dimension_fault, name_fault
from rowtui.core.project.open_project import OpenProject
from rowtui.core.runs.checking import check_network
from rowtui.core.workflow.find import NETWORK_FILE, find_project, has_network
from rowtui.core.workflow.load import load_workflow
from rowtui.core.workflow.model import Action, Workflow
from rowtui.core.workflow.template import parse_command


class NodeHomeJson(NamedTuple):
    """Whose directories a node uses, and why."""

    node: str
    home: str
    why: str


class NetworkCheckJson(NamedTuple):
    """`network check`. `jobs`: null where they cannot be counted."""

    ok: bool
    problems: Sequence[Problem]
    notices: Sequence[str]
    jobs: int | None
    directories: Sequence[NodeHomeJson]


def check(args: argparse.Namespace, out: Output) -> int:
    """Print every problem; 1 if there is an error."""
    root = find_project(Path.cwd())
    project: OpenProject | None = None
    broken: tuple[Problem, ...] = ()
    try:
        project = open_project(args, out, errors=False)
    except InvalidFileError as error:
        broken = error.problems
    except RowtuiError as error:
        broken = (Problem("workflow.toml", 0, 0, error.message, error.hint),)
    found = check_network(root, project)
    problems = (*broken, *found.problems)
    errors = sum(it.severity == "error" for it in problems)
    if args.json:
        homes = [NodeHomeJson(name, home.name, home.why) for name, home in found.homes.items()]
        out.json(NetworkCheckJson(not errors, problems, found.notices, found.jobs, homes))
        return 1 if errors else 0
    out.problems(problems)
    for notice in found.notices:
        out.warn(visible(notice))
    warnings = len(problems) - errors
    if errors:
        more = f" and {plural(warnings, 'warning')}" if warnings else ""
        out.print(f"{plural(errors, 'error')}{more}.")
        return 1
    text = f"{NETWORK_FILE} can be used: {plural(found.jobs or 0, 'sample')}"
    out.print(text + (f", {plural(warnings, 'warning')}." if warnings else "."))
    if found.homes:
        out.print("Directories:")
    for name, home in found.homes.items():
        whose = "its own" if home.name == name else f"those of {visible(home.name)}"
        out.print(f"  {visible(name)}: {whose}, as {home.why}")
    return 0


_HEAD = """\
# The network of this project: samples come from sources, pass nodes (actions of workflow.toml)
# and end in sinks. docs/network.md of rowtui has it all.
#
#   rowtui network check     check this file
#   rowtui network show      count its samples and jobs
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
# execution = "jobs"                      # or sequential, pool, pilot
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


def run(args: argparse.Namespace, out: Output) -> int:
    """Write the file. Nothing else is changed."""
    root = find_project(Path.cwd())
    if has_network(root) and not args.force:
        raise RowtuiError(
            f"there is a {NETWORK_FILE} in {visible(str(root))}",
            "'rowtui network check' lists the errors of the file; --force replaces the file",
        )
    workflow = load_workflow(root)
    out.problems(it for it in workflow.problems if it.severity == "error")
    there = has_samples(workflow)
    text = draft(workflow, there=there)
    path = root / NETWORK_FILE
    try:
        replace_file(path, text.encode())
    except OSError as error:
        raise RowtuiError(f"cannot write {visible(str(path))}: {error.strerror}") from None
    out.print(f"Wrote {visible(str(path))}: {plural(len(workflow.action_names()), 'node')}.")
    if workflow.value_file is None and not there:
        out.warn(
            "workflow.toml has no value_file, which samples need: add to its [workspace] table\n"
            'value_file = "value.json"'
        )
    out.note("Edit it, then see 'rowtui network check' and 'rowtui network show'.")
    return 0
