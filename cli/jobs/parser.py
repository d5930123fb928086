"""The grammar of `queue`, `logs`, `cancel`, `hold` and `release`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from rowtui.cli.arguments import count, json_option, watch_option

_QUEUE = """\
  rowtui queue                       this machine, and all clusters of clusters.toml
  rowtui queue --cluster alpha --cluster beta
  rowtui queue --ended               also what has ended
  rowtui queue --watch 30            and then what changes, every 30 seconds, until Ctrl-C
  rowtui queue --json --no-login     for programs, which nobody answers"""
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


def add_job_commands(commands: Any, add: Any, about: Mapping[str, str]) -> None:
    """Add all of these commands."""
    _add_queue(add(commands, "queue", "jobs.queue", about["queue"], _QUEUE))
    _add_logs(add(commands, "logs", "jobs.logs", about["logs"], _LOGS))
    for verb, examples in (("cancel", _CANCEL), ("hold", _HOLD), ("release", _RELEASE)):
        _add_verb(add(commands, verb, f"jobs.{verb}", about[verb], examples))


def _add_queue(queue: Any) -> None:
    queue.several_clusters = True
    queue.add_argument("--ended", action="store_true", help="also jobs that have ended")
    # The default behaviour of a typed command; scripts may still pass the option.
    queue.add_argument("--now", action="store_true", help=argparse.SUPPRESS)
    watch_option(queue, 30)
    queue.add_argument("--no-login", action="store_true", help="ask nobody for passwords and codes")
    json_option(queue)


def _add_logs(logs: Any) -> None:
    logs.add_argument("job", metavar="JOB", help="a job id, or a directory's last job")
    logs.add_argument("-a", "--action", metavar="NAME", help="the directory's job for this action")
    logs.add_argument("-f", "--follow", action="store_true", help="go on as it grows")
    logs.add_argument(
        "-n", "--lines", type=count, default=0, metavar="N", help="the last N lines [default: all]"
    )
    logs.add_argument("--path", action="store_true", help="only print where the log is")
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
