"""Plans known to both sides: 10,000 jobs with scripts are 30 MB, but a plan's id is 64 bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from rowtui.core.engine.process.errors import UnknownPlan
from rowtui.core.submission.plan.model import Plan

KEPT = 4
"""Plans that are kept: the one on the screen, and others that the user may return to."""


class Known(NamedTuple):
    """A reference to a plan that the engine made."""

    plan_id: str


class SeenPlans:
    """The engine's plans that still exist on the screen's side."""

    def __init__(self) -> None:
        self._plans: WeakValueDictionary[str, Plan] = WeakValueDictionary()

    def remember(self, value: object) -> None:
        """Record the plans of an answer."""
        for plan in _plans_in(value):
            self._plans[plan.id] = plan

    def forget(self) -> None:
        """Clear the record after the engine was lost."""
        self._plans.clear()

    def named(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Return arguments in which the engine's own plans are replaced by references."""
        return tuple(
            Known(one.id) if isinstance(one, Plan) and self._plans.get(one.id) is one else one
            for one in arguments
        )


class MadePlans:
    """The last plans that the engine made, on its own side."""

    def __init__(self) -> None:
        self._plans: OrderedDict[str, Plan] = OrderedDict()

    def remember(self, value: object) -> None:
        """Keep the plans of an answer."""
        for plan in _plans_in(value):
            self._plans[plan.id] = plan
            self._plans.move_to_end(plan.id)
            while len(self._plans) > KEPT:
                self._plans.popitem(last=False)

    def whole(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Return the arguments with whole plans. Raises: UnknownPlan."""
        return tuple(self._find(one) if isinstance(one, Known) else one for one in arguments)

    def _find(self, known: Known) -> Plan:
        plan = self._plans.get(known.plan_id)
        if plan is None:
            raise UnknownPlan(f"plan {known.plan_id} is not known here")
        return plan


def _plans_in(value: object) -> Iterator[Plan]:
    if isinstance(value, Plan):
        yield value
        return
    for part in (getattr(value, "plan", None), *(value if isinstance(value, tuple) else ())):
        if isinstance(part, Plan):
            yield part
