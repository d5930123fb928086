"""The mapper: one job request in, one placement out.

`Mapper.place` returns the placement; `explain.py` calls the same mapper with notes to collect the
reasons. Equal requests are placed once, unless their code may answer differently each time
(`_MAY_DIFFER`). Source: TPV's documentation, "Job Dispatch Process".
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any, TypeVar

from rowtui.core.clusters.model import Cluster, PartitionLoad
from rowtui.core.mapping.code.model import Code
from rowtui.core.mapping.code.snippets import pieces
from rowtui.core.mapping.code.time_limit import TimeLimit, TimeLimitError
from rowtui.core.mapping.engine.choose import Chooser
from rowtui.core.mapping.engine.destinations import DestinationOffer, offers_of
from rowtui.core.mapping.engine.evaluate import Evaluator, Namespace, StopMapping, TryNextError
from rowtui.core.mapping.engine.helper_functions import Helpers
from rowtui.core.mapping.engine.jobs import JobWithAmounts, Lanes
from rowtui.core.mapping.engine.lookup import EntityLookup
from rowtui.core.mapping.engine.namespace import INPUTS, Names
from rowtui.core.mapping.engine.notes import MappingNotes
from rowtui.core.mapping.engine.pools import pools_of, refuse_over_budget
from rowtui.core.mapping.galaxy.modules import expression_builtins, log, tpv_names
from rowtui.core.mapping.galaxy.objects import ShownMapper
from rowtui.core.mapping.model.configuration import Configuration
from rowtui.core.mapping.model.decision import MappingOutcome, Matched, Placement
from rowtui.core.mapping.model.entities import Destination, Entity
from rowtui.core.mapping.model.request import NOTHING_KNOWN, Amounts, ClusterFacts, MappingRequest

T = TypeVar("T")

_MOST_REMEMBERED = 100_000  # placements
_MAY_DIFFER = ("import", "open(", "eval(", "exec(", "weighted_")
"""Words of code that may give equal requests different answers: by chance, time or files."""
_UNHASHABLE = ("params", "previous_params", "preferences", "values")  # fields of a request
_OF_LOADS = ("load", "expected_wait", "free_cores", "soonest")


class _Plan:
    """The data that jobs of one action, user and roles share."""

    __slots__ = ("lanes", "matched", "reads", "runs_code", "stop", "sure")

    def __init__(self, codes: Iterable[Code], matched: tuple[Matched, ...]) -> None:
        """`codes`: all code that such a job may run."""
        codes = tuple(codes)
        self.matched = matched
        self.stop: StopMapping | None = None
        self.lanes: Lanes | None = None
        self.reads = frozenset[str]().union(*(code.names for code in codes))
        self.runs_code = bool(codes)
        self.sure = not any(word in code.text for code in codes for word in _MAY_DIFFER)


class Mapper:
    """Maps job requests with one configuration. Not for several threads at once.

    `clusters`: the known clusters by name, for the partitions of destinations; `added`:
    destinations beside those of the files. The mapper itself reads neither the clock nor the disk,
    but expressions may.
    """

    def __init__(
        self,
        configuration: Configuration,
        *,
        clusters: Mapping[str, Cluster] | None = None,
        added: Sequence[Destination] = (),
        seconds: float = 2.0,
        chance: random.Random | None = None,
        remember: bool = True,
    ) -> None:
        """`seconds`: the CPU time that the code of one job may use. `remember`: see `place`."""
        self.configuration = configuration
        self.dialect = dialect = configuration.dialect
        self.evaluator = Evaluator(dialect, TimeLimit(seconds))
        self.lookup = EntityLookup(configuration)
        self._remember = remember
        everything = self.lookup.destinations(tuple(added))
        known = None if clusters is None else dict(clusters)
        offers = offers_of(everything, known)
        why = self.lookup.why_unusable
        self.sealed = {
            offer.entity.id: stop
            for offer in offers
            if (stop := why("destinations", offer.entity.id, offer.entity)) is not None
        }
        self.all_offers: dict[str, DestinationOffer] = {offer.entity.id: offer for offer in offers}
        self.offers = {
            name: offer for name, offer in self.all_offers.items() if name not in self.sealed
        }
        self.destinations = {name: offer.entity for name, offer in self.offers.items()}
        """By id; also for expressions, as `mapper.destinations`."""
        self.chooser = Chooser(self.offers, self.evaluator)
        self._has_pools = bool(configuration.of_kind("pools"))
        self._of_destinations = self._code_of(offer.entity for offer in self.offers.values())
        self.reads_loads = False
        self._names = self._make_names(chance or random.Random())
        self._plans: dict[tuple[Any, ...], _Plan] = {}
        self._placed: dict[tuple[Any, ...], Placement] = {}
        self._shown_loads: Mapping[tuple[str, str], PartitionLoad] = NOTHING_KNOWN.loads

    def _code_of(self, entities: Iterable[Entity]) -> set[Code]:
        as_tpv = self.dialect.text_as_tpv
        found = {piece.code for entity in entities for piece in pieces(entity, text_as_tpv=as_tpv)}
        return {code for code in found if not code.constant}

    def _make_names(self, chance: random.Random) -> Names:
        configuration = self.configuration
        everything = self._of_destinations | self._code_of(
            entity
            for kind in ("tools", "roles", "users")
            for entity in configuration.of_kind(kind).values()
            if not entity.origin.sealed
        )
        self.reads_loads = any(word in code.text for code in everything for word in _OF_LOADS)
        context = {
            name: said.value
            for name, said in configuration.context.items()
            if not said.origin.sealed
        }
        leaked = tpv_names() if self.dialect.input_size_by_text else {}
        fixed = {
            **leaked,
            "__builtins__": expression_builtins(),
            "helpers": Helpers(as_tpv=self.dialect.sampling_repeats, random=chance),
            "mapper": ShownMapper(
                self.destinations, configuration.default_inherits, deepcopy(context)
            ),
            "log": log,
        }
        read = frozenset[str]().union(*(code.names for code in everything))
        return Names(read, context=context, fixed=fixed)

    # Results

    def place(self, request: MappingRequest, facts: ClusterFacts = NOTHING_KNOWN) -> Placement:
        """Return where a job goes and with which values, or why nowhere.

        Never raises for the contents of files.
        """
        plan = self._plan(request)
        if request.what_if is not None or not self.remembers(request):
            placement = self._place(plan, _wondered(request), facts, None)
            return self._within_budget(placement, plan, request, facts)
        key = (facts.generation, *_hashable(request))
        known = self._placed.get(key)
        placement = known or self._place(plan, request, facts, None)
        if known is None and not self.evaluator.was_late:
            if len(self._placed) >= _MOST_REMEMBERED:
                self._placed.clear()
            self._placed[key] = placement
        return self._within_budget(placement, plan, request, facts)

    def watch(self, request: MappingRequest, facts: ClusterFacts, notes: MappingNotes) -> Placement:
        """Map the job again, store every step in `notes`, and return the result of `place`."""
        request = _wondered(request)
        plan = self._plan(request)
        notes.entities = tuple(plan.matched)
        placement = self._place(plan, request, facts, notes)
        return self._within_budget(placement, plan, request, facts)

    def pools_of(self, request: MappingRequest) -> tuple[Amounts, tuple[str, ...]]:
        """Return the amounts of a job and the pools that it counts in; empty if not mappable."""
        plan = self._plan(request)
        if plan.lanes is None:
            return Amounts(), ()
        try:
            settled = self._amounts_of(plan, request, NOTHING_KNOWN)
        except (StopMapping, TryNextError, TimeLimitError):
            return Amounts(), ()
        pools = pools_of(self.configuration, settled.plan.entity)
        return settled.amounts, tuple(pool.id for pool in pools)

    def remembers(self, request: MappingRequest) -> bool:
        """Whether equal requests have one placement."""
        return self._remember and self._plan(request).sure

    def reads(self, request: MappingRequest) -> frozenset[str]:
        """Return the names that expressions for such a job read; the caller provides them."""
        return self._plan(request).reads

    def inputs_of(self, request: MappingRequest) -> tuple[str, ...]:
        """Return the inputs that the context variable `inputs` of a job's entities names."""
        for entity in reversed(self.entities_of(request)):
            named = entity.context.get(INPUTS)
            if isinstance(named, str):
                return (named,)
            if isinstance(named, list):
                return tuple(each for each in named if isinstance(each, str))
        return ()

    def _place(
        self,
        plan: _Plan,
        request: MappingRequest,
        facts: ClusterFacts,
        notes: MappingNotes | None,
    ) -> Placement:
        if plan.stop is not None:
            return _stopped(plan.stop)
        self._show_loads(facts)

        def chosen() -> Placement:
            if notes is not None:
                notes.begin()
            namespace, settled = self._settled(plan, request, facts, notes)
            if notes is not None:
                notes.job = settled.plan.entity, settled.amounts
            return self.chooser.choose(settled, namespace, request, facts, notes)

        try:
            return self._run(plan, chosen)
        # raised by objects of classes that the code defines
        except (RecursionError, SystemExit, GeneratorExit) as error:
            name = type(error).__name__
            message = f"the mapping of this job ended in {name}, which an object of its code raised"
            return Placement(MappingOutcome.ERROR, message=message, cause=name)
        except TimeLimitError as error:
            return Placement(MappingOutcome.ERROR, message=error.message, cause="TimeLimitError")
        except StopMapping as stop:
            if stop.outcome is MappingOutcome.NOWHERE and self.sealed:
                stop = self._blame_sealed(stop)
            return _stopped(stop)
        except TryNextError as error:
            cause = f"TryNextDestinationOr{'Wait' if error.wait else 'Fail'}"
            message = (
                f"only rules of destinations can ask for the next destination ({error.message})"
            )
            return Placement(
                MappingOutcome.ERROR, message=message, origin=error.origin, cause=cause
            )

    def _run(self, plan: _Plan, call: Callable[[], T]) -> T:
        """Run a part of a mapping under the time limit, if there is code in it."""
        return self.evaluator.job(call) if plan.runs_code else call()

    def _settled(
        self,
        plan: _Plan,
        request: MappingRequest,
        facts: ClusterFacts,
        notes: MappingNotes | None,
    ) -> tuple[Namespace, JobWithAmounts]:
        """Return a job's namespace and its amounts. Raises the same errors as `Lanes.settle`."""
        assert plan.lanes is not None
        namespace = self._names.build(request, facts, plan.lanes.context)
        return namespace, plan.lanes.settle(namespace, request.what_if, notes)

    def _amounts_of(
        self, plan: _Plan, request: MappingRequest, facts: ClusterFacts
    ) -> JobWithAmounts:
        """Return a job's amounts alone. Raises: StopMapping, TryNextError, TimeLimitError."""
        return self._run(plan, lambda: self._settled(plan, request, facts, None))[1]

    def _blame_sealed(self, stop: StopMapping) -> StopMapping:
        untrusted = [s for s in self.sealed.values() if s.outcome is MappingOutcome.UNTRUSTED]
        return untrusted[0] if untrusted else stop

    def _within_budget(
        self, placement: Placement, plan: _Plan, request: MappingRequest, facts: ClusterFacts
    ) -> Placement:
        if not self._has_pools or not placement.chosen:
            return placement
        try:
            settled = self._amounts_of(plan, request, facts)
            refuse_over_budget(self.configuration, settled, request, facts)
        except StopMapping as stop:
            return _stopped(stop)
        except (TryNextError, TimeLimitError):
            pass
        return placement

    # Data that jobs share

    def _plan(self, request: MappingRequest) -> _Plan:
        key = (
            request.tool_id,
            request.user,
            request.declared,
            request.assumed,
            request.tool_type,
        )
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = self._new_plan(request)
        return plan

    def _new_plan(self, request: MappingRequest) -> _Plan:
        entities, matched, stop = self.lookup.entities(request)
        plan = _Plan(self._code_of(entities) | self._of_destinations, matched)
        try:
            if stop is not None:
                raise stop
            plan.lanes = Lanes(entities, tuple(self.offers.values()), self.evaluator)
        except StopMapping as why:
            plan.stop = why
        return plan

    def entities_of(self, request: MappingRequest) -> tuple[Entity, ...]:
        """Return the tool, role and user entities of a job, with all inherited values."""
        return tuple(self.lookup.entities(request)[0])

    def _show_loads(self, facts: ClusterFacts) -> None:
        """Provide the load of each destination to expressions, as `d.load`."""
        if facts.loads is self._shown_loads:
            return
        self._shown_loads = facts.loads
        for offer in self.offers.values():
            entity = offer.entity
            entity.load = facts.loads.get((entity.runner or "", offer.partition_name))


def _hashable(request: MappingRequest) -> MappingRequest:
    shown: dict[str, Any] = {name: repr(getattr(request, name)) for name in _UNHASHABLE}
    return request._replace(**shown)


def _wondered(request: MappingRequest) -> MappingRequest:
    """Return the request with the hypothetical walltime of the user."""
    what_if, totals = request.what_if, request.totals
    if what_if is None or what_if.walltime_seconds is None or totals is None:
        return request
    return request._replace(totals=totals._replace(walltime_seconds=what_if.walltime_seconds))


def _stopped(stop: StopMapping) -> Placement:
    return Placement(stop.outcome, message=stop.message, origin=stop.origin, cause=stop.cause)
