"""A network as text: its nodes with their progress, their links, and failures.

The input is a `NetworkView`; the result is lines that fit the terminal. Longer text continues on
indented lines.
"""

from __future__ import annotations

import json
import textwrap
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rowtui.cli.output.output import Output, TableCell, TextColumn, display_width, table_lines
from rowtui.cli.pack.text import cut, draws, terminal_width
from rowtui.core.base.text import Cost, plural, time_text, visible
from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.network.samples.model import dimensions_text
from rowtui.core.project.retry_policy import RetryPolicy
from rowtui.core.runs.limits.limits import RunLimits, Spent
from rowtui.core.runs.limits.times import cost_text, describe, money_text
from rowtui.core.workflow.duration import format_duration

if TYPE_CHECKING:
    from rowtui.core.runs.views import (
        Estimate,
        FailureView,
        LinkView,
        NetworkView,
        NodeView,
        RunView,
    )

NARROWEST, WIDEST = 40, 140
BAR_CELLS = 10
SHOWN_FAILURES = 10


STATE_STYLES: Mapping[str, str] = {
    "completed": "green",
    "submitted": "yellow",
    "eligible": "blue",
    "waiting": "cyan",
    "failed": "red bold",
    "cancelled": "yellow",
    "blocked": "yellow",
    "skipped": "dim",
}
"""The states of jobs in the order in which they are listed."""


def print_network(
    view: NetworkView, logs: Mapping[int, str], out: Output, width: int | None
) -> None:
    """Print the network. `logs`: paths by failed jobs.

    `width`: of the terminal, None without one.
    """
    room = WIDEST if width is None else max(NARROWEST, min(width, WIDEST))
    _head(view, out, room)
    out.print()
    out.lines(_nodes(view, out, room))
    if view.failures:
        out.print()
        out.lines(failure_lines(view.failures, logs, out, room))


# -- the run -------------------------------------------------------------------------------------


def _head(view: NetworkView, out: Output, room: int) -> None:
    name = out.style(visible(view.name), "bold")
    run = view.run
    if run is None:
        out.print(f"{name}: {count_jobs(view)}; no run yet.")
        out.lines(_refused(view, room))
        return
    said, style = run_status(run)
    out.print(f"{name}, run {run.id}: {out.style(said, style)}")
    if run.why:
        out.lines(_wrapped(f"  why: {visible(run.why)}", room, "       "))
    if view.changed:
        out.print("  network.toml or a source has changed since this run was made.")
    if limits := describe(run.limits):
        out.lines(_wrapped(f"  limits:  {', '.join(limits)}", room, "           "))
    out.lines(_wrapped(f"  charged: {spent_text(run.spent)}{used_text(run)}", room, "           "))
    if view.estimate is not None and view.estimate.jobs:
        out.lines(_wrapped(f"  left:    {estimate_text(view.estimate)}", room, "          "))
    out.lines(_refused(view, room))
    if not run.holder and run.status.value in ("running", "new", "paused", "stopped"):
        out.print("  'rowtui network run' continues the run.")


def _refused(view: NetworkView, room: int) -> Iterator[str]:
    """Yield the jobs that no plan would include now, and why."""
    for sentence in map(str, view.refused):
        yield from _wrapped(f"  {sentence}", room, "           ")


def run_status(run: RunView) -> tuple[str, str]:
    """Return a run's status in words, and its style."""
    status = run.status.value
    if run.holder:
        return f"running ({run.holder})", "green"
    if status == "running":
        return "no process drives it; submitted jobs continue", "yellow"
    styles = {"paused": "yellow bold", "finished": "green", "failed": "red bold"}
    return status, styles.get(status, "bold")


def count_jobs(view: NetworkView) -> str:
    """Return `39 samples, 12 of them completed`."""
    done = sum(node.counts[GraphJobState.COMPLETED] for node in view.nodes if node.counts)
    text = plural(view.jobs, "sample")
    return f"{text}, {done:,} of them completed" if done else text


