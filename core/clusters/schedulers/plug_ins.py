"""The installed schedulers, by their names in clusters.toml.

rowtui's own schedulers and those of other packages are found by the entry points of the group
`rowtui.schedulers`. Each entry point names a function that takes the cluster's name, the transport
for its commands (None: this machine) and the timeout of a query in seconds, and returns a
`Scheduler`. Entry points are read only if a cluster is accessed, or a name is not one of Row's.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible

if TYPE_CHECKING:
    from rowtui.core.clusters.commands import Transport
    from rowtui.core.clusters.schedulers.base import Scheduler

GROUP = "rowtui.schedulers"


def scheduler_names() -> tuple[str, ...]:
    """Return the valid values of `scheduler` in clusters.toml, in alphabetical order."""
    return tuple(sorted(_points()))


def make_scheduler(
    name: str, cluster: str, transport: Transport | None, query_timeout: float
) -> Scheduler:
    """Return the scheduler with this name, for a cluster. Raises: RowtuiError."""
    point = _points().get(name)
    if point is None:
        known = ", ".join(map(visible, scheduler_names())) or "none: install rowtui again"
        raise RowtuiError(
            f"cluster {visible(cluster)}: there is no scheduler '{visible(name)}'",
            f"installed are {known}",
        )
    try:
        made: Scheduler = point.load()(cluster, transport, query_timeout=query_timeout)
        kind = made.kind
    except (Exception, SystemExit) as error:  # any failure of another package
        text = f"its plug-in failed with {type(error).__name__}"
        raise _of_no_use(name, text, point) from None
    if kind != name:
        raise _of_no_use(name, f"its plug-in calls itself '{visible(str(kind))}'", point)
    return made


def _of_no_use(name: str, why: str, point: EntryPoint) -> RowtuiError:
    hint = f"it comes from {visible(point.value)}; mend it or uninstall it"
    return RowtuiError(f"scheduler '{visible(name)}': {why}", hint)


def _points() -> dict[str, EntryPoint]:
    """Return the entry points by name; of two with the same name, rowtui's own."""
    points = sorted(entry_points(group=GROUP), key=lambda it: not it.value.startswith("rowtui."))
    found: dict[str, EntryPoint] = {}
    for point in points:
        found.setdefault(point.name, point)
    return found
