"""`rowtui scan`: look at directories again, and take back what is gone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rowtui.cli.progress import Progress
from rowtui.cli.project import given_names, open_project, say_notices
from rowtui.core.text import plural, visible

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output import Output
    from rowtui.core.project.scan import ScanReport


def run(args: argparse.Namespace, out: Output) -> int:
    """Scan and say what was found (with -v) and what was lost."""
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
    document = {"scanned": report.scanned, "found": report.found, "lost": report.lost}
    out.print(json.dumps(document, indent=2))
