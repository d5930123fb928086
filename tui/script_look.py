"""Which script the Submit view shows, and how: as it is, or as what is another than before.

Holds the person's choice and the earlier scripts that the engine told; gives lines and titles.
What was asked for once is not asked for again: thousands of jobs of one action cost one question.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rowtui.core.engine import ScriptAsked, ScriptBefore
from rowtui.core.project.review_before import asked_for
from rowtui.core.submission.model import PlannedJob
from rowtui.core.text import plural
from rowtui.tui.render.bash_lines import script_line
from rowtui.tui.render.cells import Line
from rowtui.tui.render.numbers import day
from rowtui.tui.render.script_diff import Difference, diff_lines, difference

KEPT = 32
"""Differences that are kept: those somebody steps through with n and N."""


class Shown(NamedTuple):
    """What the pane has: texts of a script, or lines of a difference; and what the frame says."""

    lines: Sequence[str | Line]
    about: str
    keys: str


def coloured(item: str | Line) -> Line:
    """A line of a script gets its colours when it is drawn; one of a difference has them."""
    return script_line(item) if isinstance(item, str) else item


@dataclass
class ScriptLook:
    """Of one plan after the other. `known`: the earlier scripts, None where there is none."""

    full: bool = False
    unfolded: bool = False
    known: dict[ScriptAsked, ScriptBefore | None] = field(default_factory=dict)
    asking: ScriptAsked | None = None  # what is asked for just now
    _plan_id: str = ""
    _differences: dict[tuple[str, ScriptAsked], Difference] = field(default_factory=dict)

    def begin(self, plan_id: str) -> None:
        """Another plan is on the screen."""
        if plan_id != self._plan_id:
            self._plan_id = plan_id
            self.known.clear()
            self.asking = None
            self._differences.clear()

    def missing(self, jobs: Sequence[PlannedJob], scheduler: str) -> ScriptAsked | None:
        """What is to be asked for before the difference of these jobs' script can be shown."""
        if not jobs or not jobs[0].directories:
            return None
        asked = asked_for(jobs, scheduler, self._plan_id)
        return None if asked in self.known or asked == self.asking else asked

    def shown(
        self, key: str, jobs: Sequence[PlannedJob], scheduler: str, script: Callable[[], str]
    ) -> Shown:
        """What to show of the script of these jobs. `key`: what it is, whatever its place."""
        asked = asked_for(jobs, scheduler, self._plan_id) if jobs and jobs[0].directories else None
        before = None if asked is None else self.known.get(asked)
        if asked is None or before is None:
            lines = script().splitlines()
            first = asked is not None and asked in self.known
            about = "first script of this action" if first else ""
            return Shown(lines, about, plural(len(lines), "line"))
        than = f"job {before.job}" if before.job else "the one before"
        since = f"{than} of {day(before.at)}"
        if self.full:
            lines = script().splitlines()
            return Shown(lines, "", f"{plural(len(lines), 'line')} · d diff against {since}")
        found = self._differences.get((key, asked))
        if found is None:
            if len(self._differences) >= KEPT:
                self._differences.pop(next(iter(self._differences)))
            found = self._differences[key, asked] = difference(before.script, script())
        changes = plural(found.changes, "line") + " changed" if found.changes else "no change"
        fold = "z fold" if self.unfolded else "z unfold"
        shown = diff_lines(found, unfolded=self.unfolded)
        return Shown(shown, f"diff against {since}", f"{changes} · d full · {fold}")
