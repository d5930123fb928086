"""The grammar of `show`: Row's options, and rowtui's in addition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rowtui.cli.argument_parser import (
    Unasked,
    count,
    directories_argument,
    json_option,
    sub_parser,
    watch_option,
)


def add_show(commands: Any, add: Any, about: Mapping[str, str]) -> None:
    """Add the command with its subcommands."""
    show = add(commands, "show", "", about["show"])
    if isinstance(show, Unasked):
        return
    show.set_defaults(command="show")
    shows = show.add_subparsers(
        title="Commands", metavar="WHAT", parser_class=sub_parser, required=True
    )

    status = add(
        shows,
        "status",
        "show.status",
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
        "show.directories",
        "list directories, in the groups of an action, with status, job and values",
        "  rowtui show directories\n  rowtui show directories -a sample --eligible --value /T\n"
        "  rowtui show directories -a sample --short -n 1 | xargs ls",
    )
    directories_argument(directories, "list these only; - reads names from standard input")
    directories.add_argument("-a", "--action", metavar="NAME", help="the directories of an action")
    for name in ("completed", "submitted", "eligible", "waiting", "failed"):
        directories.add_argument(f"--{name}", action="store_true", help=f"{name} directories")
    directories.add_argument(
        "--not-reached",
        action="store_true",
        help="directories whose last job ended at another one before it came to them",
    )
    directories.add_argument(
        "--cancelled", action="store_true", help="directories whose last job the user cancelled"
    )
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
        "show.jobs",
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
        "-l",
        "--long",
        action="store_true",
        help="with state, time and reason; also ended jobs, and those on other clusters",
    )
    watch_option(jobs)
    json_option(jobs)

    cluster = add(
        shows,
        "cluster",
        "show.clusters",
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
        shows,
        "launchers",
        "show.clusters:launchers",
        "show the launchers",
        "  rowtui show launchers --all",
    )
    launchers.add_argument("--all", action="store_true", help="for all clusters")
    launchers.add_argument("--short", action="store_true", help="names only")
    json_option(launchers)
