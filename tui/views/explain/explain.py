"""A decision as a table of destinations.

The input is `PlacementExplanation`s and `Decision`s; the output is rows and cells. Every mark has
its word.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rowtui.core.base.text import visible
from rowtui.core.mapping.model.decision import (
    Candidate,
    ConstraintCheck,
    Decision,
    MappingOutcome,
    Refusal,
)
from rowtui.core.mapping.model.sentences import check_in_words
from rowtui.tui.widgets.cells import Cell, FirstThatFits, line
from rowtui.tui.widgets.columns import TableColumn
from rowtui.tui.widgets.short_text import Mark

CHOSEN = Mark("✓", "chosen", "completed")
CANDIDATE = Mark("○", "candidate", "eligible")
PASSED_OVER = Mark("▲", "passed over", "warning")
REFUSED = Mark("✗", "refused", "dim")

MARKS = (CHOSEN, CANDIDATE, PASSED_OVER, REFUSED)

OUTCOMES = {
    MappingOutcome.CHOSEN: Mark("✓", "goes", "completed"),
    MappingOutcome.WAITS: Mark("·", "waits", "warning"),
    MappingOutcome.UNTRUSTED: Mark("▲", "waits for trust", "warning"),
}
NOWHERE = Mark("✗", "nowhere", "failed")


class DestinationRow(NamedTuple):
    """One destination of a decision. `of` is the part of the decision about it."""

    name: str
    mark: Mark
    rank: int  # 0 means that the destination has no rank.
    score: int | None
    why: str
    of: Candidate | Refusal


def destination_rows(decision: Decision | None) -> list[DestinationRow]:
    """Return the candidates in the order of the attempts, then the destinations that refuse."""
    if decision is None:
        return []
    rows = [_candidate_row(candidate) for candidate in decision.candidates]
    return rows + [
        DestinationRow(
            refusal.destination_id,
            REFUSED,
            0,
            None,
            refusal_in_words(refusal),
            refusal,
        )
        for refusal in decision.refusals
    ]


def refusal_in_words(refusal: Refusal) -> str:
    """Return the first failed check, and the number of further ones: `asks 16 CPUs, accepts at most
    8; 2 more`.
    """
    if not refusal.failed:
        return ""
    first, *more = dict.fromkeys(map(in_short, refusal.failed))
    return first + (f"; {len(more)} more" if more else "")


def in_short(check: ConstraintCheck) -> str:
    """Return a failed check in words: `asks 16 CPUs, accepts at most 8`."""
    if not check.constraint.startswith("tag "):
        return check_in_words(check)
    if "does not have" in check.offered:
        return f"{check.constraint} is not there"
    rejected = "does not have" not in check.asked
    return f"{check.constraint} is {'rejected' if rejected else 'required there'}"


def _candidate_row(candidate: Candidate) -> DestinationRow:
    mark, why = CANDIDATE, ""
    if candidate.chosen:
        mark = CHOSEN
    elif candidate.passed_over:
        mark, why = PASSED_OVER, candidate.passed_over
    return DestinationRow(
        candidate.destination_id, mark, candidate.rank or 0, candidate.score, why, candidate
    )


def destination_columns(rows: Sequence[DestinationRow]) -> tuple[TableColumn, ...]:
    """Return the columns for these destinations."""
    longest = max((len(visible(row.name)) for row in rows), default=11)
    return (
        TableColumn("rank", "#", 2, align="right"),
        TableColumn("mark", "", 1),
        TableColumn("name", "Destination", 11, min(max(longest, 11), 24), short="Where"),
        TableColumn("score", "Score", 5, align="right", priority=1),
        TableColumn("verdict", "Verdict", 11, 20, priority=2, grow=3),
    )


def destination_cells(row: DestinationRow) -> dict[str, Cell]:
    """Return one row of the table of destinations; destinations that refuse the job are dim."""
    dim = "dim" if row.mark is REFUSED else ""
    word = (row.mark.word, row.mark.style)
    forms = (line(word, (f": {row.why}", dim)), line((row.why, dim))) if row.why else (line(word),)
    return {
        "rank": line((str(row.rank) if row.rank else "–", "dim")),
        "mark": line((row.mark.glyph, row.mark.style)),
        "name": line((row.name, dim or ("title" if row.mark is CHOSEN else ""))),
        "score": line(signed(row.score)) if row.score is not None
        else line(("–", "dim")),
        "verdict": FirstThatFits(forms),
    }  # fmt: skip


def destination_values(row: DestinationRow) -> dict[str, Any]:
    """Return the values of a destination for filters and files; without a rank it is last."""
    verdict = row.mark.word + (f": {row.why}" if row.why else "")
    score = "" if row.score is None else row.score
    return {"rank": row.rank or "", "name": row.name, "score": score, "verdict": verdict}


def changed_cells(
    old: Sequence[DestinationRow], new: Sequence[DestinationRow]
) -> list[tuple[str, str]]:
    """Return the cells (destination, column) whose content has changed."""
    before = {row.name: destination_cells(row) for row in old}
    return [
        (row.name, column)
        for row in new
        if row.name in before
        for column, cell in destination_cells(row).items()
        if column != "name" and before[row.name][column] != cell
    ]


def signed(points: int) -> str:
    """Return points with their sign."""
    return f"{points:+d}" if points else "0"
