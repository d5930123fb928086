"""Pack a problem: report what fits nowhere, bundle the rest, bound the cost, check the packing.

The input is a problem, the name of a packer and a `GoOn`; the output is a `PackResult` that has
been checked. If the packing of a packer is wrong, the result contains the packing of the seed
algorithm instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.plug_ins import PlugInError, PlugIns, has_texts
from rowtui.core.base.text import visible
from rowtui.core.packing.cheapest_type import cost_of
from rowtui.core.packing.check import complaints
from rowtui.core.packing.model import (
    Bundle,
    GoOn,
    Lane,
    Packer,
    PackingProblem,
    PackResult,
    RequestRun,
)
from rowtui.core.packing.optimal.bound import lower_bound
from rowtui.core.packing.packers import BEST, OURS, SEED, PackerAnswer
from rowtui.core.packing.unplaced import find_unplaced, renumbered, without_unplaced

PLUG_INS = PlugIns("rowtui.packers", "packer", lambda made: has_texts(made, "pack"))


class Installed(NamedTuple):
    """The packers that are not built in, by name, and the plug-ins that were left out."""

    packers: dict[str, Packer]
    left_out: tuple[PlugInError, ...]


def installed_packers() -> Installed:
    """Return the packers of the installed packages, in the order of their names.

    The project loads them before it packs, since engines read nothing by themselves.
    """
    made, left_out = PLUG_INS.load_all(OURS)
    packers: dict[str, Packer] = {}
    for one in made:
        packers.setdefault(one.name, one)
    return Installed(packers, tuple(left_out))


ROUNDING = 1e-9  # relative difference below which two costs are equal


def packers(others: Mapping[str, Packer] | None = None) -> tuple[tuple[str, str], ...]:
    """Return the name and summary of every packer, the built-in packers first."""
    ours = tuple((one.name, one.summary) for one in OURS.values())
    taken = set(OURS)
    return ours + tuple(
        (name, one.summary) for name, one in (others or {}).items() if name not in taken
    )


def pack(
    problem: PackingProblem,
    packer: str = BEST,
    go_on: GoOn = lambda: False,
    packers: Mapping[str, Packer] | None = None,
) -> PackResult:
    """Return the packing of this packer, with its cost and a lower bound of any cost.

    `packers`: the packers that are not built in, by name (`installed_packers`). Raises:
    RowtuiError for a packer that does not exist.
    """
    unplaced = find_unplaced(problem)
    rest, numbers = without_unplaced(problem, unplaced)
    others = packers or {}
    if packer not in OURS and packer not in others:
        known = ", ".join(visible(name) for name in (*OURS, *others))
        raise RowtuiError(f"there is no packer '{visible(packer)}'", f"choose one of {known}")
    if not rest.demands:
        return PackResult(problem, packer, (), 0.0, 0.0, unplaced, proven=True)
    found = _checked(rest, _found(rest, packer, go_on, others), go_on)
    same = len(numbers) == len(problem.demands)
    bundles = found.bundles if same else renumbered(found.bundles, numbers)
    cost = cost_of(bundles, problem)
    bound = (
        found.bound if found.proven or found.bounded else max(found.bound, lower_bound(rest, go_on))
    )
    proven = found.proven or bound >= cost * (1 - ROUNDING)
    bound = cost if proven else bound
    return PackResult(problem, found.packer, bundles, cost, bound, unplaced, proven)


def _found(
    problem: PackingProblem, packer: str, go_on: GoOn, others: Mapping[str, Packer]
) -> PackerAnswer:
    if packer in OURS:
        return OURS[packer].find(problem, go_on)
    try:
        bundles = tuple(others[packer].pack(problem, go_on))
        if all(map(_is_bundle, bundles)):
            return PackerAnswer(bundles, packer)
    except Exception:  # if a plug-in fails in any way, the jobs are packed by the seed algorithm
        pass
    return OURS[SEED].find(problem, go_on)


def _is_bundle(bundle: object) -> bool:
    """Whether the object has the structure of a bundle, with any numbers. Raises: any exception."""
    if not isinstance(bundle, Bundle) or not all(isinstance(it, Lane) for it in bundle.lanes):
        return False
    runs = [run for lane in bundle.lanes for run in lane.runs]
    numbers = [bundle.node_type, bundle.times, *(lane.times for lane in bundle.lanes)]
    numbers += [number for demand, times in runs for number in (demand, times)]
    return all(isinstance(run, RequestRun) for run in runs) and all(
        type(it) is int for it in numbers
    )


def _checked(problem: PackingProblem, found: PackerAnswer, go_on: GoOn) -> PackerAnswer:
    """Return the packing found if it has no faults, else the packing of the seed algorithm."""
    if found.packer != SEED and complaints((problem, found.bundles)):
        return OURS[SEED].find(problem, go_on)
    return found
