"""The verbs of the dashboard: plan, submit, and operations on jobs.

Each verb calls the engine and reports the result. The verbs wait in workers of the app; the user
has confirmed before `send` and `act` are called. The answers are stored in the session, and then
the app shows them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from rowtui.core.base.text import plural
from rowtui.core.project.review.views import CheckState
from rowtui.core.submission.plan.model import count_jobs
from rowtui.tui.shell.session import describe
from rowtui.tui.shell.work import UpdatePace, start
from rowtui.tui.views.files import FilesScreen
from rowtui.tui.views.groups.retry import AgainScreen
from rowtui.tui.views.network.run_limits import RunLimitsScreen
from rowtui.tui.views.questions import Question, confirm
from rowtui.tui.views.submit.plan import Became, PlanRequest, Sending, chosen_words, outcome_of
from rowtui.tui.widgets.cells import line
from textual.screen import ModalScreen

if TYPE_CHECKING:
    from rowtui.core.clusters.schedulers.job_terms import JobTerms
    from rowtui.core.project.next_attempt import AmountChange
    from rowtui.core.project.queue.rows import RowKey
    from rowtui.core.project.views.views import FailedJob
    from rowtui.core.runs.limits.limits import RunLimits
    from rowtui.core.submission.plan.model import Plan
    from rowtui.core.submission.sending.release_held import SendingProgress
    from rowtui.tui.commands.jobs import JobVerb
    from rowtui.tui.shell.feed import Feed
    from rowtui.tui.shell.session import Session
    from rowtui.tui.shell.terminal_app import ProjectApp


MOST_NOTED = 200
"""The largest plan for which every job has a line of activity."""


class Verbs:
    """The verbs of one app: most of them change something outside the dashboard."""

    def __init__(self, app: ProjectApp, session: Session, feed: Feed) -> None:
        self._app = app
        self._session = session
        self._feed = feed

    def show_files(self, directory: str) -> None:
        """Show the files of a directory."""
        self._app.push_screen(FilesScreen(self._session, directory))

    def prepare(
        self,
        action_index: int | None,
        groups: Sequence[int] | None,
        firsts: set[str] | None = None,
        directories: Sequence[str] | None = None,
    ) -> None:
        """Request a plan and show it. `firsts` are the first directories of the groups that the
        user chose.

        With `directories`, the plan has these directories alone.
        """
        ask = partial(self._session.engine.plans.make, action_index, groups, None)
        if directories is not None:
            ask = partial(ask, directories=directories)
            self._prepare(ask, "groups", set(directories))
            return
        those = None if groups is None else tuple(groups)
        wanted = PlanRequest(action_index, those, frozenset(firsts or ()))
        self._prepare(ask, "groups", firsts, wanted)

    def stop_run(self, driven: str) -> None:
        """Ask, then stop what drives the run, also on another machine."""
        question = Question(
            "Stop the run?", [driven, "Submitted jobs continue."], "yes", to="stop it"
        )
        said = "The run stops within seconds; submitted jobs continue."
        work = self._session.engine.plans.stop_run
        confirm(self._app, question, partial(self._change_run, work, said))

    def limit_run(self, why: str) -> None:
        """Ask for limits within which the run may go on."""
        run = self._session.snapshot.run if self._session.snapshot else None
        if run is None:
            return

        def answered(limits: RunLimits | None) -> None:
            if limits is not None:
                work = partial(self._session.engine.plans.confirm_run, limits)
                self._change_run(work, "The limits are confirmed: `rowtui run --resume` goes on.")

        limits, clock = run.limits, self._session.clock
        ask = RunLimitsScreen("Let the run go on?", [line(why)], limits, clock)
        self._app.push_screen(ask, answered)

    def _change_run(self, work: Callable[[], Awaitable[None]], said: str) -> None:
        async def change() -> None:
            try:
                await work()
            except Exception as error:
                self._app.report("the run is as it was", error)
                return
            self._session.note("you", said)
            self._app.notify(said)
            self._feed.refresh_now()

        start(self._app, change, "run", exclusive=True)

    def ask_again(self, jobs: Sequence[FailedJob], note: str = "") -> None:
        """Ask how these jobs are retried, then plan them again and show the plan."""
        view, known = self._app.view_name, self._session.jobs

        def answered(change: AmountChange | None) -> None:
            if change is None:
                self._app.notify("Nothing was retried.")
                return
            tokens = [job.token for job in jobs]
            self._prepare(partial(self._session.engine.plans.again, tokens, change), view)

        several = known is not None and len(known.clusters) > 1
        self._app.push_screen(AgainScreen(jobs, several_clusters=several, note=note), answered)

    def _prepare(
        self,
        ask: Callable[[], Awaitable[Plan]],
        view: str,
        firsts: set[str] | None = None,
        wanted: PlanRequest | None = None,
    ) -> None:
        self._session.planning = True
        self._session.note("you", "preparing a plan")
        self._app.show_again("planning")
        work = partial(self._plan, ask, view, firsts, wanted)
        start(self._app, work, "plan", exclusive=True)

    async def _plan(
        self,
        ask: Callable[[], Awaitable[Plan]],
        view: str,
        firsts: set[str] | None,
        wanted: PlanRequest | None,
    ) -> None:
        try:
            plan = await ask()
        except Exception as error:
            self._app.report("no plan", error)
            return
        finally:
            self._session.planning = False
        planned = {job.directories[0] for job in plan.jobs if job.directories}
        if firsts is not None and not planned <= firsts:
            text = "The project changed meanwhile: these are not the groups that were marked."
            self._session.note("project", text, "warning")
            self._app.warn(text)
            self._feed.refresh_now()
            self._app.show_again("planning")
            return
        self.review(plan, view, wanted)

    def review(self, plan: Plan, view: str, wanted: PlanRequest | None) -> None:
        """Show a plan, for confirmation."""
        self._session.sending = Sending(plan, asked_in=view, wanted=wanted)
        start(self._app, partial(self._ask_transfers, self._session.sending), "transfers")
        start(self._app, partial(self._review, self._session.sending), "review", exclusive=True)
        for text in plan.skipped:
            self._session.note("submit", text, "warning")
        undo = partial(self._drop, self._session.sending)
        self._session.can_undo(view, f"planned {count_jobs(plan.jobs)}", undo)
        self._session.note("submit", f"planned {count_jobs(plan.jobs)}, {plan.cost} at most")
        if isinstance(self._app.screen, ModalScreen):  # The user types in the dialog.
            self._app.notify("The plan is ready: press 5.")
        else:
            self._app.go("submit")
        self._app.show_again("plan")

    def _drop(self, sending: Sending) -> str:
        """Drop a plan that was not sent; return why that is impossible, or ""."""
        if self._session.sending is not sending:
            return "the plan is no longer there"
        if sending.phase != "review":
            return "it was sent: c in 6 cancels jobs"
        self._session.sending = None
        return ""

    async def _ask_transfers(self, sending: Sending) -> None:
        """Ask which files would be copied first; the answer arrives a moment after the plan."""
        clusters = self._session.jobs.clusters if self._session.jobs else ()
        far = {cluster.name for cluster in clusters if cluster.where != "here"}
        copying = sending.copying
        copying.far = any(job.destination.cluster in far for job in sending.plan.jobs)
        try:
            copying.views = await self._session.engine.plans.transfers(sending.plan)
        except Exception as error:
            copying.error = describe(error)[0]
            self._app.report("the files to copy cannot be listed", error)
        if copying.conflict:
            self._session.note("submit", copying.conflict, "failed")
        self._app.show_again("transfers")

    def send(self) -> None:
        """Submit the confirmed plan."""
        sending = self._session.sending
        if sending is None or sending.phase != "review" or self._session.read_only:
            return
        # The conflict was found while the user typed the confirmation.
        if sending.copying.conflict:
            return
        sending.phase = "sending"
        self._session.has_submitted = True
        self._session.note("you", f"confirmed {chosen_words(sending)}")
        start(self._app, partial(self._send, sending), "send")
        self._app.show_again("sending")

    async def _send(self, sending: Sending) -> None:
        if not await self._without_what_is_off(sending):
            return
        sending.started = self._session.clock()
        pace = UpdatePace(self._app, partial(self._app.show_again, "sending"))
        steps = self._session.engine.plans.submit(sending.plan)
        try:
            async for step in steps:
                await pace.breathe()
                # The job is under way and has no answer yet.
                if not step.answered:
                    sending.under_way = step.token
                    sending.copied = step.message if step.copies_to else ""
                    sending.copies_to = step.copies_to
                    pace.soon()
                    if sending.copied and sending.phase == "stopping":
                        break  # No job has been sent, and none will be.
                    continue
                sending.done = step.done
                sending.under_way = sending.copied = ""
                sending.note(step.token, outcome_of(step))
                self._note_step(sending, step)
                pace.soon()
                if sending.phase == "stopping":
                    break
        except Exception as error:
            sending.phase = "broken"
            sending.error = describe(error)[0]
            self._app.report("sending stopped", error)
        else:
            stopped = sending.phase == "stopping" and sending.not_sent
            sending.phase = "stopped" if stopped else "done"
        finally:
            close = getattr(steps, "aclose", None)
            if close is not None:
                await close()
        self._tell_result(sending)
        self._feed.refresh_now()
        self._app.show_again("sent")
        if sending.then_leave:
            self._app.exit(0)

    def leave(self) -> None:
        """Leave the dashboard. While a submission or the autopilot of a network runs, leave only
        after a confirmation; a submission stops first.
        """
        sending, view = self._session.sending, self._session.network.view
        if sending is not None and sending.running:
            left = len(sending.plan.jobs) - sending.done
            lines = [
                f"{sending.done:,} of {len(sending.plan.jobs):,} have their answer. The dashboard "
                f"waits for the job under way; {plural(left, 'job is', 'jobs are')} not sent, and "
                "their directories are not reserved.",
            ]
            question = Question(
                "Jobs are being sent. Stop and leave?", lines, "yes", to="stop and leave",
                otherwise="goes on sending",
            )  # fmt: skip
            confirm(self._app, question, partial(self._stop_and_leave, sending))
        elif view is not None and view.run is not None and view.run.here:
            question = Question(
                "Leave, and stop the run?",
                ["Submitted jobs continue; no more are submitted. S in 8 continues the run later."],
                "yes",
                to="leave",
                otherwise="stays here",
            )
            confirm(self._app, question, partial(self._app.exit, 0))
        else:
            self._app.exit(0)

    def _stop_and_leave(self, sending: Sending) -> None:
        if not sending.running:  # The submission ended while the question was open.
            self._app.exit(0)
            return
        sending.then_leave = True
        sending.phase = "stopping"
        self._session.note("you", "leave as soon as the job under way has its answer")
        self._app.show_again("sending")

    async def _without_what_is_off(self, sending: Sending) -> bool:
        """Remove the jobs that are switched off from the plan; return False if that fails."""
        if not sending.chosen.off:
            return True
        try:
            left = await self._session.engine.plans.without(sending.plan, sending.chosen.tokens_off)
        except Exception as error:
            sending.phase = "review"
            self._app.report("nothing was sent", error)
            self._app.show_again("sending")
            return False
        sending.send_instead(left)
        return True

    def _note_step(self, sending: Sending, step: SendingProgress) -> None:
        """Add a line of activity; of many jobs only for errors, so that others are not lost."""
        if step.error or step.total <= MOST_NOTED:
            style = "failed" if step.error else ""
            text = f"{step.done:,} of {step.total:,}: {step.error or step.message}"
            self._session.note("submit", text, style)

    def _tell_result(self, sending: Sending) -> None:
        accepted = sending.accepted
        total = plural(len(sending.plan.jobs), "job")
        text = f"{accepted:,} of {total} accepted by {sending.chosen.where}"
        whole = accepted == len(sending.plan.jobs)
        self._session.note("submit", text, "completed" if whole else "warning")
        if self._app.view_name != "submit":  # The view Submit shows the result already.
            self._app.notify(text, severity="information" if whole else "warning")
        if accepted:
            view = sending.asked_in
            self._app.forget_marks("groups" if view == "pack" else view)
            first = next(
                token for token, it in sending.outcomes.items() if it.became is Became.ACCEPTED
            )
            self._session.job_token = self._session.job_to_show = first

    async def _review(self, sending: Sending) -> None:
        """Run the checks, and show each result when it arrives; no check delays anything else."""
        checks = self._session.engine.plans.review(sending.plan)
        try:
            async for check in checks:
                if sending.phase != "review" or self._session.sending is not sending:
                    break  # The results are no longer shown.
                sending.take(check)
                if check.state is not CheckState.PENDING:
                    self._app.show_again("checked")
        except Exception as error:
            sending.checks.clear()
            self._app.report("the plan could not be checked", error)
            self._app.show_again("checked")
        finally:
            close = getattr(checks, "aclose", None)
            if close is not None:
                await close()

    def act(
        self,
        verb: JobVerb,
        keys: Sequence[RowKey],
        jobs: int,
        *,
        change: JobTerms | None = None,
        undo: Callable[[], None] | None = None,
    ) -> None:
        """Cancel, hold, release or `change` the jobs of these rows, after a confirmation.

        `undo` asks for the opposite, if there is one.
        """
        if not self._session.read_only:
            self._session.note("you", f"{verb.word} {plural(jobs, 'job')}")
            start(self._app, partial(self._act, verb, keys, change, undo), verb.word)

    async def _act(
        self,
        verb: JobVerb,
        keys: Sequence[RowKey],
        change: JobTerms | None,
        undo: Callable[[], None] | None,
    ) -> None:
        queue = self._session.engine.queue
        try:
            acted = await (queue.change(keys, change) if change else queue.act(keys, verb.word))
        except Exception as error:
            self._app.report(f"nothing could be {verb.done}", error)
            return
        for answer in acted.answers:
            sentence = f"job {answer.label} not {verb.done}: {answer.error}"
            self._session.note("jobs", sentence, "failed")
        text = f"{plural(acted.done, 'job')} {verb.done}"
        if undo is not None and acted.done:
            self._session.can_undo("queue", text, undo, asks=True)
        if acted.refused:
            text += f", {acted.refused:,} not: {acted.answers[0].error}"
            if acted.refused > 1:
                text += " (@ has them one by one)"
        self._session.note("jobs", text, "warning" if acted.refused else "")
        self._app.notify(text, severity="warning" if acted.refused else "information")
        self._feed.refresh_now(queues=True)
        self._app.show_again(verb.done)
