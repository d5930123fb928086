"""The program's argument parsers: parsing rules, errors, help, common options and number types.

The grammar is written with these classes (`parser.py`, `*_parser.py`).
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.quantities import parse_amount, parse_count, parse_money
from rowtui.core.base.text import similar, visible

T = TypeVar("T")


def typed(parse: Callable[..., T], *limits: float) -> Callable[[str], T]:
    """Return a type of arguments: `parse` of `core/base/quantities.py` within these limits."""

    def convert(text: str) -> T:
        try:
            return parse(text, *limits)
        except RowtuiError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return convert


positive, count = typed(parse_count), typed(parse_count, 0)


def flag(parser: Any, name: str, text: str) -> None:
    """Add an option without a value. `text`: its help."""
    parser.add_argument(name, action="store_true", help=text)


def no_retry_option(parser: Any) -> None:
    """Add `--no-retry`, which leaves the rules of rowtui.toml and the default rules unused."""
    flag(parser, "--no-retry", "do not retry failed work; leave it to you")


def json_option(parser: Any) -> None:
    """Add `--json`."""
    flag(parser, "--json", "print JSON for programs")


def limit_options(parser: Any, in_a_row: int = 3) -> None:
    """Add the limits of a run. `in_a_row`: the default limit of failures in a row."""
    limits = parser.add_argument_group("Limits (beyond them it stops and asks)")
    limits.add_argument(
        "--max-cpu-hours",
        type=typed(parse_amount),
        metavar="N",
        help="CPU-hours that its jobs may ask for [default: of the jobs known at the start]",
    )
    limits.add_argument(
        "--max-gpu-hours", type=typed(parse_amount), metavar="N", help="the same of GPU-hours"
    )
    limits.add_argument(
        "--max-cost",
        type=typed(parse_money),
        metavar="N[CURRENCY]",
        help="money, such as 20 or 20EUR, where node types have prices",
    )
    limits.add_argument(
        "--max-jobs", type=positive, metavar="N", help="jobs in queues at the same time"
    )
    limits.add_argument("--max-failures", type=positive, metavar="N", help="stop at N failed jobs")
    limits.add_argument(
        "--max-failures-in-a-row",
        type=positive,
        metavar="N",
        help=f"stop at N failed jobs without a good one in between [default: {in_a_row}]",
    )
    limits.add_argument("--max-retries", type=positive, metavar="N", help="retries in the run")
    limits.add_argument(
        "--to",
        action="append",
        default=[],
        metavar="CLUSTER/PARTITION,...",
        help="only to these destinations (patterns such as alpha/*; repeat for more)",
    )
    limits.add_argument(
        "--until", metavar="TIME", help="send nothing from then on: 18:00, +8h, 2026-12-24"
    )
    flag(limits, "--over-budget", "send jobs also beyond the budgets of clusters (clusters.toml)")


def directories_argument(parser: Any, text: str) -> None:
    """Add the names of directories."""
    parser.add_argument("directories", nargs="*", metavar="DIRECTORIES", help=text)


def watch_option(parser: Any, seconds: int = 5) -> None:
    """Add `--watch [SECONDS]`."""
    parser.add_argument(
        "--watch",
        nargs="?",
        type=positive,
        const=seconds,
        metavar="SECONDS",
        help=f"then print only the changes, a line each, until Ctrl-C [every {seconds} seconds]",
    )


class Help(argparse.RawDescriptionHelpFormatter):
    """Help formatter with Row's `Usage:`, which scripts search for."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=32, width=_help_width())

    def add_usage(self, usage: Any, actions: Any, groups: Any, prefix: str | None = None) -> None:
        super().add_usage(usage, actions, groups, "Usage: " if prefix is None else prefix)


def _help_width() -> int:
    """Return the terminal's width, at most 100."""
    try:
        return min(os.get_terminal_size().columns, 100) - 2
    except OSError:
        return 98


