"""A run of the network as lines: its state and limits, and the list of its failures."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rowtui.core.base.text import amount, plural, time_text
from rowtui.core.runs.limits.times import cost_text
from rowtui.tui.views.network.run_limits import asked_text
from rowtui.tui.widgets.cells import Span, line, portion, width_of, wrapped
from rowtui.tui.widgets.columns import TableColumn
from rowtui.tui.widgets.short_text import RUN_MARKS, limit

if TYPE_CHECKING:
    from rowtui.core.runs.views import FailureView, NetworkView, RunView
    from rowtui.tui.widgets.cells import Cell, Line


_LIMIT_BAR = 10  # Columns of a bar.

NO_NETWORK = (
    line(("This project has no network.", "title")),
    line(),
    line(
        "A network defines how samples flow through the actions of workflow.toml: sources with"
        " values or files, nodes that run an action for each of their samples, links that bring"
        " samples together (collapse) or apart (expand), and sinks. rowtui makes the directories,"
        " derives the dependencies of the jobs, and can drive the whole network to the end."
    ),
    line(),
    line(("rowtui network init", "key"), "  writes a network.toml to begin with"),
    line(("docs/network.md", "key"), "  has it key by key; ", ("examples/study", "key"), " is one"),
)
"""Shown for a project without a network.toml."""


def run_lines(
    view: NetworkView, width: int, *, frozen: bool, busy: str = "", brief: bool = False
) -> list[Line]:
    """Return the state of the run, its estimated end, and the spent part of its limits.

    `brief`: there is room for few lines only.
    """
    lines: list[Line] = []
    if busy:
        lines.append(line(("◐ ", "submitted"), f"{busy}…"))
    if not frozen:
        row = line(("network.toml as it is now", "title"), ("  a shows the run", "dim"))
        lines += [row, *_left(view)]
    elif view.run is None:
        lines += [
            line(("○ no run yet", "eligible"), "  ", ("S", "key"), " starts one"),
            *_left(view),
        ]
    else:
        lines += _standing(view.run, width, brief=brief)
        lines += _until_done(view, width, brief=brief)
        lines += _limits(view.run, width, 5 if brief else _LIMIT_BAR)
    if view.changed:
        lines += wrapped(
            line(
                ("▲ ", "warning"), "network.toml, or a table that it names, has changed since: ",
                ("=", "key"), " shows it, ", ("S", "key"), " begins a new run",
            ),
            width, 2,
        )  # fmt: skip
    if view.retired:
        text = plural(view.retired, "directory is", "directories are")
        lines.append(line(("▲ ", "warning"), f"{text} of samples that no source has any more"))
    for refused in view.refused:
        lines += wrapped(line(("✗ ", "failed"), str(refused)), width, 2)
    return lines


def _standing(run: RunView, width: int, *, brief: bool) -> list[Line]:
    mark = RUN_MARKS[run.status]
    word, glyph, style = mark.word, mark.glyph, mark.style
    if run.status.value == "running" and not run.holder:
        word, glyph, style = "not driven", "○", "eligible"
    first = [(f"{glyph} {word}", style), (f"  run {run.id}", "")]
    if run.here:
        first.append(("  driven by the autopilot here", "submitted"))
    elif run.holder:
        first.append((f"  driven by {run.holder}", "submitted"))
    if not brief:
        first.append((f"  priority {run.priority}, {run.execution}", "dim"))
    lines = wrapped(line(*first), width, 2)
    if run.status.value == "paused":
        why = run.why or "it waits for you"
        lines += wrapped(
            line(("  ", ""), (why, "warning"), "  ", ("S", "key"), " allows more and goes on"),
            width, 2,
        )  # fmt: skip
    return lines


def _left(view: NetworkView) -> list[Line]:
    if not view.jobs:
        return [line(("no jobs yet", "dim"))]
    return [
        line(plural(view.jobs, "sample"), ("  that ask for at most ", "dim"), asked_text(view.left))
    ]


def _until_done(view: NetworkView, width: int, *, brief: bool) -> list[Line]:
    """Return the estimated end, and the longest path."""
    guess = view.estimate
    if guess is None or not guess.jobs:
        return []
    about = "at the latest " if guess.basis == "walltime limits" else "about "
    done: list[tuple[str, str]] = [
        ("done ", "dim"), (f"{about}{moment(guess.done_at, view.at)}", ""),
        (f"  in {limit(round(guess.seconds_left))}", ""),
        (f"  {plural(guess.jobs, 'sample')} left", "dim"),
    ]  # fmt: skip
    if guess.growing:
        done.append((" and more to come", "dim"))
    times = "" if guess.basis == "walltime limits" else " times"
    done.append((f"  by {guess.basis}{times}", "dim"))
    if brief or not guess.critical_path:
        return wrapped(line(*done), width, 2)
    steps = " → ".join(f"{one.node} {limit(round(one.seconds))}" for one in guess.critical_path)
    path: list[tuple[str, str]] = [("◆ ", "warning"), (steps, "dim")]
    if width_of(whole := line(*done, ("   ", ""), *path)) <= width:
        return [whole]
    return [*wrapped(line(*done), width, 2), line(*path)]


def moment(at: float, now: float) -> str:
    """Return `18:45`, with the day if that is not today."""
    there, here = time.localtime(at), time.localtime(now)
    if there[:3] == here[:3]:
        return time.strftime("%H:%M", there)
    return time.strftime("%a %H:%M" if at - now < 6 * 86_400 else "%Y-%m-%d %H:%M", there)


def _limits(run: RunView, width: int, room: int) -> list[Line]:
    """Return every limit with its spent part: as many on a line as there is room for."""
    limits, spent = run.limits, run.spent
    bars = [
        _bar("CPU-hours", spent.cpu_hours, limits.cpu_hours, room),
        _bar("GPU-hours", spent.gpu_hours, limits.gpu_hours, room),
        _bar("jobs", spent.jobs_in_queue, limits.jobs_in_queue, room),
        _bar("failures in a row", spent.failures_in_a_row, limits.failures_in_a_row, room),
        _bar("failures", spent.failures, limits.failures, room),
    ]
    if limits.price is not None:
        paid = spent.money.get(limits.currency, 0.0)
        bars.insert(2, _bar(limits.currency or "money", paid, limits.price, room))
    if run.used is not None:
        bars.insert(1, line(("used ", "dim"), cost_text(run.used)))
    pieces = [one for one in bars if one]
    if limits.destinations is not None:
        pieces.append(line(("to ", "dim"), ", ".join(limits.destinations) or "no destination"))
    if limits.until is not None:
        pieces.append(line(("until ", "dim"), time_text(limits.until)))
    lines: list[Line] = []
    for piece in pieces:
        joined = (*lines[-1], Span("   "), *piece) if lines else piece
        if lines and sum(len(span.text) for span in joined) <= width:
            lines[-1] = joined
        else:
            lines.append(piece)
    return lines


def _bar(name: str, spent: float, most: float | None, room: int) -> Line:
    if most is None:
        shown = amount(spent)
        return line((f"{name} ", "dim"), shown) if spent and name == "CPU-hours" else ()
    full = portion(min(round(spent * 1e6), round(most * 1e6)), round(most * 1e6), room)
    style = "failed" if most and spent >= most else "warning" if spent > 0.8 * most else "completed"
    return line(
        (f"{name} ", "dim"), ("█" * full, style), ("░" * (room - full), "faint"),
        f" {amount(spent)} of {amount(most)}",
    )  # fmt: skip


def failure_columns(failures: Sequence[FailureView]) -> tuple[TableColumn, ...]:
    """Return the columns of the failures."""
    widest = 2 + max((len(one.node) for one in failures), default=4)
    longest = max((len(one.directory) for one in failures), default=9)
    return (
        TableColumn("node", "Node", min(12, max(6, widest)), min(22, widest)),
        TableColumn("lost", "Costs", 6, 9, "right", 1),
        TableColumn("reason", "Why", 14, grow=2),
        TableColumn("directory", "Directory", 10, min(36, longest), priority=2, grow=1),
    )


def failure_cells(failure: FailureView) -> dict[str, Cell]:
    """Return one failure, and the number of jobs that cannot run because of it."""
    lost = line((f"{failure.lost:,} more", "warning")) if failure.lost else line(("none", "dim"))
    return {
        "node": line(("✗ ", "failed"), (failure.node, "failed")),
        "lost": lost,
        "reason": line(failure.reason or "unknown reason"),
        "directory": line((failure.directory, "dim")),
    }
