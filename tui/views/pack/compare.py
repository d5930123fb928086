"""Every packer's result for the same jobs: one request after another, at most some seconds each."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from rowtui.tui.views.pack.bundles import picture_of
from rowtui.tui.views.pack.packing import figures_of
from rowtui.tui.views.pack.state import Compared

if TYPE_CHECKING:
    from rowtui.tui.views.pack.view import PackView

MOST_PACKERS = 8
"""The number of packers that are compared."""


async def compare(view: PackView) -> None:
    """Run all packers; show each answer when it arrives. Another choice ends the comparison."""
    packing = view.packing
    what = packing.compare_what()
    if what is None or packing.shown is None:
        return
    packers = [name for name, _ in packing.shown.packed.packers][:MOST_PACKERS]
    packing.compared, packing.compared_of = (), what
    try:
        for name in packers:
            packing.comparing = name
            view.show_choices()
            choice = what.choice._replace(packer=name)
            packed = await view.session.engine.pack(
                what.wanted.action, what.wanted.groups, None, choice
            )
            picture = await asyncio.to_thread(picture_of, packed, dict(packing.known))
            if packing.compare_what() != what:
                return
            at = min(packing.at, len(picture.looks) - 1)
            cores = picture.looks[at].total[0] if picture.looks else None
            idle = None if cores is None else 1 - cores.busy
            packing.compared = (*packing.compared, Compared(name, figures_of(picture), idle))
    except Exception as error:
        view.dashboard.report("the packers cannot be compared", error)
    finally:
        packing.comparing = ""
        view.show_choices()
