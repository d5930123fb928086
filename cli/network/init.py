"""`rowtui network init`: a first network.toml, fitted to the project."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural, visible
from rowtui.core.network.definition.find import NETWORK_FILE, has_network

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output.output import Output


def run(args: argparse.Namespace, out: Output) -> int:
    """Write the file. Nothing else is changed."""
    from rowtui.cli.network.shared.draft import draft, has_samples
    from rowtui.core.base.files import replace_file
    from rowtui.core.workflow.find import find_project
    from rowtui.core.workflow.load import load_workflow

    root = find_project(Path.cwd())
    if has_network(root) and not args.force:
        raise RowtuiError(
            f"there is a {NETWORK_FILE} in {visible(str(root))}",
            "'rowtui network check' says what is wrong with it; --force replaces it",
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
