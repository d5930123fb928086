"""Match a job with destinations, and report every check with its request and its offer.

There are two forms of the same rules: `fits` for deciding, and `checks` for explaining; a property
test verifies that they agree. Source: TPV's documentation, "Match".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rowtui.core.base.text import visible
from rowtui.core.clusters.model import Cluster, JobTotals, Partition
from rowtui.core.clusters.partition import fewer_directories, partition_checks
from rowtui.core.clusters.schedulers.kind import kind_of
from rowtui.core.mapping.engine.evaluate import StopMapping
from rowtui.core.mapping.model.cluster_destinations import CLUSTER
from rowtui.core.mapping.model.decision import ConstraintCheck, MappingOutcome
from rowtui.core.mapping.model.dialect import Dialect
from rowtui.core.mapping.model.entities import Destination, Entity
from rowtui.core.mapping.model.fields import AMOUNTS
from rowtui.core.mapping.model.request import Amounts, ClusterFacts, MappingRequest, WhatIf
from rowtui.core.mapping.model.tags import score, tag_clashes


class DestinationOffer(NamedTuple):
    """A destination with its partition. None: not known here."""

    entity: Destination
    cluster: Cluster | None = None
    partition: Partition | None = None
    partition_name: str = ""
    limits: tuple[tuple[int, float | None, float | None], ...] = ()
    """(index of the amount, most, least) for every amount that has a bound."""


class Scored(NamedTuple):
    """A destination whose tags suit a job, and its score."""

    offer: DestinationOffer
    score: int


def offers_of(
    destinations: Sequence[Destination], clusters: dict[str, Cluster] | None
) -> tuple[DestinationOffer, ...]:
    """Return the destinations with their partitions. `clusters` None: no cluster is known."""
    return tuple(_offer(entity, clusters) for entity in destinations)


def _offer(entity: Destination, clusters: dict[str, Cluster] | None) -> DestinationOffer:
    cluster = (clusters or {}).get(entity.runner or "")
    name = partition_name(entity)
    partition = None
    if cluster is not None:
        known = {partition.name: partition for partition in cluster.partitions}
        if not name and kind_of(cluster).has_partitions and entity.id in known:
            name = entity.id
        partition = known.get(name)
    limits = tuple(
        (at, most, least)
        for at, what in enumerate(AMOUNTS)
        for most in [getattr(entity, f"max_accepted_{what}")]
        for least in [getattr(entity, f"min_accepted_{what}")]
        if most is not None or least is not None
    )
    return DestinationOffer(entity, cluster, partition, name, limits)


def partition_name(entity: Destination) -> str:
    """Return the partition of a destination: its parameter, or the end of its id."""
    named = entity.params.get("partition")
    if isinstance(named, str) and "{" not in named:
        return named
    runner = entity.runner or ""
    return entity.id.removeprefix(f"{runner}/") if entity.id.startswith(f"{runner}/") else ""


def suited(
    entity: Entity, offers: Sequence[DestinationOffer], dialect: Dialect
) -> tuple[Scored, ...]:
    """Return the destinations whose tags suit a job, best first; ties in the order of the files."""
    job = entity.tpv_tags
    found = []
    for offer in offers:
        offered = offer.entity.tpv_dest_tags
        if not offer.entity.abstract and next(tag_clashes(job, offered), None) is None:
            found.append(Scored(offer, sum(points for _, points in score(offered, job, dialect))))
    # the sort is stable, so ties keep their order
    return tuple(sorted(found, key=lambda each: -each.score))


def fits(
    offer: DestinationOffer, amounts: Amounts, request: MappingRequest, facts: ClusterFacts
) -> bool:
    """Whether everything except the tags allows a job on a destination."""
    for at, most, least in offer.limits:
        asked = amounts[at]
        if asked is None:
            continue
        asked = _number(AMOUNTS[at], asked)
        if (most is not None and asked > most) or (least is not None and asked < least):
            return False
    if facts.reachable is not None and offer.entity.runner not in facts.reachable:
        return False
    if request.partition is not None and _named_elsewhere(offer, request):
        return False
    if request.what_if is not None and _wanted_elsewhere(offer, request.what_if):
        return False
    if request.totals is None or offer.cluster is None or offer.partition is None:
        return True
    return all(check.passed for check in _of_partition(offer, amounts, request))


def _number(what: str, asked: Any) -> float:
    """Return an amount as a number.

    Raises: StopMapping, since dialect tpv3 does not check amounts earlier.
    """
    if type(asked) is int or type(asked) is float:
        return asked
    try:
        return float(asked)
    except (TypeError, ValueError, OverflowError) as error:
        message = f"{what} is {visible(repr(asked)[:60])}, which is not a number"
        raise StopMapping(MappingOutcome.ERROR, message, None, type(error).__name__) from error


def _named_elsewhere(offer: DestinationOffer, request: MappingRequest) -> bool:
    """Whether workflow.toml names another partition of this cluster for the job."""
    return (
        request.partition is not None
        and offer.cluster is not None
        and kind_of(offer.cluster).has_partitions
        and offer.cluster.name == request.cluster
        and offer.partition_name != request.partition
    )


def _wanted_elsewhere(offer: DestinationOffer, what_if: WhatIf) -> str:
    """Return the place where the job has to go instead, or "" if it may go here."""
    if what_if.destination and offer.entity.id != what_if.destination:
        return what_if.destination
    if what_if.cluster and (offer.entity.runner or "") != what_if.cluster:
        return what_if.cluster
    return ""


def _of_partition(
    offer: DestinationOffer, amounts: Amounts, request: MappingRequest
) -> Sequence[Any]:
    assert request.totals is not None
    assert offer.cluster is not None
    assert offer.partition is not None
    if not kind_of(offer.cluster).has_partitions:
        return ()
    return partition_checks(
        offer.partition,
        totals_with(request.totals, amounts),
        cluster=offer.cluster.name,
        by_name=offer.entity.origin.kind != CLUSTER or request.partition == offer.partition.name,
    )


def totals_with(totals: JobTotals, amounts: Amounts) -> JobTotals:
    """Return a job's totals with the CPUs, GPUs and memory that the mapper has set."""
    return totals._replace(
        cpus=totals.cpus if amounts.cores is None else whole(amounts.cores),
        gpus=totals.gpus if amounts.gpus is None else whole(amounts.gpus),
        memory_mb=totals.memory_mb if amounts.mem is None else whole(float(amounts.mem) * 1024),
    )


