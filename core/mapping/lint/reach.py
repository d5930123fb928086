"""Find tools that no destination takes.

The check compares every tool, including its inherited values, with every destination, as
far as amounts are constants and no rule changes them. Roles and users may lower the amounts of a
tool; the finding mentions this possibility.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rowtui.core.base.text import visible
from rowtui.core.mapping.code.expressions import number
from rowtui.core.mapping.engine.destinations import DestinationOffer, checks, offers_of
from rowtui.core.mapping.engine.lookup import EntityLookup
from rowtui.core.mapping.lint.findings import LintFinding, title
from rowtui.core.mapping.lint.patterns import sample_of
from rowtui.core.mapping.lint.tags import Sides
from rowtui.core.mapping.model.configuration import Configuration
from rowtui.core.mapping.model.decision import ConstraintCheck
from rowtui.core.mapping.model.entities import Destination, Entity
from rowtui.core.mapping.model.fields import AMOUNTS
from rowtui.core.mapping.model.request import NOTHING_KNOWN, Amounts, MappingRequest

_MOST_COMPARED = 200_000  # tags and limits that are compared for the nearest destinations: 0.2 s
_MOST_FAILURES = 10  # that a hint names


def reach_findings(configuration: Configuration, sides: Sides) -> Iterator[LintFinding]:
    """Yield M405."""
    lookup = EntityLookup(without_broken(configuration), to_run=False)
    destinations = [each for each in lookup.destinations() if not each.abstract]
    if destinations:
        yield from _coverage(configuration, lookup, destinations, sides)


def without_broken(configuration: Configuration) -> Configuration:
    """Return the configuration without broken destinations, which cannot be laid over jobs."""
    kept = {
        name: each
        for name, each in configuration.of_kind("destinations").items()
        if ("destinations", name) not in configuration.broken
    }
    return configuration._replace(entities={**configuration.entities, "destinations": kept})


def _coverage(
    configuration: Configuration,
    lookup: EntityLookup,
    destinations: Sequence[Destination],
    sides: Sides,
) -> Iterator[LintFinding]:
    offers = offers_of(destinations, None)
    places = _Places(offers, sides)
    left = _MOST_COMPARED
    for key, tool in configuration.of_kind("tools").items():
        is_default = key == configuration.default_inherits
        if tool.abstract or is_default or ("tools", key) in configuration.broken:
            continue
        request = MappingRequest(sample_of(key) or key)
        whole = _whole(lookup, request, tool)
        if whole is None:
            continue
        amounts = Amounts(*(constant_amount(whole, name) for name in AMOUNTS))
        job = _Asked(whole, amounts)
        if places.any_takes(job):
            continue
        message = f"no destination can take {title(tool)}"
        left -= places.size + len(job.tags)
        if left < 0:  # finding the nearest destination for thousands of tools would take minutes
            yield LintFinding("M405", tool.place, message)
            continue
        nearest = offers[min(range(len(offers)), key=lambda at: places.distance(at, job))]
        failed = _certain_failures(nearest, whole, amounts, request, sides)
        words = "; ".join(map(_words, failed[:_MOST_FAILURES]))
        more = len(failed) - _MOST_FAILURES
        words += f"; and {more:,} more" if more > 0 else ""
        hint = f"Nearest is {visible(nearest.entity.id)}: {words}"
        if any("_accepted_" in each.constraint for each in failed):
            hint += ". Only a role or a user with lower amounts could change that"
        yield LintFinding("M405", tool.place, message, hint)


def constant_amount(entity: Entity, name: str) -> float | None:
    """Return an amount within its bounds, if it depends on no expression and no rule."""
    for rule in entity.rules.values():
        if rule.execute or any(
            getattr(rule, field) is not None for field in (name, f"min_{name}", f"max_{name}")
        ):
            return None
    value = number(getattr(entity, name))
    for field, choose in ((f"min_{name}", max), (f"max_{name}", min)):
        bound = getattr(entity, field)
        if bound is None or value is None:
            continue
        limit = number(bound)
        value = None if limit is None else choose(value, limit)
    return value


class _Asked:
    """The requirements of a tool that none of its rules can change."""

    def __init__(self, tool: Entity, amounts: Amounts) -> None:
        self.amounts = amounts
        self.tags = tool.tpv_tags.strengths()
        rules = tool.rules.values()
        # Code may set any tag, so no tag check fails for certain.
        self.open = any(rule.execute for rule in rules)
        self.in_rules = {tag for rule in rules for tag in rule.tpv_tags.all_tag_values()}
        self.required = {
            tag
            for tag, strength in self.tags.items()
            if strength == "require" and tag not in self.in_rules
        }


class _Places:
    """All destinations with their tags, for counting the failures of `_certain_failures`."""

    def __init__(self, offers: Sequence[DestinationOffer], sides: Sides) -> None:
        self.offers = offers
        self.tags = [offer.entity.tpv_dest_tags.strengths() for offer in offers]
        self.with_tag: dict[str, list[int]] = {}
        for at, tags in enumerate(self.tags):
            for tag in tags:
                self.with_tag.setdefault(tag, []).append(at)
        self.lifted = {tag for tag in self.with_tag if _others_may_add(tag, sides)}
        self.size = sum(1 + len(tags) for tags in self.tags)

    def any_takes(self, job: _Asked) -> bool:
        """Whether there is a destination with no certain failure for the job."""
        among: Sequence[int] = range(len(self.offers))
        # only destinations with the rarest required tag are candidates
        if job.required and not job.open:
            among = min((self.with_tag.get(tag, ()) for tag in job.required), key=len)
        return any(self.distance(at, job) == (0, 0) for at in among)

    def distance(self, at: int, job: _Asked) -> tuple[int, int]:
        """Return how many checks fail for certain, and how many of these concern tags."""
        amounts = 0
        for which, most, least in self.offers[at].limits:
            asked = job.amounts[which]
            if asked is not None:
                amounts += most is not None and asked > most
                amounts += least is not None and asked < least
        if job.open:
            return amounts, 0
        tags, offered = 0, self.tags[at]
        met = 0
        for tag, its in offered.items():
            mine = job.tags.get(tag)
            met += tag in job.required
            if tag in job.in_rules:
                continue
            if mine is None:
                tags += its == "require" and tag not in self.lifted
            else:
                tags += "reject" in {mine, its}
        tags += len(job.required) - met
        return amounts + tags, tags


def _words(check: ConstraintCheck) -> str:
    prefix = f"{check.constraint}: " if check.constraint.startswith("tag ") else ""
    return f"{prefix}{check.asked}, {check.offered}"


def _whole(lookup: EntityLookup, request: MappingRequest, tool: Entity) -> Entity | None:
    """Return the tool with all entities that its name matches; None if its jobs are stopped."""
    found = lookup.tool(request)
    if found.entity is None or all(each.origin != tool.origin for each in found.matched):
        return None  # a pattern without a known matching name
    return found.entity


def _certain_failures(
    offer: DestinationOffer, tool: Entity, amounts: Amounts, request: MappingRequest, sides: Sides
) -> list[ConstraintCheck]:
    """Return the checks that fail regardless of the tags that rules, roles and users may add."""
    job = _Asked(tool, amounts)
    return [
        check
        for check in checks(offer, tool, amounts, request, NOTHING_KNOWN)
        if not check.passed
        and not (check.constraint.startswith("tag ") and _may_be_lifted(check.tag, job, sides))
    ]


def _may_be_lifted(tag: str, job: _Asked, sides: Sides) -> bool:
    if job.open or tag in job.in_rules:
        return True
    # a tag that a tool requires or rejects is not changed by roles or users
    return tag not in job.tags and _others_may_add(tag, sides)


def _others_may_add(tag: str, sides: Sides) -> bool:
    """Whether code, a role or a user may add this tag to any job."""
    return (sides.computed or tag in sides.code or tag.startswith("tool_type_")) or any(
        mention.strength != "reject" and mention.origin.kind in {"role", "user"}
        for mention in sides.jobs.get(tag, ())
    )
