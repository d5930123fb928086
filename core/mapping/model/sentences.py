"""A decision in a few sentences: why this destination, and why no other."""

from __future__ import annotations

from rowtui.core.base.text import plural, visible
from rowtui.core.mapping.model.decision import (
    Candidate,
    ConstraintCheck,
    Decision,
    MappingOutcome,
    Placement,
    Refusal,
)


def outcome_sentence(placement: Placement) -> str:
    """Return `goes to slurm/gpu`, `waits: ...`, `nowhere: ...`, with the place of the reason."""
    if placement.outcome is MappingOutcome.CHOSEN:
        return f"goes to {visible(placement.name)}"
    text = f" ({placement.origin})" if placement.origin is not None else ""
    words = {
        MappingOutcome.NOWHERE: "nowhere to go",
        MappingOutcome.FAILED: "refused",
        MappingOutcome.WAITS: "waits",
        MappingOutcome.INCOMPATIBLE: "cannot be mapped",
        MappingOutcome.UNTRUSTED: "waits for trust",
        MappingOutcome.BROKEN: "cannot be mapped",
        MappingOutcome.ERROR: "cannot be mapped",
    }
    return f"{words[placement.outcome]}: {visible(placement.message)}{text}"


def what_to_do(placement: Placement) -> str:
    """Return the user's next step for a job without a destination, "" if there is none."""
    origin = placement.origin
    if placement.outcome is MappingOutcome.UNTRUSTED:
        file = origin.place.file if origin else placement.message.partition(" ")[0]
        return f"read it and trust it: rowtui mapping trust {visible(file)}"
    if (
        placement.outcome
        in {MappingOutcome.BROKEN, MappingOutcome.ERROR, MappingOutcome.INCOMPATIBLE}
        and origin
    ):
        return f"see {origin.place}" if origin.place.file else ""
    return ""


def reasons(decision: Decision) -> tuple[str, ...]:
    """Return why this destination was chosen, and why not each of the others: a sentence each."""
    chosen = [each for each in decision.candidates if each.chosen]
    found = [_why(each, decision) for each in chosen]
    found += [_why_not(each) for each in decision.candidates if not each.chosen]
    found += [_refused(each) for each in decision.refusals]
    return tuple(found)


def _why(candidate: Candidate, decision: Decision) -> str:
    name = visible(candidate.destination_id)
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
    name = visible(candidate.destination_id)
    if candidate.passed_over:
        return f"not {name}: {visible(candidate.passed_over)}"
    return f"not {name}: it comes after, score {candidate.score}"


def _refused(refusal: Refusal) -> str:
    text = f"not {visible(refusal.destination_id)}: {check_sentence(refusal.failed[0])}"
    others = len(refusal.failed) - 1
    if others:
        text += f", and {plural(others, 'more reason')}"
    if refusal.changes:
        text += f" (would take it with: {'; '.join(change.words for change in refusal.changes)})"
    return text


_BOUNDS = {"max": "at most ", "min": "at least ", "req": "only multiples of "}


def check_in_words(check: ConstraintCheck) -> str:
    """Return `asks 64 CPUs, accepts at most 32`, for a check that failed."""
    constraint, asked, offered = check.constraint, check.asked, check.offered
    if "_accepted_" in constraint:
        what, _, number = asked.partition(" ")
        units = {"cores": "CPUs", "gpus": "GPUs", "mem": "GB of memory"}
        if number == "not set":
            return f"asks no amount of {units.get(what, what)}, accepts {offered}"
        unit = units.get(what, what)
        unit = unit.removesuffix("s") if number == "1" else unit
        return f"asks {number} {unit}, accepts {offered}"
    if constraint.startswith(("maximum_", "minimum_", "require_")):
        what = "walltime " if constraint.endswith("walltime") else ""
        return f"asks {what}{asked}, accepts {_BOUNDS[constraint[:3]]}{offered}"
    if constraint.startswith("memory_per_"):
        per = " for each " + constraint.removeprefix("memory_per_").removesuffix("_mb").upper()
        each = "" if "in all" in asked else per
        return f"asks {asked} of memory{each}, accepts less than {offered}"
    if constraint.startswith("tag "):
        return f"{constraint}: {asked}, {offered}"
    if constraint == "cluster":
        return check_sentence(check).removeprefix("cluster: ")
    return check_sentence(check)


def check_sentence(check: ConstraintCheck) -> str:
    """Return `max_accepted_cores: cores 96, at most 64`."""
    if check.constraint == "cluster":
        if check.asked == "no runner":
            return "cluster: it has no runner"
        return f"cluster: it is on {check.asked}, not on {check.offered}"
    return f"{check.constraint}: {check.asked}, {check.offered}"
