"""A decision in a few sentences: why there, and why not elsewhere."""

from __future__ import annotations

from rowtui.core.mapping.decision import Candidate, Check, Decision, Outcome, Placement, Refusal
from rowtui.core.text import plural, visible


def outcome_sentence(placement: Placement) -> str:
    """`goes to slurm/gpu`, `waits: ...`, `nowhere: ...`, with where the reason is written."""
    if placement.outcome is Outcome.CHOSEN:
        return f"goes to {visible(placement.name)}"
    said = f" ({placement.origin})" if placement.origin is not None else ""
    words = {
        Outcome.NOWHERE: "nowhere to go",
        Outcome.FAILED: "refused",
        Outcome.WAITS: "waits",
        Outcome.INCOMPATIBLE: "cannot be mapped",
        Outcome.UNTRUSTED: "waits for trust",
        Outcome.BROKEN: "cannot be mapped",
        Outcome.ERROR: "cannot be mapped",
    }
    return f"{words[placement.outcome]}: {visible(placement.message)}{said}"


def what_to_do(placement: Placement) -> str:
    """The next step for someone whose job has no place, "" if there is nothing to say."""
    origin = placement.origin
    if placement.outcome is Outcome.UNTRUSTED:
        file = origin.place.file if origin else placement.message.partition(" ")[0]
        return f"read it and trust it: rowtui mapping trust {visible(file)}"
    if placement.outcome in {Outcome.BROKEN, Outcome.ERROR, Outcome.INCOMPATIBLE} and origin:
        return f"see {origin.place}" if origin.place.file else ""
    return ""


def reasons(decision: Decision) -> tuple[str, ...]:
    """Why this destination, and why not each of the others: a sentence each."""
    chosen = [each for each in decision.candidates if each.chosen]
    found = [_why(each, decision) for each in chosen]
    found += [_why_not(each) for each in decision.candidates if not each.chosen]
    found += [_refused(each) for each in decision.refusals]
    return tuple(found)


def _why(candidate: Candidate, decision: Decision) -> str:
    name = visible(candidate.destination)
    fitting = sum(1 for each in decision.candidates if each.rank)
    if fitting == 1:
        return f"{name}: the only destination that takes the job"
    if decision.ranked_by != "score":
        return f"{name}: first of {fitting} by the rank function of {decision.ranked_by}"
    best = [each for each in decision.candidates if each.score == candidate.score and each.rank]
    if len(best) > 1:
        return f"{name}: first of {plural(len(best), 'equal')} with score {candidate.score}"
    return f"{name}: the best of {fitting} by tags, score {candidate.score}"


def _why_not(candidate: Candidate) -> str:
    name = visible(candidate.destination)
    if candidate.tried:
        return f"not {name}: {visible(candidate.tried)}"
    return f"not {name}: it comes after, score {candidate.score}"


def _refused(refusal: Refusal) -> str:
    text = f"not {visible(refusal.destination)}: {check_sentence(refusal.failed[0])}"
    others = len(refusal.failed) - 1
    if others:
        text += f", and {plural(others, 'more reason')}"
    if refusal.changes:
        text += f" (would take it with: {'; '.join(change.words for change in refusal.changes)})"
    return text


def check_sentence(check: Check) -> str:
    """`max_accepted_cores: cores 96, at most 64`."""
    if check.constraint == "cluster":
        if check.asked == "no runner":
            return "cluster: it has no runner"
        return f"cluster: it is on {check.asked}, not on {check.offered}"
    return f"{check.constraint}: {check.asked}, {check.offered}"
