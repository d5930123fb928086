"""The grammar of packing: the command `pack`, its options in other commands, and their values."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Any, Literal

from rowtui.cli.argument_parser import json_option, positive
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.project.planning.pack_views import PackChoice
from rowtui.core.workflow.duration import parse_duration
from rowtui.core.workflow.toml_file import did_you_mean

_EXAMPLES = """\
  rowtui pack                          all that is ready, on as few and cheap nodes as possible
  rowtui pack -a sample --longest 04:00:00 --largest 50
  rowtui pack --compare                every packer, side by side
  rowtui pack --simulate --per-hour 200 --failures 0.01
  rowtui submit --pack                 submit it"""
_MOST_SECONDS = 10 * 365 * 86400


def add_pack(commands: Any, add: Any, selection: Callable[..., None], text: str) -> None:
    """Add the command."""
    pack = add(commands, "pack", "pack.pack", text, _EXAMPLES)
    selection(pack, switch=False)
    pack.set_defaults(pack=True)
    look = pack.add_mutually_exclusive_group()
    look.add_argument(
        "--compare", action="store_true", help="pack by every packer, and compare the results"
    )
    look.add_argument(
        "--simulate",
        action="store_true",
        help="simulate jobs that arrive one by one, and compare policies without run times",
    )
    simulation = pack.add_argument_group("Options of --simulate")
    simulation.add_argument(
        "--per-hour",
        type=_above_zero,
        metavar="N",
        help="so many jobs arrive in an hour [default: all at once]",
    )
    simulation.add_argument(
        "--failures",
        type=_rate,
        default=0.0,
        metavar="RATE",
        help="how often a node fails in an hour [default: 0]",
    )
    simulation.add_argument(
        "--spread",
        type=_rate,
        default=0.0,
        metavar="SIGMA",
        help="jobs end earlier than they ask for, log-normal with this sigma [default: 0]",
    )
    simulation.add_argument(
        "--seed", type=int, default=0, metavar="N", help="another course of chance [default: 0]"
    )
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


def _rate(text: str) -> float:
    return _float(text, 0.0)


def _factor(text: str) -> float:
    return _float(text, 0.01, 100.0)  # as in clusters.toml


def _above_zero(text: str) -> float:
    return _float(text, 1e-6)


def _float(text: str, least: float, most: float = 1e9) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not least <= value <= most:
        at_most = "on" if most == 1e9 else f"to {most:g}"
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from {least:g} {at_most}")
    return value


def _duration(text: str) -> int:
    try:
        seconds = parse_duration(text)
    except ValueError:
        seconds = 0
    if not 0 < seconds <= _MOST_SECONDS:
        raise argparse.ArgumentTypeError(f"{text!r} is no time; write it as 12:00:00")
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
        there_are = f"the solvers are {', '.join(map(visible, known))}"
        meant = did_you_mean(packer, known)
        hint = f"{meant} {there_are}" if meant else there_are
        raise RowtuiError(f"there is no packer '{visible(packer)}'", hint)