def spent_text(spent: Spent) -> str:
    """Return the charges of a run, and its status."""
    parts = [cost_text(Cost(spent.cpu_hours, spent.gpu_hours))]
    parts += [money_text(money, unit) for unit, money in spent.money.items() if money]
    text = ", ".join(parts)
    if spent.jobs_in_queue:
        text += f"; {plural(spent.jobs_in_queue, 'job')} in queues"
    if spent.retries:
        text += f"; {plural(spent.retries, 'retry', 'retries')}"
    if spent.failures:
        text += f"; {plural(spent.failures, 'failure')} since limits were confirmed"
    return text


def used_text(run: RunView) -> str:
    """Return what ended jobs have used of the amounts they asked for; "" if unknown."""
    return "" if run.used is None else f"; used by jobs that ended: {cost_text(run.used)}"


def estimate_text(guess: Estimate) -> str:
    """Return when the run is expected to end, and which part takes longest."""
    samples = plural(guess.jobs, "sample")
    text = f"{samples}, {_about(guess.seconds_left)} (till {time_text(guess.done_at)})"
    if guess.basis == "walltime limits":
        text += " at the most, by wall time limits"
    if guess.growing:
        text += "; lists that jobs make will add more"
    path = " > ".join(visible(step.node) for step in guess.critical_path)
    return f"{text}; critical path * {path}" if path else text


def _about(seconds: float) -> str:
    return f"about {format_duration(round(seconds))}"


# -- nodes ---------------------------------------------------------------------------------------


