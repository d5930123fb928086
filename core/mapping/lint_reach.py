"""Tools that no destination takes, and destinations that are not where they say.

The coverage check: every tool with what it inherits, against every destination, as far as amounts
are constants and no rule changes them. Roles and users may lower what is asked; that is said, not
assumed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rowtui.core.clusters.model import Cluster, Partition
from rowtui.core.mapping.configuration import Configuration
from rowtui.core.mapping.decision import Check
from rowtui.core.mapping.destinations import Offer, amount_text, checks, offers_of, partition_name
from rowtui.core.mapping.entities import AMOUNTS, Destination, Entity
from rowtui.core.mapping.lint_findings import Finding, shortened, title
from rowtui.core.mapping.lint_patterns import sample_of
from rowtui.core.mapping.lint_tags import Sides, sides_of
from rowtui.core.mapping.request import NOTHING_KNOWN, Amounts, MappingRequest
from rowtui.core.mapping.static_lookup import StaticLookup
from rowtui.core.mapping.static_values import constant_amount
from rowtui.core.text import visible
from rowtui.core.workflow.toml_file import did_you_mean

_LIMITS = (("cores", "maximum_cpus_per_job"), ("gpus", "maximum_gpus_per_job"))


def reach_findings(
    configuration: Configuration, clusters: Mapping[str, Cluster] | None
) -> Iterator[Finding]:
    """M405 and M407 to M409."""
    lookup = StaticLookup(without_broken(configuration))
    destinations = [each for each in lookup.destinations() if not each.abstract]
    if clusters is not None:
        for destination in destinations:
            yield from _on_cluster(destination, clusters)
    if destinations:
        yield from _coverage(configuration, lookup, destinations)


def without_broken(configuration: Configuration) -> Configuration:
    """Without destinations that have an error: they cannot be laid out."""
    kept = {
        name: each
        for name, each in configuration.of_kind("destinations").items()
        if ("destinations", name) not in configuration.broken
    }
    return configuration._replace(entities={**configuration.entities, "destinations": kept})


# Clusters


def _on_cluster(destination: Destination, clusters: Mapping[str, Cluster]) -> Iterator[Finding]:
    runner = destination.runner
    if not runner:
        return
    cluster = clusters.get(runner)
    if cluster is None:
        known = ", ".join(map(visible, sorted(clusters))) or "there are none"
        yield Finding(
            "M407",
            destination.whence("runner").place,
            f"the runner {shortened(runner)} of {title(destination)} is no known cluster",
            did_you_mean(runner, clusters) or f"known clusters: {known}",
        )
        return
    offer = offers_of([destination], dict(clusters))[0]
    if offer.partition is not None:
        yield from _over_limit(destination, offer.partition)
        return
    name = partition_name(destination)
    if name and cluster.has_partitions and cluster.partitions:
        names = [partition.name for partition in cluster.partitions]
        yield Finding(
            "M408",
            destination.whence("params.partition").place,
            f"{title(destination)} is partition {shortened(name)} of cluster {shortened(runner)}, "
            "which has no such partition",
            did_you_mean(name, names) or f"it has {', '.join(map(visible, names))}",
        )


def _over_limit(destination: Destination, partition: Partition) -> Iterator[Finding]:
    for what, limit in _LIMITS:
        accepted = getattr(destination, f"max_accepted_{what}")
        most = getattr(partition, limit)
        if accepted is not None and most is not None and accepted > most:
            yield Finding(
                "M409",
                destination.whence(f"max_accepted_{what}").place,
                f"{title(destination)} accepts {what} {amount_text(accepted)}, but partition "
                f"{shortened(partition.name)} takes {most} at most",
                "Larger jobs are refused by the partition; write its limit here",
                "note",
            )


# Coverage


def _coverage(
    configuration: Configuration, lookup: StaticLookup, destinations: Sequence[Destination]
) -> Iterator[Finding]:
    offers = offers_of(destinations, None)
    sides = sides_of(configuration)
    for key, tool in configuration.of_kind("tools").items():
        is_default = key == configuration.default_inherits
        if tool.abstract or is_default or ("tools", key) in configuration.broken:
            continue
        request = MappingRequest(sample_of(key) or key)
        whole = _whole(lookup, request, tool)
        if whole is None:
            continue
        amounts = Amounts(*(constant_amount(whole, name) for name in AMOUNTS))
        failures = []
        for offer in offers:
            failures.append((_certain_failures(offer, whole, amounts, request, sides), offer))
            if not failures[-1][0]:
                break
        if not failures[-1][0]:
            continue
        failed, nearest = min(failures, key=lambda each: _distance(each[0]))
        hint = f"Nearest is {visible(nearest.entity.id)}: {'; '.join(map(_words, failed))}"
        if any("_accepted_" in each.constraint for each in failed):
            hint += ". Only a role or a user with lower amounts could change that"
        yield Finding("M405", tool.place, f"no destination can take {title(tool)}", hint)


def _words(check: Check) -> str:
    prefix = f"{check.constraint}: " if check.constraint.startswith("tag ") else ""
    return f"{prefix}{check.asked}, {check.offered}"


def _whole(lookup: StaticLookup, request: MappingRequest, tool: Entity) -> Entity | None:
    """The tool with all that its name also matches; None if its jobs are stopped anyway."""
    found = lookup.tool(request)
    if found.entity is None or all(each.origin != tool.origin for each in found.matched):
        return None  # a pattern of which no name is known
    return found.entity


def _certain_failures(
    offer: Offer, tool: Entity, amounts: Amounts, request: MappingRequest, sides: Sides
) -> list[Check]:
    """The checks that fail whatever rules, roles and users say about tags."""
    return [
        check
        for check in checks(offer, tool, amounts, request, NOTHING_KNOWN)
        if not check.passed
        and not (check.constraint.startswith("tag ") and _may_be_lifted(check, offer, tool, sides))
    ]


def _may_be_lifted(check: Check, offer: Offer, tool: Entity, sides: Sides) -> bool:
    shown = check.constraint.removeprefix("tag ")
    of_job = tool.tpv_tags.strengths()
    tags = {*of_job, *offer.entity.tpv_dest_tags.strengths()}
    tag = next((each for each in tags if visible(each) == shown), shown)
    if any(rule.execute or tag in rule.tpv_tags.strengths() for rule in tool.rules.values()):
        return True
    if tag in of_job:
        return False  # what a tool requires or rejects, nobody takes back
    return any(
        mention.strength != "reject" and mention.origin.kind in {"role", "user"}
        for mention in sides.jobs.get(tag, ())
    ) or (tag in sides.code or tag.startswith("tool_type_"))


def _distance(failed: Sequence[Check]) -> tuple[int, int]:
    tags = sum(1 for check in failed if check.constraint.startswith("tag "))
    return len(failed), tags
