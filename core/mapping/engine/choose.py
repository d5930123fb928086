"""Rank the destinations that fit a job, and try them in order until one takes the job.

The input is a job with its amounts; the output is a placement. A destination is laid over the job,
its rules run, and env, params and names are filled in with the latest values. The combination of a
destination and a job entity is computed once (`_Laid`). Source: TPV's documentation, "Job Dispatch
Process".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rowtui.core.base.text import visible
from rowtui.core.mapping.code.model import Code
from rowtui.core.mapping.engine.destinations import DestinationOffer, amount_text, fits
from rowtui.core.mapping.engine.evaluate import (
    Evaluator,
    Namespace,
    Program,
    StopMapping,
    TryNextError,
    amounts_program,
    run_amounts,
)
from rowtui.core.mapping.engine.jobs import JobWithAmounts
from rowtui.core.mapping.engine.namespace import update
from rowtui.core.mapping.engine.notes import MappingNotes
from rowtui.core.mapping.engine.rules import RuleState, run_rules
from rowtui.core.mapping.model.decision import MappingOutcome, Placement
from rowtui.core.mapping.model.entities import Destination, Entity, combine
from rowtui.core.mapping.model.origin import Origin
from rowtui.core.mapping.model.request import Amounts, ClusterFacts, MappingRequest
from rowtui.core.mapping.model.sentences import amount_in_words
from rowtui.core.mapping.model.tags import IncompatibleTagsError


class _Final:
    """A destination laid over a job, after its rules, with constants and code separated."""

    __slots__ = ("entity", "program", "texts")

    def __init__(self, entity: Entity, evaluator: Evaluator) -> None:
        self.entity = entity
        self.program: Program = amounts_program(entity)
        self.texts = {
            field: _texts_of(entity, field, evaluator) for field in ("env", "params", "resubmit")
        }


class _Texts:
    """Data that contains texts: `value` has the parts that are the same for every job.

    `parts`: the texts to be filled in, by key or index, in the order of evaluation.
    """

    __slots__ = ("parts", "value")

    def __init__(self, value: Any, parts: Sequence[tuple[Any, Code | _Texts, Origin]]) -> None:
        self.value = value
        self.parts = parts

    def filled(self, namespace: Namespace, evaluator: Evaluator) -> Any:
        """Return the data with its texts filled in. Raises: StopMapping, TryNextError."""
        if not self.parts:
            return self.value
        new = self.value.copy()
        for key, part, origin in self.parts:
            if isinstance(part, _Texts):
                new[key] = part.filled(namespace, evaluator)
            else:
                new[key] = evaluator.value(part, namespace, origin)
        return new


def _texts_of(entity: Entity, field: str, evaluator: Evaluator) -> _Texts:
    value = getattr(entity, field)
    if isinstance(value, dict):
        origins = [entity.whence(f"{field}.{name}") for name in value]
    else:
        origins = [
            entity.whence(f"{field}.{each.get('name')}" if isinstance(each, dict) else field)
            for each in value
        ]
    return _texts_in(value, origins, evaluator)


def _texts_in(value: Any, origins: Sequence[Origin], evaluator: Evaluator) -> _Texts:
    """Return the texts in a dict or list; `origins` has an origin for each value."""
    parts: list[tuple[Any, Code | _Texts, Origin]] = []
    known = value
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for (key, each), origin in zip(items, origins, strict=True):
        same = each
        if isinstance(each, str):
            code = evaluator.text(each)
            if not code.constant:
                parts.append((key, code, origin))
                continue
            same = code.value
        elif isinstance(each, (dict, list)):
            inner = _texts_in(each, (origin,) * len(each), evaluator)
            if inner.parts:
                parts.append((key, inner, origin))
                continue
            same = inner.value
        if same is not each:
            known = known.copy() if known is value else known
            known[key] = same
    return _Texts(known, parts)


class _Laid:
    """One destination over one job entity."""

    __slots__ = ("finals", "name", "state", "tags")

    def __init__(self, over: Destination, job: Entity, evaluator: Evaluator) -> None:
        self.state = RuleState.start(combine(over, job, evaluator.dialect))
        self.finals: dict[int, _Final] = {}
        # Rules cannot change these two fields, which are the destination's own.
        self.name: Code | None = evaluator.text(over.name_override) if over.name_override else None
        self.tags = _texts_of(over, "handler_tags", evaluator)

    def final(self, state: RuleState, evaluator: Evaluator) -> _Final:
        """Return the final entity for a state of the rules."""
        if not state.shared:
            return _Final(state.entity, evaluator)
        found = self.finals.get(id(state.entity))
        if found is None:
            found = self.finals[id(state.entity)] = _Final(state.entity, evaluator)
        return found


def _are_numbers(amounts: Amounts) -> bool:
    return all(each is None or type(each) is int or type(each) is float for each in amounts)


class Chooser:
    """Ranks and chooses for one mapper. `offers`: all destinations by id."""

    def __init__(self, offers: Mapping[str, DestinationOffer], evaluator: Evaluator) -> None:
        self.offers = offers
        self._order = {name: at for at, name in enumerate(offers)}
        self.evaluator = evaluator
        self._may_change_job = evaluator.dialect.changes_in_place and any(
            rule.execute for offer in offers.values() for rule in offer.entity.rules.values()
        )

    def choose(
        self,
        settled: JobWithAmounts,
        namespace: Namespace,
        request: MappingRequest,
        facts: ClusterFacts,
        notes: MappingNotes | None,
    ) -> Placement:
        """Return the placement on the first destination in order that takes the job.

        Raises: StopMapping.
        """
        notices: list[str] = []
        amounts = settled.amounts
        fitting: Iterable[DestinationOffer] = (
            each.offer for each in settled.plan.suited if fits(each.offer, amounts, request, facts)
        )
        # In the order of scores, the first destination nearly always takes the job, and the others
        # need not be checked. Notes need them all, and so does an amount that is no number
        # (dialect tpv3).
        if settled.plan.rank is not None or notes is not None or not _are_numbers(amounts):
            fitting = self._ranked(settled, namespace, list(fitting), notices, notes)
        job = settled.plan.for_destinations
        waits = ""
        # why the first destination that was tried refused
        first: tuple[str, Origin | None] = ("", None)
        if self._may_change_job:
            job = namespace["entity"] = namespace["self"] = job.private()
        for offer in fitting:
            shared = not self._may_change_job and request.what_if is None
            laid = settled.plan.destinations.get(offer.entity.id) if shared else None
            placement: Placement | None = None
            try:
                if laid is None:
                    laid = _Laid(offer.entity, job, self.evaluator)
                    if shared:
                        settled.plan.destinations[offer.entity.id] = laid
                placement = self._try(offer, laid, settled, namespace, notes)
            except TryNextError as error:
                why, wait = (
                    error.message or "one of its rules asked for the next destination",
                    error.wait,
                )
                origin: Origin | None = error.origin
            except StopMapping as stop:
                if self.evaluator.dialect.fail_ends_all:
                    raise
                why, wait, origin = stop.message, stop.outcome is MappingOutcome.WAITS, stop.origin
            except IncompatibleTagsError as error:
                why, wait, origin = error.message, False, offer.entity.origin
            else:
                why, wait, origin = _too_large(placement, request, facts), False, None
            if placement is not None and not why:
                if notes is not None:
                    notes.turns[offer.entity.id] = ""
                return placement._replace(notices=tuple(notices)) if notices else placement
            if notes is not None:
                notes.turns[offer.entity.id] = why
            reason = f"{visible(offer.entity.id)}: {why}"
            first = first if first[0] else (reason, origin)
            if wait:
                waits = waits or reason
        if waits:
            raise StopMapping(MappingOutcome.WAITS, waits, None, "JobNotReadyException")
        raise StopMapping(
            MappingOutcome.NOWHERE,
            f"no destination takes {visible(request.tool_id)}"
            + (f" ({first[0]})" if first[0] else ""),
            first[1],
            "JobMappingException",
        )

    def _ranked(
        self,
        settled: JobWithAmounts,
        namespace: Namespace,
        fitting: Sequence[DestinationOffer],
        notices: list[str],
        notes: MappingNotes | None,
    ) -> Sequence[DestinationOffer]:
        ranked: Sequence[DestinationOffer] = fitting
        by = "score"
        code = settled.plan.rank
        if code is not None:
            entity = settled.plan.entity
            origin = entity.whence("rank")
            try:
                ranked = self._by_code(code, fitting, namespace, origin)
                by = str(origin)
            except StopMapping as stop:
                if self.evaluator.dialect.fail_ends_all or stop.outcome is not MappingOutcome.ERROR:
                    raise
                notices.append(f"the rank function of {origin} failed ({stop.message}); by score")
        if notes is not None:
            notes.ranked([offer.entity.id for offer in ranked], by)
        return ranked

    def _by_code(
        self, code: Code, fitting: Sequence[DestinationOffer], namespace: Namespace, origin: Origin
    ) -> Sequence[DestinationOffer]:
        # As in TPV, candidates are in the order of the files; `sorted` is stable.
        candidates = sorted((offer.entity for offer in fitting), key=lambda d: self._order[d.id])
        namespace["candidate_destinations"] = candidates
        value = self.evaluator.value(code, namespace, origin)
        if value is None or (type(value) in (list, tuple, bool, int, str) and not value):
            return ()
        if not isinstance(value, (list, tuple)) or not all(
            isinstance(each, Destination) and each.id in self.offers for each in value
        ):
            message = f"rank must give a list of destinations, not {visible(_words(value))}"
            raise StopMapping(MappingOutcome.ERROR, message, origin, "TypeError")
        chosen = [self.offers[each.id] for each in value]
        if self.evaluator.dialect.sampling_repeats:
            return chosen
        return list({offer.entity.id: offer for offer in chosen}.values())

    def _try(
        self,
        offer: DestinationOffer,
        laid: _Laid,
        settled: JobWithAmounts,
        namespace: Namespace,
        notes: MappingNotes | None,
    ) -> Placement:
        """Try one destination. Raises: TryNextError, StopMapping."""
        evaluator = self.evaluator
        if evaluator.dialect.fresh_namespace:
            namespace = dict(namespace)
        update(namespace, laid.state.entity.context)
        state = laid.state
        if state.rules:
            state = run_rules(state, namespace, evaluator, notes, announce=False)
        final = laid.final(state, evaluator)
        entity = final.entity
        if state is not laid.state:
            update(namespace, entity.context)
        if notes is not None:
            notes.final = entity
        found = run_amounts(final.program, namespace, evaluator, settled.amounts, clamp=True)
        env = self._filled(final, "env", namespace)
        params = self._filled(final, "params", namespace)
        resubmit = self._filled(final, "resubmit", namespace)
        over, name = offer.entity, offer.entity.id
        if laid.name is not None:
            name = str(evaluator.value(laid.name, namespace, over.whence("name_override")))
        tags = laid.tags.filled(namespace, evaluator)
        return Placement(
            MappingOutcome.CHOSEN,
            destination=offer.entity.id,
            name=name,
            runner=getattr(entity, "runner", None) or "",
            amounts=Amounts(found.get("gpus"), found.get("cores"), found.get("mem")),
            env=tuple(env),
            params=params,
            resubmit=resubmit,
            handler_tags=tuple(tags),
        )

    def _filled(self, final: _Final, field: str, namespace: Namespace) -> Any:
        value = final.texts[field].filled(namespace, self.evaluator)
        if value:
            namespace[field] = value
        return value


def _too_large(placement: Placement, request: MappingRequest, facts: ClusterFacts) -> str:
    """Return why a cluster that is a single machine can never run the job, or "".

    Only the amounts after the destination's rules are compared, since rules may lower amounts.
    """
    machine = facts.machines.get(placement.runner)
    if machine is None:
        return ""
    asked, totals = placement.amounts, request.totals
    if totals is not None:
        asked = asked._replace(
            gpus=totals.gpus if asked.gpus is None else asked.gpus,
            cores=totals.cpus if asked.cores is None else asked.cores,
        )
    for what, mine, has in zip(("gpus", "cores", "mem"), asked, machine, strict=True):
        if isinstance(mine, int | float) and has is not None and mine > has:
            return f"asks {amount_in_words(what, mine)}, the machine has {amount_text(has)}"
    return ""


def _words(value: Any) -> str:
    try:
        return repr(value)[:80]
    except Exception:  # an object of a class that the code defines
        return f"an object of class {type(value).__name__}"
