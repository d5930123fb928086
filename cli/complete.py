"""Completion in the shell, through argcomplete: the script for a shell, and the shell's requests.

An argument is completed by a function of `completers.py`, which is imported only when an
argument is completed.
"""

from __future__ import annotations

import argparse
import os
import re
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
    "schema": "schemas",
    "trash": "trashes",
    "value": "pointers",
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
    _forget_what_is_before()
    argcomplete.autocomplete(parser, always_complete_options=False)


# Where this command begins in a line: at its start or after a separator, and after settings.
_COMMAND = re.compile(r"(?:^|[;&|(])\s*(?:\w+=\S*\s+)*((?:\S*/)?rowtui)(?=\s)")


def _forget_what_is_before() -> None:
    """Cut what is before this command from the line: `cd study &&`, `NAME=value`.

    zsh passes the whole line, bash the settings before the command.
    """
    line, point = os.environ.get("COMP_LINE", ""), os.environ.get("COMP_POINT", "")
    if point.isdecimal():
        for found in _COMMAND.finditer(line, 0, int(point)):
            os.environ["COMP_LINE"] = line[found.start(1) :]
            os.environ["COMP_POINT"] = str(int(point) - found.start(1))


def _all_parsers(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    found = [parser]
    for action in parser._actions:
        if isinstance(action.choices, dict):
            for sub in action.choices.values():
                found += _all_parsers(sub)
    return found


_ZSH_START = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }\n"


def print_script(args: argparse.Namespace, out: Output) -> int:
    """Print argcomplete's script for the shell (`rowtui completion SHELL`)."""
    script = shellcode(["rowtui"], shell=args.shell)
    if args.shell == "zsh":  # whose first line makes it a file of completions
        first, newline, rest = script.partition("\n")
        script = f"{first}{newline}{_ZSH_START}{rest}"
    out.write(script)
    return 0
