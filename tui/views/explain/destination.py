"""The reasons for one destination of a decision: its verdict, checks, changes and score.

Every number has its two sides (asked, offered), and all text from outside is made visible.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rowtui.core.base.text import visible
from rowtui.core.mapping.model.decision import Candidate, ConstraintCheck, Decision, Refusal
from rowtui.core.mapping.model.origin import Origin
from rowtui.core.mapping.model.sentences import check_sides, signed
from rowtui.tui.views.explain.explain import DestinationRow
from rowtui.tui.widgets.cells import Line, Span, fit, line, width_of, wrapped
from rowtui.tui.widgets.links import linked

GAP = Span("  ")


def aligned(rows: Iterable[Sequence[Line]], width: int) -> list[Line]:
    """Return rows of cells below each other, indented; the last cell of each row is wrapped."""
    shown = [tuple(row) for row in rows]
    columns = max(map(len, shown), default=1) - 1
    widths = [
        min(max(width_of(row[at]) for row in shown), max(4, width // 3)) for at in range(columns)
    ]
    indent = min(2 + sum(widths) + 2 * columns, max(2, width - 16))
    lines = []
    for *cells, last in shown:
        head = [
            span
            for cell, room in zip(cells, widths, strict=True)
            for span in (*fit(cell, room), GAP)
        ]
        lines += wrapped((GAP, *head, *last), width, indent)
    return lines


def heading(mark: str, style: str, text: str, width: int) -> list[Line]:
    """Return a heading with a mark in front."""
    return wrapped(line((f"{mark} ", style), (text, "heading")), width, 2)


def section(title: str) -> list[Line]:
    """Return an empty line and a heading."""
    return [(), line((title, "heading"))]


def destination_lines(row: DestinationRow, decision: Decision, width: int) -> list[Line]:
    """Return why the job goes there, could go there, or cannot."""
    mark, of = row.mark, row.of
    if isinstance(of, Refusal):
        return _refusal(of, mark.style, width)
    text = "It accepts the job"
    if of.passed_over:
        text += f", but {visible(row.why)}"
    elif not of.chosen:
        text = f"It {visible(row.why)}"
    lines = heading(mark.glyph, mark.style, text, width)
    lines += aligned([failed_cells(check) for check in of.checks if not check.passed], width)
    lines += aligned(_passed(of.checks), width)
    if not of.checks:
        lines.append(line(("  it has no limits", "dim")))
    return [*lines, *_score(of, decision, width)]


def _passed(checks: Iterable[ConstraintCheck], *mark: Line) -> list[list[Line]]:
    """Return the cells of passed checks; limits of a file and of its partition may be the same."""
    sides = dict.fromkeys(check_sides(check) for check in checks if check.passed)
    return [
        [*mark, line(asked), line(f"of {most}" if most.startswith("at most") else most)]
        for asked, most in sides
    ]


def _refusal(refusal: Refusal, style: str, width: int) -> list[Line]:
    many = f": {len(refusal.failed)} of {len(refusal.checks)} checks fail" if refusal.checks else ""
    lines = heading("✗", style, f"It refuses the job{many}", width)
    lines += aligned(map(failed_cells, refusal.failed), width)
    hints = dict.fromkeys(check.hint for check in refusal.failed if check.hint)
    for hint in hints:
        lines += wrapped(line((f"  → {visible(hint)}", "")), width, 4)
    if not refusal.changes and not hints and len(refusal.failed) > 1:
        lines.append(line(("  more than one change is needed", "dim")))
    return lines + aligned(_passed(refusal.checks, line(("✓", "completed"))), width)


def failed_cells(check: ConstraintCheck) -> list[Line]:
    """Return what the job asks, what is accepted, and where the limit is written."""
    asked, accepted = check_sides(check)
    origin = check.origin
    written = ("", "")
    if origin is not None and origin.place.file:
        written = origin_part(origin, f"  {visible(str(origin.place))}")
    accepts = "accepts " if accepted.startswith(("at ", "less ", "only ")) else ""
    return [
        line(("✗", "failed")),
        line((asked, "failed")),
        line(f"{accepts}{accepted}", written),
    ]


def _score(candidate: Candidate, decision: Decision, width: int) -> Iterator[Line]:
    yield ()
    text = "Its score, from the tags of the job"
    yield from heading(signed(candidate.score), "title", text, width)
    if decision.ranked_by not in ("", "score"):
        by = f"  the order comes from the rank function of {visible(decision.ranked_by)}"
        yield from wrapped(line(by), width, 2)
    if not candidate.by_tag:
        yield line(("  it offers no tags", "dim"))
    asked = {tag: strength for strength, tag, _ in decision.tags}
    ordered = sorted(candidate.by_tag, key=lambda each: (-abs(each[1]), each[0]))
    yield from aligned(
        (
            [
                line((f"{signed(points):>2}", "title")),
                line(tag),
                line(
                    (f"the job {asked[tag]}s it" if tag in asked else "not asked by the job", "dim")
                ),
            ]
            for tag, points in ordered
        ),
        width,
    )


def origin_part(origin: Origin, text: str = "") -> tuple[str, str]:
    """Return the source of a value, or this text about it, as a link to its file."""
    file = "workflow.toml" if origin.kind == "request" else ""
    return linked(text or origin_text(origin), origin.place.file or file, "dim")


def origin_text(origin: Origin) -> str:
    """Return `mapping.yml:12, rule large`; a source that is not trusted is marked."""
    if origin.kind in ("request", "what-if"):
        return "workflow.toml" if origin.kind == "request" else "the change that is tried"
    text = f"rule {origin.rule}" if origin.rule else f"{origin.kind} {origin.id}".strip()
    if origin.place.file:
        text = f"{origin.place}, {text}"
    return visible(f"{text} (not trusted)" if origin.sealed else text)
