"""The verbs of the dashboard: plan, send, and what is done to jobs.

Each asks the engine and tells how it went. They wait in workers of the app; a person has said yes
before `send` and `act` are called. What they learn goes into the session, and then the app shows
it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from rowtui.core.clusters.schedulers.base import JobAnswer
from rowtui.core.engine import FailedJob
from rowtui.core.text import plural
from rowtui.tui.job_verbs import CANCEL, HOLD, RELEASE, JobVerb
from rowtui.tui.render.plan import Sending, Wanted, jobs_words, requests_words
from rowtui.tui.session import Session, describe
from rowtui.tui.work import start
from textual.screen import ModalScreen

if TYPE_CHECKING:
    from rowtui.core.engine import Change
    from rowtui.core.submission.model import Plan
    from rowtui.tui.app import RowtuiApp
    from rowtui.tui.feed import Feed


class Verbs:
    """What changes something outside, on behalf of one app."""

    def __init__(self, app: RowtuiApp, session: Session, feed: Feed) -> None:
        self._app = app
        self._session = session
        self._feed = feed

    def prepare(
        self,
        action_index: int | None,
        groups: Sequence[int] | None,
        firsts: set[str] | None = None,
        directories: Sequence[str] | None = None,
    ) -> None:
        """Ask for a plan and show it. `firsts`: the groups that the person had in mind.

        `directories`: of these alone.
        """
        ask = partial(self._session.engine.plan, action_index, groups, None)
        if directories is not None:
            ask = partial(ask, directories=directories)
            self._prepare(ask, "groups", set(directories))
            return
        those = None if groups is None else tuple(groups)
        wanted = Wanted(action_index, those, frozenset(firsts or ()))
        self._prepare(ask, "groups", firsts, wanted)

    def ask_again(self, jobs: Sequence[FailedJob], note: str = "") -> None:
        """Ask how these jobs are tried again, then plan that and show it."""
        from rowtui.tui.screens.again import AgainScreen  # not part of the first paint

        view, known = self._app.view_name, self._session.jobs

        def answered(change: Change | None) -> None:
            if change is None:
                self._app.notify("Nothing was resubmitted.", markup=False)
                return
            tokens = [job.token for job in jobs]
            self._prepare(partial(self._session.engine.plan_again, tokens, change), view)

        several = known is not None and len(known.clusters) > 1
        self._app.push_screen(AgainScreen(jobs, several_clusters=several, note=note), answered)

    def _prepare(
        self,
        ask: Callable[[], Awaitable[Plan]],
        view: str,
        firsts: set[str] | None = None,
        wanted: Wanted | None = None,
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
        wanted: Wanted | None,
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
            self._app.notify(text, severity="warning", markup=False)
            self._feed.refresh_now()
            self._app.show_again("planning")
            return
        self.review(plan, view, wanted)

    def review(self, plan: Plan, view: str, wanted: Wanted | None) -> None:
        """Show a plan, to be confirmed."""
        self._session.sending = Sending(plan, asked_in=view, wanted=wanted)
        start(self._app, partial(self._ask_transfers, self._session.sending), "transfers")
        for text in plan.skipped:
            self._session.note("submit", text, "warning")
        self._session.note("submit", f"planned {jobs_words(plan)}, up to {plan.cost}")
        if isinstance(self._app.screen, ModalScreen):  # somebody is typing there
            self._app.notify("The plan is ready: press 5.", markup=False)
        else:
            self._app.go("submit")
        self._app.show_again("plan")

    async def _ask_transfers(self, sending: Sending) -> None:
        """What would be copied first: known a moment after the plan."""
        clusters = self._session.jobs.clusters if self._session.jobs else ()
        far = {cluster.name for cluster in clusters if cluster.where != "here"}
        copying = sending.copying
        copying.far = any(job.destination.cluster in far for job in sending.plan.jobs)
        try:
            copying.views = await self._session.engine.transfers(sending.plan)
        except Exception as error:
            copying.error = describe(error)[0]
            self._app.report("what is copied is not known", error)
        if copying.conflict:
            self._session.note("submit", copying.conflict, "failed")
        self._app.show_again("transfers")

    def send(self) -> None:
        """Carry out the plan that was confirmed."""
        sending = self._session.sending
        if sending is None or sending.phase != "review" or self._session.read_only:
            return
        if sending.copying.conflict:  # found while the yes was typed
            return
        sending.phase = "sending"
        self._session.note("you", f"confirmed {jobs_words(sending.plan)}")
        start(self._app, partial(self._send, sending), "send")
        self._app.show_again("sending")

    async def _send(self, sending: Sending) -> None:
        steps = self._session.engine.submit(sending.plan)
        try:
            async for step in steps:
                if not (step.done > sending.done or step.error):  # on its way, no answer yet
                    sending.under_way = step.token
                    before = step.message.startswith(("comparing ", "copying "))
                    sending.copied = step.message if before else ""
                    self._app.show_again("sending")
                    if sending.copied and sending.phase == "stopping":
                        break  # no job has been sent, and none will be
                    continue
                sending.done = step.done
                sending.under_way = sending.copied = ""
                for token in sending.sent_with(step.token):
                    sending.outcomes[token] = (step.message, step.error)
                style = "failed" if step.error else ""
                told = f"{step.done:,} of {step.total:,}: {step.error or step.message}"
                self._session.note("submit", told, style)
                self._app.show_again("sending")
                if sending.phase == "stopping":
                    break
        except Exception as error:
            sending.phase = "broken"
            sending.error = describe(error)[0]
            self._app.report("sending stopped", error)
        else:
            left = len(sending.plan.jobs) - len(sending.outcomes)
            sending.phase = "stopped" if sending.phase == "stopping" and left else "done"
        finally:
            close = getattr(steps, "aclose", None)
            if close is not None:
                await close()
        self._tell_result(sending)
        self._feed.refresh_now()
        self._app.show_again("sent")

    def _tell_result(self, sending: Sending) -> None:
        accepted = len(sending.outcomes) - sending.refused
        total = requests_words(sending.plan)
        text = f"{accepted:,} of {total} accepted by {sending.plan.cluster}"
        whole = accepted == len(sending.plan.jobs)
        self._session.note("submit", text, "completed" if whole else "warning")
        if self._app.view_name != "submit":  # there it is on the screen already
            self._app.notify(text, severity="information" if whole else "warning", markup=False)
        if accepted:
            view = sending.asked_in
            self._app.forget_marks("groups" if view == "pack" else view)
            first = next(token for token, (_, error) in sending.outcomes.items() if not error)
            self._session.job_token = self._session.job_to_show = first

    def act(self, verb: JobVerb, tokens: Sequence[str]) -> None:
        """Cancel, hold or release these jobs, after the person said yes."""
        if not self._session.read_only:
            self._session.note("you", f"{verb.word} {plural(len(tokens), 'job')}")
            start(self._app, partial(self._act, verb, tokens), verb.word)

    async def _act(self, verb: JobVerb, tokens: Sequence[str]) -> None:
        try:
            answers = await self._ask(verb, tokens)
        except Exception as error:
            self._app.report(f"nothing could be {verb.done}", error)
            return
        refused = [answer for answer in answers if answer.error]
        for answer in refused:
            told = f"job {answer.label} not {verb.done}: {answer.error}"
            self._session.note("jobs", told, "failed")
        done = len(answers) - len(refused)
        text = f"{plural(done, 'job')} {verb.done}"
        if refused:
            text += f", {len(refused):,} not: {refused[0].error}"
        self._session.note("jobs", text, "warning" if refused else "")
        self._app.notify(text, severity="warning" if refused else "information", markup=False)
        self._feed.refresh_now(queues=True)
        self._app.show_again(verb.done)

    async def _ask(self, verb: JobVerb, tokens: Sequence[str]) -> Sequence[JobAnswer]:
        engine = self._session.engine
        ask = {CANCEL: engine.cancel, HOLD: engine.hold, RELEASE: engine.release}[verb]
        return await ask(tokens)
