"""Times that users write ("18:00", "2026-11-22", "+8h"), to and from epoch seconds."""

from __future__ import annotations

import re
import time
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible

if TYPE_CHECKING:
    pass


def time_text(at: float) -> str:
    """Return a time as local text, `Sun 2026-11-22 18:00`."""
    return time.strftime("%a %Y-%m-%d %H:%M", time.localtime(at))


_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")


_DAY = re.compile(r"\d{4}-\d\d-\d\d")


_AFTER = re.compile(
    r"\+\s*(\d+(?:\.\d+)?)\s*(?:(m)(?:in(?:utes?)?)?|(h)(?:ours?)?|(d)(?:ays?)?|(w)(?:eeks?)?)"
)


_SECONDS = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}


_EXAMPLES = (
    'write it as "18:00", "2026-11-22" (to the end of that day), "2026-11-22 18:00" or "+8h"'
)


def parse_until(text: str, now: float) -> float:
    """Return the time that a text means, in epoch seconds; texts are local time.

    `18:00` is the next such time; a date alone means the end of that day. `now`: epoch seconds.
    Raises: RowtuiError if the text is not a time, or the time has passed.
    """
    said = text.strip().replace("T", " ")
    here = datetime.fromtimestamp(now)  # noqa: DTZ006 (what people say is local)
    try:
        at = _moment(said, here, now)
    except (ValueError, OverflowError, OSError):
        at = None
    if at is None:
        raise RowtuiError(f'"{visible(text)}" is not a time', _EXAMPLES)
    if at <= now:
        raise RowtuiError(f'"{visible(text)}" has passed: it is {time_text(now)}', _EXAMPLES)
    return at


def _moment(said: str, here: datetime, now: float) -> float | None:
    if match := _CLOCK.fullmatch(said):
        at = here.replace(hour=int(match[1]), minute=int(match[2]), second=0, microsecond=0)
        if at.timestamp() <= now:
            at += timedelta(days=1)
        return at.timestamp()
    if match := _AFTER.fullmatch(said):
        return datetime.fromtimestamp(  # noqa: DTZ006
            now + float(match[1]) * _SECONDS[match[match.lastindex or 0]]
        ).timestamp()
    if _DAY.fullmatch(said):
        return (datetime.fromisoformat(said) + timedelta(days=1)).timestamp()
    if _DAY.match(said):
        return datetime.fromisoformat(said).timestamp()
    return None
