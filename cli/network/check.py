"""`rowtui network check`: all problems that can be found without running the network."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rowtui.core.base.errors import InvalidFileError, RowtuiError
from rowtui.core.base.json_objects import VERSION
from rowtui.core.base.text import plural, visible

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output.output import Output
    from rowtui.core.base import json_objects as to
    from rowtui.core.base.errors import Problem
    from rowtui.core.project.project import Project


def run(args: argparse.Namespace, out: Output) -> int:
    """Print every problem; 1 if there is an error."""
    from pathlib import Path

    from rowtui.cli.project.open import open_project
    from rowtui.core.network.definition.find import NETWORK_FILE
    from rowtui.core.runs.checking import check_network
    from rowtui.core.workflow.find import find_project

    root = find_project(Path.cwd())
    project: Project | None = None
    broken: tuple[Problem, ...] = ()
    try:
        project = open_project(args, out, errors=False)
    except InvalidFileError as error:
        broken = error.problems
    except RowtuiError as error:
        from rowtui.core.base.errors import Problem

        broken = (Problem("workflow.toml", 0, 0, error.message, error.hint),)
    found = check_network(root, project)
    problems = (*broken, *found.problems)
    errors = sum(it.severity == "error" for it in problems)
    if args.json:
        from rowtui.core.mapping.model.decision_json import problem_data

        fields: to.NetworkCheck = {
            "version": VERSION,
            "ok": not errors,
            "problems": [problem_data(it) for it in problems],
            "notices": list(found.notices),
            "jobs": found.jobs,
            "directories": [
                {"node": name, "home": home.name, "why": home.why}
                for name, home in found.homes.items()
            ],
        }
        out.print(json.dumps(fields, indent=2))
        return 1 if errors else 0
    out.problems(problems)
    for notice in found.notices:
        out.warn(visible(notice))
    warnings = len(problems) - errors
    if errors:
        more = f" and {plural(warnings, 'warning')}" if warnings else ""
        out.print(f"{plural(errors, 'error')}{more}.")
        return 1
    said = f"{NETWORK_FILE} can be used: {plural(found.jobs or 0, 'job')}"
    out.print(said + (f", {plural(warnings, 'warning')}." if warnings else "."))
    if found.homes:
        out.print("Directories:")
    for name, home in found.homes.items():
        whose = "its own" if home.name == name else f"those of {visible(home.name)}"
        out.print(f"  {visible(name)}: {whose}, as {home.why}")
    return 0
