"""The grammar of `retry`, which has the alias `resubmit`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rowtui.cli.arguments import count, json_option
from rowtui.cli.pack.parser import packing_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from rowtui.core.project.change import Amount

_EXAMPLES = """\
  rowtui retry                    all that failed, as it was
  rowtui retry 12 13_4 --memory 2x
  rowtui retry -a sample --time 04:00:00 --memory 64G
  rowtui retry dir1 dir2 --partition highmem
  rowtui retry --cluster beta     on another cluster than it failed on
  rowtui retry --pack             all that failed, sharing nodes
  rowtui retry --dry-run          only print the scripts"""


def add_retry(commands: Any, add: Any, about: Mapping[str, str]) -> None:
    """Add the command with its options."""
    parser = add(commands, "retry", "jobs.retry", about["retry"], _EXAMPLES)
    parser.add_argument(
        "failed",
        nargs="*",
        metavar="JOB|DIRECTORY",
        help="these only, also cancelled ones; - reads them from standard input"
        " [default: all that failed]",
    )
    parser.add_argument("-a", "--action", default="*", metavar="PATTERN", help="actions that match")
    parser.add_argument("-n", type=count, metavar="N", help="at most N jobs")
    change = parser.add_argument_group("Changes, for a whole job")
    change.add_argument(
        "--memory", type=_memory, metavar="2x|64G", help="so many times what it had, or so much"
    )
    change.add_argument("--time", type=_walltime, metavar="2x|04:00:00", help="the time limit")
    change.add_argument("--cpus", type=_cpus, metavar="2x|8", help="the CPUs")
    change.add_argument("--partition", metavar="NAME", help="the partition")
    parser.add_argument("--dry-run", action="store_true", help="print the scripts instead")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument(
        "--over-budget", action="store_true", help="also beyond the budget of a cluster"
    )
    parser.add_argument(
        "--detach", action="store_true", help="do not follow the jobs (cluster local)"
    )
    parser.add_argument(
        "--array",
        action=argparse.BooleanOptionalAction,
        help="send jobs of the same shape as one array [default: over SSH only]",
    )
    packing_options(parser, switch=True)
    json_option(parser)


def _memory(text: str) -> Amount:
    from rowtui.core.project.change import parse_memory

    return _parsed(parse_memory, text)


def _walltime(text: str) -> Amount:
    from rowtui.core.project.change import parse_walltime

    return _parsed(parse_walltime, text)


def _cpus(text: str) -> Amount:
    from rowtui.core.project.change import parse_cpus

    return _parsed(parse_cpus, text)


def _parsed(parse: Callable[[str], Amount], text: str) -> Amount:
    from rowtui.core.base.errors import RowtuiError

    try:
        return parse(text)
    except RowtuiError as error:
        hint = f"; {error.hint}" if error.hint else ""
        raise argparse.ArgumentTypeError(f"{error.message}{hint}") from None
