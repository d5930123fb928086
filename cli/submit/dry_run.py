"""The scripts of a dry run; each is printed as soon as it is made."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping, Sequence

from rowtui.cli.output.output import Output
from rowtui.cli.output.progress import busy_with
from rowtui.cli.project.open import say_mapping_problems
from rowtui.core.base.text import Cost, plural, visible
from rowtui.core.project.dry_run import dry_run
from rowtui.core.project.project import Project
from rowtui.core.workflow.model import Action

NOTHING = "There are no eligible jobs to submit."


def printed(
    args: argparse.Namespace,
    project: Project,
    actions: Sequence[Action],
    among: Sequence[int] | None,
    out: Output,
) -> int | None:
    """Print the scripts that would be submitted; return the exit code, None if a plan is needed."""
    with busy_with(project, out, "Planning"):
        found = dry_run(project, actions, among, args.n)
    if found is None:
        return None
    say_mapping_problems(project, out)
    say_left_out(found.skipped, out)
    for sentence in found.warnings:
        out.warn(sentence)
    if found.jobs:
        say_totals([found.cluster], found.totals, out)
        for script in found.scripts:
            out.text(script)
    else:
        out.warn(NOTHING)
    project.close()
    return 1 if found.skipped else 0


def say_left_out(sentences: Sequence[str], out: Output) -> None:
    """Report requested work that no job does, as errors, because the command then ends with 1."""
    for sentence in dict.fromkeys(sentences):
        out.error(sentence)


def say_totals(
    clusters: Collection[str], totals: Mapping[str, tuple[int, Cost]], out: Output
) -> None:
    """With -v, print a line for each action, with its jobs and their cost."""
    out.info(f"Jobs on {', '.join(map(visible, clusters))} for these actions:")
    for name, (jobs, cost) in totals.items():
        out.info(f" - {name}: {plural(jobs, 'job')} that may cost up to {cost}.")
