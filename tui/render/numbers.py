"""Durations, ages and costs as short text for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowtui.core.text import hours, si

if TYPE_CHECKING:
    from rowtui.core.text import Cost


def duration(seconds: int | None) -> str:
    """`0:45`, `12:05`, `3:12:44`, `2d 03:04`; empty for None."""
    if seconds is None:
        return ""
    minutes, second = divmod(max(0, int(seconds)), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    if days:
        return f"{days}d {hour:02d}:{minute:02d}"
    if hours:
        return f"{hours}:{minute:02d}:{second:02d}"
    return f"{minute}:{second:02d}"


def age(seconds: float) -> str:
    """`now`, `15 s`, `3 min`, `2 h`, `5 d`: coarse, so that it seldom changes on the screen."""
    whole = int(seconds)
    if whole < 5:
        return "now"
    if whole < 60:
        return f"{whole - whole % 5} s"
    if whole < 3600:
        return f"{whole // 60} min"
    if whole < 48 * 3600:
        return f"{whole // 3600} h"
    return f"{whole // 86400} d"


def short_cost(cost: Cost) -> str:
    """`461K CPU-h`, `12 GPU-h`, both with `+`; `–` for nothing."""
    parts = []
    if cost.cpu_hours > 0:
        parts.append(f"{hours(cost.cpu_hours)} CPU-h")
    if cost.gpu_hours > 0:
        parts.append(f"{hours(cost.gpu_hours)} GPU-h")
    return " + ".join(parts) or "–"


def cost_forms(cost: Cost) -> tuple[str, ...]:
    """The same from wide to narrow, each with its unit: `512 CPU-h + 12 GPU-h`, `512+12 GPU-h`.

    Never a bare `h`: that reads as a duration.
    """
    full = short_cost(cost)
    if cost.gpu_hours <= 0 or cost.cpu_hours <= 0:
        return (full,)
    return (full, f"{hours(cost.cpu_hours)}+{hours(cost.gpu_hours)} GPU-h")


def file_size(size: int) -> str:
    """`22 B`, `4 kB`."""
    text = si(size)
    return f"{text} B" if text[-1].isdigit() else f"{text[:-1]} {text[-1]}B"


def clock_time(at: float) -> str:
    """Local time of day, `04:51:12`."""
    import time

    return time.strftime("%H:%M:%S", time.localtime(at))


def day(at: float) -> str:
    """Local date, `2026-11-19`."""
    import time

    return time.strftime("%Y-%m-%d", time.localtime(at))
