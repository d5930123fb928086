"""A decision as a table of destinations, and its job in short.

The input is `PlacementExplanation`s and `Decision`s; the output is rows, cells and lines. Every
mark has its word.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rowtui.core.base.text import plural, visible
from rowtui.core.mapping.model.decision import Candidate, Decision, MappingOutcome, Refusal
from rowtui.core.mapping.model.sentences import (
    amount_in_words,
    check_in_words,
    outcome_sentence,
    signed,
    what_to_do,
    why_chosen,
)
from rowtui.core.project.views.views import PlacementExplanation
from rowtui.tui.views.explain.what_if import walltime_of
from rowtui.tui.widgets.cells import Cell, FirstThatFits, Line, line, width_of, wrapped
from rowtui.tui.widgets.columns import TableColumn
from rowtui.tui.widgets.short_text import Mark, amount_of_hours, limit

CHOSEN = Mark("✓", "chosen", "completed")
CANDIDATE = Mark("○", "possible", "eligible")
PASSED_OVER = Mark("▲", "passed on", "warning")
REFUSED = Mark("✗", "refused", "dim")

MARKS = (CHOSEN, CANDIDATE, PASSED_OVER, REFUSED)

OUTCOMES = {
    MappingOutcome.CHOSEN: Mark("✓", "goes", "completed"),
    MappingOutcome.WAITS: Mark("·", "waits", "warning"),
    MappingOutcome.UNTRUSTED: Mark("▲", "waits for trust", "warning"),
}
NOWHERE = Mark("✗", "nowhere", "failed")


class DestinationRow(NamedTuple):
    """One destination of a decision. `of` is the part of the decision about it; `second`: the line
    below it, with the reason, where there is no room beside it.
    """

    name: str
    mark: Mark
    rank: int  # 0 means that the destination has no rank.
    score: int | None
    why: str
    of: Candidate | Refusal
    second: bool = False

    @property
    def key(self) -> str | tuple[str, str]:
        """The name; the line below it has a key of its own."""
        return (self.name, "why") if self.second else self.name

    @property
    def place(self) -> str:
        """`shared on anvil`."""
        return on_cluster(self.name, self.of.cluster)


def on_cluster(name: str, cluster: str) -> str:
    """Return `shared on anvil`; only the name of a destination that names its cluster."""
    known = not cluster or name.startswith(cluster)
    return visible(name) if known else f"{visible(name)} on {visible(cluster)}"


def destination_rows(decision: Decision | None) -> list[DestinationRow]:
    """Return the candidates in the order of the attempts, then the destinations that refuse."""
    if decision is None:
        return []
    chosen = next((one.destination_id for one in decision.candidates if one.chosen), "")
    rows = [_candidate_row(candidate, chosen, decision) for candidate in decision.candidates]
    return rows + [
        DestinationRow(one.destination_id, REFUSED, 0, None, refusal_in_words(one), one)
        for one in decision.refusals
    ]


def refusal_in_words(refusal: Refusal) -> str:
    """Return the first failed check, and the number of further ones: `asks 16 CPUs, accepts at most
    8; 2 more reasons`.
    """
    if not refusal.failed:
        return "too small for the job on every node"
    first, *more = dict.fromkeys(map(check_in_words, refusal.failed))
    return first + (f"; {plural(len(more), 'more reason')}" if more else "")


def _candidate_row(candidate: Candidate, chosen: str, decision: Decision) -> DestinationRow:
    mark, why = CANDIDATE, f"would accept it; {chosen or 'another'} comes first"
    if candidate.chosen:
        mark, why = CHOSEN, f"chosen: {why_chosen(candidate, decision)}"
    elif candidate.passed_over:
        how = "passed it on" if candidate.rank else "not tried"
        mark, why = PASSED_OVER, f"{how}: {candidate.passed_over}"
    return DestinationRow(
        candidate.destination_id, mark, candidate.rank or 0, candidate.score, why, candidate
    )


def destination_columns(rows: Sequence[DestinationRow], *, two: bool) -> tuple[TableColumn, ...]:
    """Return the columns for these destinations. `two`: the reasons are on lines of their own."""
    first = TableColumn("rank", "#", 3 + (len(rows) > 9), align="right")
    if two:
        return (first, TableColumn("name", "Destination", 11, 20, grow=1))
    names = max((len(visible(row.name)) for row in rows), default=0)
    clusters = {visible(row.of.cluster) for row in rows}
    loads = [row.of.load for row in rows]
    waits = any(load.expected_wait_seconds is not None for load in loads)
    free = any(load.free_cpus is not None for load in loads)
    columns = (
        first,
        TableColumn("name", "Destination", 11, min(max(names, 11), 24)),
        TableColumn(
            "cluster", "Cluster", 7, min(max(map(len, clusters), default=7), 16), priority=2
        ),
        TableColumn("score", "Score", 5, align="right", priority=1),
        TableColumn("wait", "Wait", 9, align="right", priority=3),
        TableColumn("free", "Free CPUs", 9, align="right", priority=4),
        TableColumn("verdict", "Why", 36, 60, grow=1),
    )
    needed = {"cluster": len(clusters) > 1, "wait": waits, "free": free}
    return tuple(column for column in columns if needed.get(column.id, True))


def destination_cells(row: DestinationRow, *, two: bool = False) -> dict[str, Cell]:
    """Return one row of the table of destinations; destinations that refuse the job are dim."""
    dim = "dim" if row.mark is REFUSED else ""
    if row.second:
        chosen = f"chosen, score {signed(row.score or 0)}"
        return {"name": line((chosen if row.mark is CHOSEN else row.why, "dim"))}
    cluster = f" {row.of.cluster}" if two and not row.name.startswith(row.of.cluster) else ""
    forms: tuple[Line, ...] = (line((row.why, dim)),)
    if row.mark is CHOSEN:
        forms = (line((row.why, row.mark.style)), line((row.mark.word, row.mark.style)))
    load, unknown = row.of.load, line(("–", "dim"))
    wait, free = load.expected_wait_seconds, load.free_cpus
    return {
        "rank": line((f"{row.rank or ''} ", "dim"), (row.mark.glyph, row.mark.style)),
        "name": line((row.name, dim or ("title" if row.mark is CHOSEN else "")), (cluster, "dim")),
        "cluster": line((row.of.cluster, dim)),
        "score": line("" if row.score is None else signed(row.score)),
        "wait": unknown if wait is None else line((limit(wait) if wait else "·", dim)),
        "free": unknown if free is None else line((f"{free:,}" if free else "·", dim)),
        "verdict": FirstThatFits(forms),
    }


def destination_values(row: DestinationRow) -> dict[str, Any]:
    """Return the values of a destination for filters and files; without a rank it is last."""
    load = row.of.load
    return {
        "rank": row.rank or "",
        "name": row.name,
        "cluster": row.of.cluster,
        "score": "" if row.score is None else row.score,
        "wait": load.expected_wait_seconds,
        "free": load.free_cpus,
        "verdict": f"{row.mark.word}: {row.why.removeprefix('chosen: ')}",
    }


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
    """Return the outcome with its reason, the next step, and what the job asks for."""
    decision = explanation.decision
    lines = []
    if explanation.problem:
        lines += wrapped(line(("▲ ", "warning"), (explanation.problem, "warning")), width, 2)
    if decision is None:
        return lines
    many = plural(explanation.directories, "directory", "directories")
    asked = line((amounts_text(decision), "title"), f"   {many}")
    first = line((f", first {explanation.first}", "dim")) if explanation.first else ()
    lines += outcome_lines(decision, width)
    return [*lines, (*asked, *first) if width_of((*asked, *first)) <= width else asked]


SENTENCE_WIDTH = 60
"""Columns from which the reason of a choice has room on two lines."""


def outcome_lines(decision: Decision, width: int) -> list[Line]:
    """Return the outcome in words with its reason, and the next step if there is one."""
    placement = decision.chosen
    mark = OUTCOMES.get(placement.outcome, NOWHERE)
    sentence = outcome_sentence(placement)
    if placement.runner and not placement.name.startswith(placement.runner):
        sentence += f" on {visible(placement.runner)}"
    if placement.chosen and placement.destination != placement.name:
        sentence += f" (destination {visible(placement.destination)})"
    style = "title" if placement.chosen else mark.style
    for candidate in decision.candidates:
        if candidate.chosen:
            why = why_chosen(candidate, decision)
            full, short = f"{sentence}, because {why}.", f"{sentence}: {why}"
            least = f"{sentence}, score {signed(candidate.score)}"
            fits = width_of(line(full)) <= width - 2
            sentence = full if fits else short if width >= SENTENCE_WIDTH else least
    lines = wrapped(line((f"{mark.glyph} ", mark.style), (sentence, style)), width, 2)
    if step := what_to_do(placement):
        lines += wrapped(line(("  ", ""), (step, "key")), width, 4)
    return lines


def amounts_text(decision: Decision) -> str:
    """Return `16 CPUs   64 GB   no GPUs   4 h   64 CPU-hours at most`."""
    job, request = decision.job, decision.request
    # The mapper stopped before it computed the job's amounts.
    if not decision.contributions and job == (None, None, None):
        job = request.declared
    parts = [
        "CPUs not set" if job.cores is None else amount_in_words("cores", job.cores),
        "memory not set" if job.mem is None else amount_in_words("mem", job.mem),
        amount_in_words("gpus", job.gpus) if job.gpus else "no GPUs",
    ]
    if (seconds := walltime_of(decision)) is not None:
        parts.append(limit(seconds))
        number, unit = (job.gpus, "GPU") if job.gpus else (job.cores, "CPU")
        if isinstance(number, int | float):
            parts.append(f"{amount_of_hours(number * seconds / 3600)} {unit}-hours at most")
    return "   ".join(parts)
