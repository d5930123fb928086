"""A decision in a few sentences: why this destination, and why no other."""

from __future__ import annotations

from typing import Any

from rowtui.core.base.text import in_words, memory, plural, visible
from rowtui.core.mapping.model.decision import (
    Candidate,
    ConstraintCheck,
    Decision,
    MappingOutcome,
    Placement,
    Refusal,
)
from rowtui.core.workflow.duration import parse_time


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
    found = [
        f"{visible(each.destination_id)}: {why_chosen(each, decision)}"
        for each in decision.candidates
        if each.chosen
    ]
    found += [_why_not(each) for each in decision.candidates if not each.chosen]
    found += [_refused(each) for each in decision.refusals]
    return tuple(found)


def why_chosen(candidate: Candidate, decision: Decision) -> str:
    """Return `it accepts the job and has the highest score (+1)`."""
    ranked = [each for each in decision.candidates if each.rank]
    accepting = [each for each in ranked if not each.passed_over]
    equal = [each for each in accepting if each.score == candidate.score]
    if len(ranked) == 1:
        return "it is the only destination that accepts the job"
    if decision.ranked_by != "score":
        text = f"it accepts the job and is the first by the rank function of {decision.ranked_by}"
    elif len(equal) > 1:
        text = f"it is the first of {len(equal)} with the highest score ({signed(candidate.score)})"
    else:
        others = " of the others" if len(accepting) < len(ranked) else ""
        score = signed(candidate.score)
        text = f"it accepts the job and has the highest score{others} ({score})"
    before = [visible(each.destination_id) for each in ranked if each.passed_over]
    passed = f"; {before[0] if len(before) == 1 else f'{len(before)} others'} passed it on"
    return visible(text) + (passed if before else "")


def signed(points: int) -> str:
    """Return points with their sign."""
    return f"{points:+d}" if points else "0"


def _why_not(candidate: Candidate) -> str:
    name = visible(candidate.destination_id)
    if candidate.passed_over:
        return f"not {name}: {visible(candidate.passed_over)}"
    return f"not {name}: it comes after, score {candidate.score}"


def _refused(refusal: Refusal) -> str:
    text = f"not {visible(refusal.destination_id)}: {check_in_words(refusal.failed[0])}"
    others = len(refusal.failed) - 1
    if others:
        text += f", and {plural(others, 'more reason')}"
    if refusal.changes:
        text += f" (what it takes: {'; '.join(change.words for change in refusal.changes)})"
    return text


def amount_in_words(what: str, amount: Any) -> str:
    """Return `16 CPUs`, `1 GPU`, `1.5 GB`: an amount as mapping files have it."""
    text = f"{amount:.6g}" if isinstance(amount, float) else visible(str(amount))
    if what == "mem":
        return f"{text} GB"
    return f"{text} {'GPU' if what == 'gpus' else 'CPU'}{'' if text == '1' else 's'}"


_BOUNDS = {"max": "at most", "min": "at least", "req": "only multiples of"}
_OFFERS = {"requires": "required here", "rejects": "rejected here", "does": "not offered here"}


def check_sides(check: ConstraintCheck) -> tuple[str, str]:
    """Return what the job asks and what the destination accepts: `16 CPUs`, `at most 128`."""
    constraint, asked, offered = check.constraint, check.asked, check.offered
    if "_accepted_" in constraint:
        what, _, number = asked.partition(" ")
        unit = " GB" if what == "mem" else ""
        shown = "memory" if unit else amount_in_words(what, "").strip()
        shown = f"{shown} not set" if number == "not set" else amount_in_words(what, number)
        return shown, f"{offered}{unit}"
    if constraint == "maximum_walltime":
        asked, offered = (in_words(parse_time(text) / 3600) for text in (asked, offered))
    if constraint.startswith(("maximum_", "minimum_", "require_")):
        return asked, f"{_BOUNDS[constraint[:3]]} {offered}"
    if constraint.startswith("memory_per_"):
        bound = "at most" if "in all" in asked else "less than"
        per = "" if "in all" in asked else f" for each {constraint[11:14].upper()}"
        return _memory(asked) + per, f"{bound} {_memory(offered)}"
    if constraint.startswith("tag "):
        verb = offered.removeprefix("the destination ").partition(" ")[0]
        return constraint, f"{asked}, {_OFFERS.get(verb, 'offered here')}"
    if constraint == "prevent_auto_select":
        return asked, "accepts only jobs that name it"
    if constraint == "cluster":
        known = asked != "no runner"
        return (f"it is on {asked}", f"not on {offered}") if known else ("it has no runner", "")
    return (offered, "") if constraint == "trust" else (asked, f"here is {offered}")


def _memory(text: str) -> str:
    """Return `24 GB` for `24576 MB in all`."""
    number = text.partition(" ")[0]
    return memory(int(number)) if number.isdecimal() else text


def check_in_words(check: ConstraintCheck) -> str:
    """Return `asks 64 CPUs, accepts at most 32`; `16 CPUs of at most 128` if the check passed."""
    asked, accepted = check_sides(check)
    amount = accepted.startswith(("at ", "less ", "only "))
    if check.passed:
        of = (
            " of" if accepted.startswith("at most") else ":" if check.tag else "" if amount else ","
        )
        return f"{asked}{of} {accepted}"
    if check.tag:
        tag = f"the {asked}"
        if "does not have" in check.asked:
            return f"accepts only jobs with {tag}"
        if "does not have" in check.offered:
            return f"lacks {tag}, which the job requires"
        if "rejects" in check.asked:
            return f"has {tag}, which the job rejects"
        return f"rejects jobs with {tag}"
    if amount:
        return f"asks {asked}, accepts {accepted}"
    return f"{asked}, {accepted}" if accepted else asked
