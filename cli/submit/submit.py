"""`rowtui submit`: plan, ask, send, and on this machine's own queue follow to the end.

On `local` the jobs are followed, with their output, and Ctrl-C detaches.
"""

from __future__ import annotations

import argparse

from rowtui.cli.output.output import Output
from rowtui.cli.project.open import chosen_actions, chosen_positions, open_project, planned


def run(args: argparse.Namespace, out: Output) -> int:
    """Submit; 1 if a job was left out, not submitted or, if followed, did not end well."""
    project = open_project(args, out, errors=False)
    actions = chosen_actions(args, project, out)
    if not actions:
        if args.json:
            from rowtui.cli.submit.sending import print_answers

            print_answers(None, {}, project, out)
        return 0
    among = chosen_positions(project, args.directories, out)
    if args.dry_run and not args.json:
        from rowtui.cli.submit.dry_run import printed

        code = printed(args, project, actions, among, out)
        if code is not None:
            return code
    from rowtui.cli.submit.sending import PlanMessages, send_if_confirmed

    plan = planned(args, project, actions, among, out)
    if among is not None and not args.dry_run:
        from rowtui.core.submission.plan.json import named_plan

        plan = named_plan(plan)
    return send_if_confirmed(args, project, plan, out, PlanMessages())
