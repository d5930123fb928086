"""The lines of a script, and the differences of two scripts, with their colours."""

from __future__ import annotations

import re

from rowtui.core.base.text import plural, visible
from rowtui.core.project.review.script_diff import (
    DifferenceLine,
    ScriptDifference,
    folded,
)
from rowtui.tui.widgets.cells import Line, Span, line

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


def diff_lines(found: ScriptDifference, *, unfolded: bool = False) -> tuple[Line, ...]:
    """Return the lines of a pane: first the summary of differences without lines, then
    the others.
    """
    lines: list[Line] = []
    if found.quiet:
        lines.append(line(("~ ", "dim"), (found.quiet, "dim")))
    if not found.changes:
        lines.append(line(("= ", "completed"), "nothing else differs: d shows the script"))
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


def coloured(item: str | Line) -> Line:
    """Return the styled line: a line of a script is styled here; a line of a difference
    is already.
    """
    return script_line(item) if isinstance(item, str) else item
