"""Scheduling plug-ins by name: the built-in ones, and those of installed packages.

The engine reads no entry points itself; the project uses this module. A third-party plug-in cannot
replace a built-in one.
"""

from __future__ import annotations

import math

from rowtui.core.base.plug_ins import PlugIns, has_texts
from rowtui.core.network.graph.scheduling import (
    BySample,
    CriticalPath,
    FromSource,
    RowOrder,
    SchedulingError,
    SchedulingPlugin,
    ToSink,
)

PLUG_INS = PlugIns(
    "rowtui.scheduling_plugins",
    "scheduling plug-in",
    lambda made: has_texts(made, "keys"),
    SchedulingError,
)

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
    plugin: SchedulingPlugin = PLUG_INS.find(name, OURS)
    return plugin


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
