"""`rowtui init`: a new project; at a terminal, four questions lead to its first workflow.toml."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rowtui.cli.output.output import Output
from rowtui.cli.project.open import answer_to, is_interactive
from rowtui.core.base.errors import InvalidFileError, RowtuiError
from rowtui.core.base.text import plural, visible
from rowtui.core.clusters.config.show import toml_string
from rowtui.core.workflow.duration import DurationError, parse_duration
from rowtui.core.workflow.load import load_workflow

SIGNAC = '[workspace]\nvalue_file = "signac_statepoint.json"\n'
WALLTIME = "01:00:00"
FROM_ROW = (
    "A project of Row needs no step: rowtui opens its workflow.toml and its state as they are, and "
    "Row goes on working beside it. Type 'rowtui' in its folder."
)


class MadeProject(NamedTuple):
    """`init`: the folder of the new project."""

    root: str


class FirstAction(NamedTuple):
    """The answers about the first action: its command, the file that it writes, its time limit."""

    command: str
    product: str
    walltime: str


def run(args: argparse.Namespace, out: Output) -> int:
    """Make the folder, its workspace and its workflow.toml; refuse if a project exists there."""
    if args.from_row:
        out.print(FROM_ROW)
        return 0
    root = Path(args.directory).absolute()
    given = args.workspace
    if given is not None:
        _check_name(given)
    _refuse_existing_project(root)
    asks = is_interactive() and not (args.json or args.yes or args.signac)
    workspace, action = given or "workspace", None
    if asks:
        out.print("Enter takes what is in brackets; Ctrl-C makes nothing.")
        workspace = given or _ask_workspace(root, out)
        action = _ask_action(out)
    if args.signac:
        text = SIGNAC
    else:
        text = commented_workflow(workspace, action) if asks or args.yes else _workflow(workspace)
    if root.is_dir() and not asks:
        out.warn(f"'{root}' already exists.")
    (root / workspace).mkdir(parents=True, exist_ok=True)
    (root / "workflow.toml").write_text(text)
    if args.json:
        out.json(MadeProject(str(root.resolve())))
        return 0
    out.print(f"Created row project in '{root.resolve()}'")
    if asks:
        try:
            load_workflow(root)
        except InvalidFileError as error:  # such as a product with a backslash
            out.problems(error.problems)
        out.lines(_next_steps(root, workspace, action))
    return 0


def _next_steps(root: Path, workspace: str, action: FirstAction | None) -> Iterator[str]:
    made = sum(it.is_dir() for it in (root / workspace).iterdir())
    if not made:
        it = visible(workspace)
        yield f"Next: make the directories, such as {it}/a and {it}/b."
    if action is None:
        yield "Next: write the first action in workflow.toml, where an example stands."
    have = f"It has {plural(made, 'directory', 'directories')}. " if made else "Then "
    yield f"{have}'rowtui' in this folder opens the dashboard."


def _check_name(workspace: str) -> None:
    if "/" in workspace or workspace in {"", ".", ".."}:
        raise RowtuiError(
            f"workspace must be a relative path name, got '{workspace}'",
            "a single folder name inside the project",
        )


def _refuse_existing_project(root: Path) -> None:
    if (root / "workflow.toml").exists():
        raise RowtuiError(f"A row project already exists in '{root}'", "'rowtui' opens it as it is")
    for parent in root.resolve().parents:
        if (parent / "workflow.toml").exists():
            raise RowtuiError(f"A row project already exists in the parent directory '{parent}'")
    if (root / ".row").exists():
        raise RowtuiError(
            f"The cache directory '.row' already exists in '{root}'.",
            "remove it if nothing in it is needed",
        )


def _ask_workspace(root: Path, out: Output) -> str:
    folders = [it.name for it in root.iterdir() if it.is_dir()] if root.is_dir() else []
    folders = [name for name in folders if not name.startswith(".")]
    default = folders[0] if len(folders) == 1 else "workspace"
    while True:
        name = answer_to(f"Folder that holds the directories, one for each job [{default}]: ")
        try:
            _check_name(name or default)
        except RowtuiError as error:
            out.warn(str(error))
        else:
            return name or default


def _ask_action(out: Output) -> FirstAction | None:
    out.print("Command that runs in this folder; {directory} is the name of a directory:")
    command = answer_to("Command, such as ./simulate {directory} [none yet]: ")
    if not command:
        return None
    if "{directory}" not in command and "{directories}" not in command:
        command = f"{command} {{directory}}"
        out.note(f"The directory's name is its last word: {command}")
    product = answer_to("File in the directory that exists when it is done [result.txt]: ")
    while True:
        walltime = answer_to(f"Time limit for one directory, hours first [{WALLTIME}]: ")
        try:
            parse_duration(walltime or WALLTIME)
        except DurationError as error:
            out.warn(f"{error}: write {WALLTIME}, for example")
        else:
            return FirstAction(command, product or "result.txt", walltime or WALLTIME)


def _workflow(workspace: str) -> str:
    """Return what Row writes."""
    return "" if workspace == "workspace" else f"[workspace]\npath = {_quoted(workspace)}\n"


def _quoted(text: str) -> str:
    """Return the text as a literal string where it can be one, as Row writes it."""
    return toml_string(text) if "'" in text or not text.isprintable() else f"'{text}'"


def commented_workflow(workspace: str, action: FirstAction | None) -> str:
    """Return a workflow.toml with comments for a reader who sees one for the first time."""
    given = action or FirstAction("./simulate {directory}", "result.txt", WALLTIME)
    word = re.search(r"[A-Za-z]\w*", given.command.split()[0].rpartition("/")[2])
    name = word[0] if word is not None else "first"
    lines = [
        "[[action]]",
        f"name = '{name}'",
        f"command = {_quoted(given.command)}",
        f"products = [{_quoted(given.product)}]",
        f"resources.walltime.per_directory = {_quoted(given.walltime)}",
    ]
    mark = "" if action else "# "
    written = "".join(f"{mark}{line}\n" for line in lines)
    return f"""\
# The workflow of this project. 'rowtui check' checks this file, 'rowtui' opens the dashboard.

[workspace]
path = {_quoted(workspace)}  # each folder in it is a directory: a set of parameters
# value_file = "value.json"  # a JSON file in each directory, to sort and choose directories by

# An action is a shell command for directories, which runs in the folder of this file. In it,
# {{directory}} is the name of a directory. It is complete where all its products exist.
{written}
# What a job of the action asks for, and how many directories it takes:
# resources.threads_per_process = 8
# resources.memory_per_cpu_mb = 2000
# resources.gpus_per_process = 1
# group.maximum_size = 16

# The next action runs where the one before is complete:
# [[action]]
# name = "analyze"
# command = "./analyze {{directory}}"
# previous_actions = ["{name}"]
# products = ["analysis.json"]
# resources.walltime.per_directory = "00:10:00"
"""
