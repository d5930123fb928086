"""Scheduling plug-ins by name: the built-in ones, and those of installed packages.

The engine reads no entry points itself; the project uses this module. A plug-in that cannot be
loaded, or is not a plug-in, raises an error when it is requested. A third-party plug-in cannot
replace a built-in one.
"""

from __future__ import annotations

import difflib
import math
from importlib.metadata import EntryPoint, entry_points

from rowtui.core.network.graph.scheduling import (
    BySample,
    CriticalPath,
    FromSource,
    RowOrder,
    SchedulingError,
    SchedulingPlugin,
    ToSink,
)

PLUG_INS = "rowtui.scheduling_plugins"

_PLAIN: dict[str, type[BySample | ToSink | CriticalPath | RowOrder]] = {
    "sample": BySample,
    "sink": ToSink,
    "critical-path": CriticalPath,
    "row": RowOrder,
}
OURS = (*_PLAIN, "sink:NAME", "source:+1", "source:-1")  # as shown to the user


def find_plugin(name: str) -> SchedulingPlugin:
    """Return the plug-in of this name. Raises: SchedulingError if it is missing or not usable."""
    ours = _ours(name)
    if ours is not None:
        return ours
    points = {point.name: point for point in entry_points(group=PLUG_INS)}
    if name in points:
        return _plug_in(points[name])
    names = sorted({*OURS, *(point for point in points if _ours(point) is None)})
    near = difflib.get_close_matches(name, names, n=1)
    raise SchedulingError(
        f"there is no scheduling plug-in '{name}'",
        (f"did you mean '{near[0]}'? " if near else "") + f"there are: {', '.join(names)}",
    )


def _ours(name: str) -> SchedulingPlugin | None:
    kind, colon, rest = name.partition(":")
    if not colon:
        return _PLAIN[name]() if name in _PLAIN else None
    if kind == "sink" and rest:
        return ToSink(rest)
    if kind != "source":
        return None
    try:
        weight = float(rest)
    except ValueError:
        weight = math.nan
    if not math.isfinite(weight):
        raise SchedulingError(
            f"'{name}' has no weight after 'source:'",
            "source:+1 goes stage after stage, source:-1 pushes every sample forward",
        )
    return FromSource(weight)


def _plug_in(point: EntryPoint) -> SchedulingPlugin:
    """Create the plug-in of an entry point.

    Raises: SchedulingError, without the text of the plug-in's own error.
    """
    hint = f"it comes from {point.value}; mend it, uninstall it or choose another"
    try:
        made = point.load()()
    except (Exception, SystemExit) as error:  # any failure of a third-party plug-in
        raise SchedulingError(
            f"the scheduling plug-in '{point.name}' failed with {type(error).__name__}", hint
        ) from None
    if not (
        isinstance(getattr(made, "name", None), str)
        and isinstance(getattr(made, "summary", None), str)
        and callable(getattr(made, "keys", None))
    ):
        raise SchedulingError(f"'{point.name}' makes no scheduling plug-in", hint)
    plugin: SchedulingPlugin = made
    return plugin
