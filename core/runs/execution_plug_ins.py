"""Execution plug-ins by the name that network.toml gives: ours, and those of installed packages.

A plug-in that cannot be loaded or is none is left out with the reason, which is said when it is
asked for, and none can take the name of one of ours.
"""

from __future__ import annotations

import difflib
from importlib.metadata import EntryPoint, entry_points
from typing import NamedTuple

from rowtui.core.runs.execution import ExecutionError, ExecutionPlugin
from rowtui.core.runs.execution_lists import Jobs, Sequential
from rowtui.core.runs.execution_pilots import Pilots
from rowtui.core.text import visible

PLUG_INS = "rowtui.execution_plugins"
_OURS: dict[str, type[Jobs | Sequential | Pilots]] = {
    "jobs": Jobs,
    "sequential": Sequential,
    "pilot": Pilots,
}
OURS = tuple(_OURS)


class LeftOut(NamedTuple):
    """A plug-in that is of no use, and why."""

    name: str
    why: str
    hint: str


class Installed(NamedTuple):
    """The plug-ins that are not ours, by name, and those that were left out."""

    plugins: dict[str, ExecutionPlugin]
    left_out: tuple[LeftOut, ...]


def installed_executions() -> Installed:
    """What the installed packages offer, in the order of the names."""
    plugins: dict[str, ExecutionPlugin] = {}
    left_out: list[LeftOut] = []
    for point in sorted(entry_points(group=PLUG_INS), key=lambda point: point.name):
        made = _plug_in(point)
        if isinstance(made, LeftOut):
            left_out.append(made)
        else:
            plugins.setdefault(point.name, made)
    return Installed(plugins, tuple(left_out))


def find_execution(name: str) -> ExecutionPlugin:
    """A new plug-in of this name. Raises: ExecutionError (there is none, or it is of no use)."""
    if name in _OURS:
        return _OURS[name]()
    points = {point.name: point for point in entry_points(group=PLUG_INS)}
    if name in points:
        made = _plug_in(points[name])
        if isinstance(made, LeftOut):
            raise ExecutionError(made.why, made.hint)
        return made
    names = sorted({*OURS, *points})
    near = difflib.get_close_matches(name, names, n=1)
    raise ExecutionError(
        f"there is no execution '{visible(name)}'",
        (f"did you mean '{visible(near[0])}'? " if near else "")
        + f"there are: {', '.join(map(visible, names))}",
    )


def _plug_in(point: EntryPoint) -> ExecutionPlugin | LeftOut:
    """What the entry point makes, or why it is of no use. Its own words are not repeated."""
    hint = f"it comes from {point.value}; mend it, uninstall it or choose another"
    if point.name in _OURS:
        return LeftOut(point.name, f"a plug-in calls itself '{point.name}', which is ours", hint)
    try:
        made = point.load()()
    except (Exception, SystemExit) as error:  # whatever it does, we go on
        why = f"the execution plug-in '{point.name}' failed with {type(error).__name__}"
        return LeftOut(point.name, why, hint)
    if not (
        isinstance(getattr(made, "name", None), str)
        and isinstance(getattr(made, "summary", None), str)
        and all(callable(getattr(made, it, None)) for it in ("plan", "carry_out", "over"))
    ):
        return LeftOut(point.name, f"'{point.name}' makes no execution plug-in", hint)
    plugin: ExecutionPlugin = made
    return plugin
