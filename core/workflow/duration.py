"""Convert wall times from text to whole seconds and back.

Formats: `HH:MM[:SS]`, `4 days, 12:00:00`, ISO 8601's `PT1H30M`. Unlike in Row, a negative duration
is refused, since it has no meaning as a time limit.
"""

from __future__ import annotations

import math
import re

from rowtui.core.base.lazy import pattern

SECONDS_PER_DAY = 86_400
MAXIMUM_DAYS = 999_999_999  # Row's limit

_MAXIMUM_HOURS = 2_400_000_000  # Row's limit
_SHORTEST_TIME = 5  # `00:10`: Row refuses `0:10`

_TIME = pattern(r"([0-9]+):([0-5][0-9])(?::([0-5][0-9])(?:[.,][0-9]{1,6})?)?")
_DAYS = pattern(r"([0-9]+) ?(?:days|day|d),? ?(.*)", re.IGNORECASE)
_ISO_NUMBER = r"([0-9]+)(?:([.,])([0-9]*))?"
_ISO_DATE = pattern(_ISO_NUMBER + "([YMWD])")
_ISO_TIME = pattern(_ISO_NUMBER + "([HMS])")
_DATE_UNITS = {"Y": 365 * 86_400, "M": 30 * 86_400, "W": 7 * 86_400, "D": 86_400}
_TIME_UNITS = {"H": 3600, "M": 60, "S": 1}

_SHORT = pattern(r"([0-9]{1,6}) ?([dhm])", re.IGNORECASE)
_SLURM_DAYS = pattern(r"^([0-9]{1,9})-([0-9]+:.*)$")
_SHORT_UNITS = {"d": SECONDS_PER_DAY, "h": 3600, "m": 60}

_EXAMPLES = 'write it as "01:30:00", "2 days, 12:00:00" or "PT1H30M"'


class DurationError(ValueError):
    """The text is not a duration. `hint` explains how to write one."""

    def __init__(self, message: str, hint: str = _EXAMPLES) -> None:
        super().__init__(message)
        self.hint = hint


def parse_duration(text: str) -> int:
    """Return whole seconds; fractions are dropped.

    Raises: DurationError.
    """
    if not text:
        raise DurationError("the duration is empty")
    if text[0] == "-":
        raise DurationError("a duration cannot be negative")
    body = text[1:] if text[0] == "+" else text
    seconds = _iso(body[1:]) if body.startswith("P") else _plain(body)
    if seconds is None:
        raise DurationError("not a duration", _hint_for(text))
    if seconds >= (MAXIMUM_DAYS + 1) * SECONDS_PER_DAY:
        raise DurationError(f"longer than {MAXIMUM_DAYS} days")
    return seconds


def parse_time(text: str) -> int:
    """Return the whole seconds that a user typed: also `2d`, `4h`, `30m` or Slurm's `1-12:00:00`.

    It reads what `format_duration` writes. These forms are not for workflow.toml, which Row reads,
    too. Raises: DurationError.
    """
    if match := _SHORT.fullmatch(text.strip()):
        return int(match[1]) * _SHORT_UNITS[match[2].lower()]
    try:
        return parse_duration(_SLURM_DAYS.sub(r"\1d \2", text.strip()))
    except DurationError as error:
        raise DurationError(str(error), "write it as 04:00:00, 4h or 30m") from None


def format_duration(seconds: float) -> str:
    """Return `02:03:04`, or with days `1-02:03:04`, the format of Slurm; rounded up to seconds."""
    days, rest = divmod(math.ceil(seconds), SECONDS_PER_DAY)
    time = f"{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"
    return f"{days}-{time}" if days else time


def _plain(body: str) -> int | None:
    if "d" not in body and "D" not in body:
        return _time(body, _MAXIMUM_HOURS)
    match = _DAYS.fullmatch(body)
    if match is None or len(match[1]) > 10:
        return None
    time = _time(match[2], 23) if match[2] else 0
    return None if time is None else int(match[1]) * SECONDS_PER_DAY + time


def _time(text: str, maximum_hours: int) -> int | None:
    match = _TIME.fullmatch(text)
    if match is None or len(text) < _SHORTEST_TIME or len(match[1]) > 10:
        return None
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return hours * 3600 + minutes * 60 + seconds if hours <= maximum_hours else None


def _iso(body: str) -> int | None:
    date, _, time = body.partition("T")
    parts = [*_iso_parts(date, _ISO_DATE, _DATE_UNITS), *_iso_parts(time, _ISO_TIME, _TIME_UNITS)]
    if not parts:
        return None
    total = numerator = 0
    denominator = 1
    for number, part in enumerate(parts):
        if part is None:
            return None
        whole, fraction, unit = part
        if fraction is not None and number != len(parts) - 1:
            return None
        total += whole * unit
        if fraction:
            denominator = 10 ** len(fraction)
            numerator = int(fraction) * unit
    return total + numerator // denominator


def _iso_parts(
    text: str, pattern: re.Pattern[str], units: dict[str, int]
) -> list[tuple[int, str | None, int] | None]:
    """Return each number as (whole, digits of the fraction, unit in seconds); [None] if invalid."""
    parts: list[tuple[int, str | None, int] | None] = []
    at = 0
    while at < len(text):
        match = pattern.match(text, at)
        if match is None or len(match[1]) > 18 or len(match[3] or "") > 1000:
            return [None]
        fraction = match[3] if match[2] else None
        parts.append((int(match[1]), fraction, units[match[4]]))
        at = match.end()
    return parts


def _hint_for(text: str) -> str:
    if text.isascii() and text.isdigit():
        return f'for seconds write "PT{text}S", for minutes "PT{text}M", for hours "PT{text}H"'
    if match := re.fullmatch(r"([0-9]+) ?([hms])[a-z]*", text, re.IGNORECASE):
        return f'did you mean "PT{match[1]}{match[2].upper()}"?'
    if re.fullmatch(r"[0-9]:[0-5][0-9]", text):
        return f'hours and minutes need two digits here: "0{text}"'
    if match := re.fullmatch(r"([0-9]+)-([0-9:]+)", text):
        return f'days are written "{match[1]}d {match[2]}"'
    return _EXAMPLES
