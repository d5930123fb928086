"""The grammar of `usage`, `history` and `report`."""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from rowtui.cli.argument_parser import json_option
from rowtui.core.usage.table import GROUPINGS

_EXAMPLES = """\
  rowtui usage                       each action: requested and used
  rowtui usage 12                    one job: why it was slow, or ran out of memory
  rowtui usage d17                   the jobs of a directory
  rowtui usage -a simulate --by node --since 2d
  rowtui usage --failed --by reason
  rowtui usage --recommend           what actions should request, and the risk
  rowtui usage --recommend --write   writes that to workflow.toml, after a question
  rowtui usage --csv > jobs.csv      a row for each job"""

_UNITS = {"m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}


def add_usage(commands: Any, add: Any, about: Mapping[str, str]) -> None:
    """Add the command with its options."""
    usage = add(commands, "usage", "usage.usage:usage", about["usage"], _EXAMPLES)
    usage.add_argument(
        "jobs", nargs="*", metavar="JOB",
        help="job ids, as 12 or 12_3, or directories: only these jobs",
    )  # fmt: skip
    _choosing_options(usage)
    usage.add_argument("--failed", action="store_true", help="only jobs that did not complete")
    usage.add_argument(
        "--by", choices=GROUPINGS, metavar="WHAT",
        help="a row for each " + ", ".join(GROUPINGS[:-1]) + " or " + GROUPINGS[-1]
        + " [default: action]",
    )  # fmt: skip
    usage.add_argument(
        "--recommend", action="store_true", help="what each action should request, and the risk"
    )
    usage.add_argument(
        "--risk", type=risk, metavar="SHARE",
        help="share of jobs that may exceed a recommendation [default: 0.01]",
    )  # fmt: skip
    usage.add_argument(
        "--write", action="store_true",
        help="write recommendations to workflow.toml, after a look at the changes",
    )  # fmt: skip
    usage.add_argument(
        "--resource", type=resources, metavar="NAMES",
        help="with --write: memory, walltime, cpus, or several with commas [default: all]",
    )  # fmt: skip
    usage.add_argument("-y", "--yes", action="store_true", help="write without a question")
    _form_options(usage, "a row for each job, for spreadsheets")


_HISTORY = """\
  rowtui history                     jobs that ended, waits in queues, nodes that stand out
  rowtui history --since 2d --by hour
  rowtui history -a simulate --cluster alpha
  rowtui history --csv > jobs-per-day.csv"""


def add_history(commands: Any, add: Any, about: Mapping[str, str]) -> None:
    """Add the command with its options."""
    history = add(commands, "history", "usage.history:history", about["history"], _HISTORY)
    _choosing_options(history)
    history.add_argument(
        "--by", choices=("auto", "hour", "day", "week"), default="auto", metavar="WHAT",
        help="a row for each hour, day or week of local time; auto: about 20 rows [default: auto]",
    )  # fmt: skip
    _form_options(history, "a row for each interval")


_REPORT = """\
  rowtui report                      writes report.html
  rowtui report week.html --since 7d
  rowtui report --markdown | mail -s "my study" me@example.org
  rowtui report --trace trace.csv    a row for each job"""


def add_report(commands: Any, add: Any, about: Mapping[str, str]) -> None:
    """Add the command with its options."""
    report = add(commands, "report", "usage.report:report", about["report"], _REPORT)
    report.add_argument("file", nargs="?", metavar="FILE", help="[default: report.html]")
    _choosing_options(report)
    printed = report.add_mutually_exclusive_group()
    printed.add_argument("--markdown", action="store_true", help="print it as Markdown instead")
    json_option(printed)
    report.add_argument("--trace", metavar="FILE", help="write a row for each job as CSV")


def _form_options(parser: Any, csv: str) -> None:
    """Add `--csv` and `--json`, of which only one can be given."""
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--csv", action="store_true", help=csv)
    json_option(forms)


def _choosing_options(parser: Any) -> None:
    """Add the options that choose among all jobs."""
    parser.several_clusters = True
    parser.add_argument("-a", "--action", metavar="PATTERN", help="actions that match")
    parser.add_argument(
        "--since", type=since, metavar="TIME", help="ended since then: 12h, 2d, or 2026-11-01"
    )


def risk(text: str) -> float:
    """Return a share of jobs from `0.05` or `5%`."""
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no share of jobs: write 0.05 or 5%")
    return share


def resources(text: str) -> tuple[str, ...]:
    """Return the named resources."""
    names = tuple(part.strip() for part in text.split(",") if part.strip())
    known = ("memory", "walltime", "cpus")
    if not names or any(name not in known for name in names):
        raise argparse.ArgumentTypeError(f"'{text}' is not memory, walltime or cpus")
    return names


def since(text: str) -> float:
    """Return epoch seconds for `12h` ago, or a date with or without a time."""
    if match := re.fullmatch(r"(\d{1,6})([mhdw])", text):
        return time.time() - int(match[1]) * _UNITS[match[2]]
    try:
        return datetime.fromisoformat(text).astimezone().timestamp()
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"'{text}' is no time: write 12h, 2d or 2026-11-01"
        ) from None
