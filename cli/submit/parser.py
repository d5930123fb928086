"""The grammar of `plan`, `submit` and `pack`; loaded only when one of them is typed."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from rowtui.cli.argument_parser import count, directories_argument, json_option
from rowtui.cli.pack.parser import add_pack, packing_options


def add_submit_commands(commands: Any, add: Any, about: Mapping[str, str]) -> None:
    """Add the three commands."""
    plan = add(
        commands,
        "plan",
        "submit.submit:plan",
        about["plan"],
        "  rowtui plan\n  rowtui plan -a sample -n 1 --scripts\n  rowtui plan --pack\n"
        "  rowtui plan --diff                  changes since the last submission\n"
        "  rowtui plan --json > plan.json",
    )
    _selection(plan)
    plan.add_argument("--scripts", action="store_true", help="with the job scripts")
    plan.add_argument(
        "--diff",
        action="store_true",
        help="instead, show how the job scripts differ from those submitted last",
    )
    plan.add_argument("--check", action="store_true", help="also check scripts, queue and budgets")
    json_option(plan)

    submit = add(
        commands,
        "submit",
        "submit.submit",
        about["submit"],
        "  rowtui submit\n  rowtui submit -a sample -n 10\n  rowtui submit --dry-run\n"
        "  rowtui submit --pack --longest 12:00:00\n"
        "  rowtui submit -q                    without the output of the jobs\n"
        "  rowtui submit --cluster none        run now, in this terminal",
    )
    _selection(submit)
    submit.add_argument("--dry-run", action="store_true", help="print the scripts instead")
    submit.add_argument("--check", action="store_true", help="check first; stop if a check fails")
    submit.add_argument("--yes", action="store_true", help="do not ask")
    submit.add_argument(
        "--over-budget", action="store_true", help="also beyond the budget of a cluster"
    )
    submit.add_argument(
        "--detach", action="store_true", help="do not follow the jobs (cluster local)"
    )
    json_option(submit)

    add_pack(commands, add, _selection, about["pack"])


def _selection(parser: Any, *, switch: bool = True) -> None:
    """Add options for the choice and packing of jobs; with `switch` also for whether to pack."""
    directories_argument(parser, "these only; - reads names from standard input")
    parser.add_argument("-a", "--action", default="*", metavar="PATTERN", help="actions that match")
    parser.add_argument("-n", type=count, metavar="N", help="at most N jobs")
    if switch:
        parser.add_argument(
            "--array",
            action=argparse.BooleanOptionalAction,
            help="send jobs of the same shape as one array [default: over SSH only]",
        )
    packing_options(parser, switch=switch)
