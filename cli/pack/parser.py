"""The grammar of `plan`, `submit`, `run` and `pack`, and the values of the options of packing."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any, Literal

from rowtui.cli.argument_parser import (
    count,
    directories_argument,
    flag,
    json_option,
    limit_options,
    no_retry_option,
    positive,
    typed,
)
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.quantities import parse_amount, parse_factor
from rowtui.core.base.text import visible
from rowtui.core.project.planning.pack_views import PackChoice
from rowtui.core.workflow.duration import parse_time
from rowtui.core.workflow.toml_file import did_you_mean

_EXAMPLES = """\
  rowtui pack                          all that is ready, on as few and cheap nodes as possible
  rowtui pack -a sample --longest 04:00:00 --largest 50
  rowtui pack --compare                every packer, side by side
  rowtui submit --pack                 submit it"""
_MOST_SECONDS = 10 * 365 * 86400


def add_pack(commands: Any, add: Any, selection: Callable[..., None], text: str) -> None:
    """Add the command."""
    pack = add(commands, "pack", "pack.pack", text, _EXAMPLES)
    selection(pack, switch=False)
    pack.set_defaults(pack=True)
    flag(pack, "--compare", "pack by every packer, and compare the results")
    json_option(pack)


def packing_options(parser: Any, *, switch: bool) -> None:
    """Add the options for how to pack; with `switch` also for whether to pack."""
    group = parser.add_argument_group("Packing")
    if switch:
        group.add_argument(
            "--pack",
            action=argparse.BooleanOptionalAction,
            help="let jobs share nodes, see 'rowtui pack' [default: as in clusters.toml]",
        )
    group.add_argument(
        "--packer",
        metavar="NAME",
        help="the packing solver, see 'rowtui pack --compare' "
        "[default: as in clusters.toml, or best]",
    )
    group.add_argument("--largest", type=positive, metavar="N", help="at most N jobs in a bundle")
    group.add_argument(
        "--longest", type=_duration, metavar="TIME", help="no bundle is longer, such as 12:00:00"
    )
    group.add_argument(
        "--node-type",
        action="append",
        default=[],
        metavar="NAME",
        help="on nodes of this type only (repeat for more)",
    )
    group.add_argument(
        "--time-factor",
        type=_factor,
        metavar="X",
        help="give jobs X times the time that they ask for",
    )
    group.add_argument(
        "--search",
        type=_rate,
        metavar="SECONDS",
        help="look so long for a better packing [default: 2]",
    )


_rate = typed(parse_amount, 0.0, 1e9)
_factor = typed(parse_factor, 0.01, 100.0)  # as in clusters.toml


def _duration(text: str) -> int:
    try:
        seconds = parse_time(text)
    except ValueError:
        seconds = 0
    if not 0 < seconds <= _MOST_SECONDS:
        raise argparse.ArgumentTypeError(f"{text!r} is no time; write it as 12:00:00 or 12h")
    return seconds


# The packing choice from a command's options.


def choice_of(args: argparse.Namespace) -> PackChoice | Literal[False] | None:
    """Return the user's choice; False: no packing; None: clusters.toml decides.

    Raises: RowtuiError for a packer that does not exist, and for `--no-pack` together with an
    option for packing, before any file is read.
    """
    wanted = getattr(args, "pack", None)
    given = (
        getattr(args, "packer", None),
        getattr(args, "largest", None),
        getattr(args, "longest", None),
        getattr(args, "time_factor", None),
        getattr(args, "search", None),
        *getattr(args, "node_type", ()),
    )
    if not wanted and all(it is None for it in given):
        return wanted
    if wanted is False:
        raise RowtuiError("--no-pack packs nothing", "omit the packing options")

    if args.packer:
        _refuse_unknown(args.packer)
    return PackChoice(
        packer=args.packer or "",
        largest_bundle=args.largest,
        longest_seconds=args.longest,
        node_types=tuple(dict.fromkeys(args.node_type)),
        time_factor=args.time_factor,
        budget=PackChoice().budget if args.search is None else args.search,
    )


def _refuse_unknown(packer: str) -> None:
    from rowtui.core.packing.pack import installed_packers, packers

    known = [name for name, _ in packers(installed_packers().packers)]
    if packer not in known:
        there_are = f"the packers are {', '.join(map(visible, known))}"
        meant = did_you_mean(packer, known)
        hint = f"{meant} {there_are}" if meant else there_are
        raise RowtuiError(f"there is no packer '{visible(packer)}'", hint)


# The grammar of `plan`, `submit` and `pack`; loaded only when one of them is typed.


def add_submit_commands(commands: Any, add: Any, about: Mapping[str, str]) -> None:
    """Add the three commands."""
    plan = add(
        commands,
        "plan",
        "submit.plan",
        about["plan"],
        "  rowtui plan\n  rowtui plan -a sample -n 1 --scripts\n  rowtui plan --pack\n"
        "  rowtui plan --diff                  changes since the last submission\n"
        "  rowtui plan --json > plan.json",
    )
    _selection(plan)
    flag(plan, "--scripts", "with the job scripts")
    flag(plan, "--diff", "instead, show how the job scripts differ from those submitted last")
    flag(plan, "--check", "also check scripts, queue and budgets")
    _pool_option(plan, "instead, show which nodes a pool of at most N nodes would open first")
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
    flag(submit, "--dry-run", "print the scripts instead")
    flag(submit, "--check", "check first; stop if a check fails")
    flag(submit, "--yes", "do not ask")
    flag(submit, "--over-budget", "also beyond the budget of a cluster")
    flag(submit, "--detach", "do not follow the jobs (cluster local)")
    json_option(submit)

    add_pack(commands, add, _selection, about["pack"])


def _pool_option(parser: Any, text: str) -> None:
    help_text = f"{text} [default: 8]"
    parser.add_argument("--pool", type=positive, nargs="?", const=0, metavar="N", help=help_text)


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


_RUN = """\
  rowtui run                             all actions, to the end
  rowtui run -a simulate --max-cpu-hours 500 --until +12h
  rowtui run --pool 4                    many short jobs, in at most 4 nodes at a time
  rowtui run --status                    how far it is, and what was retried
  rowtui run --rules                     which failures are retried, and how
  rowtui run --install-service           systemd drives it, also after a restart
  rowtui run --as-job                    a job of the scheduler drives it
  nohup rowtui run --yes > run.log &     overnight, on a login node"""


def add_run(commands: Any, add: Any, about: Mapping[str, str]) -> None:
    """Add the command with its options."""
    run = add(commands, "run", "submit.run", about["run"], _RUN)
    run.add_argument("-a", "--action", metavar="PATTERN", help="actions that match")
    flag(run, "--new", "begin a new run with new limits")
    no_retry_option(run)
    look = run.add_mutually_exclusive_group()
    flag(look, "--status", "show how far the newest run is")
    flag(look, "--stop", "stop the process that drives it; jobs continue")
    flag(look, "--rules", "print the rules of retries, and stop")
    flag(
        look,
        "--resume",
        "go on with an interrupted run within its confirmed limits, without asking",
    )
    flag(look, "--install-service", "let systemd of the user drive it, also after a restart")
    flag(look, "--uninstall-service", "stop and remove that service")
    flag(look, "--as-job", "submit the driver as a job, which is replaced before its time limit")
    run.add_argument(
        "--job-time",
        type=typed(parse_time),
        metavar="D",
        help="time limit of that job [default: a day, or the longest that its partition allows]",
    )
    run.add_argument("--job-partition", metavar="NAME", help="the partition of that job")
    run.add_argument("--in-job", metavar="TOKEN", help=argparse.SUPPRESS)
    flag(run, "--yes", "do not ask")
    _pool_option(run, "run the jobs in a pool: at most N nodes, opened, filled and released")
    limit_options(run, in_a_row=10)
    json_option(run)
