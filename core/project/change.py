"""Changes by the user when failed jobs are submitted again: memory, time, CPUs, destination.

The module parses what the user writes (`2x`, `64G`, `04:00:00`) into a `AmountChange`. It also
suggests a change for the way in which a job ended; a suggestion is applied only when the user asks
for it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.submission.reconcile.ending import (
    OUT_OF_MEMORY,
    TIME_LIMIT,
)
from rowtui.core.workflow.duration import DurationError, format_duration, parse_duration

_MOST_TIMES = 1000.0
_MOST_MB = 2**40
_MOST_CPUS = 2**20
_TIMES = re.compile(r"[x*]?([0-9]+(?:\.[0-9]*)?|\.[0-9]+)[x*]?", re.IGNORECASE)
_MEMORY = re.compile(r"([0-9]+(?:\.[0-9]*)?) ?([MGT])i?B?", re.IGNORECASE)
_UNITS = {"M": 1, "G": 1024, "T": 1024 * 1024}


class Amount(NamedTuple):
    """An absolute amount or, if `times`, a multiple of what the job had."""

    value: float
    times: bool = False

    def of(self, had: float | None) -> float | None:
        """Return the resulting amount; None if it depends on an unknown previous amount."""
        if not self.times:
            return self.value
        return None if had is None else self.value * had


class AmountChange(NamedTuple):
    """The changed amounts of a whole job, in MB, seconds and CPUs. None or "": no change."""

    memory: Amount | None = None
    walltime: Amount | None = None
    cpus: Amount | None = None
    partition: str = ""
    cluster: str = ""

    @property
    def is_nothing(self) -> bool:
        """Whether no field is changed."""
        return self == NO_CHANGE

    def __str__(self) -> str:
        """Return the change as text for the user, for example `memory 2x, time 04:00:00`."""
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


NO_CHANGE = AmountChange()
_SUGGESTED = {
    OUT_OF_MEMORY: AmountChange(memory=Amount(2.0, times=True)),
    TIME_LIMIT: AmountChange(walltime=Amount(1.5, times=True)),
}


def suggested_change(cause: str) -> AmountChange:
    """Return the change that helps a job that ended for this cause, if more of a resource helps."""
    return _SUGGESTED.get(cause, NO_CHANGE)


def parse_memory(text: str) -> Amount:
    """Parse `2x`, `64G`, `1.5T` or `500M`. Raises: RowtuiError."""
    times = _times(text)
    if times is not None:
        return times
    match = _MEMORY.fullmatch(text.strip())
    megabytes = float(match[1]) * _UNITS[match[2].upper()] if match else 0.0
    if not 1 <= megabytes <= _MOST_MB:
        raise RowtuiError(f"'{visible(text)}' is no amount of memory", 'write it as "2x" or "64G"')
    return Amount(megabytes)


def parse_walltime(text: str) -> Amount:
    """Parse `2x`, `04:00:00`, `2 days, 12:00:00` or `PT90M`. Raises: RowtuiError."""
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
    """Parse `8` or `2x`. Raises: RowtuiError."""
    times = _times(text)
    if times is not None:
        return times
    if not (text.isascii() and text.isdecimal() and 1 <= int(text[:9]) <= _MOST_CPUS):
        raise RowtuiError(f"'{visible(text)}' is no number of CPUs", 'write it as "8" or "2x"')
    return Amount(float(text))


def _times(text: str) -> Amount | None:
    """Parse a multiple: `2x`, `x2` and `*2` are the same."""
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
    """Format a memory size, for example `4 GB`, `1.5 GB` or `500 MB`."""
    if megabytes >= 1024 and round(megabytes / 1024, 2) * 1024 == megabytes:
        return f"{megabytes / 1024:g} GB"
    return f"{megabytes:,.0f} MB"