SHOWN = ("status", "directories", "cluster", "launchers", "jobs")
"""The commands below `rowtui show`."""
_LISTED = 15  # commands that an error lists


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors end with a hint and exit code 2.

    As in Row, an option is spelled out in full and given once, unless it collects values.
    `several_clusters`: the command takes `--cluster` more than once.
    """

    several_clusters = False

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, **options)
        self._given: set[str] = set()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as argparse does; refuse unknown words with the usage of this command."""
        self._given.clear()
        values, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self._refuse(unknown)
        return values, unknown

    def _refuse(self, unknown: Sequence[str]) -> None:
        """Exit with an error that names the unknown words, and the option that may be meant."""
        option = unknown[0].split("=")[0]
        known = [it for it in self._option_string_actions if it.startswith("--")]
        begin = option if option.startswith("--") else f"-{option[:2]}"  # also -y for --yes
        meant = [it for it in known if it.startswith(begin)] if option.startswith("-") else []
        meant = meant or similar(option, known, ratio=0.75)
        tip = f"; did you mean {' or '.join(meant)}?" if meant else ""
        self.error(f"unrecognized arguments: {' '.join(map(visible, unknown))}{tip}")

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        """Return the values of one argument; argparse calls this for each occurrence."""
        if action.option_strings and not self._collects(action):
            if action.dest in self._given:
                self.error(f"argument {'/'.join(action.option_strings)}: given more than once")
            self._given.add(action.dest)
        return super()._get_values(action, arg_strings)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse an unknown command with the commands that may be meant; see argparse."""
        if not isinstance(action, argparse._SubParsersAction) or value in action.choices:
            super()._check_value(action, value)
            return
        known = {name: name for name in action.choices}
        known |= {name: f"show {name}" for name in SHOWN if self.prog == "rowtui"}
        near = similar(value, known, 2, 0.65)
        tip = ""
        if near:
            tip = f"; did you mean {' or '.join(repr(known[name]) for name in near)}?"
        elif len(action.choices) <= _LISTED:
            tip = f"; the commands are {', '.join(action.choices)}"
        raise argparse.ArgumentError(None, f"there is no command '{visible(value)}'{tip}")

    def _collects(self, action: argparse.Action) -> bool:
        """Whether an option may be repeated."""
        if isinstance(action, _Cluster):
            return self.several_clusters
        return isinstance(action, argparse._AppendAction | argparse._CountAction)

    def error(self, message: str) -> NoReturn:
        """Exit with the error, the usage, and a hint at the help."""
        message = message.replace("not allowed with argument", "cannot be used with")
        self.exit(2, f"error: {message}\n\n{self.format_usage()}\nFor more, try '--help'.\n")


class MixedParser(Parser):
    """A parser that accepts options between other arguments, and a minus after --tag."""

    _mixing = False

    def _refuse(self, unknown: Sequence[str]) -> None:
        """Refuse unknown words only after both kinds of arguments have been parsed."""
        if not self._mixing:
            super()._refuse(unknown)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as argparse does, for options and arguments in any order."""
        if self._mixing or args is None:
            return super().parse_known_args(args, namespace)
        self._mixing = True
        self._given.clear()
        try:
            values, unknown = self.parse_known_intermixed_args(_with_joined_tags(args), namespace)
        finally:
            self._mixing = False
        if unknown:
            self._refuse(unknown)
        return values, unknown


def _with_joined_tags(words: Sequence[str]) -> list[str]:
    """Return the words with `--tag -y` as `--tag=-y`, which argparse accepts."""
    joined: list[str] = []
    for word in words:
        if joined and joined[-1] == "--tag" and word.startswith("-") and word[1:2] not in ("", "-"):
            joined[-1] = f"--tag={word}"
        else:
            joined.append(word)
    return joined


class Unasked:
    """Placeholder for the parser of a command that is not on the command line.

    Making all options of all commands takes longer than showing a status.
    """

    several_clusters = False

    def add_argument(self, *args: Any, **options: Any) -> None:
        """Ignore the argument."""

    def set_defaults(self, **values: Any) -> None:
        """Ignore the defaults."""

    def add_argument_group(self, title: str) -> Unasked:
        """Return this placeholder as the group."""
        return self

    def add_mutually_exclusive_group(self) -> Unasked:
        """Return this placeholder as the group."""
        return self


def _sub_parser(*, asked: bool, mixed: bool = False, **options: Any) -> Parser | Unasked:
    """Return the parser of one command, or a placeholder if the command line does not name it."""
    if not asked:
        return Unasked()
    return MixedParser(**options) if mixed else Parser(**options)


sub_parser: Any = _sub_parser  # argparse expects a class, but only calls it


class _Cluster(argparse.Action):
    """Store the cluster's name; commands on several clusters collect all given names."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        """See argparse."""
        namespace.cluster = values
        namespace.clusters = [*getattr(namespace, "clusters", ()), values]


def common_options() -> argparse.ArgumentParser:
    """Return the options that every command takes, before or after its name."""
    common = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    group = common.add_argument_group("Common options")
    group.add_argument(
        "--cluster",
        metavar="NAME",
        action=_Cluster,
        help="use this cluster instead of the recognised one",
    )
    group.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        metavar="WHEN",
        help="auto, always or never [default: auto]",
    )
    group.add_argument(
        "--io-threads",
        type=positive,
        metavar="N",
        help="file operations under way at once [default: 8]",
    )
    flag(group, "--no-progress", "no progress bars")
    flag(group, "--clear-progress", "wipe finished bars")
    group.add_argument("-v", "--verbose", action="count", help="print more (repeat for more)")
    group.add_argument("-q", "--quiet", action="count", help="print less (repeat for less)")
    return common
