"""The grammar of `queue`, `logs`, `cancel`, `hold`, `release`, `change` and `retry`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from rowtui.cli.argument_parser import count, json_option, watch_option
from rowtui.cli.pack.parser import packing_options
from rowtui.core.base.errors import RowtuiError

if TYPE_CHECKING:
    from rowtui.core.project.next_attempt import Amount

_QUEUE = """\
  rowtui queue                       this machine, and all clusters of clusters.toml
  rowtui queue --cluster alpha --cluster beta
  rowtui queue --ended               ended jobs as well
  rowtui queue --watch 30            then the changes, every 30 seconds, until Ctrl-C
  rowtui queue --json --no-login     for programs: no password prompts"""
_LOGS = """\
  rowtui logs 12
  rowtui logs -f 12_3                the third task of an array, as it goes on
  rowtui logs 12 --cluster alpha     where two clusters have a job 12
  rowtui logs dir1 -a sample"""
_CANCEL = """\
  rowtui cancel 12 13_4
  rowtui cancel -a sample
  rowtui cancel --all --yes --cluster alpha"""
_HOLD = """\
  rowtui hold 12 13_4                12: all tasks, if it is an array
  rowtui hold -a sample
  rowtui hold --all --yes"""
_RELEASE = """\
  rowtui release 12
  rowtui release --all --yes"""

_CHANGE = """\
  rowtui change 12 13_4 --time 4h
  rowtui change -a sample --partition highmem --nice 100
  rowtui change 14 --after 12,13_4
  rowtui change 14 --after none"""


def add_job_commands(commands: Any, add: Any, about: Mapping[str, str]) -> None:
    """Add all of these commands."""
    _add_queue(add(commands, "queue", "jobs.queue", about["queue"], _QUEUE))
    _add_logs(add(commands, "logs", "jobs.logs", about["logs"], _LOGS))
    for verb, examples in (("cancel", _CANCEL), ("hold", _HOLD), ("release", _RELEASE)):
        _add_verb(add(commands, verb, f"jobs.verbs:{verb}", about[verb], examples))
    change = add(commands, "change", "jobs.verbs:change", about["change"], _CHANGE)
    _add_verb(change)
    change.add_argument("--time", dest="limit", metavar="TIME", help="the time limit, as 04:00:00")
    change.add_argument("--partition", metavar="NAME", help="the partition, or the queue")
    change.add_argument("--nice", metavar="N", help="the higher, the later the job starts")
    change.add_argument(
        "--after", metavar="JOBS", help="start after these jobs, as 12,13_4, or none"
    )


def _add_queue(queue: Any) -> None:
    queue.several_clusters = True
    queue.add_argument("--ended", action="store_true", help="also jobs that have ended")
    watch_option(queue, 30)
    queue.add_argument(
        "--no-login", action="store_true", help="do not prompt for passwords and codes"
    )
    json_option(queue)


def _add_logs(logs: Any) -> None:
    logs.add_argument("job", metavar="JOB", help="a job id, or a directory's last job")
    logs.add_argument("-a", "--action", metavar="NAME", help="the directory's job for this action")
    logs.add_argument("-f", "--follow", action="store_true", help="follow the log as it grows")
    logs.add_argument(
        "-n", "--lines", type=count, default=0, metavar="N", help="the last N lines [default: all]"
    )
    logs.add_argument("--path", action="store_true", help="only print where the log is")
    logs.add_argument("--raw", action="store_true", help="leave control characters as they are")
    json_option(logs)


def _add_verb(verb: Any) -> None:
    verb.several_clusters = True
    verb.add_argument(
        "jobs", nargs="*", metavar="JOB", help="job ids, as 12 or 12_3, or directories"
    )
    verb.add_argument("-a", "--action", metavar="PATTERN", help="all jobs of these actions")
    verb.add_argument("--all", action="store_true", help="all jobs of this project")
    verb.add_argument("--yes", action="store_true", help="do not ask")
    json_option(verb)


_EXAMPLES = """\
  rowtui retry                    all that failed, as it was
  rowtui retry 12 13_4 --memory 2x
  rowtui retry -a sample --time 04:00:00 --memory 64G
  rowtui retry dir1 dir2 --partition highmem
  rowtui retry --cluster beta     on another cluster than it failed on
  rowtui retry --pack             all that failed, sharing nodes
  rowtui retry --dry-run          only print the scripts"""


def add_retry(commands: Any, add: Any, about: Mapping[str, str]) -> None:
    """Add the command with its options."""
    parser = add(commands, "retry", "jobs.retry:retry", about["retry"], _EXAMPLES)
    parser.add_argument(
        "failed",
        nargs="*",
        metavar="JOB|DIRECTORY",
        help="these only, also cancelled ones; - reads them from standard input"
        " [default: all that failed]",
    )
    parser.add_argument("-a", "--action", default="*", metavar="PATTERN", help="actions that match")
    parser.add_argument("-n", type=count, metavar="N", help="at most N jobs")
    change = parser.add_argument_group("Changes, for a whole job")
    change.add_argument(
        "--memory",
        type=partial(_amount, "memory"),
        metavar="2x|64G",
        help="a multiple of the failed job's memory, or an amount",
    )
    change.add_argument(
        "--time", type=partial(_amount, "time"), metavar="2x|04:00:00", help="the time limit"
    )
    change.add_argument("--cpus", type=partial(_amount, "cpus"), metavar="2x|8", help="the CPUs")
    change.add_argument("--partition", metavar="NAME", help="the partition")
    parser.add_argument("--dry-run", action="store_true", help="print the scripts instead")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument(
        "--over-budget", action="store_true", help="also beyond the budget of a cluster"
    )
    parser.add_argument(
        "--detach", action="store_true", help="do not follow the jobs (cluster local)"
    )
    parser.add_argument(
        "--array",
        action=argparse.BooleanOptionalAction,
        help="send jobs of the same shape as one array [default: over SSH only]",
    )
    packing_options(parser, switch=True)
    json_option(parser)


def _amount(what: str, text: str) -> Amount:
    from rowtui.core.project.next_attempt import parse_cpus, parse_memory, parse_walltime

    parse = {"memory": parse_memory, "time": parse_walltime, "cpus": parse_cpus}[what]
    try:
        return parse(text)
    except RowtuiError as error:
        hint = f"; {error.hint}" if error.hint else ""
        raise argparse.ArgumentTypeError(f"{error.message}{hint}") from None
