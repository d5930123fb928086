"""The operations on a network: start, stop, one step, and retry or cancel jobs.

Each operation that changes something asks the user first, then calls the engine, and reports the
result.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from rowtui.core.base.text import plural
from rowtui.core.engine.api.engine import GraphJobState
from rowtui.tui.shell.work import start
from rowtui.tui.widgets.cells import line

if TYPE_CHECKING:
    from rowtui.core.engine.api.engine import RedoView, RunLimits, WaitPath
    from rowtui.tui.shell.app import RowtuiApp
    from rowtui.tui.shell.feed import Feed
    from rowtui.tui.shell.session import Session
    from rowtui.tui.widgets.cells import Line


PAGE = 10_000
"""The number of failed samples in one request, when all are retried."""


class NetworkVerbs:
    """The network operations of one app."""

    def __init__(self, app: RowtuiApp, session: Session, feed: Feed) -> None:
        self._app = app
        self._session = session
        self._feed = feed

    # Starting and stopping

    def start(self, *, anew: bool = False) -> None:
        """Ask for the limits; then let the network run by itself."""
        from rowtui.tui.views.network.limits_dialog import (
            RunLimitsScreen,  # Not needed for the first paint.
        )
        from rowtui.tui.views.network.run_limits import limit_texts, proposed

        network, snapshot = self._session.network, self._session.snapshot
        view = network.view
        run = view.run if view and not anew else None
        going_on = run is not None and not run.status.is_over
        cluster = snapshot.cluster if snapshot else ""
        texts = limit_texts(proposed(view, cluster, anew=anew))
        known = view.clusters if view is not None else ()
        question = f"Go on with run {run.id}?" if run and going_on else "Start a new run?"

        def answered(limits: RunLimits | None) -> None:
            if limits is None:
                self._app.notify("Nothing was started.", markup=False)
                return
            from rowtui.core.runs.limits.texts import describe as describe_limits

            told = "; ".join(describe_limits(limits)) or "no limits"
            self._session.note("you", f"let the network run: {told}")
            work = partial(self._session.engine.network_start, limits, anew=anew)
            self.do("starting the run", work, "The autopilot drives the network.")

        lines = self._what_it_may_cost(going_on=going_on)
        self._app.push_screen(
            RunLimitsScreen(question, lines, texts, self._session.clock, known), answered
        )

    def _what_it_may_cost(self, *, going_on: bool) -> list[Line]:
        from rowtui.tui.views.network.run_limits import asked_text

        network, snapshot = self._session.network, self._session.snapshot
        view = network.view
        lines: list[Line] = []
        if view is not None and view.run is not None and going_on and view.run.why:
            lines.append(line(("▲ ", "warning"), (view.run.why, "warning")))
        if view is not None and going_on:
            jobs = plural(network.left, "job")
            lines.append(
                line(
                    f"{jobs} left to send, which ask for at most ", (asked_text(view.left), "title")
                )
            )
        elif view is not None and view.run is None:
            jobs = plural(network.left, "job")
            lines.append(line(f"{jobs}, which ask for at most ", (asked_text(view.left), "title")))
        else:
            lines.append(line("What is completed does not run again."))
        if view is not None and any(node.lists for node in view.nodes):
            lines.append(line("Lists that jobs make will add more: it asks again then."))
        if snapshot is not None:
            where = f"{snapshot.cluster}: {snapshot.cluster_because}" if snapshot.cluster else ""
            lines.append(line(("this is ", "dim"), where or "no cluster that is known now"))
        lines.append(line(("Within these limits it sends jobs without asking.", "dim")))
        return lines

    def stop(self) -> None:
        """Stop driving the network; submitted jobs go on."""
        self._session.note("you", "stopped the autopilot")
        said = "The autopilot has stopped; jobs that were sent go on."
        self.do("stopping the autopilot", self._session.engine.network_stop, said)

    def step(self) -> None:
        """Plan what the run would submit next, and show the plan for confirmation."""
        self._session.planning = True
        self._session.note("you", "preparing the next step of the network")
        self._app.show_again("planning")
        start(self._app, self._step, "plan", exclusive=True)

    async def _step(self) -> None:
        try:
            plan, blocked = await self._session.engine.network_plan()
        except Exception as error:
            self._app.report("no step", error)
            return
        finally:
            self._session.planning = False
            self._feed.look_at_network()
            self._app.show_again("planning")
        for text in blocked:
            self._session.note("network", text, "warning")
        if plan is not None and plan.jobs:
            self._app.verbs.review(plan, "network", None)
            return
        text = blocked[0] if blocked else "Nothing is eligible now: jobs run, or all is completed."
        self._app.notify(text, severity="warning" if blocked else "information", markup=False)

    # Jobs of the graph

    def retry(self, jobs: Mapping[int, str]) -> None:
        """Ask, then retry these jobs, or all failed jobs if `jobs` is empty."""
        start(self._app, partial(self._ask_retry, dict(jobs)), "retry", exclusive=True)

    async def _ask_retry(self, jobs: dict[int, str]) -> None:
        from rowtui.tui.views.dialogs import ConfirmScreen

        try:
            chosen = [job for job, state in jobs.items() if state in ("failed", "cancelled")]
            if not jobs:
                chosen = await self._all_failed()
        except Exception as error:
            self._app.report("nothing is retried", error)
            return
        if not chosen:
            return
        what = "marked jobs" if jobs else "all jobs that failed"
        lines = [
            f"{what}: {plural(len(chosen), 'job')}, and all that waits for them",
            "They run again when the autopilot goes on, or with the next step.",
        ]

        def answered(yes: bool | None) -> None:
            if not yes:
                self._app.notify("Nothing was retried.", markup=False)
                return
            self._session.note("you", f"retry {plural(len(chosen), 'job')}")
            work = partial(self._session.engine.network_retry, chosen)
            said = f"{plural(len(chosen), 'job')} will be tried again."
            self.do("retrying", work, said, marks=True)

        count = plural(len(chosen), "failed job")
        self._app.push_screen(ConfirmScreen(f"Retry {count}?", lines, len(chosen)), answered)

    async def _all_failed(self) -> list[int]:
        view = self._session.network.view
        found: list[int] = []
        for node in view.nodes if view else ():
            failed = node.counts[GraphJobState.FAILED] if node.counts else 0
            for first in range(0, failed, PAGE):
                page = await self._session.engine.network_samples(
                    node.name, (GraphJobState.FAILED,), first, PAGE
                )
                found += [one.job for one in page.samples]
        return found

    def cancel(self, jobs: Mapping[int, str]) -> None:
        """Ask for confirmation with the number of jobs that depend on these; then cancel them."""
        start(self._app, partial(self._ask_cancel, dict(jobs)), "cancel", exclusive=True)

    async def _ask_cancel(self, jobs: dict[int, str]) -> None:
        from rowtui.tui.views.dialogs import ConfirmScreen

        chosen = [job for job, state in jobs.items() if state not in ("completed", "cancelled")]
        try:
            depend = await self._session.engine.network_dependents(chosen)
        except Exception as error:
            self._app.report("nothing is cancelled", error)
            return
        from rowtui.tui.views.network.texts import jobs_with_states

        lines = [jobs_with_states({job: jobs[job] for job in chosen})]
        if depend:
            it = "it" if len(chosen) == 1 else "them"
            lines.append(f"{plural(depend, 'further job')} depend{'s' * (depend == 1)} on {it}:"
                         " those that need their results are cancelled, too")  # fmt: skip
        else:
            lines.append("no other job depends on that")

        def answered(yes: bool | None) -> None:
            if not yes:
                self._app.notify("Nothing was cancelled.", markup=False)
                return
            self._session.note("you", f"cancel {plural(len(chosen), 'job')}")
            work = partial(self._session.engine.network_cancel, chosen)
            self.do("cancelling", work, f"{plural(len(chosen), 'job')} cancelled.", marks=True)

        question = f"Cancel {plural(len(chosen), 'job')}?"
        self._app.push_screen(ConfirmScreen(question, lines, len(chosen)), answered)

    def redo(self, jobs: Sequence[int]) -> None:
        """Show what would run again, these jobs or all stale ones; after a confirmation, run them
        again.
        """
        from rowtui.tui.views.network.verbs import ask_redo

        start(self._app, partial(ask_redo, self._app, self, list(jobs)), "redo", exclusive=True)

    def waits(self, job: int) -> None:
        """Show what a job waits for."""
        from rowtui.tui.views.network.verbs import show_waits

        start(self._app, partial(show_waits, self._app, job), "waits", exclusive=True)

    # Waiting for the engine

    def do(
        self, what: str, work: Callable[[], Awaitable[object]], said: str, *, marks: bool = False
    ) -> None:
        """Let the engine carry out an operation; the view shows `what` until the operation ends."""
        self._session.network.busy = what
        self._app.show_again("network")
        start(self._app, partial(self._wait_for, what, work, said, marks), "network")

    async def _wait_for(
        self, what: str, work: Callable[[], Awaitable[object]], said: str, marks: bool
    ) -> None:
        try:
            await work()
        except Exception as error:
            self._app.report(what, error)
        else:
            self._session.note("network", said)
            self._app.notify(said, markup=False)
            if marks:
                self._app.forget_marks("network")
        finally:
            self._session.network.busy = ""
            self._feed.look_at_network()
            self._feed.refresh_now()
            self._app.show_again("network")


# Recompute results of a network, and show what one of its samples waits for.


MOST_NAMED = 4
"""The number of stale results that the question names."""


async def ask_redo(app: RowtuiApp, verbs: NetworkVerbs, jobs: list[int]) -> None:
    """Show the jobs that would run again; start them after the user typed their number."""
    from rowtui.tui.views.dialogs import ConfirmScreen

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
    from rowtui.tui.views.dialogs import PageScreen

    try:
        waits = await app.session.engine.network_waits(job)
    except Exception as error:
        app.report("nobody knows what it waits for", error)
        return
    app.push_screen(PageScreen("What it waits for", waits_lines(waits)))


def waits_lines(waits: WaitPath) -> list[str]:
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
