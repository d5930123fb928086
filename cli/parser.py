"""The command line's grammar: every command with its description, and the options of the dashboard.

Row's commands keep Row's options; rowtui's options are added to them.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping
from importlib import import_module
from typing import Any, NamedTuple

from rowtui.cli.argument_parser import Help, Parser, common_options, positive, sub_parser
from rowtui.core import __version__

# The grammar of `serve` and `demo`, and the options of places.


_EXAMPLES = """\
  rowtui serve                          prints an address for the browser of this machine
  rowtui serve --open --read-only
  rowtui serve --view queue --job 12
  rowtui serve --port 8000              for a tunnel: ssh -L 8000:127.0.0.1:8000 cluster"""


def add_serve(commands: Any, add: Any, about: Mapping[str, str]) -> None:
    """Add the command, with its description."""
    serve = add(commands, "serve", "dashboard:serve", about["serve"], _EXAMPLES)
    serve.add_argument(
        "--port", type=_port, default=0, metavar="PORT", help="listen there [default: a free one]"
    )
    serve.add_argument("--open", action="store_true", help="open the address in a browser")
    # Options of `rowtui` itself, accepted here as well.
    serve.add_argument(
        "--read-only",
        action="store_true",
        default=argparse.SUPPRESS,
        help="open the dashboard without any verb that acts",
    )
    serve.add_argument(
        "--theme", metavar="NAME", default=argparse.SUPPRESS, help="the dashboard's theme"
    )
    add_places(serve)


# Option of `rowtui` -> its placeholder and description. The values are in `place_NAME`.
PLACES = {
    "view": ("VIEW", "open this view: its name, or its number"),
    "action": ("NAME", "open on this action"),
    "status": ("STATUS", "form the groups of directories with this status"),
    "group": ("N", "open on this group of the action"),
    "directory": ("NAME", "open on this directory of the action"),
    "job": ("JOB", "open on this job"),
    "filter": ("FILTER", "show the rows that match: state=failed"),
}


def add_places(parser: Any) -> None:
    """Add the options that choose the first view of a dashboard, and its row."""
    group = parser.add_argument_group("Where the dashboard opens")
    for name, (placeholder, text) in PLACES.items():
        group.add_argument(
            f"--{name}",
            dest=f"place_{name}",
            type=positive if name == "group" else str,
            metavar=placeholder,
            default=argparse.SUPPRESS,
            help=text,
        )
    group.add_argument(
        "--fresh",
        action="store_true",
        default=argparse.SUPPRESS,
        help="open the status, and not what was shown last",
    )


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"'{text}' is no port; write a number up to 65535")
    return int(text)


SCENARIOS = {
    "small": "a real study of percolation that runs on this machine",
    "network": "a study whose samples flow through four actions, driven by itself",
    "large": "100,000 directories and four simulated clusters on a fast clock",
}
LEAST, MOST = 2_000, 1_000_000  # directories of the large demo


def add_demo(commands: Any, add: Any, text: str) -> None:
    """Add the command and its options."""
    demo = add(
        commands,
        "demo",
        "demo.command",
        text,
        "  rowtui demo\n  rowtui demo network\n  rowtui demo large\n  rowtui demo --headless\n"
        "  rowtui demo --keep ~/rowtui-demo",
    )
    demo.add_argument(
        "scenario", nargs="?", default="small", metavar="SCENARIO", help="small, network or large"
    )
    demo.add_argument("--list", action="store_true", help="list the scenarios")
    demo.add_argument("--headless", action="store_true", help="text only; runs to the end")
    demo.add_argument(
        "--plain", action="store_true", default=argparse.SUPPRESS, help="the dashboard as lines"
    )
    demo.add_argument("--keep", metavar="FOLDER", help="make it here and keep it")
    demo.add_argument(
        "--directories", type=positive, metavar="N", help="[default: 240; large: 100000]"
    )
    demo.add_argument(
        "--seed", type=int, default=1, metavar="N", help="another large demo [default: 1]"
    )


_EPILOG = """\
Examples:
  rowtui                          open the dashboard on the project of this folder
  rowtui --view queue --filter state=failed
                                  open it on the jobs that failed
  rowtui --plain                  the dashboard as lines, for screen readers
  rowtui show status              directories by state
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
            "doctor": "identify the local cluster, and list missing or wrong settings",
            "check": "check all files of the project and your own, without any cluster",
            "schema": "print the JSON Schemas of these files, for editors",
            "demo": "make a project to try things out on, and open the dashboard on it",
            "completion": "print a script that completes rowtui's commands in your shell",
        },
    ),
    _Part(
        "project.projects",
        "add_projects",
        {"projects": "list your projects, with what needs you in each of them"},
    ),
    _Part(
        "pack.parser",
        "add_submit_commands",
        {
            "plan": "show the jobs to be submitted, their destinations, reasons and cost",
            "submit": "submit eligible groups to the scheduler, after asking",
            "pack": "show how jobs would share nodes, with cost and savings",
        },
    ),
    _Part(
        "jobs.parser",
        "add_job_commands",
        {
            "queue": "show all your jobs on all clusters, also outside of a project",
            "logs": "show the output of a job",
            "cancel": "cancel jobs of this project, after asking",
            "hold": "keep waiting jobs of this project from starting",
            "release": "let held jobs of this project start",
            "change": "change limit, partition, nice value or dependency of waiting jobs",
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
        "pack.parser",
        "add_run",
        {"run": "submit, watch and retry until all is complete, within limits confirmed once"},
    ),
    _Part(
        "usage.parser",
        "add_usage",
        {"usage": "show what jobs used of what they requested, and what they should request"},
    ),
    _Part(
        "messages.notify",
        "add_notify",
        {"notify": "messages by mail, chat or terminal about your studies: list and test them"},
    ),
    _Part(
        "usage.parser",
        "add_history",
        {"history": "show what ran when: jobs over time, waits in queues, nodes that fail"},
    ),
    _Part(
        "usage.parser",
        "add_report",
        {"report": "write what the project's jobs did as one HTML file, Markdown or CSV"},
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
            "explain": "explain where the jobs of an action would go, and why",
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
        {"secrets": "store passwords of clusters, and list the stored ones"},
    ),
    _Part(
        "parser",
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
        ("--plain", "the dashboard as lines, for screen readers and pipes"),
    ):
        parser.add_argument(option, action="store_true", help=text)

    add_places(parser)
    parser.set_defaults(command="dashboard")
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
