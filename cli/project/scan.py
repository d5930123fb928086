"""`rowtui scan`: check directories again, and remove completions whose products are gone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rowtui.cli.output.progress import Progress
from rowtui.cli.project.open import given_names, open_project, say_notices
from rowtui.core.base.json_objects import VERSION
from rowtui.core.base.text import plural, visible

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output.output import Output
    from rowtui.core.base import json_objects as to
    from rowtui.core.project.scan import ScanReport


def run(args: argparse.Namespace, out: Output) -> int:
    """Scan and report found (with -v) and lost completions."""
    from rowtui.core.project.scan import ScanReport, scan

    project = open_project(args, out, synchronise=False)
    if args.action is not None and not project.workflow.named(args.action):
        out.warn("No actions scanned.")
        if args.json:
            _print_json(ScanReport(0, {}, {}), out)
        return 0
    progress = Progress(out, "Scanning directories")
    try:
        report = scan(project, given_names(args.directories), args.action, progress)
    finally:
        progress.close()
    if args.json:
        _print_json(report, out)
    for name, number in report.found.items():
        directories = plural(number, "completed directory", "completed directories")
        out.info(f"Found {directories} for action '{visible(name)}'.")
    for name, number in report.lost.items():
        directories = plural(number, "directory has", "directories have")
        out.warn(f"{directories} lost the products of action '{visible(name)}'.")
    if not project.workflow.actions:
        out.warn("No actions scanned.")
    say_notices(project, out)
    return 0


def _print_json(report: ScanReport, out: Output) -> None:
    document: to.Scan = {
        "version": VERSION,
        "scanned": report.scanned,
        "found": dict(report.found),
        "lost": dict(report.lost),
    }
    out.print(json.dumps(document, indent=2))
