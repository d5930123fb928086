"""Recompute results of a network, and show what one of its samples waits for."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from rowtui.core.base.text import plural

if TYPE_CHECKING:
    from rowtui.core.engine.api.engine import RedoView, Waits
    from rowtui.tui.shell.app import RowtuiApp
    from rowtui.tui.views.network.verbs import NetworkVerbs

MOST_NAMED = 4
"""The number of stale results that the question names."""


async def ask_redo(app: RowtuiApp, verbs: NetworkVerbs, jobs: list[int]) -> None:
    """Show the jobs that would run again; start them after the user typed their number."""
    from rowtui.tui.views.confirm import ConfirmScreen

    engine = app.session.engine
    try:
        view = await engine.network_redo_view(jobs)
    except Exception as error:
        app.report("nothing is made again", error)
        return
    if not view.jobs:
        text = "Every result was made from what there is now. space marks others to make again."
        app.notify(text, markup=False)
        return

    def answered(yes: bool | None) -> None:
        if not yes:
            app.notify("Nothing was put away.", markup=False)
            return
        app.session.note("you", f"make {plural(view.jobs, 'result')} again")
        said = f"{plural(view.jobs, 'job')} will run again; s goes on with the run."
        verbs.do("making results again", partial(_redo, app, jobs, view.jobs), said, marks=True)

    question = f"Make {plural(view.jobs, 'result')} again?"
    app.push_screen(ConfirmScreen(question, redo_lines(view, bool(jobs)), view.jobs), answered)


async def _redo(app: RowtuiApp, jobs: list[int], expected: int) -> None:
    _, told = await app.session.engine.network_redo(jobs, expected)
    for text in told:
        app.session.note("network", text)


def redo_lines(view: RedoView, marked: bool) -> list[str]:
    """Return lines with the jobs that would run again, and with what happens to the existing
    results.
    """
    those = (
        f"{view.roots:,} marked" if marked else f"{view.roots:,} made from other members than now"
    )
    lines = [those]
    for one in view.stale[:MOST_NAMED]:
        parts = ((one.added, "new"), (one.gone, "gone"))
        change = ", ".join(f"{number:,} {word}" for number, word in parts if number)
        lines.append(f"  {one.node}  {one.directory}  ({change})")
    if (more := view.roots - MOST_NAMED) > 0 and view.stale:
        lines.append(f"  and {more:,} more")
    nodes = ", ".join(f"{name} {many:,}" for name, many in view.nodes)
    lines.append(f"with what was made from them: {nodes}")
    lines.append("What they made goes to the trash, and can be brought back.")
    return lines


async def show_waits(app: RowtuiApp, job: int) -> None:
    """Show a page with the path from a job to what must happen first."""
    from rowtui.tui.views.page import PageScreen

    try:
        waits = await app.session.engine.network_waits(job)
    except Exception as error:
        app.report("nobody knows what it waits for", error)
        return
    app.push_screen(PageScreen("What it waits for", waits_lines(waits)))


def waits_lines(waits: Waits) -> list[str]:
    """Return the path, each step further indented; then everything that the first job waits for."""
    from rowtui.tui.views.network.texts import state_mark

    lines = []
    for depth, step in enumerate(waits.steps):
        arrow = "  " * depth + ("└ " if depth else "")
        lines.append(f"{arrow}{state_mark(step.state)}  {step.node}  {step.directory}")
        indent = "  " * (depth + 1 + bool(depth))
        if step.reason:
            lines.append(f"{indent}{step.reason}")
        if step.open > 1:
            lines.append(f"{indent}waits for {step.open:,}, of which the nearest to the cause is")
    if waits.cut:
        lines.append("and so on")
    if len(waits.steps) == 1:
        state = waits.steps[0].state
        words = {
            "waiting": "It waits for nothing that is known yet: a list may bring more.",
            "eligible": "It waits for nothing: it is sent with the next step, or by the autopilot.",
            "submitted": "It waits for nothing: it is with a scheduler. Enter shows its log.",
            "failed": "It failed by itself: Enter shows its log, R tries it again.",
        }
        lines += ["", words.get(state, "It waits for nothing.")]
    if waits.needs:
        lines += ["", "All that it waits for itself:"]
        lines += [f"  {state_mark(state)}  {many:,} of {node}" for node, state, many in waits.needs]
    return lines
