"""Jobs whose own header asks to be held: a person lets them start, rowtui never does.

rowtui submits jobs held, to write their ids down before they start, and then lets them go. Nothing
in a queue tells that hold from one that `submit_options` or `custom` asked for; the script does.
Source: the manuals of sbatch (--hold, -H) and qsub (-h).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator

from rowtui.core.submission.model import PlannedJob

_HOLDS = {"#SBATCH": frozenset({"--hold", "-H"}), "#$": frozenset({"-h"})}


_QUOTING = frozenset("'\"\\")


def stays_held(job: PlannedJob) -> bool:
    """Whether the job was to be submitted held, and to stay so until a person releases it."""
    return any(map(_asks_for_hold, _header(job.script)))


def staying_held(jobs: Iterable[PlannedJob]) -> frozenset[str]:
    """The tokens of those that stay held. One task is asked for all of its array: see `arrays`."""
    of_array: dict[str, bool] = {}
    found = []
    for job in jobs:
        held = of_array.get(job.array) if job.array else None
        if held is None:
            held = of_array[job.array] = stays_held(job)
        if held:
            found.append(job.token)
    return frozenset(found)


def _header(script: str) -> Iterator[str]:
    """Its lines up to the first that is no comment; the rest of a script is much longer."""
    at = 0
    while at < len(script):
        end = script.find("\n", at)
        line = script[at : end if end >= 0 else len(script)]
        if line.startswith("#"):
            yield line
        elif line.strip():
            return
        at += len(line) + 1


def _asks_for_hold(line: str) -> bool:
    prefix, _, options = line.partition(" ")
    words = _HOLDS.get(prefix)
    if words is None:
        return False
    if _QUOTING.isdisjoint(options) and not any(word in options for word in words):
        return False  # nothing that a shell could read as one of them
    return not words.isdisjoint(_words(options))


def _words(options: str) -> list[str]:
    try:
        return shlex.split(options, comments=True)
    except ValueError:  # the scheduler will say so
        return options.split()
