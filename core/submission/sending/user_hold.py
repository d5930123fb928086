"""Jobs whose own header requests a hold: only the user releases them, never rowtui.

rowtui submits jobs held, so that their ids are recorded before they start, and then releases them.
A queue does not distinguish this hold from one requested by `submit_options` or `custom`; the
script does. Source: the manuals of sbatch (--hold, -H) and qsub (-h).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator

from rowtui.core.submission.plan.model import PlannedJob

_HOLDS = {"#SBATCH": frozenset({"--hold", "-H"}), "#$": frozenset({"-h"})}


_QUOTING = frozenset("'\"\\")


def stays_held(job: PlannedJob) -> bool:
    """Whether the job is submitted held and stays held until the user releases it."""
    return any(map(_asks_for_hold, _header(job.script)))


def staying_held(jobs: Iterable[PlannedJob]) -> frozenset[str]:
    """Return the tokens of the jobs that stay held; one task stands for its array: see `arrays`."""
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
    """Yield the header's lines up to the first that is no comment, to skip the longer rest."""
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
        return False  # contains no text that a shell could parse as such an option
    return not words.isdisjoint(_words(options))


def _words(options: str) -> list[str]:
    try:
        return shlex.split(options, comments=True)
    except ValueError:  # the scheduler will report the error
        return options.split()
