"""`rowtui init DIRECTORY`: a new project."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import NamedTuple

from rowtui.cli.output.output import Output
from rowtui.core.base.errors import RowtuiError

SIGNAC = '[workspace]\nvalue_file = "signac_statepoint.json"\n'


class MadeProject(NamedTuple):
    """`init`: the folder of the new project."""

    root: str


def run(args: argparse.Namespace, out: Output) -> int:
    """Make the folder, its workspace and its workflow.toml; refuse if a project exists there."""
    workspace = args.workspace or "workspace"
    if "/" in workspace or workspace in {"", ".", ".."}:
        raise RowtuiError(
            f"workspace must be a relative path name, got '{workspace}'",
            "a single folder name inside the project",
        )
    root = Path(args.directory).absolute()
    _refuse_existing_project(root)
    if root.is_dir():
        out.warn(f"'{root}' already exists.")
    (root / workspace).mkdir(parents=True, exist_ok=True)
    (root / "workflow.toml").write_text(_workflow(workspace, signac=args.signac))
    if args.json:
        out.json(MadeProject(str(root.resolve())))
    else:
        out.print(f"Created row project in '{root.resolve()}'")
    return 0


def _refuse_existing_project(root: Path) -> None:
    if (root / "workflow.toml").exists():
        raise RowtuiError(f"A row project already exists in '{root}'")
    for parent in root.resolve().parents:
        if (parent / "workflow.toml").exists():
            raise RowtuiError(f"A row project already exists in the parent directory '{parent}'")
    if (root / ".row").exists():
        raise RowtuiError(
            f"The cache directory '.row' already exists in '{root}'.",
            "remove it if nothing in it is needed",
        )


def _workflow(workspace: str, *, signac: bool) -> str:
    if signac:
        return SIGNAC
    if workspace == "workspace":
        return ""
    if "'" in workspace:  # a literal string cannot hold it; JSON's strings are TOML's
        return f"[workspace]\npath = {json.dumps(workspace)}\n"
    return f"[workspace]\npath = '{workspace}'\n"
