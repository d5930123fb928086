"""A run of the network as lines: its state and limits, and the list of its failures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rowtui.core.base.text import amount, plural, time_text
from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.runs.limits.times import cost_text
from rowtui.tui.views.network.run_limits import asked_text
from rowtui.tui.widgets.cells import Bar, Span, bar, line, wrapped
from rowtui.tui.widgets.columns import TableColumn
from rowtui.tui.widgets.short_text import RUN_MARKS, limit, moment

if TYPE_CHECKING:
    from rowtui.core.runs.views import FailureView, NetworkView, RunView
    from rowtui.tui.widgets.cells import Cell, Line


_LIMIT_BAR = 10  # Columns of a bar.
_PROGRESS_BAR = 20

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
    line(("rowtui demo network", "key"), "  shows one at work"),
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
        lines += _standing(view.run, width)
        lines += _progress(view, width, brief=brief)
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


def _standing(run: RunView, width: int) -> list[Line]:
    mark = RUN_MARKS[run.status]
    first = [(f"{mark.glyph} {mark.word}", mark.style)]
    if run.here:
        first = [("▶ runs by itself, in this dashboard", "submitted")]
    elif run.holder:
        first = [(f"▶ runs by itself, driven by {run.holder}", "submitted")]
    elif run.status.value == "running":
        first = [("○ nothing drives it now: S goes on", "eligible")]
    lines = wrapped(line(*first, (f"   run {run.id}", "dim")), width, 2)
    if run.status.value == "paused":
        why = (run.why or "it waits for you", "warning")
        keys = line("  ", ("e", "key"), " changes the limits, ", ("S", "key"), " goes on")
        lines += wrapped((*line("  ", why), *keys), width, 2)
    return lines


def _left(view: NetworkView) -> list[Line]:
    if not view.jobs:
        return [line(("no jobs yet", "dim"))]
    return [
        line(plural(view.jobs, "sample"), ("  that ask for at most ", "dim"), asked_text(view.left))
    ]


def _progress(view: NetworkView, width: int, *, brief: bool) -> list[Line]:
    """Return how many jobs are completed, when the others end, and the longest path."""
    counts = [node.counts for node in view.nodes if node.kind == "node" and node.needed]
    done, moving, ready, lost = (
        sum(each[state] for each in counts if each)
        for state in (
            GraphJobState.COMPLETED,
            GraphJobState.SUBMITTED,
            GraphJobState.ELIGIBLE,
            GraphJobState.SKIPPED,
        )
    )
    total = sum(map(sum, counts)) - lost
    parts = line(f"{done:,} of {plural(total, 'job')} completed ")
    parts = (*parts, *Bar(done, moving, total, ready).at(_PROGRESS_BAR))
    guess = view.estimate
    if guess is not None and guess.jobs:
        more = "or more " if guess.growing else ""
        limits = guess.basis == "walltime limits"
        as_long = "each takes its whole limit" if limits else "jobs take as long as so far"
        end = f"   {guess.jobs:,} {more}left; ends {moment(guess.done_at, view.at)}"
        parts = (*parts, *line(end, "" if brief else f", if {as_long}"))
    lines = wrapped(parts, width, 2)
    if guess is not None and guess.critical_path and not brief:
        steps = [f"{one.node} {limit(round(one.seconds))}" for one in guess.critical_path]
        words = "the longest way to the end: " + ", ".join(steps)
        lines += wrapped(line(("◆ ", "warning"), (words, "dim")), width, 2)
    return lines


def _limits(run: RunView, width: int, room: int) -> list[Line]:
    """Return every limit with its spent part: as many on a line as there is room for."""
    limits, spent = run.limits, run.spent
    bars = [
        _bar("CPU-hours", spent.cpu_hours, limits.cpu_hours, room),
        _bar("GPU-hours", spent.gpu_hours, limits.gpu_hours, room),
        _bar("jobs at once", spent.jobs_in_queue, limits.jobs_in_queue, room),
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
    style = "failed" if most and spent >= most else "warning" if spent > 0.8 * most else "completed"
    used = min(spent, most)
    filled = bar(((used, "█", style), (most - used, "░", "faint")), most or 1.0, room)
    return line((f"{name} ", "dim"), f"{amount(spent)} of {amount(most)} ") + filled


def failure_columns(failures: Sequence[FailureView]) -> tuple[TableColumn, ...]:
    """Return the columns of the failures."""
    widest = 2 + max((len(one.node) for one in failures), default=4)
    longest = max((len(one.directory) for one in failures), default=9)
    return (
        TableColumn("node", "Node", min(12, max(6, widest)), min(22, widest)),
        TableColumn("lost", "Stops", 6, 9, "right", 1),
        TableColumn("reason", "Why", 14, grow=2),
        TableColumn("directory", "Directory", 10, min(36, longest), priority=2, grow=1),
    )


def failure_cells(failure: FailureView) -> dict[str, Cell]:
    """Return one failure, and the number of jobs that cannot run because of it."""
    words = plural(failure.lost, "other")
    lost = line((words, "warning") if failure.lost else ("·", "dim"))
    return {
        "node": line(("✗ ", "failed"), (failure.node, "failed")),
        "lost": lost,
        "reason": line(failure.reason or "unknown reason"),
        "directory": line((failure.directory, "dim")),
    }
