"""What a person changes when failed jobs are sent again: memory, time, CPUs, and where.

Takes what they write (`2x`, `64G`, `04:00:00`); gives a `Change`. Also says what change the way in
which a job ended suggests; nothing is ever changed without being asked for.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from rowtui.core.errors import RowtuiError
from rowtui.core.submission.ending import OUT_OF_MEMORY, TIME_LIMIT
from rowtui.core.text import visible
from rowtui.core.workflow.duration import DurationError, format_duration, parse_duration

_MOST_TIMES = 1000.0
_MOST_MB = 2**40
_MOST_CPUS = 2**20
_TIMES = re.compile(r"[x*]?([0-9]+(?:\.[0-9]*)?|\.[0-9]+)[x*]?", re.IGNORECASE)
_MEMORY = re.compile(r"([0-9]+(?:\.[0-9]*)?) ?([MGT])i?B?", re.IGNORECASE)
_UNITS = {"M": 1, "G": 1024, "T": 1024 * 1024}


class Amount(NamedTuple):
    """So much, or (`times`) so many times what the job had."""

    value: float
    times: bool = False

    def of(self, had: float | None) -> float | None:
        """What that comes to; None if it depends on what is not known."""
        if not self.times:
            return self.value
        return None if had is None else self.value * had


class Change(NamedTuple):
    """What is changed; None or "" leaves it. For a whole job: MB, seconds, CPUs."""

    memory: Amount | None = None
    walltime: Amount | None = None
    cpus: Amount | None = None
    partition: str = ""
    cluster: str = ""

    @property
    def is_nothing(self) -> bool:
        """Whether everything is left as it was."""
        return self == NO_CHANGE

    def __str__(self) -> str:
        """`memory 2x, time 04:00:00`, as a person reads it."""
        words = [
            f"{name} {_words(name, amount)}"
            for name, amount in (
                ("memory", self.memory),
                ("time", self.walltime),
                ("CPUs", self.cpus),
            )
            if amount is not None
        ]
        words += [f"partition {visible(self.partition)}"] if self.partition else []
        words += [f"cluster {visible(self.cluster)}"] if self.cluster else []
        return ", ".join(words)


NO_CHANGE = Change()
_SUGGESTED = {
    OUT_OF_MEMORY: Change(memory=Amount(2.0, times=True)),
    TIME_LIMIT: Change(walltime=Amount(1.5, times=True)),
}


def suggested_change(cause: str) -> Change:
    """What would help a job that ended for this cause, if more of something would."""
    return _SUGGESTED.get(cause, NO_CHANGE)


def parse_memory(text: str) -> Amount:
    """`2x`, `64G`, `1.5T`, `500M`. Raises: RowtuiError."""
    times = _times(text)
    if times is not None:
        return times
    match = _MEMORY.fullmatch(text.strip())
    megabytes = float(match[1]) * _UNITS[match[2].upper()] if match else 0.0
    if not 1 <= megabytes <= _MOST_MB:
        raise RowtuiError(f"'{visible(text)}' is no amount of memory", 'write it as "2x" or "64G"')
    return Amount(megabytes)


def parse_walltime(text: str) -> Amount:
    """`2x`, `04:00:00`, `2 days, 12:00:00`, `PT90M`. Raises: RowtuiError."""
    times = _times(text)
    if times is not None:
        return times
    try:
        seconds = parse_duration(text.strip())
    except DurationError as error:
        raise RowtuiError(f"'{visible(text)}' is no time: {error}", error.hint) from None
    if not seconds:
        raise RowtuiError(f"'{visible(text)}' is no time: nothing ends at once")
    return Amount(float(seconds))


def parse_cpus(text: str) -> Amount:
    """`8`, `2x`. Raises: RowtuiError."""
    times = _times(text)
    if times is not None:
        return times
    if not (text.isascii() and text.isdecimal() and 1 <= int(text[:9]) <= _MOST_CPUS):
        raise RowtuiError(f"'{visible(text)}' is no number of CPUs", 'write it as "8" or "2x"')
    return Amount(float(text))


def _times(text: str) -> Amount | None:
    """`2x`, `x2` and `*2` are the same."""
    stripped = text.strip()
    match = _TIMES.fullmatch(stripped)
    if match is None or stripped.isdecimal() or match[0] == match[1]:
        return None
    times = float(match[1])
    if not 0 < times <= _MOST_TIMES:
        raise RowtuiError(f"'{visible(text)}' is no factor", 'write it as "1.5x"')
    return Amount(times, times=True)


def _words(name: str, amount: Amount) -> str:
    if amount.times:
        return f"{amount.value:g}x"
    if name == "memory":
        return memory_text(amount.value)
    return format_duration(int(amount.value)) if name == "time" else f"{amount.value:g}"


def memory_text(megabytes: float) -> str:
    """`4 GB`, `1.5 GB`, `500 MB`."""
    if megabytes >= 1024 and round(megabytes / 1024, 2) * 1024 == megabytes:
        return f"{megabytes / 1024:g} GB"
    return f"{megabytes:,.0f} MB"
