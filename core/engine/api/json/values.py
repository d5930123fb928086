"""Plain values as JSON: costs, places and transfers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from rowtui.core.base.text import Cost

if TYPE_CHECKING:
    from rowtui.core.base.json.directories import CostJson, PlaceJson
    from rowtui.core.base.json.plans import TransferJson
    from rowtui.core.project.open_project import OpenProject
    from rowtui.core.project.views.views import TransferView
    from rowtui.core.submission.plan.model import PlannedDestination


_CPU_HOURS = ("core-hours", "CPU-hours")  # the unit of packings without prices


_HOUR = 3600


def cost_of(cost: Cost, price: float | None = None, currency: str = "") -> CostJson:
    """A cost, with what it is in money where that is known."""
    return {
        "cpu_hours": cost.cpu_hours,
        "gpu_hours": cost.gpu_hours,
        "price": price,
        "currency": (currency or None) if price is not None else None,
    }


def cost_in(unit: str, value: float, hours: Cost) -> CostJson:
    """A cost that packing counts in `unit`: a currency, or CPU-hours. `hours`: of the same jobs."""
    if unit in _CPU_HOURS:
        return cost_of(Cost(value, hours.gpu_hours))
    return cost_of(hours, value, unit)


def place_of(destination: PlannedDestination) -> PlaceJson:
    """Where jobs go."""
    return {"cluster": destination.cluster, "partition": destination.partition or None}


def transfers_of(views: Sequence[TransferView]) -> list[TransferJson]:
    """What is copied to clusters."""
    return [cast("TransferJson", view._asdict()) for view in views]


def bad_of(project: OpenProject) -> dict[str, str]:
    """The directories that are set aside, by name, and why."""
    directories = project.state.directories
    return {directories.name(position): why for position, why in directories.bad.items()}
