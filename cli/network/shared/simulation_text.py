"""A simulated network as text: run times, a line for each order, a chart of one.

On a terminal with colours a cell of the chart is a block, as high as its row was busy, in the
colour of its node. Elsewhere a cell is a letter for the node: upper case if the row was at least
half busy.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rowtui.cli.output.output import Output, TextColumn, display_width, table_lines
from rowtui.cli.pack.text import Cells, cut, cut_last, terminal_width
from rowtui.core.base.text import count, plural, price, visible
from rowtui.core.network.simulation.gantt import NOTHING, By, Gantt, GanttCell, gantt
from rowtui.core.network.simulation.simulate import Simulated, SimulatedMachines, SimulatedNeeds
from rowtui.core.runs.limits.run_times import RunTime, RunTimeSource
from rowtui.core.workflow.duration import format_duration

if TYPE_CHECKING:
    from rowtui.core.runs.limits.simulation import Comparison, PlugInResult

HEIGHT = 20  # rows of a chart
WIDTH = 80  # of the text, if there is no terminal
MOST_WIDTH = 140
MOST_LABEL = 24
_BLOCKS = "▁▂▃▄▅▆▇█"
_COLORS = ("green", "blue", "yellow", "cyan", "red")
_STYLES = (*_COLORS, *(f"{color} bold" for color in _COLORS))
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class SimulationReport(NamedTuple):
    """The simulation to print.

    `done`: jobs complete before; `assumed`: lists of assumed length `entries`.
    """

    found: Comparison
    times: Mapping[str, RunTime]
    network: str
    done: int
    assumed: int
    entries: int


def print_simulation(
    report: SimulationReport, chosen: PlugInResult | None, by: By, out: Output
) -> None:
    """Print the tables and a chart."""
    found = report.found
    left = int(found.work.left().sum())
    head = f"{visible(report.network)}: {plural(left, 'job')} left"
    if report.done:
        head += f", {report.done:,} completed"
    out.print(out.style(f"{head}, on {_machines(found.machines.machines)}", "bold"))
    if report.assumed:
        lists = plural(report.assumed, "list that is not there yet is", "lists not there yet are")
        out.print(f"{lists} taken to have {plural(report.entries, 'entry', 'entries')}.")
    if not left:
        out.print("Nothing is left to do.")
        return
    out.print()
    out.lines(_times(report, out))
    out.print()
    out.lines(_outcomes(found, out))
    for outcome in found.outcomes:
        if outcome.error:
            out.print(f"! {visible(outcome.plugin)}: {visible(outcome.error)}")
    for name in found.left_out:
        out.print(f"! {visible(name)}: not simulated, the time was over.")
    if found.best is not None and found.best.run is not None:
        for line in _not_run(found, found.best.run):
            out.print(line)
    path = f"the longest way through the network takes {duration(found.critical_path)}"
    out.print(f"No order takes less than {duration(found.least)}; {path}.")
    if chosen is not None and chosen.run is not None:
        out.print()
        out.lines(chart(report, chosen, by, out))


# -- tables ----------------------------------------------------------------------------------------


def _machines(machines: tuple[SimulatedMachines, ...]) -> str:
    parts = []
    for it in machines:
        name = visible(it.name)
        size = "" if name[:1].isdigit() else f" ({plural(it.cpus, 'CPU')})"
        many = "as many as wanted of " if it.number is None else f"{it.number:,} x "
        parts.append(f"{'' if it.number == 1 else many}{name}{size}")
    shown = parts[:4] + [f"{len(parts) - 4:,} more kinds"] * (len(parts) > 4)
    return ", ".join(shown)


def job_counts(found: Comparison) -> list[tuple[SimulatedNeeds, int]]:
    """Return how many jobs of each node are left, in network order.

    Jobs of a node that take different amounts are listed separately.
    """
    work = found.work
    counts = np.bincount(np.asarray(work.node)[work.left()], minlength=len(work.nodes))
    return list(zip(work.nodes, counts.tolist(), strict=True))


def _times(report: SimulationReport, out: Output) -> list[str]:
    columns = [
        TextColumn("Node", style="bold"),
        TextColumn("Jobs", right=True),
        TextColumn("CPUs", right=True),
        TextColumn("Each", right=True),
        TextColumn("Run time from"),
    ]
    rows = []
    for needs, jobs in job_counts(report.found):
        if not jobs:
            continue
        time = report.times[needs.name]
        source = time.basis.value
        if time.basis in (RunTimeSource.MEASURED, RunTimeSource.QUEUED):
            source += f" ({plural(time.jobs, 'job')})"
        cpus = "-" if needs.refused else count(needs.cpus)
        rows.append([needs.name, count(jobs), cpus, duration(needs.seconds), source])
    return table_lines(columns, rows, out)


def duration(seconds: float) -> str:
    """Return a time to the second, so that two can be compared; `7.3 s` for short times."""
    if seconds < 1:
        return f"{seconds:.2g} s"
    return f"{seconds:.1f} s" if seconds < 10 else format_duration(round(seconds))


def _outcomes(found: Comparison, out: Output) -> list[str]:
    runs = [it.run for it in found.outcomes if it.run is not None]
    priced = any(run.cost is not None for run in runs)
    again = any(run.reruns for run in runs)
    unit = f" ({visible(found.machines.unit)})" if found.machines.unit else ""
    columns = [
        TextColumn("Order", style="bold"),
        TextColumn("All done", right=True),
        *[TextColumn(f"Cost{unit}", right=True)] * priced,
        TextColumn("CPU-hours", right=True),
        TextColumn("Used", right=True),
        TextColumn("Machines", right=True),
        *[TextColumn("Reruns", right=True)] * again,
        TextColumn("Description"),
    ]
    rows: list[Cells] = []
    for outcome in found.outcomes:
        run = outcome.run
        if run is None:
            continue
        rows.append(
            [
                outcome.plugin,
                duration(run.makespan),
                *["-" if run.cost is None else price(run.cost)] * priced,
                price(run.cpu_hours),
                f"{100 * run.utilisation:.0f}%",
                count(len(run.opened)),
                *[count(run.reruns)] * again,
                outcome.summary,
            ]
        )
    return table_lines(columns, cut_last(columns, rows, terminal_width()), out)


def _not_run(found: Comparison, run: Simulated) -> list[str]:
    lines = []
    for it in run.unplaced:
        needs = found.work.nodes[it.node]
        jobs = plural(it.jobs, "job")
        if needs.refused:
            lines.append(f"! {jobs} of {visible(needs.name)} may not run: {needs.refused}.")
            continue
        asks = [plural(needs.cpus, "CPU")]
        if needs.memory_mb:
            asks.append(f"{needs.memory_mb:,} MB")
        if needs.gpus:
            asks.append(plural(needs.gpus, "GPU"))
        lines.append(f"! {jobs} of {visible(needs.name)} fit on no machine: {', '.join(asks)}.")
    if run.held_up:
        lines.append(f"! {plural(run.held_up, 'job needs', 'jobs need')} one of those.")
    return lines


# -- the chart -------------------------------------------------------------------------------------


def chart(report: SimulationReport, chosen: PlugInResult, by: By, out: Output) -> list[str]:
    """Return the lines of a chart of one order."""
    assert chosen.run is not None
    found = report.found
    width = min(terminal_width() or WIDTH, MOST_WIDTH)
    cells = max(10, width - MOST_LABEL - 3)
    drawn = gantt(
        found.work, found.machines.machines, chosen.run, by=by, height=HEIGHT, width=cells
    )
    if not drawn.rows:
        return []
    labels = [cut(visible(row.label), MOST_LABEL) for row in drawn.rows]
    longest = max(map(display_width, labels))
    blocks = out.color and (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    there = dict.fromkeys(cell.node for row in drawn.rows for cell in row.cells)
    names = sorted(it for it in there if it != NOTHING)
    marks = {node: at for at, node in enumerate(names)}
    each = f"a cell is {duration(drawn.seconds)}"
    lines = [
        out.style(f"{visible(chosen.plugin)}: {duration(chosen.run.makespan)}, {each}", "bold")
    ]
    for label, row in zip(labels, drawn.rows, strict=True):
        padding = " " * (longest - display_width(label))
        body = _colored(row.cells, marks, out) if blocks else _lettered(row.cells, marks)
        lines.append(f"{label}{padding} {'│' if blocks else '|'}{body}")
    lines.append(f"{' ' * (longest + 2)}{_axis(drawn, cells)}")
    lines.append("  ".join(_legend(drawn, node, marks[node], blocks, out) for node in names))
    return lines


def _colored(cells: tuple[GanttCell, ...], marks: Mapping[int, int], out: Output) -> str:
    """Return blocks; neighbours of one colour are painted together."""
    parts: list[tuple[str, str]] = []
    for cell in cells:
        style = "" if cell.node == NOTHING else _STYLES[marks[cell.node] % len(_STYLES)]
        height = min(len(_BLOCKS) - 1, int(cell.share * len(_BLOCKS)))
        drawn = " " if cell.node == NOTHING else _BLOCKS[height]
        if parts and parts[-1][0] == style:
            parts[-1] = (style, parts[-1][1] + drawn)
        else:
            parts.append((style, drawn))
    return "".join(out.style(text, style) if style else text for style, text in parts)


def _lettered(cells: tuple[GanttCell, ...], marks: Mapping[int, int]) -> str:
    return "".join(
        " "
        if cell.node == NOTHING
        else _letter(marks[cell.node])
        if cell.share >= 0.5
        else _letter(marks[cell.node]).lower()
        for cell in cells
    )


def _letter(mark: int) -> str:
    return _LETTERS[mark] if mark < len(_LETTERS) else "#"


def _axis(drawn: Gantt, cells: int) -> str:
    """Return the times below the chart: at its beginning, its middle and its end."""
    words = span if drawn.seconds * cells >= 20 else duration
    middle, end = words(drawn.seconds * cells / 2), words(drawn.seconds * cells)
    half = cells // 2
    return f"{'0':<{half}}{middle:<{max(1, cells - half - len(end))}}{end}"


def _legend(drawn: Gantt, node: int, mark: int, blocks: bool, out: Output) -> str:
    name = visible(drawn.nodes[node])
    if blocks:
        return f"{out.style(_BLOCKS[-1], _STYLES[mark % len(_STYLES)])} {name}"
    return f"{_letter(mark)} {name}"


def span(seconds: float) -> str:
    """Return a time in a few characters: `45 s`, `12 min`, `2.5 h`, `3.2 d`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 100 * 60:
        return f"{seconds / 60:.0f} min"
    if seconds < 100 * 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86400:,.1f} d"
