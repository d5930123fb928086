"""The difference of two scripts as lines with colours."""

from __future__ import annotations

from rowtui.core.base.text import plural, visible
from rowtui.core.project.review.script_diff import Difference, Part, folded
from rowtui.tui.views.submit.bash_lines import script_line
from rowtui.tui.widgets.cells import Line, Span, line


def diff_lines(found: Difference, *, unfolded: bool = False) -> tuple[Line, ...]:
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


def part_line(part: Part) -> Line:
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
