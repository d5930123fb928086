"""The commands of the view Submit that switch jobs of a plan off, and on again."""

from __future__ import annotations

from collections.abc import Sequence

from rowtui.core.base.text import plural
from rowtui.core.submission.plan.model import PlannedJob
from rowtui.tui.views.submit.plan import Sending
from rowtui.tui.views.submit.plan_rows import PlanRow
from rowtui.tui.views.submit.script import SubmitSteps
from rowtui.tui.views.submit.table import PlanTable


class SwitchedJobs(SubmitSteps):
    """The part of the view that leaves jobs out. `row` is the planned job under the cursor."""

    @property
    def table(self) -> PlanTable:
        """The list of jobs."""
        return self.query_one("#planned", PlanTable)

    @property
    def row(self) -> PlanRow | None:
        """The planned job, or bundle, under the cursor."""
        raise NotImplementedError

    def command_toggle(self) -> None:
        """Leave the job, or the whole bundle, out; or include it again."""
        if self.row is not None:
            self._switch(self.row.jobs)
            self.table.action_line_down()

    def command_toggle_all(self) -> None:
        """Switch all jobs that are shown on, or off."""
        sending = self.session.sending
        if self.table.filtered:
            self.table.switch_shown()
        elif sending is not None:
            off = frozenset(sending.chosen.off)
            sending.chosen.switch_all()
            self._can_undo(sending, off)
            self.show()

    def _can_undo(self, sending: Sending, off: frozenset[int]) -> None:
        """Let the user have these jobs of the plan switched off again, and no others."""
        now = sending.chosen.off
        if now == off:
            return

        def undo() -> str:
            if self.session.sending is not sending or sending.phase != "review":
                return "the plan is no longer there"
            sending.chosen.switch_to(off)
            self.show()
            return ""

        word = "off" if len(now) > len(off) else "on"
        many = plural(abs(len(now) - len(off)), "job")
        self.session.can_undo(self.MODE, f"switched {many} {word}", undo)

    def _switch(self, jobs: Sequence[PlannedJob], on: bool | None = None) -> None:
        """Switch these jobs on or off, with their dependents; None: off if any of them is on."""
        sending = self.session.sending
        if sending is None or not jobs:
            return
        chosen, before = sending.chosen, sending.chosen.requests
        off = frozenset(chosen.off)
        along = chosen.switch((job.token for job in jobs), on=on)
        self._can_undo(sending, off)
        parts = []
        if len(jobs) > 1 and self.row is not None and jobs != self.row.jobs:
            changed = chosen.requests - before
            word = "off" if changed < 0 else "on"
            what = plural(abs(changed) - along, "job")
            parts.append(f"{what} switched {word}" if changed else "nothing to switch here")
            if self.table.filtered:
                parts.append("what the filter hides is as it was")
        if along:
            word = "needed by it: on" if chosen.is_on(jobs[0].token) else "depending on it: off"
            parts.append(f"{plural(along, 'job')} {word} as well")
        if parts:
            self.dashboard.notify("; ".join(parts))
        self.show()
