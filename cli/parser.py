"""The command line's grammar: every command, option and help text, and nothing else.

Row's commands keep Row's options; ours come beside them. Source: Row A8, DESIGN of rowtui §7.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Collection, Sequence
from typing import Any, NoReturn, cast

from rowtui.cli.arguments import (
    count,
    directories_argument,
    json_option,
    positive,
    watch_option,
)
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


class _Help(argparse.RawDescriptionHelpFormatter):
    """Row says `Usage:`; scripts look for it."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=32, width=_help_width())

    def add_usage(self, usage: Any, actions: Any, groups: Any, prefix: str | None = None) -> None:
        super().add_usage(usage, actions, groups, "Usage: " if prefix is None else prefix)


def _help_width() -> int:
    """As wide as the terminal, at most 100."""
    try:
        return min(os.get_terminal_size().columns, 100) - 2
    except OSError:
        return 98


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors end with a hint and exit code 2."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, how it is used, and where help is."""
        message = message.replace("not allowed with argument", "cannot be used with")
        self.exit(2, f"error: {message}\n\n{self.format_usage()}\nFor more, try '--help'.\n")


class MixedParser(Parser):
    """Options may stand between other arguments, and what follows --tag may begin with a minus."""

    _mixing = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse does, whatever the order."""
        if self._mixing or args is None:
            return super().parse_known_args(args, namespace)
        self._mixing = True
        try:
            return self.parse_known_intermixed_args(_with_joined_tags(args), namespace)
        finally:
            self._mixing = False


def _with_joined_tags(words: Sequence[str]) -> list[str]:
    """`--tag -y` as `--tag=-y`, which argparse takes."""
    joined: list[str] = []
    for word in words:
        if joined and joined[-1] == "--tag" and word.startswith("-") and word[1:2] not in ("", "-"):
            joined[-1] = f"--tag={word}"
        else:
            joined.append(word)
    return joined


class _Unasked:
    """In the place of a parser whose command is not on the command line: only its name counts.

    Making all options of all commands takes longer than showing a status.
    """

    def add_argument(self, *args: Any, **options: Any) -> None:
        """Nobody will look at it."""

    def set_defaults(self, **values: Any) -> None:
        """Nor ask for these."""

    def add_argument_group(self, title: str) -> _Unasked:
        """Nor at these."""
        return self

    def add_mutually_exclusive_group(self) -> _Unasked:
        """Nobody will look at its options either."""
        return self


def _sub_parser(*, asked: bool, mixed: bool = False, **options: Any) -> Parser | _Unasked:
    if not asked:
        return _Unasked()
    return MixedParser(**options) if mixed else Parser(**options)


class _Cluster(argparse.Action):
    """The last name that was given counts; commands on several clusters take all of them."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        """See argparse."""
        namespace.cluster = values
        namespace.clusters = [*getattr(namespace, "clusters", ()), values]


def _common() -> argparse.ArgumentParser:
    """The options that every command takes, before or after its name."""
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
    group.add_argument("--no-progress", action="store_true", help="no progress bars")
    group.add_argument("--clear-progress", action="store_true", help="wipe finished bars")
    group.add_argument("-v", "--verbose", action="count", help="say more (repeat for more)")
    group.add_argument("-q", "--quiet", action="count", help="say less (repeat for less)")
    return common


def build_parser(words: Collection[str] | None = None) -> Parser:
    """The grammar. Parsed arguments carry `command`, the module's name in cli/commands.

    `words`: those of the command line that will be parsed; commands that are not among them get
    no options. None: all that there is.
    """
    # argparse would look for translations of its own few words: 4 ms, for half-translated help.
    argparse._ = lambda text: text  # type: ignore[attr-defined]
    common = _common()
    parser = Parser(
        prog="rowtui",
        description="Run thousands of directories through a workflow on HPC clusters.",
        epilog=_EPILOG,
        formatter_class=_Help,
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
    from rowtui.cli.demo_parser import add_recording

    add_recording(parser)
    parser.set_defaults(command="dashboard")
    commands = parser.add_subparsers(
        title="Commands", metavar="COMMAND", parser_class=cast(Any, _sub_parser)
    )

    def add(
        into: Any, name: str, module: str, text: str, examples: str = "", *, mixed: bool = False
    ) -> Any:
        if words is not None and name not in words:
            return into.add_parser(name, help=text, asked=False)
        sub: Parser = into.add_parser(
            name,
            asked=True,
            mixed=mixed,
            help=text,
            description=text[0].upper() + text[1:] + ".",
            epilog=f"Examples:\n{examples}" if examples else None,
            formatter_class=_Help,
            parents=[common],
        )
        sub.set_defaults(command=module)
        return sub

    _add_show(commands, add)
    _add_project_commands(commands, add)
    _add_job_commands(commands, add, words)
    _add_queue_commands(commands, add, words)
    _add_resubmit_command(commands, add, words)
    _add_mirror_command(commands, add, words)
    _add_mapping_commands(commands, add, words)
    _add_network_commands(commands, add, words)
    _add_connect_commands(commands, add, words)
    _add_secrets_commands(commands, add, words)
    _add_serve_command(commands, add, words)
    return parser


def _add_show(commands: Any, add: Any) -> None:
    show = add(commands, "show", "", "show the project: status, directories, jobs, clusters")
    if isinstance(show, _Unasked):
        return
    show.set_defaults(command="show")
    shows = show.add_subparsers(
        title="Commands", metavar="WHAT", parser_class=cast(Any, _sub_parser), required=True
    )

    status = add(
        shows,
        "status",
        "show_status",
        "how many directories of each action are completed, submitted, eligible and waiting",
        "  rowtui show status\n  rowtui show status --eligible -a 'run_*'\n"
        "  rowtui show status dir1 dir2\n  rowtui show status --json",
    )
    directories_argument(status, "count these only; - reads names from standard input")
    status.add_argument(
        "-a", "--action", default="*", metavar="PATTERN", help="actions that match [default: *]"
    )
    for name in ("completed", "submitted", "eligible", "waiting"):
        status.add_argument(
            f"--{name}", action="store_true", help=f"actions with {name} directories"
        )
    status.add_argument("--all", action="store_true", help="all actions, also those without any")
    status.add_argument("--no-header", action="store_true", help="no table header")
    watch_option(status)
    json_option(status)

    directories = add(
        shows,
        "directories",
        "show_directories",
        "list directories, in the groups of an action, with status, job and values",
        "  rowtui show directories\n  rowtui show directories -a sample --eligible --value /T\n"
        "  rowtui show directories -a sample --short -n 1 | xargs ls",
    )
    directories_argument(directories, "list these only; - reads names from standard input")
    directories.add_argument("-a", "--action", metavar="NAME", help="the directories of an action")
    for name in ("completed", "submitted", "eligible", "waiting", "failed"):
        directories.add_argument(f"--{name}", action="store_true", help=f"{name} directories")
    directories.add_argument(
        "-n", "--n-groups", type=count, metavar="N", help="at most the first N groups"
    )
    directories.add_argument("--no-header", action="store_true", help="no table header")
    directories.add_argument(
        "--no-separate-groups", action="store_true", help="no empty line between groups"
    )
    directories.add_argument("--short", action="store_true", help="names only")
    directories.add_argument(
        "--value",
        action="append",
        default=[],
        metavar="POINTER",
        help="a column with this element of each directory's value (repeat for more)",
    )
    json_option(directories)

    jobs = add(
        shows,
        "jobs",
        "show_jobs",
        "list this project's jobs",
        "  rowtui show jobs\n  rowtui show jobs --long\n  rowtui show jobs --short | xargs scancel",
    )
    directories_argument(jobs, "jobs on these only; - reads names from standard input")
    jobs.add_argument(
        "-a", "--action", default="*", metavar="PATTERN", help="actions that match [default: *]"
    )
    jobs.add_argument("--no-header", action="store_true", help="no table header")
    jobs.add_argument("--short", action="store_true", help="job ids only")
    jobs.add_argument(
        "-l", "--long", action="store_true", help="with state, time and reason; ended ones too"
    )
    watch_option(jobs)
    json_option(jobs)

    cluster = add(
        shows,
        "cluster",
        "show_cluster",
        "show the cluster's configuration",
        "  rowtui show cluster\n  rowtui show cluster --all --short\n"
        "  rowtui show cluster greatlakes",
    )
    which = cluster.add_mutually_exclusive_group()
    which.add_argument("known_cluster", nargs="?", metavar="NAME", help="this cluster")
    which.add_argument("--all", action="store_true", help="all clusters")
    cluster.add_argument("--short", action="store_true", help="names only")
    json_option(cluster)

    launchers = add(
        shows, "launchers", "show_launchers", "show the launchers", "  rowtui show launchers --all"
    )
    launchers.add_argument("--all", action="store_true", help="for all clusters")
    launchers.add_argument("--short", action="store_true", help="names only")
    json_option(launchers)


def _add_project_commands(commands: Any, add: Any) -> None:
    init = add(
        commands,
        "init",
        "init",
        "start a new project in a folder",
        "  rowtui init my_project\n  rowtui init --signac .",
    )
    init.add_argument("directory", metavar="DIRECTORY", help="the folder; made if it is missing")
    which = init.add_mutually_exclusive_group()
    which.add_argument("--signac", action="store_true", help="for a signac workspace")
    which.add_argument("-w", "--workspace", metavar="NAME", help="[default: workspace]")

    scan = add(
        commands,
        "scan",
        "scan",
        "look at the directories again: completed actions, lost products, edited values",
        "  rowtui scan\n  rowtui scan -a sample dir1 dir2\n  ls workspace | rowtui scan -",
    )
    directories_argument(scan, "these only; - reads names from standard input")
    scan.add_argument("-a", "--action", metavar="NAME", help="this action only [default: all]")
    json_option(scan)

    clean = add(
        commands,
        "clean",
        "clean",
        "remove cached state; everything is found again, but job ids are lost",
        "  rowtui clean --directory\n  rowtui clean --completed && rowtui scan",
    )
    for name, what in (
        ("directory", "the cache of directories and values"),
        ("submitted", "the record of submitted jobs"),
        ("completed", "the record of completed actions"),
    ):
        clean.add_argument(f"--{name}", action="store_true", help=what)
    clean.add_argument("--force", action="store_true", help="even while jobs are submitted")

    doctor = add(
        commands,
        "doctor",
        "doctor",
        "say which cluster this is and why, and what is missing or wrong",
        "  rowtui doctor\n  rowtui doctor --json\n  rowtui doctor --connect\n"
        "  rowtui doctor --node-types alpha",
    )
    doctor.add_argument(
        "--connect", action="store_true", help="also log in to the clusters reached over SSH"
    )
    doctor.add_argument(
        "--node-types",
        nargs="?",
        const="",
        metavar="CLUSTER",
        help="instead, ask a cluster for its node types, ready for clusters.toml",
    )
    doctor.add_argument("--write", action="store_true", help="add them to clusters.toml")
    doctor.add_argument("--yes", action="store_true", help="do not ask before that")
    json_option(doctor)

    from rowtui.cli.demo_parser import add_demo

    add_demo(commands, add, positive)

    completion = add(
        commands,
        "completion",
        "completion",
        "print a script that completes rowtui's commands in your shell",
        '  eval "$(rowtui completion bash)"\n  rowtui completion fish | source',
    )
    completion.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")


def _add_job_commands(commands: Any, add: Any, words: Collection[str] | None) -> None:
    from rowtui.cli.submit_parser import WORDS, add_submit_commands

    if words is not None and not WORDS.keys() & set(words):
        for name, text in WORDS.items():
            add(commands, name, name, text)
        return
    add_submit_commands(commands, add)


def _add_queue_commands(commands: Any, add: Any, words: Collection[str] | None) -> None:
    from rowtui.cli.job_parser import WORDS, add_job_commands

    if words is not None and not WORDS.keys() & set(words):
        for name, text in WORDS.items():
            add(commands, name, name, text)
        return
    add_job_commands(commands, add)


def _add_resubmit_command(commands: Any, add: Any, words: Collection[str] | None) -> None:
    text = "try failed work again, with more memory or time, or elsewhere, after asking"
    if words is not None and "resubmit" not in words:
        add(commands, "resubmit", "resubmit", text)
        return
    from rowtui.cli.resubmit_parser import add_resubmit

    add_resubmit(commands, add, text)


def _add_mirror_command(commands: Any, add: Any, words: Collection[str] | None) -> None:
    text = "show the copies of this project on clusters that do not see it, and decide about them"
    if words is not None and "mirror" not in words:
        add(commands, "mirror", "mirror", text)
        return
    from rowtui.cli.mirror_parser import add_mirror

    add_mirror(commands, add, text)


def _add_mapping_commands(commands: Any, add: Any, words: Collection[str] | None) -> None:
    explain = "say where the jobs of an action would go, why there, and why not elsewhere"
    mapping = "check, format, test, show and trust mapping files"
    if words is not None and not {"explain", "mapping"} & set(words):
        add(commands, "explain", "explain", explain)
        add(commands, "mapping", "", mapping)
        return
    from rowtui.cli.mapping_parser import add_explain, add_mapping

    add_explain(commands, add, explain)
    add_mapping(commands, add, mapping, _sub_parser)


def _add_network_commands(commands: Any, add: Any, words: Collection[str] | None) -> None:
    text = "samples that flow through actions: make their directories, run them to the end"
    if words is not None and "network" not in words:
        add(commands, "network", "", text)
        return
    from rowtui.cli.network_parser import add_network

    add_network(commands, add, text, _sub_parser)


def _add_connect_commands(commands: Any, add: Any, words: Collection[str] | None) -> None:
    connect = "log in to a cluster once, for all rowtui commands"
    disconnect = "end logins that connect made"
    if words is not None and not {"connect", "disconnect"} & set(words):
        add(commands, "connect", "connect", connect)
        add(commands, "disconnect", "disconnect", disconnect)
        return
    from rowtui.cli.connect_parser import add_connect

    add_connect(commands, add, connect, disconnect)


def _add_serve_command(commands: Any, add: Any, words: Collection[str] | None) -> None:
    text = "show the dashboard in a browser of this machine"
    if words is not None and "serve" not in words:
        add(commands, "serve", "serve", text)
        return
    from rowtui.cli.serve_parser import add_serve

    add_serve(commands, add, text)


def _add_secrets_commands(commands: Any, add: Any, words: Collection[str] | None) -> None:
    text = "store passwords of clusters, and say which are known"
    if words is not None and "secrets" not in words:
        add(commands, "secrets", "", text)
        return
    from rowtui.cli.secrets_parser import add_secrets

    add_secrets(commands, add, text, _sub_parser)
