"""The command line's grammar: every command with its description, and the place of its options.

Row's commands keep Row's options; rowtui's options are added to them.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping
from importlib import import_module
from typing import Any, NamedTuple

from rowtui.cli.argument_parser import Help, Parser, common_options, sub_parser
from rowtui.cli.dashboard.parser import add_recording
from rowtui.core import __version__

_EPILOG = """\
Examples:
  rowtui                          open the dashboard on the project of this folder
  rowtui show status              what is completed, submitted, eligible and waiting
  rowtui submit -a equilibrate    submit one action's eligible groups, after asking
  rowtui plan --json              what would be submitted, where, why and at what cost
  rowtui explain equilibrate      where the jobs of an action go, and why not elsewhere
  rowtui network run              drive the project's network of actions to the end
  rowtui demo                     a small project that runs by itself

rowtui COMMAND --help has examples for each command."""


class _Part(NamedTuple):
    """Commands whose options one function of a module of this package adds, with descriptions."""

    module: str
    function: str
    about: Mapping[str, str]


ALIASES = {"resubmit": "retry"}
"""Other names of commands, which scripts may use."""

# In the order of `rowtui --help`. A module is loaded only if one of its commands was typed.
_PARTS = (
    _Part(
        "show.parser",
        "add_show",
        {"show": "show the project: status, directories, jobs, clusters"},
    ),
    _Part(
        "project.parser",
        "add_project_commands",
        {
            "init": "start a new project in a folder",
            "scan": "look at the directories again: completed actions, lost products, "
            "edited values",
            "clean": "remove cached state; everything is found again, but job ids are lost",
            "doctor": "say which cluster this is and why, and what is missing or wrong",
            "demo": "make a project to try things out on, and open the dashboard on it",
            "completion": "print a script that completes rowtui's commands in your shell",
        },
    ),
    _Part(
        "submit.parser",
        "add_submit_commands",
        {
            "plan": "show what would be submitted, where and why, and what it may cost",
            "submit": "submit eligible groups to the scheduler, after asking",
            "pack": "show how jobs would share nodes, what that costs and saves",
        },
    ),
    _Part(
        "jobs.parser",
        "add_job_commands",
        {
            "queue": "show all your jobs on all clusters, also outside of a project",
            "logs": "show what a job has written",
            "cancel": "cancel jobs of this project, after asking",
            "hold": "keep waiting jobs of this project from starting",
            "release": "let held jobs of this project start",
        },
    ),
    _Part(
        "jobs.parser",
        "add_retry",
        {
            "retry": "try failed work again, with more memory or time, or elsewhere, after asking",
        },
    ),
    _Part(
        "project.parser",
        "add_mirror",
        {
            "mirror": "show the copies of this project on clusters that do not see it, "
            "and decide about them",
        },
    ),
    _Part(
        "mapping.parser",
        "add_mapping_commands",
        {
            "explain": "say where the jobs of an action would go, why there, and why not elsewhere",
            "mapping": "check, format, test, show and trust mapping files",
        },
    ),
    _Part(
        "network.parser",
        "add_network",
        {
            "network": "samples that flow through actions: make their directories, "
            "run them to the end",
        },
    ),
    _Part(
        "clusters.parser",
        "add_connect_commands",
        {
            "connect": "log in to a cluster once, for all rowtui commands",
            "disconnect": "end logins that connect made",
        },
    ),
    _Part(
        "clusters.parser",
        "add_secrets",
        {"secrets": "store passwords of clusters, and say which are known"},
    ),
    _Part(
        "dashboard.parser",
        "add_serve",
        {"serve": "show the dashboard in a browser of this machine"},
    ),
)


def build_parser(words: Collection[str] | None = None) -> Parser:
    """Build the grammar.

    Parsed arguments carry `command`, the module below cli and the function in it: "module" (its
    function is `run`) or "module:function".

    `words`: the command line to be parsed; commands that are not among the words get no options.
    None: all commands get their options.
    """
    # argparse would search for translations of its own words: 4 ms, for half-translated help.
    argparse._ = lambda text: text  # type: ignore[attr-defined]
    common = common_options()
    parser = Parser(
        prog="rowtui",
        description="Run thousands of directories through a workflow on HPC clusters.",
        epilog=_EPILOG,
        formatter_class=Help,
        parents=[common],
    )
    parser.add_argument("-V", "--version", action="version", version=f"rowtui {__version__}")
    parser.add_argument(
        "--read-only", action="store_true", help="open the dashboard without any verb that acts"
    )
    parser.add_argument("--theme", metavar="NAME", help="the dashboard's theme")
    for option, text in (
        ("--ascii", "draw the dashboard with ASCII alone (or ROWTUI_ASCII=1)"),
        ("--slow", "draw less: few frames, few colours, for slow lines"),
        ("--no-mouse", "leave the mouse to the terminal"),
    ):
        parser.add_argument(option, action="store_true", help=text)

    add_recording(parser)
    parser.set_defaults(command="dashboard.dashboard")
    if words is not None:
        words = {ALIASES.get(word, word) for word in words}
    commands = parser.add_subparsers(title="Commands", metavar="COMMAND", parser_class=sub_parser)

    def add(
        into: Any, name: str, module: str, text: str, examples: str = "", *, mixed: bool = False
    ) -> Any:
        others = [old for old, new in ALIASES.items() if new == name and into is commands]
        if words is not None and name not in words:
            return into.add_parser(name, help=text, asked=False, aliases=others)
        sub: Parser = into.add_parser(
            name,
            aliases=others,
            asked=True,
            mixed=mixed,
            help=text,
            description=text[0].upper() + text[1:] + ".",
            epilog=f"Examples:\n{examples}" if examples else None,
            formatter_class=Help,
            parents=[common],
        )
        sub.set_defaults(command=module)
        return sub

    for part in _PARTS:
        if words is None or part.about.keys() & words:
            module = import_module(f"rowtui.cli.{part.module}")
            getattr(module, part.function)(commands, add, part.about)
        else:
            for name, text in part.about.items():
                add(commands, name, name, text)
    return parser
