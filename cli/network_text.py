"""A network as text: its nodes with how far they are, their links, and what failed.

Takes a `NetworkView`; gives lines that fit the terminal. What fits no line goes on, indented.
"""

from __future__ import annotations

import textwrap
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rowtui.cli.pack_text import cut, draws, terminal_width
from rowtui.cli.table import Cell, Column, display_width, table_lines
from rowtui.core.network.job_model import JobState
from rowtui.core.runs.limits import amount, describe
from rowtui.core.runs.moments import time_text
from rowtui.core.text import plural, visible
from rowtui.core.workflow.duration import format_duration

if TYPE_CHECKING:
    from rowtui.cli.output import Output
    from rowtui.core.runs.limits import Limits, Spent
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


class Words(NamedTuple):
    """How a state of jobs is called, and how it looks."""

    word: str
    style: str = ""


STATES: Mapping[JobState, Words] = {
    JobState.FAILED: Words("failed", "red bold"),
    JobState.CANCELLED: Words("cancelled", "red"),
    JobState.COMPLETE: Words("done", "green"),
    JobState.ACTIVE: Words("sent", "cyan"),
    JobState.READY: Words("ready", "yellow"),
    JobState.WAITING: Words("waiting"),
    JobState.MISSING: Words("without data", "dim"),
}


def print_network(
    view: NetworkView, logs: Mapping[int, str], out: Output, width: int | None
) -> None:
    """All of it. `logs`: paths by failed jobs. `width`: of the terminal, None without one."""
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
        return
    said, style = run_status(run)
    out.print(f"{name}, run {run.id}: {out.style(said, style)}")
    if run.why:
        out.lines(_wrapped(f"  why: {visible(run.why)}", room, "       "))
    if view.changed:
        out.print("  network.toml or a source is not what this run was made from.")
    if limits := describe(run.limits):
        out.lines(_wrapped(f"  limits: {', '.join(limits)}", room, "          "))
    out.lines(_wrapped(f"  spent:  {spent_text(run.spent)}{used_text(run)}", room, "          "))
    if view.estimate is not None and view.estimate.jobs:
        out.lines(_wrapped(f"  left:   {estimate_text(view.estimate)}", room, "          "))
    if not run.holder and run.status.value in ("running", "new", "paused", "stopped"):
        out.print("  'rowtui network run' goes on with it.")


def run_status(run: RunView) -> tuple[str, str]:
    """A run's status in words, and how it looks."""
    status = run.status.value
    if run.holder:
        return f"running ({run.holder})", "green"
    if status == "running":
        return "nobody drives it; jobs that were sent go on", "yellow"
    styles = {"paused": "yellow bold", "finished": "green", "failed": "red bold"}
    return {"finished": "done", "new": "not begun"}.get(status, status), styles.get(status, "bold")


def count_jobs(view: NetworkView) -> str:
    """`39 jobs, 12 of them done`."""
    done = sum(node.counts[JobState.COMPLETE] for node in view.nodes if node.counts)
    text = plural(view.jobs, "job")
    return f"{text}, {done:,} of them done" if done else text


def spent_text(spent: Spent) -> str:
    """What a run has spent, and how it fares."""
    parts = [f"{amount(spent.core_hours)} core-hours"]
    if spent.gpu_hours:
        parts.append(f"{amount(spent.gpu_hours)} GPU-hours")
    parts += [f"{amount(money)} {visible(unit)}" for unit, money in spent.money.items() if money]
    text = f"at most {', '.join(parts)}"
    if spent.jobs_in_queue:
        text += f"; {plural(spent.jobs_in_queue, 'job')} in queues"
    if spent.failures:
        text += f"; {plural(spent.failures, 'failure')} since limits were confirmed"
    return text


def used_text(run: RunView) -> str:
    """What jobs that ended have used of what they asked for; "" if it is not known."""
    return "" if run.used is None else f"; {amount(run.used)} core-hours used by jobs that ended"


