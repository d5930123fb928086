"""The script that the Submit view shows: the whole script, or its differences from an earlier one.

The module stores the user's choice and the earlier scripts from the engine, and returns lines and
titles. An answer is cached: thousands of jobs of one action need one request.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rowtui.core.base.text import plural, visible
from rowtui.core.engine.api.engine import ScriptAsked, ScriptBefore
from rowtui.core.project.review.before import asked_for
from rowtui.core.project.review.script_diff import (
    DifferenceLine,
    ScriptDifference,
    difference,
    folded,
)
from rowtui.core.submission.plan.model import PlannedJob
from rowtui.tui.widgets.cells import Line, Span, line
from rowtui.tui.widgets.numbers import day

# Colours


_TOKENS = re.compile(
    r"(?P<comment>(?:^|(?<=\s))#.*$)"
    r"|(?P<string>\$'(?:\\.|[^'\\])*'|'[^']*'|\"(?:\\.|[^\"\\])*\")"
    r"|(?P<variable>\$\{[^}]*\}|\$[\w@#?*!-]+|^\s*\w+(?=\+?=))"
    r"|(?P<keyword>\b(?:if|then|else|elif|fi|for|in|do|done|while|until|case|esac|function|local"
    r"|export|return|exit|trap|set|unset|shopt|cd|test|source|exec|wait|kill|declare|readonly)\b"
    r"(?![-=]))"
)
_DIRECTIVE = re.compile(r"(#(?:SBATCH|PBS|FLUX|\$)\s+)(-{1,2}[\w-]+)([= ]?)(.*)")


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


# Differences


def diff_lines(found: ScriptDifference, *, unfolded: bool = False) -> tuple[Line, ...]:
    """Return the lines of a pane: first the summary of differences without lines, then
    the others.
    """
    lines: list[Line] = []
    if found.quiet:
        lines.append(line(("~ ", "dim"), (found.quiet, "dim")))
    if not found.changes:
        lines.append(line(("= ", "completed"), "nothing else is another: d shows the script"))
        if not unfolded:
            return tuple(lines)
    parts = found.parts if unfolded else folded(found.parts)
    return (*lines, *map(part_line, parts))


def part_line(part: DifferenceLine) -> Line:
    """Return `+ #SBATCH --nodes=4`: a sign and a colour, and the colours of bash."""
    if part.kind == "fold":
        return line((f"  …  {part.text or plural(part.lines, 'unchanged line')}", "faint"))
    if part.kind == "gone":
        return (Span("- ", "failed"), Span(visible(part.text.expandtabs(4)), "failed"))
    spans = script_line(part.text)
    if part.kind == "new":
        marked = tuple(Span(it.text, it.style or "completed") for it in spans)
        return (Span("+ ", "completed"), *marked)
    return (Span("  "), *spans)


KEPT = 32
"""The number of cached differences, for a user who steps through scripts with n and N."""


class ScriptPane(NamedTuple):
    """The content of the pane (texts of a script, or lines of a difference), and the texts of its
    frame.
    """

    lines: Sequence[str | Line]
    about: str
    keys: str


def coloured(item: str | Line) -> Line:
    """Return the styled line: a line of a script is styled here; a line of a difference
    is already.
    """
    return script_line(item) if isinstance(item, str) else item


@dataclass
class ScriptLook:
    """The scripts of the current plan. `known` has the earlier scripts, None where there
    is none.
    """

    full: bool = False
    unfolded: bool = False
    known: dict[ScriptAsked, ScriptBefore | None] = field(default_factory=dict)
    asking: ScriptAsked | None = None  # The request that is under way.
    _plan_id: str = ""
    _differences: dict[tuple[str, ScriptAsked], ScriptDifference] = field(default_factory=dict)

    def begin(self, plan_id: str) -> None:
        """Reset the state for another plan."""
        if plan_id != self._plan_id:
            self._plan_id = plan_id
            self.known.clear()
            self.asking = None
            self._differences.clear()

    def missing(self, jobs: Sequence[PlannedJob], scheduler: str) -> ScriptAsked | None:
        """Return the request that is necessary before the difference of these jobs' script can be
        shown.
        """
        if not jobs or not jobs[0].directories:
            return None
        asked = asked_for(jobs, scheduler, self._plan_id)
        return None if asked in self.known or asked == self.asking else asked

    def shown(
        self, key: str, jobs: Sequence[PlannedJob], scheduler: str, script: Callable[[], str]
    ) -> ScriptPane:
        """Return the lines for the script of these jobs. `key` identifies the row at any
        position.
        """
        asked = asked_for(jobs, scheduler, self._plan_id) if jobs and jobs[0].directories else None
        before = None if asked is None else self.known.get(asked)
        if asked is None or before is None:
            lines = script().splitlines()
            first = asked is not None and asked in self.known
            about = "first script of this action" if first else ""
            return ScriptPane(lines, about, plural(len(lines), "line"))
        than = f"job {before.job}" if before.job else "the one before"
        since = f"{than} of {day(before.at)}"
        if self.full:
            lines = script().splitlines()
            return ScriptPane(lines, "", f"{plural(len(lines), 'line')} · d diff against {since}")
        found = self._differences.get((key, asked))
        if found is None:
            if len(self._differences) >= KEPT:
                self._differences.pop(next(iter(self._differences)))
            found = self._differences[key, asked] = difference(before.script, script())
        changes = plural(found.changes, "line") + " changed" if found.changes else "no change"
        fold = "z fold" if self.unfolded else "z unfold"
        shown = diff_lines(found, unfolded=self.unfolded)
        return ScriptPane(shown, f"diff against {since}", f"{changes} · d full · {fold}")
