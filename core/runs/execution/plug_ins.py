"""Execution plug-ins by name: the built-in ones, and those of installed packages.

A plug-in that cannot be loaded, or is not a plug-in, raises an error when it is requested. A
third-party plug-in cannot replace a built-in one.
"""

from __future__ import annotations

import difflib
from importlib.metadata import EntryPoint, entry_points

from rowtui.core.base.text import visible
from rowtui.core.runs.execution.execution import ExecutionError, ExecutionPlugin
from rowtui.core.runs.execution.lists import SeparateJobs, SequentialLists
from rowtui.core.runs.execution.pilots import Pilots

PLUG_INS = "rowtui.execution_plugins"
_OURS: dict[str, type[SeparateJobs | SequentialLists | Pilots]] = {
    "jobs": SeparateJobs,
    "sequential": SequentialLists,
    "pilot": Pilots,
}
OURS = tuple(_OURS)


def find_execution(name: str) -> ExecutionPlugin:
    """Return a new plug-in of this name. Raises: ExecutionError if it is missing or not usable."""
    if name in _OURS:
        return _OURS[name]()
    points = {point.name: point for point in entry_points(group=PLUG_INS)}
    if name in points:
        return _plug_in(points[name])
    names = sorted({*OURS, *points})
    near = difflib.get_close_matches(name, names, n=1)
    raise ExecutionError(
        f"there is no execution '{visible(name)}'",
        (f"did you mean '{visible(near[0])}'? " if near else "")
        + f"there are: {', '.join(map(visible, names))}",
    )


def _plug_in(point: EntryPoint) -> ExecutionPlugin:
    """Create the plug-in of an entry point.

    Raises: ExecutionError, without the text of the plug-in's own error.
    """
    hint = f"it comes from {point.value}; mend it, uninstall it or choose another"
    try:
        made = point.load()()
    except (Exception, SystemExit) as error:  # any failure of a third-party plug-in
        why = f"the execution plug-in '{point.name}' failed with {type(error).__name__}"
        raise ExecutionError(why, hint) from None
    if not (
        isinstance(getattr(made, "name", None), str)
        and isinstance(getattr(made, "summary", None), str)
        and all(callable(getattr(made, it, None)) for it in ("plan", "carry_out", "over"))
    ):
        raise ExecutionError(f"'{point.name}' makes no execution plug-in", hint)
    plugin: ExecutionPlugin = made
    return plugin