def estimate_text(guess: Estimate) -> str:
    """When it will be done, and what takes longest."""
    jobs = plural(guess.jobs, "job")
    text = f"{jobs}, {_about(guess.seconds_left)} (till {time_text(guess.done_at)})"
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
    """A line for each, and below it what it is made of."""
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
    done = _progress(node.counts[JobState.COMPLETE], sum(node.counts))
    return f"{done}  {states_text(node.counts, out)}"


def _progress(done: int, total: int) -> str:
    """A bar and a number that are full only when all is done."""
    full, empty = ("█", "░") if draws() else ("#", ".")
    cells = done * BAR_CELLS // total
    return f"{full * cells}{empty * (BAR_CELLS - cells)} {done * 100 // total:3d}%"


def states_text(counts: Sequence[int], out: Output) -> str:
    """`1 failed, 20 done, 3 ready`: what there is, what needs a look first."""
    return ", ".join(
        out.style(f"{counts[state]:,} {said.word}", said.style)
        if said.style
        else f"{counts[state]:,} {said.word}"
        for state, said in STATES.items()
        if counts[state]
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
    """`temperature (11) x replica (5)`."""
    from rowtui.core.network.model import dimensions_text

    return visible(dimensions_text(node.dimensions))


def link_text(link: LinkView) -> str:
    """`from simulate/energy.json, collapse replica`."""
    text = f"from {visible(link.source)}" + (f"/{visible(link.output)}" if link.output else "")
    if link.input != link.source:
        text += f" as {visible(link.input)}"
    return ", ".join([text, *link_marks(link)])


def link_marks(link: LinkView) -> Iterator[str]:
    """What a link does to samples."""
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
    """The jobs that failed by themselves, those first that cost most."""
    lost = sum(failure.lost for failure in failures)
    head = f"{plural(len(failures), 'job')} failed"
    yield out.style(head + (f" (others need their results: {lost:,})" if lost else ""), "red bold")
    for failure in failures[:shown]:
        costs = f"; {plural(failure.lost, 'job')} cannot run for that" if failure.lost else ""
        text = f"  {visible(failure.node)} {visible(failure.directory)}: "
        yield from _wrapped(f"{text}{visible(failure.reason)}{costs}", room, "    ")
        if log := logs.get(failure.job):
            yield out.style(f"    {visible(log)}", "dim")
    if len(failures) > shown:
        yield f"  ... and {len(failures) - shown:,} more; all of them with --json"
    yield "  'rowtui network retry --all' lets them be tried again."


def say(out: Output, text: str, indent: str = "") -> None:
    """Print a sentence; on a terminal words are not cut, and further lines are indented."""
    width = terminal_width()
    out.lines([text] if width is None else _wrapped(text, max(NARROWEST, width), indent))


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    """Lines of that width at most; words that are longer stay whole."""
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
    """A table of samples: directory, state, values by dimension, reason."""
    columns: dict[str, None] = {}
    for _, _, values, _ in rows:
        columns.update(dict.fromkeys(values))
    shown = [*columns]
    with_state, with_reason = any(row[1] for row in rows), any(row[3] for row in rows)
    head = [
        Column("Directory", style="bold"),
        *[Column("State")] * with_state,
        *(Column(f"/{name}", right=True) for name in shown),
        *[Column("Why")] * with_reason,
    ]
    styles = {state.name.lower(): words for state, words in STATES.items()}
    lines: list[list[str | Cell]] = []
    for directory, state, values, reason in rows:
        said = styles.get(state, Words(state))
        lines.append(
            [
                directory,
                *[Cell(said.word, said.style)] * with_state,
                *(_value(values.get(name)) for name in shown),
                *[reason] * with_reason,
            ]
        )
    return table_lines(head, lines, out)


def _value(value: object) -> str:
    import json

    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# -- runs ----------------------------------------------------------------------------------------


def clock() -> str:
    """The time now, as lines of a log begin with."""
    return time.strftime("%H:%M:%S")


def limit_lines(limits: Limits) -> Iterable[str]:
    """What is allowed; a line that says so if that is everything."""
    return describe(limits) or ("without any limit",)
