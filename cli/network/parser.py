"""The grammar of `network`: show it, run it, and change its jobs and directories."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from rowtui.cli.argument_parser import (
    count,
    flag,
    json_option,
    limit_options,
    no_retry_option,
    sub_parser,
)
from rowtui.core.network.graph.job_model import GraphJobState

STATES = tuple(state.name.lower() for state in GraphJobState)

EXAMPLES = """\
  rowtui network                      the network, and where its run stands
  rowtui network init                 write a network.toml to begin with
  rowtui network check                everything that is wrong with it
  rowtui network run                  make the directories and drive all jobs to the end
  rowtui network show average         the samples of a node, failures first"""
_VERBS = (
    (
        "init",
        "write a network.toml to begin with, fitted to this project",
        "  rowtui network init\n  rowtui network init --force",
    ),
    (
        "check",
        "list all errors in network.toml, its sources and workflow.toml",
        "  rowtui network check\n  rowtui network check --json",
    ),
    (
        "show",
        "show the network and its run: samples, progress, links, failures",
        "  rowtui network show\n  rowtui network show average --state failed,blocked\n"
        "  rowtui network show --now            as network.toml is, without any run\n"
        "  rowtui network show --dot | dot -Tsvg > network.svg",
    ),
    (
        "make",
        "make the directories of sources and of eligible jobs, and nothing else",
        "  rowtui network make --dry-run\n  rowtui network make",
    ),
    (
        "run",
        "drive the network to the end, within limits that you confirm once",
        "  rowtui network run\n  rowtui network run --max-cpu-hours 500 --until 18:00\n"
        "  rowtui network run --to 'alpha/*' --max-jobs 200 --yes\n"
        "  rowtui network run --step             every plan is shown, and asked for\n"
        "  rowtui network run --new              not what an earlier run left undone",
    ),
    (
        "stop",
        "stop the process that drives a run; submitted jobs continue",
        "  rowtui network stop\n  rowtui network stop --run 2026-11-21T18-30-00",
    ),
    (
        "limits",
        "show the limits and the spending of a run, or change the limits after confirmation",
        "  rowtui network limits\n  rowtui network limits --json\n"
        "  rowtui network limits --max-jobs 50 --until 18:00",
    ),
    (
        "runs",
        "list the runs of this project's network",
        "  rowtui network runs\n  rowtui network runs --json",
    ),
    (
        "retry",
        "retry failed samples of a run",
        "  rowtui network retry --all\n  rowtui network retry simulate\n"
        "  rowtui network retry simulate state,temperature=1.0,replica=0",
    ),
    (
        "redo",
        "have completed samples run again, with all that was made from their results, after asking",
        "  rowtui network redo                   all results whose members have changed since\n"
        "  rowtui network redo average\n"
        "  rowtui network redo average average,temperature=1.0",
    ),
    (
        "cancel",
        "cancel samples of a run, which blocks all that need their results, after asking",
        "  rowtui network cancel simulate state,temperature=1.0,replica=0",
    ),
    (
        "retire",
        "list directories whose samples are in no source any more, or put them away",
        "  rowtui network retire\n  rowtui network retire --delete",
    ),
    (
        "restore",
        "bring back directories that retire put away",
        "  rowtui network restore\n  rowtui network restore 2026-11-21T18-30-00",
    ),
)


# The module of a command whose module has another name, and its function there.
_MODULES = {
    "init": "definition",
    "check": "definition:check",
    "make": "directories",
    "retire": "directories:retire",
    "restore": "directories:restore",
    "cancel": "jobs",
    "retry": "jobs:retry",
    "redo": "jobs:redo",
    "limits": "runs:limits",
    "stop": "runs:stop",
}


def add_network(commands: Any, add: Any, about: Mapping[str, str]) -> None:
    """Add the command `network` with its subcommands."""
    network = add(commands, "network", "", about["network"], EXAMPLES)
    if not isinstance(network, argparse.ArgumentParser):
        return
    network.set_defaults(
        command="network.show", node=None, run=None, now=False, states=(), dot=False, json=False
    )
    json_option(network)
    what = network.add_subparsers(title="Commands", metavar="WHAT", parser_class=sub_parser)
    options = {
        "init": _init_options,
        "check": json_option,
        "show": _show_options,
        "make": _make_options,
        "run": _run_options,
        "stop": _stop_options,
        "limits": _limits_options,
        "runs": json_option,
        "retry": _retry_options,
        "redo": _redo_options,
        "cancel": _cancel_options,
        "retire": _retire_options,
        "restore": _restore_options,
    }
    for name, said, examples in _VERBS:
        # Row's options may stand anywhere, and so may directories and options of these commands.
        parser = add(
            what,
            name,
            f"network.{_MODULES.get(name, name)}",
            said,
            examples,
            mixed=name in ("retry", "redo", "cancel", "show"),
        )
        if isinstance(parser, argparse.ArgumentParser):
            options[name](parser)


def _init_options(parser: Any) -> None:
    flag(parser, "--force", "even if there is a network.toml")


def _run_option(parser: Any) -> None:
    parser.add_argument("--run", metavar="ID", help="this run [default: the newest]")


def _show_options(parser: Any) -> None:
    parser.add_argument("node", nargs="?", metavar="NODE", help="the samples of a source or node")
    which = parser.add_mutually_exclusive_group()
    _run_option(which)
    flag(which, "--now", "the network of the present network.toml, without a run")
    parser.add_argument(
        "--state",
        dest="states",
        type=_states,
        metavar="STATES",
        default=(),
        help=f"samples in these states only: {','.join(STATES)}",
    )
    parser.add_argument(
        "-n",
        "--limit",
        type=count,
        default=100,
        metavar="N",
        help="at most N samples [default: 100]",
    )
    form = parser.add_mutually_exclusive_group()
    json_option(form)
    flag(form, "--dot", "print the graph for Graphviz")


def _make_options(parser: Any) -> None:
    flag(parser, "--dry-run", "only list the directories to be made")


def _run_options(parser: Any) -> None:
    which = parser.add_mutually_exclusive_group()
    flag(which, "--new", "begin a new run, also if another is not over")
    which.add_argument("--run", metavar="ID", help="continue this run")
    how = parser.add_mutually_exclusive_group()
    flag(how, "--step", "show every plan, and ask before it is sent")
    flag(how, "--yes", "do not ask")
    no_retry_option(parser)
    limit_options(parser)
    _new_run_options(parser)
    json_option(parser)


def _stop_options(parser: Any) -> None:
    _run_option(parser)
    json_option(parser)


def _limits_options(parser: Any) -> None:
    _run_option(parser)
    flag(parser, "--yes", "do not ask")
    limit_options(parser)
    json_option(parser)


def _new_run_options(parser: Any) -> None:
    chosen = parser.add_argument_group("For a new run, in place of the settings in network.toml")
    chosen.add_argument(
        "--priority",
        metavar="P",
        help="sample, sink, sink:NAME, source:+1, critical-path, row, ...",
    )
    chosen.add_argument("--execution", metavar="E", help="jobs, sequential, pool, pilot, ...")


def _retry_options(parser: Any) -> None:
    parser.add_argument("node", nargs="?", metavar="NODE", help="failed samples of this node")
    parser.add_argument(
        "directories", nargs="*", default=[], metavar="DIRECTORY", help="only in these directories"
    )
    flag(parser, "--all", "all failed samples of the run")
    _run_option(parser)


def _redo_options(parser: Any) -> None:
    parser.add_argument(
        "node",
        nargs="?",
        metavar="NODE",
        help="completed samples of this node [default: results made from other members than now]",
    )
    parser.add_argument(
        "directories", nargs="*", default=[], metavar="DIRECTORY", help="only in these directories"
    )
    flag(parser, "--yes", "do not ask")
    _run_option(parser)


def _cancel_options(parser: Any) -> None:
    parser.add_argument("node", metavar="NODE", help="samples of this node")
    parser.add_argument("directories", nargs="+", metavar="DIRECTORY", help="in these directories")
    flag(parser, "--yes", "do not ask")
    _run_option(parser)


def _retire_options(parser: Any) -> None:
    flag(parser, "--delete", "move them to the trash, once you typed how many they are")
    flag(parser, "--yes", "with --delete: do not ask")
    json_option(parser)


def _restore_options(parser: Any) -> None:
    parser.add_argument(
        "trash", nargs="?", metavar="ID", help="this trash [default: list the trash]"
    )


def _states(text: str) -> tuple[str, ...]:
    words = (word.strip() for word in text.split(","))
    found = tuple(word for word in words if word)
    for word in found:
        if word not in STATES:
            raise argparse.ArgumentTypeError(f"'{word}' is none of {', '.join(STATES)}")
    return found
