"""Packers of other packages, from the entry points of installed packages.

The project loads them before it packs, since engines read nothing by themselves. A plug-in that
cannot be loaded or is no packer is left out with a reason, and no plug-in can take the name of a
built-in packer.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import NamedTuple

from rowtui.core.packing.model import Packer
from rowtui.core.packing.packers import OURS

PLUG_INS = "rowtui.packers"


class LeftOut(NamedTuple):
    """A plug-in that cannot be used, and why."""

    name: str
    why: str
    hint: str


class Installed(NamedTuple):
    """The packers that are not built in, by name, and the plug-ins that were left out."""

    packers: dict[str, Packer]
    left_out: tuple[LeftOut, ...]


def installed_packers() -> Installed:
    """Return the packers of the installed packages, in the order of their names."""
    packers: dict[str, Packer] = {}
    left_out: list[LeftOut] = []
    for point in sorted(entry_points(group=PLUG_INS), key=lambda point: point.name):
        made = _plug_in(point)
        if isinstance(made, LeftOut):
            left_out.append(made)
        else:
            packers.setdefault(made.name, made)
    return Installed(packers, tuple(left_out))


def _plug_in(point: EntryPoint) -> Packer | LeftOut:
    """Return the packer of the entry point, or why it is unusable (without its own message)."""
    hint = f"it comes from {point.value}; mend it or uninstall it"
    try:
        made = point.load()()
    # a plug-in that fails in any way must not end the program
    except (Exception, SystemExit) as error:
        return LeftOut(point.name, f"its plug-in failed with {type(error).__name__}", hint)
    if not (
        isinstance(getattr(made, "name", None), str)
        and isinstance(getattr(made, "summary", None), str)
        and callable(getattr(made, "pack", None))
    ):
        return LeftOut(point.name, "its plug-in makes no packer", hint)
    if made.name in OURS:
        return LeftOut(point.name, f"the plug-in calls itself '{made.name}', which is ours", hint)
    packer: Packer = made
    return packer
