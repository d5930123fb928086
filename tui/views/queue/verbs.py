"""Operations on jobs of the queue: chosen by their rows, and carried out after a confirmation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from rowtui.core.base.text import plural
from rowtui.core.engine.api.engine import ChosenJobs, RowKey
from rowtui.tui.shell.work import start
from rowtui.tui.views.confirm import ConfirmScreen
from rowtui.tui.views.queue.job_verbs import RETRY, JobVerb

if TYPE_CHECKING:
    from rowtui.tui.shell.app import RowtuiApp


class QueueVerbs:
    """The verbs of one view. `acted` is called when the marks are no longer needed."""

    def __init__(self, app: RowtuiApp, acted: Callable[[], None]) -> None:
        self._app = app
        self._session = app.session
        self._acted = acted

    def choose(self, verb: JobVerb) -> None:
        """Ask about the marked jobs, or those under the cursor."""
        row = self._session.queue_row
        keys = tuple(self._session.queue_marks) or ((row.key,) if row is not None else ())
        if keys:
            start(self._app.screen, partial(self._ask_about, verb, keys), "verb", exclusive=True)

    async def _ask_about(self, verb: JobVerb, keys: Sequence[RowKey]) -> None:
        try:
            chosen = await self._session.engine.queue_chosen(keys, verb.word)
        except Exception as error:
            self._app.report(f"nothing could be {verb.done}", error)
            return
        if not chosen.jobs:
            why = verb.why_not(self._session.chosen_states) or "these jobs are gone"
            self._app.notify(f"{verb.word}: {why}", severity="warning", markup=False)
        elif verb is RETRY:
            self._retry(chosen)
        else:
            self._confirm(verb, keys, chosen)

    def _retry(self, chosen: ChosenJobs) -> None:
        left = chosen.total - chosen.jobs
        note = f"{left:,} marked did not fail" if left else ""
        if (more := chosen.jobs - len(chosen.failed)) > 0:
            note = f"only the first {len(chosen.failed):,}: {more:,} more failed"
        self._app.verbs.ask_again(list(chosen.failed), note)

    def _confirm(self, verb: JobVerb, keys: Sequence[RowKey], chosen: ChosenJobs) -> None:
        def answered(yes: bool | None) -> None:
            if yes:
                self._acted()
                self._app.verbs.act(verb, keys, chosen.jobs)
            else:
                self._app.notify(f"Nothing was {verb.done}.", markup=False)

        question = f"{verb.word.capitalize()} {plural(chosen.jobs, 'job')}?"
        if left := chosen.total - chosen.jobs:
            question = f"{question} ({left:,} marked cannot be {verb.done})"
        asking = ConfirmScreen(question, chosen.lines, chosen.jobs, of=chosen.jobs)
        self._app.push_screen(asking, answered)
