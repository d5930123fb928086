"""A decision as lines of text: the job's destination, the sources of each rule, every destination.

The input is a `Decision`; the result is lines for a terminal or a pipe. Control characters in text
from outside are made visible.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rowtui.cli.output.output import Output, TextColumn, table_lines
from rowtui.core.base.text import memory, plural, visible
from rowtui.core.mapping.engine.destinations import DestinationOffer, amount_text
from rowtui.core.mapping.model.decision import (
    Candidate,
    ConstraintCheck,
    Decision,
    DestinationLoad,
    Refusal,
)
from rowtui.core.mapping.model.origin import Origin
from rowtui.core.mapping.model.sentences import check_in_words, outcome_sentence, what_to_do
from rowtui.core.workflow.duration import format_duration

LONGEST = 200  # characters of one value or condition


def decision_lines(decision: Decision, out: Output) -> Iterator[str]:
    """Yield all lines about one decision."""
    yield from _outcome(decision, out)
    yield from _section("Job", [_job(decision)], out)
    yield from _section("Matched, in this order", list(_matched(decision)), out)
    yield from _section("Rules", list(_rules(decision)), out)
    yield from _section("Values", list(_values(decision)), out)
    yield from _section("Tags", list(_tags(decision)), out)
    if decision.candidates:
        order = decision.ranked_by
        by = "by score" if order == "score" else f"by the rank function of {order}"
        table = _candidates(decision.candidates, out)
        what = "take it" if any(each.chosen for each in decision.candidates) else "were tried"
        yield from _section(f"Destinations that {what}, {by}", table, out)
    refused = [line for each in decision.refusals for line in _refused(each)]
    yield from _section("Destinations that do not", refused, out)


def destination_lines(decision: Decision, offer: DestinationOffer, out: Output) -> Iterator[str]:
    """Yield all lines about one destination for this job."""
    name = offer.entity.id
    yield from _outcome(decision, out)
    everything: list[Candidate | Refusal] = [*decision.candidates, *decision.refusals]
    found = next((each for each in everything if each.destination_id == name), None)
    yield ""
    yield out.style(f"{visible(name)}: {_verdict(decision, offer, found)}", "bold")
    yield (
        f"  written in {offer.entity.origin.place}"
        if offer.entity.place.file
        else ("  reported by the cluster")
    )
    if found is None:
        return
    if found.load.free_cpus is not None:
        free = plural(found.load.free_cpus, "free CPU")
        yield f"  {_wait(found.load)} until a small job starts, {free}"
    if isinstance(found, Candidate):
        points = _points(found.by_tag)
        yield f"  score {found.score}" + (f": {points}" if points else "")
    else:
        yield from _section("Fails", [_check(each) for each in found.failed], out)
        yield from _section("What it takes to go there", list(_changes(found)), out)
    passed = [_check(each) for each in found.checks if each.passed]
    yield from _section("Passes", passed, out)


def _verdict(decision: Decision, offer: DestinationOffer, found: Candidate | Refusal | None) -> str:
    if isinstance(found, Refusal):
        checks = plural(len(found.checks), "check")
        return f"does not take the job, which fails {len(found.failed)} of {checks}"
    if isinstance(found, Candidate):
        return _place_in_order(decision, found)
    if offer.entity.abstract:
        return "is abstract: it is only there to inherit from, no job ever goes there"
    return "was never asked, because the job already stopped before"


def _place_in_order(decision: Decision, found: Candidate) -> str:
    if found.chosen:
        return "takes the job"
    if not found.rank:
        return f"would take the job, but: {visible(found.passed_over)}"
    if found.passed_over:
        return f"was number {found.rank}, but: {visible(found.passed_over)}"
    first = next((each for each in decision.candidates if each.chosen), None)
    if first is None:
        return f"would take the job as number {found.rank}, but its turn never came"
    after = f"would take the job, but comes after {visible(first.destination_id)}"
    if decision.ranked_by != "score":
        return f"{after} by the rank function of {decision.ranked_by}"
    if first.score == found.score:
        return f"{after}, which has the same score {found.score} and precedes it"
    return f"{after} by score ({found.score} against {first.score})"


def _outcome(decision: Decision, out: Output) -> Iterator[str]:
    placement = decision.chosen
    style = "green" if placement.chosen else "red"
    text = f"  {outcome_sentence(placement)}"
    if placement.chosen and placement.name != placement.destination:
        text += f" (destination {visible(placement.destination)})"
    yield out.style(text, style)
    if hint := what_to_do(placement):
        yield f"    {hint}"
    for notice in placement.notices:
        yield f"  note: {visible(notice)}"


def _section(title: str, lines: Sequence[str], out: Output) -> Iterator[str]:
    if lines:
        yield ""
        yield out.style(f"{title}:", "bold")
        yield from (f"  {line}" for line in lines)


def _job(decision: Decision) -> str:
    request = decision.request
    job = decision.job
    if job == (None, None, None):  # the job was refused before its amounts were known
        job = request.declared
    parts = [_counted(job.cores, "CPU"), _memory(job.mem), _counted(job.gpus, "GPU")]
    if request.totals is not None:
        parts.append(f"walltime {format_duration(request.totals.walltime_seconds)}")
    if request.user is not None:
        roles = ", ".join(map(visible, request.user.roles))
        named = f"{'role' if len(request.user.roles) == 1 else 'roles'} {roles}"
        parts.append(f"user {visible(request.user.name)} ({named if roles else 'no roles'})")
    if request.attempt > 1:
        parts.append(f"attempt {request.attempt}")
    return ", ".join(parts)


def _counted(amount: Any, noun: str) -> str:
    """Return `4 CPUs` or `no GPUs`; a job without a number of GPUs has none."""
    if amount is None and noun == "CPU":
        return "CPUs not stated"
    if not amount:
        return f"no {noun}s"
    return f"{amount_text(amount)} {noun}" + ("" if amount == 1 else "s")


def _memory(amount: Any) -> str:
    """Return `16 GB`; mapping files state memory in GB."""
    if amount is None:
        return "memory not stated"
    return (
        memory(amount * 1024) if isinstance(amount, (int, float)) else f"{amount_text(amount)} GB"
    )


def _matched(decision: Decision) -> Iterator[str]:
    for each in decision.matched:
        how = f"matches {visible(each.subject)}" if each.pattern else "inherited by all others"
        yield f"{each.origin}: {how}"


def _rules(decision: Decision) -> Iterator[str]:
    for each in decision.rules:
        condition = _short(each.condition)
        then = visible(each.effect) or "changes nothing"
        what = f"applies: {then}" if each.matched else "does not apply"
        yield f"{each.origin}: if {condition}: {what}"


def _values(decision: Decision) -> Iterator[str]:
    for each in decision.contributions:
        text = f"{visible(each.field)} = {_value(each.value)}"
        if each.written != each.value:
            text += f", written {_value(each.written)}"
        yield f"{text}, set by {_who(each.origin)}"
        for written, origin in each.replaced:
            yield f"    instead of {_value(written)}, set by {_who(origin)}"


def _tags(decision: Decision) -> Iterator[str]:
    for strength, tag, origin in decision.tags:
        yield f"{strength}s {visible(tag)}, set by {_who(origin)}"


def _who(origin: Origin) -> str:
    if origin.kind == "request":
        return "the action itself"
    return "you, just now" if origin.kind == "what-if" else str(origin)


def _candidates(candidates: Sequence[Candidate], out: Output) -> list[str]:
    known = any(each.load.free_cpus is not None for each in candidates)
    columns = [
        TextColumn("#", right=True),
        TextColumn("Destination", style="cyan"),
        TextColumn("Score", right=True),
    ]
    if known:
        columns += [TextColumn("Wait", right=True), TextColumn("Free CPUs", right=True)]
    columns += [TextColumn("By tag"), TextColumn("")]
    rows = []
    for each in candidates:
        row = [str(each.rank or "-"), each.destination_id, str(each.score)]
        if known:
            free = each.load.free_cpus
            row += [_wait(each.load), "?" if free is None else f"{free:,}"]
        verdict = "chosen" if each.chosen else visible(each.passed_over)
        rows.append([*row, _points(each.by_tag) or "-", verdict])
    return [line.rstrip() for line in table_lines(columns, rows, out)]


def _wait(load: DestinationLoad) -> str:
    seconds = load.expected_wait_seconds
    return "?" if seconds is None else format_duration(int(seconds))


def _points(by_tag: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{visible(tag)} {points:+d}" for tag, points in by_tag)


def _refused(refusal: Refusal) -> Iterator[str]:
    yield f"{visible(refusal.destination_id)}:"
    for check in refusal.failed:
        yield f"  {_check(check)}"
    for change in _changes(refusal):
        yield f"  what it takes: {change}"


def _check(check: ConstraintCheck) -> str:
    text = visible(check_in_words(check))
    if check.hint:
        text += f" ({visible(check.hint)})"
    if check.origin is not None and check.origin.place.file:
        text += f", set by {_who(check.origin)}"
    return text


def _changes(refusal: Refusal) -> Iterator[str]:
    for change in refusal.changes:
        first = ", and it would then go there" if change.would_be_first else ""
        yield visible(change.words) + first


def _value(value: Any) -> str:
    """Return a value, code or text on one line; several lines are joined."""
    if not isinstance(value, str):
        return _short(str(value))
    return _short(value) if "\n" in value.strip() else _short(repr(value.strip("\n")))


def _short(text: str) -> str:
    text = visible(" ".join(line.strip() for line in text.strip("\n").split("\n")))
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."
