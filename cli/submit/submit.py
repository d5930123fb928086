"""`rowtui submit`: plan, ask, send, and on this machine's own queue follow to the end.

On `local` the jobs are followed, with their output, and Ctrl-C detaches.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rowtui.cli.output.output import INFO, Output
from rowtui.cli.output.progress import busy_with
from rowtui.cli.project.open import (
    NOTHING,
    chosen_actions,
    chosen_positions,
    open_project,
    planned,
    say_left_out,
    say_mapping_problems,
    say_totals,
)
from rowtui.core.project.planning.plan_submission import draft_submission

if TYPE_CHECKING:
    from rowtui.core.submission.plan.draft import Draft


def run(args: argparse.Namespace, out: Output) -> int:
    """Submit; 1 if a job was left out, not submitted or, if followed, did not end well."""
    project = open_project(args, out, errors=False)
    actions = chosen_actions(args, project, out)
    among = chosen_positions(project, args.directories, out) if actions else None
    if actions and args.dry_run and not args.json:
        with busy_with(project, out, "Planning"):
            draft = draft_submission(project, actions, among, args.n)
        if not draft.sent_together:
            say_mapping_problems(project, out)
            code = _print_scripts(draft, out)
            project.close()
            return code
    # A dry run needs nothing of this.
    from rowtui.cli.submit.sending import PlanMessages, print_answers, send_if_confirmed
    from rowtui.core.submission.plan.json import named_plan

    if not actions:
        if args.json:
            print_answers(None, {}, project, out)
        return 0
    plan = planned(args, project, actions, among, out)
    if among is not None and not args.dry_run:
        plan = named_plan(plan)
    return send_if_confirmed(args, project, plan, out, PlanMessages())


def _print_scripts(draft: Draft, out: Output) -> int:
    """Print the scripts that would be submitted, each as soon as it is made."""
    say_left_out(draft.skipped, out)
    for sentence in draft.warnings:
        out.warn(sentence)
    if not draft.jobs:
        out.warn(NOTHING)
    elif out.level >= INFO:
        say_totals([draft.cluster.name], draft.totals(), out)
    for script in draft.scripts():
        out.text(script)
    return 1 if draft.skipped else 0
