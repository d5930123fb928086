"""Times that users write ("18:00", "2026-11-22", "+8h") as epoch seconds, and limits as text."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import Cost, amount, plural, time_text, visible
from rowtui.core.submission.plan.model import CPU_HOURS, GPU_HOURS

if TYPE_CHECKING:
    from rowtui.core.runs.limits.limits import RunLimits


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
    sentence = text.strip().replace("T", " ")
    here = datetime.fromtimestamp(now)  # noqa: DTZ006 (what people say is local)
    try:
        at = _moment(sentence, here, now)
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


# Limits, costs and amounts as text for the user.


def describe(limits: RunLimits) -> tuple[str, ...]:
    """Return a line for each limit; a limit that is not set has no line."""
    lines = []
    if limits.cpu_hours is not None:
        lines.append(f"at most {amount(limits.cpu_hours)} CPU-hours")
    if limits.gpu_hours is not None:
        lines.append(f"at most {amount(limits.gpu_hours)} GPU-hours")
    if limits.price is not None:
        lines.append(f"at most {money_text(limits.price, limits.currency)}")
    if limits.jobs_in_queue is not None:
        lines.append(f"at most {plural(limits.jobs_in_queue, 'job')} in the queue")
    if limits.allocations is not None:
        lines.append(f"a pool of at most {plural(limits.allocations, 'allocation')} at a time")
    if limits.destinations is not None:
        named = ", ".join(map(visible, limits.destinations))
        lines.append(f"only to {named}" if named else "to no destination")
    if limits.until is not None:
        lines.append(f"until {time_text(limits.until)}")
    if limits.failures is not None:
        lines.append(f"stops at {plural(limits.failures, 'failed job')}")
    if limits.failures_in_a_row is not None:
        lines.append(f"stops at {plural(limits.failures_in_a_row, 'failed job')} in a row")
    if limits.retries is not None:
        lines.append(f"at most {plural(limits.retries, 'retry', 'retries')}")
    if limits.over_budget:
        lines.append("beyond the budgets of clusters")
    return tuple(lines)


def unknown_clusters(patterns: Iterable[str], known: Collection[str]) -> str:
    """Return an error naming the patterns of destinations that match no cluster, with known names.

    The result is "" if each pattern matches a cluster.
    """
    names = [pattern.partition("/")[0] for pattern in patterns]
    wrong = [name for name in names if not any(fnmatchcase(one, name) for one in known)]
    if not wrong:
        return ""
    shown = " or ".join(f"'{visible(name)}'" for name in dict.fromkeys(wrong))
    return f"there is no cluster {shown}; choose from {', '.join(map(visible, sorted(known)))}"


def cost_text(cost: Cost) -> str:
    """Return a cost with its units: `0.90 CPU-hours and 2 GPU-hours`."""
    cpus, gpus = f"{amount(cost.cpu_hours)} {CPU_HOURS}", f"{amount(cost.gpu_hours)} {GPU_HOURS}"
    if cost.gpu_hours and cost.cpu_hours:
        return f"{cpus} and {gpus}"
    return gpus if cost.gpu_hours else cpus


def money_text(money: float, currency: str) -> str:
    """Return an amount of money, followed by `in an unknown currency` where prices have none."""
    return f"{amount(money)} {visible(currency) if currency else 'in an unknown currency'}"