def whole(amount: Any) -> int:
    """Return an amount in whole units, rounded up."""
    return -int(-float(amount) // 1)


def checks(
    offer: DestinationOffer,
    entity: Entity,
    amounts: Amounts,
    request: MappingRequest,
    facts: ClusterFacts,
) -> tuple[ConstraintCheck, ...]:
    """Return every constraint of a destination on a job, passed or not."""
    destination = offer.entity
    found: list[ConstraintCheck] = []
    if destination.abstract:
        found.append(
            ConstraintCheck("abstract", "a place to run", "only there to inherit from", False)
        )
    if facts.reachable is not None and destination.runner not in facts.reachable:
        shown = ", ".join(map(visible, sorted(facts.reachable))) or "no cluster"
        hint = f"jobs can be sent to {shown} from here"
        asked = visible(destination.runner or "no runner")
        found.append(ConstraintCheck("cluster", asked, shown, False, hint))
    if _named_elsewhere(offer, request):
        named = visible(request.partition or "")
        hint = f"workflow.toml names it: submit_options.{visible(request.cluster)}.partition"
        offered = f"partition {visible(offer.partition_name) or 'unknown'}"
        found.append(ConstraintCheck("partition", f"partition {named}", offered, False, hint))
    wanted = _wanted_elsewhere(offer, request.what_if) if request.what_if else ""
    if wanted:
        asked, offered = f"only {visible(wanted)}", visible(destination.id)
        found.append(ConstraintCheck("asked for", asked, offered, False))
    for what in AMOUNTS:
        asked = getattr(amounts, what)
        for bound, words in (("max", "at most"), ("min", "at least")):
            name = f"{bound}_accepted_{what}"
            limit = getattr(destination, name)
            if limit is None:
                continue
            passed = asked is None or _within(what, asked, bound, limit)
            shown = f"{what} {amount_text(asked)}" if asked is not None else f"{what} not set"
            origin = destination.whence(name)
            hint = ""
            if not passed and bound == "max" and needs_its_amount(what, asked, request):
                hint = _fewer(what, limit, request)
            found.append(
                ConstraintCheck(name, shown, f"{words} {amount_text(limit)}", passed, hint, origin)
            )
    found += _tag_checks(destination, entity)
    if request.totals is not None and offer.cluster is not None and offer.partition is not None:
        found += [
            ConstraintCheck(each.constraint, each.asked, each.offered, each.passed, each.hint)
            for each in _of_partition(offer, amounts, request)
        ]
    return tuple(found)


def needs_its_amount(what: str, asked: Any, request: MappingRequest) -> bool:
    """Whether each directory needs its share, so that only a job of fewer directories needs less.

    This holds for CPUs and GPUs that are given per directory.
    """
    totals = request.totals
    if totals is None or what not in ("cores", "gpus"):
        return False
    resources = totals.resources
    total = resources.total_cpus if what == "cores" else resources.total_gpus
    return resources.processes.per_directory and asked == total(totals.directories)


def _fewer(what: str, limit: float, request: MappingRequest) -> str:
    totals = request.totals
    assert totals is not None
    total = totals.resources.total_cpus if what == "cores" else totals.resources.total_gpus
    return fewer_directories(totals, int(limit), total(totals.directories), total)


def _within(what: str, asked: Any, bound: str, limit: float) -> bool:
    try:
        number = _number(what, asked)
    except StopMapping:
        return False
    return number <= limit if bound == "max" else number >= limit


def _tag_checks(destination: Destination, entity: Entity) -> list[ConstraintCheck]:
    clashes = {
        tag: (mine, its)
        for tag, mine, its in tag_clashes(entity.tpv_tags, destination.tpv_dest_tags)
    }
    of_job, offered = entity.tpv_tags.strengths(), destination.tpv_dest_tags.strengths()
    found = []
    for tag in dict.fromkeys((*of_job, *offered)):
        mine, its = of_job.get(tag, ""), offered.get(tag, "")
        if tag not in clashes and not (mine and its) and {mine, its} & {"prefer", "accept"}:
            # only one side prefers or accepts the tag and the other lacks it, so nothing is checked
            continue
        check = ConstraintCheck(
            f"tag {visible(tag)}",
            f"the job {_verb(mine)} it",
            f"the destination {_verb(its)} it",
            tag not in clashes,
        )
        origin = entity.whence(f"tags.{tag}") if mine else None
        found.append(check._replace(origin=origin, tag=tag))
    return found


def _verb(strength: str) -> str:
    return f"{strength}s" if strength else "does not have"


def amount_text(amount: Any) -> str:
    """Return a number without a needless fraction."""
    if isinstance(amount, float) and amount.is_integer():
        return str(int(amount))
    return visible(str(amount))
