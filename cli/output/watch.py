"""`--watch`: line-based output for screen readers: everything once, then only changes.

Each change is one line with the time of day, the item, and its new value with the old one. No text
is overwritten, so a screen reader or a log has the events in order. The input is the output of a
command with `--json`; the result is lines. Ctrl-C ends it.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rowtui.cli.output.output import Output
from rowtui.core.base.errors import InvalidFileError, RowtuiError
from rowtui.core.base.text import visible

if TYPE_CHECKING:
    import argparse

Reported = dict[str, dict[str, object]]
"""The reported values: item -> word -> value."""


def watch(
    args: argparse.Namespace,
    out: Output,
    run: Callable[[argparse.Namespace, Output], int],
    reported: Callable[[dict[str, Any]], Reported],
) -> int:
    """Run the command once normally, then repeatedly for changes. Never returns 0."""
    seconds, args.watch = args.watch, None
    as_json = args.json
    document = _look(args, out, run)
    if as_json:
        out.print(json.dumps(document))
    else:
        args.json = False
        run(args, out)
    args.watching = True
    trouble = ""
    while True:
        sys.stdout.flush()
        time.sleep(seconds)
        was, now = trouble, document
        try:
            now, trouble = _look(args, out, run), ""
        except (RowtuiError, InvalidFileError) as error:
            trouble = " ".join(visible(str(error)).split())
        if trouble != was:
            out.print(f"{_clock()} {f'error: {trouble}' if trouble else 'readable again'}")
        if as_json and now != document:
            out.print(json.dumps(now))
        elif not as_json:
            out.lines(changes(reported(document), reported(now), _clock()))
        document = now


def _look(
    args: argparse.Namespace, out: Output, run: Callable[[argparse.Namespace, Output], int]
) -> dict[str, Any]:
    """Return the command's JSON output, without printing."""
    look = _Look(out)
    args.json = True
    run(args, look)
    document: dict[str, Any] = json.loads("".join(look.kept))
    return document


def changes(before: Reported | None, after: Reported, clock: str) -> Iterator[str]:
    """Yield a line for each new, changed or removed item; none for the first poll."""
    if before is None:
        return
    for name, words in after.items():
        was = before.get(name)
        if was is None:
            values = ", ".join(f"{word} {value}" for word, value in words.items() if value)
            yield visible(f"{clock} {name}: new{': ' if values else ''}{values}")
        elif parts := [
            f"{word} {value or 'none'} (was {was.get(word) or 'none'})"
            for word, value in words.items()
            if value != was.get(word)
        ]:
            yield visible(f"{clock} {name}: {', '.join(parts)}")
    for name in before:
        if name not in after:
            yield visible(f"{clock} {name}: gone")


def reported_status(document: dict[str, Any]) -> Reported:
    """Return the counts of each action from `show status --json`."""
    words = ("completed", "submitted", "eligible", "waiting", "failed", "not_reached", "cancelled")
    reported: Reported = {
        action["name"]: {word.replace("_", " "): action.get(word) for word in (*words, "problem")}
        for action in document["actions"]
    }
    return {"workspace": {"directories": document["directories"]}, **reported}


def reported_jobs(document: dict[str, Any]) -> Reported:
    """Return the state of each job from `show jobs --json`."""
    return {"scheduler": {"error": document["error"]}} | {
        _job_name(job): {"state": job["state"], "reason": job["reason"]} for job in document["jobs"]
    }


def reported_queue(document: Mapping[str, Any]) -> Reported:
    """Return each cluster and its jobs from `queue --json`."""
    reported: Reported = {}
    for cluster in document["clusters"]:
        name = cluster["name"]
        reported[name] = {"error": cluster["error"], "login": cluster["login"]}
        for job in cluster["jobs"]:
            words = {"state": job["state"], "reason": job["reason"]}
            reported[f"{name} {_job_name(job)}"] = words
    return reported


def _job_name(job: Mapping[str, Any]) -> str:
    what = job.get("action") or job.get("name") or ""
    return f"job {job['id'] or job.get('token')}" + (f" ({what})" if what else "")


def _clock() -> str:
    return time.strftime("%H:%M:%S")


class _Look(Output):
    """One poll: its output is kept, and its warnings were printed before."""

    def __init__(self, out: Output) -> None:
        self.__dict__.update(vars(out))
        self.progress = False
        self.kept: list[str] = []

    def print(self, text: str = "") -> None:
        """Keep the text."""
        self.kept.append(text + "\n")

    def message(self, level: int, text: str) -> None:
        """Ignore the message: the first poll has printed it, and the values show changes."""
