"""A decision as a table of destinations, and as the reasons for one of them.

The input is `PlacementExplanation`s and `Decision`s; the output is lines of at most a width. Every
mark has its word, every number its two sides (asked, offered), and all text from outside is made
visible. `match_trace` draws the steps that lead to the decision about the job.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from rowtui.core.base.text import plural, visible
from rowtui.core.mapping.model.decision import (
    Candidate,
    ConstraintCheck,
    Decision,
    MappingOutcome,
    Placement,
    Refusal,
    check_in_words,
    outcome_sentence,
    what_to_do,
)
from rowtui.core.mapping.model.fields import Origin
from rowtui.core.project.views.views import PlacementExplanation
from rowtui.tui.views.explain.what_if import amount_text
from rowtui.tui.widgets.cells import Cell, FirstThatFits, Line, line, wrapped
from rowtui.tui.widgets.columns import TableColumn
from rowtui.tui.widgets.short_text import Mark, duration

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
            refusal.destination,
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
    first, *more = dict.fromkeys(map(_in_short, refusal.failed))
    return first + (f"; {len(more)} more" if more else "")


def _in_short(check: ConstraintCheck) -> str:
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
    elif candidate.tried:
        mark, why = PASSED_OVER, candidate.tried
    return DestinationRow(
        candidate.destination, mark, candidate.rank, candidate.score, why, candidate
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
        "score": line(_signed(row.score)) if row.score is not None
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


# The job, in short


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
        parts.append(duration(seconds))
    return " · ".join(parts)


def walltime_of(decision: Decision) -> int | None:
    """Return the effective walltime in seconds: that of the what-if, otherwise that of the job."""
    what_if, totals = decision.request.what_if, decision.request.totals
    if what_if is not None and what_if.walltime_seconds is not None:
        return what_if.walltime_seconds
    return totals.walltime_seconds if totals else None


# One destination


def destination_lines(row: DestinationRow, decision: Decision, keys: str, width: int) -> list[Line]:
    """Return why the job goes there, could go there, or cannot. `keys`: of the changes."""
    lines = wrapped(line((f"{row.mark.glyph} {_verdict(row, decision)}", row.mark.style)), width, 2)
    where = wrapped(line((f"  {_where(row.of)}", "dim")), width, 2)
    if isinstance(row.of, Refusal):
        # The possible changes come first, so that they are visible.
        lines += [*_changes(row.of, keys, width), *where]
        lines += _checks("Fails", row.of.failed, row.of.checks, width)
    else:
        lines += where
        if row.of.tried:
            lines += section("Result of the attempt")
            lines += wrapped(line("  ", (row.of.tried, "warning")), width, 2)
        lines += _score(row.of, decision, width)
    passed = [check for check in row.of.checks if check.passed]
    lines += _checks("Passes", passed, row.of.checks, width)
    return lines


def _verdict(row: DestinationRow, decision: Decision) -> str:
    if isinstance(row.of, Refusal):
        why = (
            "; ".join(dict.fromkeys(map(_in_short, row.of.failed))) or "it has no place for the job"
        )
        return f"refused: {why}"
    many = sum(1 for candidate in decision.candidates if candidate.rank)
    if not row.of.rank:
        return "not ranked: " + visible(row.of.tried or "left out")
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


def _changes(refusal: Refusal, keys: str, width: int) -> Iterator[Line]:
    yield line(("Would take it with", "heading"))
    hints = dict.fromkeys(check.hint for check in refusal.failed if check.hint)
    if not refusal.changes and not hints:
        yield line(("  no single change would suffice", "dim"))
        return
    for hint in () if refusal.changes else hints:
        yield from wrapped(line(f"  {visible(hint)}"), width, 2)
    for number, change in enumerate(refusal.changes):
        key = keys[number] if number < len(keys) else "·"
        after = "and it goes there" if change.first else "it could go there, after others"
        yield from wrapped(
            line((f"  {key} ", "key"), change.words.replace("->", "→"), (f"  {after}", "dim")),
            width,
            4,
        )


def _score(candidate: Candidate, decision: Decision, width: int) -> Iterator[Line]:
    yield from section(
        f"Score {_signed(candidate.score)}" + (" by tag" if candidate.by_tag else "")
    )
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
        text = line((f"  {_signed(points):>4}  ", "title"), tag, (f"  {why}", "dim"))
        yield from wrapped(text, width, 8)


def _signed(points: int) -> str:
    return f"{points:+d}" if points else "0"


def origin_text(origin: Origin) -> str:
    """Return `rule large of tool bwa in mapping.yml:12`; a source that is not trusted is marked."""
    text = "the what-if" if origin.kind == "what-if" else visible(str(origin))
    if origin.kind == "request":
        text = "the action in workflow.toml"
    return f"{text} (not trusted)" if origin.sealed else text
