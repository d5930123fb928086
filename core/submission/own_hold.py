"""Jobs whose own header asks to be held: a person lets them start, rowtui never does.

rowtui submits jobs held, to write their ids down before they start, and then lets them go. Nothing
in a queue tells that hold from one that `submit_options` or `custom` asked for; the script does.
Source: the manuals of sbatch (--hold, -H) and qsub (-h).
"""

from __future__ import annotations

import shlex

from rowtui.core.submission.model import PlannedJob

_HOLDS = {"#SBATCH": frozenset({"--hold", "-H"}), "#$": frozenset({"-h"})}


def stays_held(job: PlannedJob) -> bool:
    """Whether the job was to be submitted held, and to stay so until a person releases it."""
    for line in job.script.splitlines():
        if not line.startswith("#"):
            if line.strip():
                return False  # the header is over
            continue
        prefix, _, options = line.partition(" ")
        if not _HOLDS.get(prefix, frozenset()).isdisjoint(_words(options)):
            return True
    return False


def _words(options: str) -> list[str]:
    try:
        return shlex.split(options, comments=True)
    except ValueError:  # the scheduler will say so
        return options.split()
