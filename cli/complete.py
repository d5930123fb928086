"""Completion in the shell, through argcomplete: the script for a shell, and the shell's requests.

An argument is completed by a function of `completers.py`, which is imported only when an
argument is completed.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import Any

import argcomplete
from argcomplete.shell_integration import shellcode
from rowtui.cli.output.output import Output
from rowtui.core.base.errors import RowtuiError

# Argument -> function of `completers.py`.
COMPLETERS = {
    "action": "actions",
    "directories": "directories",
    "failed": "directories",
    "job": "jobs_or_directories",
    "jobs": "jobs",
    "cluster": "clusters",
    "known_cluster": "clusters",
    "node_types": "clusters",
    "connection": "connections",
    "why_not": "destinations",
    "machine": "machines",
    "node": "nodes",
    "run": "runs",
    "trash": "trashes",
    "place_view": "views",
    "place_action": "actions",
    "place_status": "statuses",
    "place_directory": "directories",
    "place_job": "jobs",
}


class Completer:
    """The completer of one argument; without a readable project it returns nothing."""

    def __init__(self, function: str) -> None:
        self._function = function

    def __call__(self, prefix: str = "", **_: Any) -> list[str]:
        """Return the words; argcomplete drops those without the prefix."""
        module = import_module("rowtui.cli.completers")
        try:
            words: list[str] = getattr(module, self._function)(prefix)
        except (RowtuiError, OSError):
            return []
        return words


def complete(parser: argparse.ArgumentParser) -> None:
    """Answer the shell and exit. Actions, clusters, jobs and directories come from the project."""
    for sub in _all_parsers(parser):
        for action in sub._actions:
            if action.dest in COMPLETERS:
                action.completer = Completer(COMPLETERS[action.dest])  # type: ignore[attr-defined]
    argcomplete.autocomplete(parser)


def _all_parsers(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    found = [parser]
    for action in parser._actions:
        if isinstance(action.choices, dict):
            for sub in action.choices.values():
                found += _all_parsers(sub)
    return found


def print_script(args: argparse.Namespace, out: Output) -> int:
    """Print argcomplete's script for the shell (`rowtui completion SHELL`)."""
    out.write(shellcode(["rowtui"], shell=args.shell))
    return 0
