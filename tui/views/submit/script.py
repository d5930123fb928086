"""The script that the Submit view shows, or its differences, and requests for earlier scripts.

The module stores the user's choice and the earlier scripts from the engine, and returns lines and
titles. An answer is cached: thousands of jobs of one action need one request.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from rowtui.core.base.text import plural, visible
from rowtui.core.project.review.script_diff import (
    DifferenceLine,
    ScriptDifference,
    difference,
    folded,
)
from rowtui.core.project.review.views import ExportedFiles, ScriptBefore, ScriptRequest, asked_for
from rowtui.core.submission.plan.model import PlannedJob
from rowtui.tui.shell.external_program import open_in_pager
from rowtui.tui.shell.session import FILTERS
from rowtui.tui.shell.work import start
from rowtui.tui.views.questions import FolderScreen, Question, confirm
from rowtui.tui.views.submit.plan import Sending
from rowtui.tui.views.submit.plan_rows import PlanRow
from rowtui.tui.views.submit.table import PlanTable
from rowtui.tui.views.view import ScreenView
from rowtui.tui.widgets.cells import Line, Span, line
from rowtui.tui.widgets.short_text import day

_TOKENS = re.compile(
    r"(?P<comment>(?:^|(?<=\s))#.*$)"
    r"|(?P<string>\$'(?:\\.|[^'\\])*'|'[^']*'|\"(?:\\.|[^\"\\])*\")"
    r"|(?P<variable>\$\{[^}]*\}|\$[\w@#?*!-]+|^\s*\w+(?=\+?=))"
    r"|(?P<keyword>\b(?:if|then|else|elif|fi|for|in|do|done|while|until|case|esac|function|local"
    r"|export|return|exit|trap|set|unset|shopt|cd|test|source|exec|wait|kill|declare|readonly)\b"
    r"(?![-=]))"
)
_DIRECTIVE = re.compile(r"(#(?:SBATCH|PBS|FLUX|\$)\s+)(-{1,2}[\w-]+)([= ]?)(.*)")

KEPT = 32
"""The number of cached differences, for a user who steps through scripts with ] and [."""


def script_line(text: str) -> Line:
    """Return one line of a shell script; the spans contain the whole line, made visible."""
    shown = visible(text.expandtabs(4))
    if shown.startswith(("#SBATCH", "#!", "#PBS", "#FLUX", "#$")):
        return _directive(shown)
    spans: list[Span] = []
    end = 0
    for match in _TOKENS.finditer(shown):
        if match.start() > end:
            spans.append(Span(shown[end : match.start()]))
        spans.append(Span(match.group(), match.lastgroup or ""))
        end = match.end()
    if end < len(shown):
        spans.append(Span(shown[end:]))
    return tuple(spans)


def _directive(shown: str) -> Line:
    """Return `#SBATCH --time=240` with the value in another style than the constant part."""
    match = _DIRECTIVE.fullmatch(shown)
    if match is None or not match[4]:
        return (Span(shown, "directive"),)
    return (Span(match[1] + match[2] + match[3], "directive"), Span(match[4], "string"))


def diff_lines(found: ScriptDifference, *, unfolded: bool = False) -> tuple[Line, ...]:
    """Return the lines of a pane: first the summary of differences without lines, then
    the others.
    """
    lines: list[Line] = []
    if found.quiet:
        lines.append(line(("~ ", "dim"), (found.quiet, "dim")))
    if not found.changes:
        lines.append(line(("= ", "completed"), "the same script; = shows all of it"))
        if not unfolded:
            return tuple(lines)
    parts = found.parts if unfolded else folded(found.parts)
    return (*lines, *map(part_line, parts))


def part_line(part: DifferenceLine) -> Line:
    """Return `+ #SBATCH --nodes=4`: a sign and a colour, and the colours of bash."""
    if part.kind == "fold":
        return line((f"  …  {part.text or plural(part.lines, 'unchanged line')}", "dim"))
    if part.kind == "gone":
        return (Span("- ", "failed"), Span(visible(part.text.expandtabs(4)), "failed"))
    spans = script_line(part.text)
    if part.kind == "new":
        marked = tuple(Span(it.text, it.style or "completed") for it in spans)
        return (Span("+ ", "completed"), *marked)
    return (Span("  "), *spans)


def coloured(item: str | Line) -> Line:
    """Return the styled line: a line of a script is styled here; a line of a difference
    is already.
    """
    return script_line(item) if isinstance(item, str) else item


class ScriptPane(NamedTuple):
    """The content of the pane (texts of a script, or lines of a difference), and the texts of its
    frame.
    """

    lines: Sequence[str | Line]
    about: str
    keys: str


@dataclass
class ScriptLook:
    """The scripts of the current plan. `known` has the earlier scripts, None where none is."""

    full: bool = False
    unfolded: bool = False
    known: dict[ScriptRequest, ScriptBefore | None] = field(default_factory=dict)
    asking: ScriptRequest | None = None  # The request that is under way.
    _plan_id: str = ""
    _differences: dict[tuple[str, ScriptRequest], ScriptDifference] = field(default_factory=dict)

    def begin(self, plan_id: str) -> None:
        """Reset the state for another plan."""
        if plan_id != self._plan_id:
            self._plan_id = plan_id
            self.known.clear()
            self.asking = None
            self._differences.clear()

    def missing(self, jobs: Sequence[PlannedJob], scheduler: str) -> ScriptRequest | None:
        """Return the request that must come before the difference of these jobs' script."""
        if not jobs or not jobs[0].directories:
            return None
        asked = asked_for(jobs, scheduler, self._plan_id)
        return None if asked in self.known or asked == self.asking else asked

    def shown(
        self, key: str, jobs: Sequence[PlannedJob], scheduler: str, script: Callable[[], str]
    ) -> ScriptPane:
        """Return the lines for the script of these jobs. `key` identifies the row everywhere."""
        asked = asked_for(jobs, scheduler, self._plan_id) if jobs and jobs[0].directories else None
        before = None if asked is None else self.known.get(asked)
        if asked is None or before is None:
            lines = script().splitlines()
            first = asked is not None and asked in self.known
            about = "no earlier script to compare with" if first else ""
            return ScriptPane(lines, about, plural(len(lines), "line"))
        than = f"job {before.job}" if before.job else "the one before"
        since = f"{than} of {day(before.at)}"
        if self.full:
            lines = script().splitlines()
            return ScriptPane(lines, "", f"{plural(len(lines), 'line')} · = compares with {since}")
        found = self._differences.get((key, asked))
        if found is None:
            if len(self._differences) >= KEPT:
                self._differences.pop(next(iter(self._differences)))
            found = self._differences[key, asked] = difference(before.script, script())
        changes = plural(found.changes, "line") + " changed" if found.changes else "no change"
        fold = "z folds" if self.unfolded else "z unfolds"
        shown = diff_lines(found, unfolded=self.unfolded)
        return ScriptPane(
            shown, f"compared with {since}", f"{changes} · = the whole script · {fold}"
        )


class SubmitSteps(ScreenView):
    """The part of the view Submit that waits: for the engine, the pager, and the disk; and the
    commands that switch jobs of a plan off, and on again.
    """

    def __init__(self) -> None:
        super().__init__()
        self.script_look = ScriptLook()

    @property
    def table(self) -> PlanTable:
        """The list of jobs."""
        return self.query_one("#planned", PlanTable)

    @property
    def row(self) -> PlanRow | None:
        """The job, or bundle, under the cursor."""
        raise NotImplementedError

    def show_script(self) -> None:
        """Show the script of the job under the cursor."""
        raise NotImplementedError

    def script_text(self) -> str:
        """Return the script of the job under the cursor."""
        raise NotImplementedError

    # The earlier script

    def ask_before(self, asked: ScriptRequest) -> None:
        """Ask for an earlier script; only the newest request counts."""
        self.script_look.asking = asked
        start(self.app, partial(self._ask_before, asked), "script-before", exclusive=True)

    async def _ask_before(self, asked: ScriptRequest) -> None:
        try:
            before = await self.session.engine.plans.script_before(asked)
        except Exception as error:
            self.dashboard.report("the last script cannot be read", error)
            before = None
        self.script_look.known[asked] = before
        self.script_look.asking = None
        self.show_script()

    # The reasons

    def command_explain(self) -> None:
        """Show where the job goes, and why."""
        if self.row is not None:
            start(self.app, partial(self._explain, self.row.jobs[0]), "why", exclusive=True)

    async def _explain(self, job: PlannedJob) -> None:
        session = self.session
        word = "failed" if job.attempt > 1 else "eligible"
        chosen = next(one for one in FILTERS if one.word == word)
        first = job.directories[0] if job.directories else ""
        try:
            page = await session.engine.groups.page(
                job.action_index, chosen.statuses, 0, 1, find=first
            )
        except Exception as error:
            self.dashboard.report("the group of this job cannot be found", error)
            return
        if page.found is None:
            text = f"No {word} group begins with {visible(first)} now."
            self.dashboard.warn(text)
            return
        session.action_index, session.filter = job.action_index, chosen
        session.choose_group(page.found)
        self.dashboard.go("explain")

    # The pager

    def command_open(self) -> None:
        """Show the script in the user's pager."""
        if self.row is not None:
            name = f"{self.row.jobs[0].name}.sh"
            page = partial(open_in_pager, self.dashboard, self.script_text(), name)
            start(self.app, page, "outside")

    # Files

    def command_export(self) -> None:
        """Ask for a folder, and write all scripts of the plan there."""
        sending = self.session.sending
        if sending is None:
            return

        def named(folder: str | None) -> None:
            if folder:
                start(self.app, partial(self._export, sending, folder), "export", exclusive=True)
            else:
                self.dashboard.notify("Nothing was written.")

        question = f"Write {plural(sending.chosen.units, 'script')} to which folder?"
        self.app.push_screen(FolderScreen(question, f"scripts-{sending.plan.id[:8]}"), named)

    async def _export(self, sending: Sending, folder: str, overwrite: bool = False) -> None:
        engine, plan = self.session.engine, sending.plan
        try:
            if sending.chosen.off:
                plan = await engine.plans.without(plan, sending.chosen.tokens_off)
            written = await engine.plans.export(plan, folder, overwrite=overwrite)
        except Exception as error:
            self.dashboard.report("nothing was written", error)
            return
        if written.there:
            self._ask_to_overwrite(sending, folder, written)
            return
        text = f"{plural(written.files, 'file')} written to {visible(written.folder)}"
        self.session.note("submit", text)
        self.dashboard.notify(text)
        self.show_script()

    def _ask_to_overwrite(self, sending: Sending, folder: str, written: ExportedFiles) -> None:
        def overwrite() -> None:
            work = partial(self._export, sending, folder, overwrite=True)
            start(self.app, work, "export", exclusive=True)

        lines = [f"in {visible(written.folder)}:", *map(visible, written.there), "…"]
        title = "Files are there already. Overwrite them?"
        question = Question(
            title, lines, "yes", to="overwrite them", otherwise="writes nothing", loses=True
        )
        confirm(self.app, question, overwrite, otherwise="Nothing was written.")

    # Jobs that are off

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
