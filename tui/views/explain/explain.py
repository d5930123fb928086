"""A decision as a table of destinations, and its job in short.

The input is `PlacementExplanation`s and `Decision`s; the output is rows, cells and lines. Every
mark has its word.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rowtui.core.base.text import plural, visible
from rowtui.core.mapping.model.decision import (
    Candidate,
    ConstraintCheck,
    Decision,
    MappingOutcome,
    Placement,
    Refusal,
)
from rowtui.core.mapping.model.sentences import check_in_words, outcome_sentence, what_to_do
from rowtui.core.project.views.views import PlacementExplanation
from rowtui.tui.views.explain.what_if import amount_text, walltime_of
from rowtui.tui.widgets.cells import Cell, FirstThatFits, Line, line, wrapped
from rowtui.tui.widgets.columns import TableColumn
from rowtui.tui.widgets.short_text import Mark, limit

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


def who(decision: Decision | None) -> str:
    """Return `someone · roles physics, gpu-users`, for a frame."""
    user = decision.request.user if decision else None
    if user is None:
        return ""
    shown = ", ".join(map(visible, user.roles[:4]))
    if len(user.roles) > 4:
        shown += f" and {len(user.roles) - 4} more"
    return f"{visible(user.name)} · " + (f"roles {shown}" if shown else "no roles")


def job_lines(explanation: PlacementExplanation, width: int) -> list[Line]:
    """Return the outcome, the next step, and the resources that the job asks for."""
    decision = explanation.decision
    lines = []
    if explanation.problem:
        lines += wrapped(line(("▲ ", "warning"), (explanation.problem, "warning")), width, 2)
    if decision is None:
        return lines
    parts: list[str | tuple[str, str]] = [(amounts_text(decision), "title")]
    parts.append((f"  {plural(explanation.directories, 'directory', 'directories')}", ""))
    if explanation.first:
        parts.append((f", first {explanation.first}", "dim"))
    lines += outcome_lines(decision.chosen, width)
    return lines + wrapped(line(*parts), width, 2)


def outcome_lines(placement: Placement, width: int) -> list[Line]:
    """Return the outcome in words, and the next step if there is one."""
    mark = OUTCOMES.get(placement.outcome, NOWHERE)
    sentence = outcome_sentence(placement)
    if placement.runner and not placement.name.startswith(placement.runner):
        sentence += f" on {visible(placement.runner)}"
    if placement.chosen and placement.destination != placement.name:
        sentence += f" (destination {visible(placement.destination)})"
    style = "title" if placement.chosen else mark.style
    lines = wrapped(line((f"{mark.glyph} ", mark.style), (sentence, style)), width, 2)
    if step := what_to_do(placement):
        lines += wrapped(line(("  ", ""), (step, "key")), width, 4)
    return lines


def amounts_text(decision: Decision) -> str:
    """Return `16 cores · 64 GB · no GPUs · 4:00:00`."""
    job, request = decision.job, decision.request
    # The mapper stopped before it computed the job's amounts.
    if not decision.contributions and job == (None, None, None):
        job = request.declared
    cores = "cores not set" if job.cores is None else f"{amount_text(job.cores)} cores"
    memory = "memory not set" if job.mem is None else f"{amount_text(job.mem)} GB"
    gpus = f"{amount_text(job.gpus)} GPUs" if job.gpus else "no GPUs"
    parts = [cores.replace("1 cores", "1 core") if cores == "1 cores" else cores, memory]
    parts.append("1 GPU" if gpus == "1 GPUs" else gpus)
    if (seconds := walltime_of(decision)) is not None:
        parts.append(limit(seconds))
    return " · ".join(parts)
