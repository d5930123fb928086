"""Execution plug-ins by name: the built-in ones, and those of installed packages.

A third-party plug-in cannot replace a built-in one.
"""

from __future__ import annotations

from rowtui.core.base.plug_ins import PlugIns, has_texts
from rowtui.core.runs.execution.execution import ExecutionError, ExecutionPlugin
from rowtui.core.runs.execution.lists import SeparateJobs, SequentialLists
from rowtui.core.runs.execution.pool import Pilots, PooledJobs

PLUG_INS = PlugIns(
    "rowtui.execution_plugins",
    "execution plug-in",
    lambda made: has_texts(made, "plan", "carry_out", "over"),
    ExecutionError,
)
_OURS: dict[str, type[SeparateJobs | SequentialLists | Pilots | PooledJobs]] = {
    "jobs": SeparateJobs,
    "sequential": SequentialLists,
    "pilot": Pilots,
    "pool": PooledJobs,
}
OURS = tuple(_OURS)


def find_execution(name: str) -> ExecutionPlugin:
    """Return a new plug-in of this name. Raises: ExecutionError if it is missing or not usable."""
    if name in _OURS:
        return _OURS[name]()
    plugin: ExecutionPlugin = PLUG_INS.find(name, OURS)
    return plugin
