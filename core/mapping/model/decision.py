"""The results of the mapper, with every reason as a value, and a decision in a few sentences.

`Placement` is the short result: where a job goes and with which values, or why nowhere. `Decision`
is the long result for the user: which entities matched, the values that each contributed, every
destination with every constraint, and the smallest changes that would admit the job elsewhere.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.core.base.text import plural, visible
from rowtui.core.mapping.model.request import Amounts

if TYPE_CHECKING:
    from rowtui.core.mapping.model.fields import Origin
    from rowtui.core.mapping.model.request import MappingRequest, WhatIf


class MappingOutcome(enum.Enum):
    """How a mapping ended."""

    CHOSEN = "chosen"
    NOWHERE = "nowhere"  # no destination takes the job
    FAILED = "failed"  # a rule has `fail`
    WAITS = "waits"  # a rule defers the job
    INCOMPATIBLE = "incompatible"  # tags of action, role and user contradict each other
    UNTRUSTED = "untrusted"  # the job needs a file that the user has not trusted
    BROKEN = "broken"  # an entity that the job needs has an error
    ERROR = "error"  # an expression failed


class Placement(NamedTuple):
    """Where a job goes and with which values.

    Containers are shared, so callers must not change them. `destination` is the entity's id, `name`
    the name of the destination in the runner. `message`, `origin` and `cause` (the class of an
    exception) describe the failure and its place in the files.
    """

    outcome: MappingOutcome
    destination: str = ""
    name: str = ""
    runner: str = ""
    amounts: Amounts = Amounts()
    env: tuple[Mapping[str, Any], ...] = ()
    params: Mapping[str, Any] = {}
    resubmit: Mapping[str, Mapping[str, Any]] = {}
    handler_tags: tuple[Any, ...] = ()
    message: str = ""
    origin: Origin | None = None
    cause: str = ""
    notices: tuple[str, ...] = ()

    @property
    def chosen(self) -> bool:
        """Whether a destination was chosen."""
        return self.outcome is MappingOutcome.CHOSEN


class Matched(NamedTuple):
    """An entity that took part: `pattern` matched `subject` ("" if there was no lookup)."""

    origin: Origin
    pattern: str = ""
    subject: str = ""


class RuleOutcome(NamedTuple):
    """One rule that was evaluated. `effect`: its changes, in words."""

    origin: Origin
    condition: str
    matched: bool
    effect: str = ""


class Contribution(NamedTuple):
    """One value of the job and its origin; `replaced`: the values it replaced, nearest first.

    `field`: `mem`, `params.partition`, `env.OMP_NUM_THREADS`, `tags.highmem`, ...; `value`: as
    evaluated, `written`: as written.
    """

    field: str
    value: Any
    written: Any
    origin: Origin
    replaced: tuple[tuple[Any, Origin], ...] = ()


class ConstraintCheck(NamedTuple):
    """One constraint of one destination: the request and the offer.

    `constraint`: `max_accepted_cores`, `tag highmem`, `maximum_walltime`, ...; `tag`: the tag as
    written, for a constraint on a tag.
    """

    constraint: str
    asked: str
    offered: str
    passed: bool
    hint: str = ""
    origin: Origin | None = None
    tag: str = ""


class LiftingChange(NamedTuple):
    """A single change with which the mapper, when it runs again, takes the destination.

    `words`: `cores 96 -> 64`. `first`: the job then goes there, and does not only fit there.
    """

    words: str
    what_if: WhatIf
    first: bool = False


class Candidate(NamedTuple):
    """A destination that passed every check. `rank`: from 1, in the order of trying.

    `by_tag`: the points that each tag added to the score. `tried`: why the destination refused the
    job when it was tried, "" if it was chosen or never tried.
    """

    destination: str
    cluster: str
    partition: str
    rank: int
    score: int
    by_tag: tuple[tuple[str, int], ...]
    checks: tuple[ConstraintCheck, ...]
    origin: Origin
    chosen: bool = False
    tried: str = ""


class Refusal(NamedTuple):
    """A destination that does not take the job: the failed checks in `failed`, all in `checks`."""

    destination: str
    cluster: str
    partition: str
    failed: tuple[ConstraintCheck, ...]
    checks: tuple[ConstraintCheck, ...]
    origin: Origin
    changes: tuple[LiftingChange, ...] = ()


class Decision(NamedTuple):
    """The mapper's result for one job request, with the reasons."""

    request: MappingRequest
    chosen: Placement
    matched: tuple[Matched, ...] = ()
    rules: tuple[RuleOutcome, ...] = ()
    job: Amounts = Amounts()
    tags: tuple[tuple[str, str, Origin], ...] = ()  # strength, tag, origin
    contributions: tuple[Contribution, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    ranked_by: str = ""
    entity_id: str = ""


# A decision in a few sentences: why this destination, and why no other.


def outcome_sentence(placement: Placement) -> str:
    """Return `goes to slurm/gpu`, `waits: ...`, `nowhere: ...`, with the place of the reason."""
    if placement.outcome is MappingOutcome.CHOSEN:
        return f"goes to {visible(placement.name)}"
    said = f" ({placement.origin})" if placement.origin is not None else ""
    words = {
        MappingOutcome.NOWHERE: "nowhere to go",
        MappingOutcome.FAILED: "refused",
        MappingOutcome.WAITS: "waits",
        MappingOutcome.INCOMPATIBLE: "cannot be mapped",
        MappingOutcome.UNTRUSTED: "waits for trust",
        MappingOutcome.BROKEN: "cannot be mapped",
        MappingOutcome.ERROR: "cannot be mapped",
    }
    return f"{words[placement.outcome]}: {visible(placement.message)}{said}"


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
