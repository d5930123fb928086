"""A line of what is to be reached, and whether it was.

Decides how one line is judged: by which row of which bench (its suite), by which figure of it, at
which sizes, and against what. The lines themselves are in `lines`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from bench.measured import Measured

State = Literal["reached", "not reached", "not measured"]
UNITS = ("s", "ms", "us", "MB", "%", "kB/s", "jobs/s")
ANY = 0
"""As a size of `reach`: it holds at each size, and is judged at the largest that was measured."""


@dataclass(frozen=True)
class Line:
    """What is to be reached, and how it is measured.

    `reach`: by size, the most (with `more_is_better`, the least) that `figure` of the rows `what`
    of `suite` may be; with `against`, as a share of that tool's figure in the same run. Where
    several rows have that name, the worst counts. `floor`: the row of the same suite that nobody
    can be faster than, at the same size or without one. `peer`: whose figures stand beside;
    `known`: what is known of it where it is not measured. `growth`: why its cost may grow faster
    than its size, if it may. `variant`: of the rows; "*" takes all of them, and "" the usual one,
    or where that was not measured, the first.
    """

    name: str
    suite: str
    what: str
    figure: str
    reach: Mapping[int, float]
    against: str = ""
    more_is_better: bool = False
    floor: str = ""
    peer: str = ""
    known: str = ""
    growth: str = ""
    variant: str = ""
    needs: str = ""
    """What has to be given for it to be measured, in words."""

    @property
    def unit(self) -> str:
        """Of the figure; a share and a number have none."""
        last = self.figure.rpartition(" ")[2]
        return last if last in UNITS else ""


@dataclass(frozen=True)
class Outcome:
    """A line with what was measured: by size, of the best run and of the median one."""

    line: Line
    state: State
    why: str = ""
    best: Mapping[int, float] = field(default_factory=dict)
    median: Mapping[int, float] = field(default_factory=dict)
    floor: Mapping[int, float] = field(default_factory=dict)
    peer: Mapping[int, float] = field(default_factory=dict)
    missed: tuple[int, ...] = ()
    """The sizes at which it was not reached."""
    reference: bool = False
    """The peer's figures are known ones, of another machine."""


def judge(line: Line, rows: Sequence[Measured], refused: Mapping[str, str]) -> Outcome:
    """What became of a line; `refused`: suites that could not run, with the reason."""
    mine = [row for row in rows if row.suite == line.suite]
    ours = [row for row in mine if row.what == line.what and row.tool == "rowtui"]
    if ours and line.variant != "*":
        there = {row.variant: None for row in ours}
        variant = line.variant if line.variant in there or line.variant else next(iter(there))
        ours = [row for row in ours if row.variant == variant]
        mine = [row for row in mine if row.variant in {variant, ""} or line.variant]
    found = [row for row in ours if line.figure in row.best and not row.error]
    if not found:
        return Outcome(line, "not measured", _why_not(line, ours, refused))
    best = _by_size(line, found, "best")
    median = _by_size(line, found, "median")
    floor = _by_size(line, [r for r in mine if (r.tool, r.what) == ("floor", line.floor)], "best")
    if ANY in floor:
        floor = {size: floor.get(size, floor[ANY]) for size in best}
    other = line.against or line.peer
    theirs = [r for r in mine if r.what == line.what and r.tool == other]
    known = [r for r in mine if r.what == line.what and r.tool == f"{other} (reference)"]
    reference = bool(known) and not theirs
    peer = _by_size(line, theirs or known, "best")

    def outcome(state: State, why: str, missed: tuple[int, ...] = ()) -> Outcome:
        return Outcome(line, state, why, best, median, floor, peer, missed, reference)

    judged = {size: value for size, value in best.items() if _asked(line, size, best)}
    if not judged:
        sizes = ", ".join(f"{size:,}" for size in best)
        return outcome("not measured", f"only at {sizes}")
    if line.against:
        if reference or not all(peer.get(size) for size in judged):
            return outcome("not measured", f"needs {line.against} beside it, on this machine")
        judged = {size: value / peer[size] for size, value in judged.items()}
    missed = tuple(
        size
        for size, value in judged.items()
        if not _holds(line, value, line.reach.get(size, line.reach.get(ANY, 0.0)))
    )
    left = [f"{size:,}" for size in line.reach if size != ANY and size not in best]
    why = f"without {', '.join(left)}" if left else ""
    return outcome("not reached" if missed else "reached", why, missed)


def _asked(line: Line, size: int, best: Mapping[int, float]) -> bool:
    return size in line.reach or (ANY in line.reach and size == max(best))


def _holds(line: Line, value: float, reach: float) -> bool:
    return value >= reach if line.more_is_better else value <= reach


def _by_size(line: Line, rows: Sequence[Measured], which: str) -> dict[int, float]:
    worst = min if line.more_is_better else max
    found: dict[int, float] = {}
    for row in sorted(rows, key=lambda row: row.size):
        value = getattr(row, which).get(line.figure)
        if value is not None:
            found[row.size] = worst(value, found.get(row.size, value))
    return found


def _why_not(line: Line, ours: Sequence[Measured], refused: Mapping[str, str]) -> str:
    if line.suite in refused:
        return refused[line.suite]
    if ours:
        errors = [row.error for row in ours if row.error]
        return errors[0] if errors else f"{line.what!r} has no {line.figure!r}"
    return line.needs or f"the suite {line.suite!r} has no {line.what!r}"
