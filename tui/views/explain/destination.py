"""The reasons for one destination of a decision: its verdict, checks, changes and score.

Every number has its two sides (asked, offered), and all text from outside is made visible.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rowtui.core.base.text import plural, visible
from rowtui.core.mapping.model.decision import (
    Candidate,
    ConstraintCheck,
    Decision,
    Refusal,
)
from rowtui.core.mapping.model.origin import Origin
from rowtui.tui.views.explain.explain import CANDIDATE, DestinationRow, in_short, signed
from rowtui.tui.widgets.cells import Line, line, wrapped


def destination_lines(row: DestinationRow, decision: Decision, width: int) -> list[Line]:
    """Return why the job goes there, could go there, or cannot."""
    lines = wrapped(line((f"{row.mark.glyph} {_verdict(row, decision)}", row.mark.style)), width, 2)
    where = wrapped(line((f"  {_where(row.of)}", "dim")), width, 2)
    if isinstance(row.of, Refusal):
        # The possible changes come first, so that they are visible.
        lines += [*_changes(row.of, width), *where]
        lines += _checks("Fails", row.of.failed, row.of.checks, width)
    else:
        lines += where
        if row.of.passed_over:
            lines += section("Result of the attempt")
            lines += wrapped(line("  ", (row.of.passed_over, "warning")), width, 2)
        lines += _score(row.of, decision, width)
    passed = [check for check in row.of.checks if check.passed]
    lines += _checks("Passes", passed, row.of.checks, width)
    return lines


def _verdict(row: DestinationRow, decision: Decision) -> str:
    if isinstance(row.of, Refusal):
        why = (
            "; ".join(dict.fromkeys(map(in_short, row.of.failed))) or "it has no place for the job"
        )
        return f"refused: {why}"
    many = sum(1 for candidate in decision.candidates if candidate.rank)
    if not row.of.rank:
        return "not ranked: " + visible(row.of.passed_over or "left out")
    place = f"number {row.of.rank} of {plural(many, 'candidate')}"
    if row.mark is CANDIDATE:
        reached = "it takes the job; another comes first"
        if not decision.chosen.chosen:
            reached = "it takes the job; its turn never came"
        return f"candidate, {place}: {reached}"
    return f"{row.mark.word}, {place}"


def _where(of: Candidate | Refusal) -> str:
    parts = []
    if of.partition:
        parts.append(f"partition {visible(of.partition)} of {visible(of.cluster)}")
    elif of.cluster:
        parts.append(f"cluster {visible(of.cluster)}")
    if of.origin.place.file:
        parts.append(visible(str(of.origin.place)))
    return " · ".join(parts) or "reported by the cluster"


def section(title: str) -> list[Line]:
    """Return an empty line and a heading."""
    return [(), line((title, "heading"))]


def _checks(
    word: str, shown: Sequence[ConstraintCheck], all_of_them: Sequence[ConstraintCheck], width: int
) -> Iterator[Line]:
    if not shown:
        return
    yield from section(f"{word} {_how_many(shown, all_of_them)}")
    for check in shown:
        yield from check_lines(check, width)


def _how_many(some: Sequence[ConstraintCheck], of: Sequence[ConstraintCheck]) -> str:
    if len(some) < len(of):
        return f"{len(some)} of {len(of)} checks"
    return "the only check" if len(of) == 1 else f"all {len(of)} checks"


def check_lines(check: ConstraintCheck, width: int) -> list[Line]:
    """Return one check: what was asked, what is offered, a possible change, and the origin."""
    glyph, style = ("✓", "completed") if check.passed else ("✗", "failed")
    asked, offered = "asked ", ", offered "
    if check.constraint.startswith("tag "):  # The texts of a tag already name both sides.
        asked, offered = "", ", "
    elif check.constraint == "cluster":
        asked, offered = (
            ("it has ", "; here is ") if check.asked == "no runner" else ("it is on ", ", not on ")
        )
    lines = wrapped(
        line(
            (f"  {glyph} ", style),
            (check.constraint, "" if check.passed else style),
            (f"  {asked}", "dim"),
            check.asked,
            (offered, "dim"),
            check.offered,
        ),
        width,
        6,
    )
    if not check.passed and check.hint:
        lines += wrapped(line((f"      {visible(check.hint)}", "")), width, 6)
    if not check.passed and check.origin is not None:
        lines += wrapped(line((f"      set by {origin_text(check.origin)}", "dim")), width, 6)
    return lines


def _changes(refusal: Refusal, width: int) -> Iterator[Line]:
    yield line(("Would take it with", "heading"))
    hints = dict.fromkeys(check.hint for check in refusal.failed if check.hint)
    if not refusal.changes and not hints:
        yield line(("  no single change would suffice", "dim"))
        return
    for hint in () if refusal.changes else hints:
        yield from wrapped(line(f"  {visible(hint)}"), width, 2)
    if refusal.changes:
        yield from wrapped(
            line(("  Tab, then Enter tries one, Enter again the next", "dim")), width, 2
        )
    for change in refusal.changes:
        after = "and it goes there" if change.would_be_first else "it could go there, after others"
        yield from wrapped(
            line("  · ", change.words.replace("->", "→"), (f"  {after}", "dim")),
            width,
            4,
        )


def _score(candidate: Candidate, decision: Decision, width: int) -> Iterator[Line]:
    yield from section(f"Score {signed(candidate.score)}" + (" by tag" if candidate.by_tag else ""))
    if decision.ranked_by not in ("", "score"):
        by = f"  the order comes from the rank function of {visible(decision.ranked_by)}"
        yield from wrapped(line(by), width, 2)
    if not candidate.by_tag:
        yield line(("  it offers no tags", "dim"))
        return
    asked = {tag: strength for strength, tag, _ in decision.tags}
    for tag, points in sorted(candidate.by_tag, key=lambda each: (-abs(each[1]), each[0])):
        if tag in asked:
            why = f"the job {asked[tag]}s it"
        else:
            why = "the job does not ask for it"
        text = line((f"  {signed(points):>4}  ", "title"), tag, (f"  {why}", "dim"))
        yield from wrapped(text, width, 8)


def origin_text(origin: Origin) -> str:
    """Return `rule large of tool bwa in mapping.yml:12`; a source that is not trusted is marked."""
    text = "the what-if" if origin.kind == "what-if" else visible(str(origin))
    if origin.kind == "request":
        text = "the action in workflow.toml"
    return f"{text} (not trusted)" if origin.sealed else text
