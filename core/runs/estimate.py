"""When a run will be done, as far as that can be told."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rowtui.core.runs.running import Running


class Estimate(NamedTuple):
    """`seconds_left` of a run from `now` on, None where nothing is known; `done_at`: epoch seconds.

    `critical_path`: nodes with the seconds that they add to it. `seconds`: one job of each node.
    `basis`: "measured", "walltime limits" or "mixed".
    """

    seconds_left: float | None = None
    done_at: float | None = None
    critical_path: tuple[tuple[str, float], ...] = ()
    seconds: tuple[tuple[str, float], ...] = ()
    basis: str = ""


def estimate(running: Running, now: float) -> Estimate:
    """What is left of a run, at this pace."""
    del running, now
    return Estimate()