def _nodes(view: NetworkView, out: Output, room: int) -> Iterator[str]:
    """Yield a line for each node, and below it its inputs."""
    names = max((display_width(visible(node.name)) for node in view.nodes), default=0)
    names = min(names, room // 3)
    into: dict[str, list[LinkView]] = {}
    for link in view.links:
        into.setdefault(link.target, []).append(link)
    for node in view.nodes:
        name = cut(visible(node.name), names)
        mark = out.style("*", "yellow bold") if node.critical is not None else " "
        name = out.style(name, "bold" if node.kind == "node" else "") + " " * (
            names - display_width(name)
        )
        yield f"{mark} {name}  {_line(node, out)}"
        for text in _below(node, into.get(node.name, ())):
            lines = _wrapped(text, room - 6, "  ")
            yield from (out.style(f"      {line}", "dim") for line in lines)


def _line(node: NodeView, out: Output) -> str:
    if node.kind == "source":
        return f"source, {_samples(node)}"
    if node.kind == "sink":
        return f"sink of {visible(node.home)}"
    if not node.needed:
        return out.style("not run: no sink needs it", "dim")
    if not node.counts or not sum(node.counts):
        return "no jobs yet" if node.lists else "no jobs"
    done = _progress(node.counts[GraphJobState.COMPLETED], sum(node.counts))
    return f"{done}  {states_text(node.counts, out)}"


def _progress(done: int, total: int) -> str:
    """Return a bar and a number that are full only when all is done."""
    full, empty = ("█", "░") if draws() else ("#", ".")
    cells = done * BAR_CELLS // total
    return f"{full * cells}{empty * (BAR_CELLS - cells)} {done * 100 // total:3d}%"


def states_text(counts: Sequence[int], out: Output) -> str:
    """Return `20 completed, 3 eligible, 1 failed`: the states that occur, as in `show status`."""
    numbers = {word: counts[GraphJobState[word.upper()]] for word in STATE_STYLES}
    return ", ".join(
        out.style(f"{number:,} {word}", STATE_STYLES[word])
        for word, number in numbers.items()
        if number
    )


def _below(node: NodeView, links: Sequence[LinkView]) -> Iterator[str]:
    if node.kind == "source":
        yield dimensions_of(node)
    if node.kind != "node":
        return
    text = f"{_samples(node)}: {dimensions_of(node)}" if node.dimensions else _samples(node)
    if node.action != node.name:
        text += f"; action {visible(node.action)}"
    if node.home != node.name:
        text += f"; in the directories of {visible(node.home)}"
    if node.lists:
        text += f"; {plural(node.lists, 'list')} to come will add more"
    yield text
    yield from map(link_text, links)


def _samples(node: NodeView) -> str:
    return plural(node.samples, "sample")


def dimensions_of(node: NodeView) -> str:
    """Return `temperature (11) x replica (5)`."""
    return visible(dimensions_text(node.dimensions))


def link_text(link: LinkView) -> str:
    """Return `from simulate/energy.json, collapse replica`."""
    text = f"from {visible(link.source)}" + (f"/{visible(link.output)}" if link.output else "")
    if link.input != link.source:
        text += f" as {visible(link.input)}"
    return ", ".join([text, *link_marks(link)])


def link_marks(link: LinkView) -> Iterator[str]:
    """Yield the effects of a link on samples."""
    if link.collapse:
        yield f"collapse {', '.join(map(visible, link.collapse))}"
    if link.expand:
        yield f"expand to {visible(link.expand)}"
    if link.require:
        yield f"require {link.require}"


# -- failures ------------------------------------------------------------------------------------


def failure_lines(
    failures: Sequence[FailureView],
    logs: Mapping[int, str],
    out: Output,
    room: int,
    shown: int = SHOWN_FAILURES,
) -> Iterator[str]:
    """Yield the jobs that failed by themselves, those that block most other jobs first."""
    lost = sum(failure.lost for failure in failures)
    head = f"{plural(len(failures), 'sample')} failed"
    yield out.style(head + (f" (others need their results: {lost:,})" if lost else ""), "red bold")
    for failure in failures[:shown]:
        costs = (
            f"; {plural(failure.lost, 'other is', 'others are')} blocked" if failure.lost else ""
        )
        text = f"  {visible(failure.node)} {visible(failure.directory)}: "
        yield from _wrapped(f"{text}{visible(failure.reason)}{costs}", room, "    ")
        if log := logs.get(failure.job):
            yield out.style(f"    {visible(log)}", "dim")
    if len(failures) > shown:
        yield f"  ... and {len(failures) - shown:,} more; all of them with --json"
    yield "  'rowtui network retry --all' lets them be tried again."


def say(out: Output, text: str, indent: str = "") -> None:
    """Print a sentence; on a terminal words are not split, and further lines are indented."""
    width = terminal_width()
    out.lines([text] if width is None else _wrapped(text, max(NARROWEST, width), indent))


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    """Return lines of at most this width; longer words stay whole."""
    return textwrap.wrap(
        text,
        width,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    ) or [text]


# -- samples -------------------------------------------------------------------------------------


def sample_lines(
    rows: Sequence[tuple[str, str, Mapping[str, object], str]], out: Output
) -> list[str]:
    """Return a table of samples: directory, state, values by dimension, reason."""
    columns: dict[str, None] = {}
    for _, _, values, _ in rows:
        columns.update(dict.fromkeys(values))
    shown = [*columns]
    with_state, with_reason = any(row[1] for row in rows), any(row[3] for row in rows)
    head = [
        TextColumn("Directory", style="bold"),
        *[TextColumn("State")] * with_state,
        *(TextColumn(f"/{name}", right=True) for name in shown),
        *[TextColumn("Why")] * with_reason,
    ]
    lines: list[list[str | TableCell]] = []
    for directory, state, values, reason in rows:
        lines.append(
            [
                directory,
                *[TableCell(state, STATE_STYLES.get(state, ""))] * with_state,
                *(_value(values.get(name)) for name in shown),
                *[reason] * with_reason,
            ]
        )
    return table_lines(head, lines, out)


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# -- runs ----------------------------------------------------------------------------------------


def clock() -> str:
    """Return the current time as prefix for log lines."""
    return time.strftime("%H:%M:%S")


def limit_lines(limits: RunLimits) -> Iterable[str]:
    """Return the limits; if there are none, a line that states so."""
    return describe(limits) or ("without any limit",)


def retry_lines(policy: RetryPolicy) -> Iterable[str]:
    """Return the rules by which a run retries failures; if there are none, a line that says so."""
    return map(str, policy.rules or ("none",))
