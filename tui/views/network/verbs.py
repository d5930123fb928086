"""The commands of the view Network that change its run, or ask the engine about a job.

Each command that changes something asks the user first, then calls the engine, and reports the
result. The work runs in workers of the app, so that it goes on in other views.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from rowtui.core.base.text import plural
from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.runs.limits.times import describe as describe_limits
from rowtui.tui.commands.network import redoes
from rowtui.tui.shell.work import start
from rowtui.tui.views.dialogs import PageScreen
from rowtui.tui.views.network.run_limits import RunLimitsScreen, asked_text, proposed
from rowtui.tui.views.network.samples import state_mark
from rowtui.tui.views.network.texts import jobs_with_states
from rowtui.tui.views.questions import Question, confirm, word_for
from rowtui.tui.views.view import ScreenView
from rowtui.tui.widgets.cells import line

if TYPE_CHECKING:
    from rowtui.core.runs.limits.limits import RunLimits
    from rowtui.core.runs.views import RedoView, WaitPath
    from rowtui.tui.widgets.cells import Line


PAGE = 10_000
"""The number of failed samples in one request, when all are retried."""

Undo: TypeAlias = Callable[[], Coroutine[Any, Any, None]]
"""The question about the opposite of a verb."""

MOST_NAMED = 4
"""The number of stale results that the question names."""


class NetworkVerbs(ScreenView):
    """The part of the view Network that acts on the run."""

    # Starting and stopping

    def command_start(self) -> None:
        """Ask for the limits; then let the network run by itself."""
        session, snapshot = self.session, self.session.snapshot
        view = session.network.view
        over = view is not None and view.run is not None and view.run.status.is_over
        anew = over or not session.network.frozen
        run = view.run if view and not anew else None
        going_on = run is not None and not run.status.is_over
        cluster = snapshot.cluster if snapshot else ""
        limits = proposed(view, cluster, anew=anew)
        known = view.clusters if view is not None else ()
        question = f"Go on with run {run.id}?" if run and going_on else "Start a new run?"

        def answered(limits: RunLimits | None) -> None:
            if limits is None:
                self.dashboard.notify("Nothing was started.")
                return
            text = "; ".join(describe_limits(limits)) or "no limits"
            session.note("you", f"let the network run: {text}")
            session.network.frozen = True
            work = partial(session.engine.network.start, limits, anew=anew)
            self._do("starting the run", work, "The network runs by itself now; x stops it.")

        lines = self._what_it_may_cost(going_on=going_on)
        screen = RunLimitsScreen(question, lines, limits, session.clock, known)
        self.app.push_screen(screen, answered)

    def _what_it_may_cost(self, *, going_on: bool) -> list[Line]:
        network, snapshot = self.session.network, self.session.snapshot
        view = network.view
        lines: list[Line] = []
        if view is not None and view.run is not None and going_on and view.run.why:
            lines.append(line(("▲ ", "warning"), (view.run.why, "warning")))
        if view is not None and (going_on or view.run is None):
            what = f"{plural(network.left, 'sample')}{' left to send' * going_on}"
            lines.append(line(f"{what}, which ask for at most ", (asked_text(view.left), "title")))
        else:
            lines.append(line("Completed jobs do not run again."))
        if view is not None and any(node.lists for node in view.nodes):
            lines.append(line("Lists that jobs make will add jobs: a dialog asks again then."))
        if snapshot is not None:
            where = f"{snapshot.cluster}: {snapshot.cluster_because}" if snapshot.cluster else ""
            lines.append(line(("this is ", "dim"), where or "an unknown cluster"))
        lines.append(line(("Within these limits, jobs are submitted without a question.", "dim")))
        return lines

    def command_stop(self) -> None:
        """Stop the run; submitted jobs continue."""
        self.session.note("you", "stopped the run")
        text = "The run has stopped; submitted jobs continue."
        self._do("stopping the run", self.session.engine.network.stop, text)

    def command_step(self) -> None:
        """Plan what the run would submit next, and show the plan for confirmation."""
        self.session.planning = True
        self.session.note("you", "preparing the next step of the network")
        self.dashboard.show_again("planning")
        start(self.app, self._plan_step, "plan", exclusive=True)

    async def _plan_step(self) -> None:
        try:
            plan, blocked = await self.session.engine.network.plan()
        except Exception as error:
            self.dashboard.report("no step", error)
            return
        finally:
            self.session.planning = False
            self.dashboard.feed.look_at_network()
            self.dashboard.show_again("planning")
        for text in blocked:
            self.session.note("network", text, "warning")
        if plan is not None and plan.jobs:
            self.dashboard.verbs.review(plan, "network", None)
            return
        text = blocked[0] if blocked else "Nothing is eligible now: jobs run, or all is completed."
        self.dashboard.notify(text, severity="warning" if blocked else "information")

    # Jobs of the graph

    def command_retry(self) -> None:
        """Ask, then retry the marked jobs, this failure, or all failed jobs; completed samples are
        made again if they are marked.
        """
        look = self.session.network
        if redoes(look.marked):
            self.command_redo()
            return
        chosen = [
            job for job, was in look.pointed.items() if was in ("failed", "cancelled", "blocked")
        ]
        named = bool(chosen) and (bool(look.marked) or look.under == "failures")
        work = partial(self._ask_retry, chosen if named else [])
        start(self.app, work, "retry", exclusive=True)

    async def _ask_retry(self, chosen: list[int]) -> None:
        what = "marked samples" if chosen else "all samples that failed"
        try:
            jobs = chosen or await self._all_failed()
        except Exception as error:
            self.dashboard.report("nothing is retried", error)
            return
        if not jobs:
            return

        def retry() -> None:
            self.session.note("you", f"retry {plural(len(jobs), 'sample')}")
            work = partial(self.session.engine.network.retry, jobs)
            undo = partial(self._ask_cancel, dict.fromkeys(jobs, "retried"))
            text = f"{plural(len(jobs), 'sample')} will be tried again."
            self._do("retrying", work, text, marks=True, undo=undo)

        question = Question(
            f"Retry {plural(len(jobs), 'failed sample')}?",
            [
                f"{what}: {plural(len(jobs), 'sample')}, and all that waits for them",
                "They run again when the run goes on, or with the next step.",
            ],
            word_for(len(jobs)),
            to="retry them",
            otherwise="retries nothing",
        )
        confirm(self.app, question, retry, otherwise="Nothing was retried.")

    async def _all_failed(self) -> list[int]:
        view = self.session.network.view
        found: list[int] = []
        for node in view.nodes if view else ():
            failed = node.counts[GraphJobState.FAILED] if node.counts else 0
            for first in range(0, failed, PAGE):
                page = await self.session.engine.network.samples(
                    node.name, (GraphJobState.FAILED,), first, PAGE
                )
                found += [one.job for one in page.samples]
        return found

    def _ask(self, question: Undo) -> None:
        start(self.app, question, "undo", exclusive=True)

    def command_cancel(self) -> None:
        """Ask, then cancel the marked jobs, or this one, with the jobs that depend on them."""
        work = partial(self._ask_cancel, dict(self.session.network.pointed))
        start(self.app, work, "cancel", exclusive=True)

    async def _ask_cancel(self, jobs: dict[int, str]) -> None:
        chosen = [
            job for job, state in jobs.items() if state not in ("completed", "cancelled", "blocked")
        ]
        try:
            depend = await self.session.engine.network.dependents(chosen)
        except Exception as error:
            self.dashboard.report("nothing is cancelled", error)
            return
        lines = [jobs_with_states({job: jobs[job] for job in chosen})]
        if depend:
            more = plural(depend, "further sample needs", "further samples need")
            lines.append(f"{more} the results, and cannot run without")
        else:
            lines.append("no other sample depends on that")

        def cancel() -> None:
            self.session.note("you", f"cancel {plural(len(chosen), 'sample')}")
            work = partial(self.session.engine.network.cancel, chosen)
            undo = partial(self._ask_retry, chosen)
            text = f"{plural(len(chosen), 'sample')} cancelled."
            self._do("cancelling", work, text, marks=True, undo=undo)

        question = Question(
            f"Cancel {plural(len(chosen), 'sample')}?",
            lines,
            word_for(len(chosen)),
            to="cancel them",
            otherwise="cancels nothing",
            undo="R retries cancelled samples.",
            loses=True,
        )
        confirm(self.app, question, cancel, otherwise="Nothing was cancelled.")

    def command_redo(self) -> None:
        """Show what would run again, the marked samples or all stale ones; run them again after a
        confirmation.
        """
        completed = GraphJobState.COMPLETED.name.lower()
        marked = self.session.network.marked
        chosen = [job for job, state in marked.items() if state == completed]
        start(self.app, partial(self._ask_redo, chosen), "redo", exclusive=True)

    async def _ask_redo(self, jobs: list[int]) -> None:
        try:
            view = await self.session.engine.network.redo_view(jobs)
        except Exception as error:
            self.dashboard.report("nothing is made again", error)
            return
        if not view.jobs:
            text = "Every result was made from what there is now. space marks others to make again."
            self.dashboard.notify(text)
            return

        async def work() -> None:
            _, told = await self.session.engine.network.redo(jobs, view.jobs)
            for text in told:
                self.session.note("network", text)

        def redo() -> None:
            self.session.note("you", f"make {plural(view.jobs, 'result')} again")
            sentence = f"{plural(view.jobs, 'sample')} will run again; S continues the run."
            self._do("making results again", work, sentence, marks=True)

        question = Question(
            f"Make {plural(view.jobs, 'result')} again?",
            redo_lines(view, bool(jobs)),
            word_for(view.jobs),
            to="make them again",
            otherwise="changes nothing",
        )
        confirm(self.app, question, redo, otherwise="Nothing was put away.")

    def command_waits(self) -> None:
        """Show what the sample under the cursor waits for."""
        job = next(iter(self.session.network.under_cursor), -1)
        start(self.app, partial(self._show_waits, job), "waits", exclusive=True)

    async def _show_waits(self, job: int) -> None:
        try:
            waits = await self.session.engine.network.waits(job)
        except Exception as error:
            self.dashboard.report("the dependencies cannot be listed", error)
            return
        self.app.push_screen(PageScreen("Dependencies", waits_lines(waits)))

    def open_log(self, node: str, directory: str) -> None:
        """Open the log of the newest job of a sample."""
        view = self.session.network.view
        action = next((one.action for one in (view.nodes if view else ())
                       if one.name == node and one.kind == "node"), "")  # fmt: skip
        if action:
            start(self, partial(self._find_log, action, directory), "log", exclusive=True)
        else:
            self.app.notify("A source runs no job.", markup=False)

    async def _find_log(self, action: str, directory: str) -> None:
        session = self.session
        try:
            job = await session.engine.jobs.find(action, directory)
        except Exception as error:
            self.dashboard.report("the job cannot be found", error)
            return
        if job is None:
            self.app.notify(f"No job has run {action} in {directory} yet.", markup=False)
            return
        session.known_job = job
        session.job_token = session.job_to_show = job.token
        self.dashboard.go("log")

    # Waiting for the engine

    def _do(
        self,
        what: str,
        work: Callable[[], Awaitable[object]],
        said: str,
        *,
        marks: bool = False,
        undo: Undo | None = None,
    ) -> None:
        """Let the engine carry out an operation; the view shows `what` until the operation ends.

        `undo` asks for the opposite, if there is one.
        """
        self.session.network.busy = what
        self.dashboard.show_again("network")
        start(self.app, partial(self._wait_for, what, work, said, marks, undo), "network")

    async def _wait_for(
        self,
        what: str,
        work: Callable[[], Awaitable[object]],
        said: str,
        marks: bool,
        undo: Undo | None,
    ) -> None:
        try:
            await work()
        except Exception as error:
            self.dashboard.report(what, error)
        else:
            self.session.note("network", said)
            self.dashboard.notify(said)
            if undo is not None:
                self.session.can_undo(
                    self.MODE, said.rstrip("."), partial(self._ask, undo), asks=True
                )
            if marks:
                self.forget_marks()
        finally:
            self.session.network.busy = ""
            self.dashboard.feed.look_at_network()
            self.dashboard.feed.refresh_now()
            self.dashboard.show_again("network")


def redo_lines(view: RedoView, marked: bool) -> list[str]:
    """Return lines with the jobs that would run again, and what happens to old results."""
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
    lines.append(f"with the directories made from them: {nodes}")
    lines.append("Their results go to the trash, and can be restored.")
    return lines


def waits_lines(waits: WaitPath) -> list[str]:
    """Return the path, each step further indented; then everything that the first job waits for."""
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
            "waiting": "It waits for no job at present: a list may add jobs.",
            "eligible": "It waits for nothing: it is sent with the next step, or by the run.",
            "submitted": "It waits for nothing: it is with a scheduler. Enter shows its log.",
            "failed": "It failed by itself: Enter shows its log, R tries it again.",
        }
        lines += ["", words.get(state, "It waits for nothing.")]
    if waits.needs:
        lines += ["", "All that it waits for itself:"]
        lines += [f"  {state_mark(state)}  {many:,} of {node}" for node, state, many in waits.needs]
    return lines
