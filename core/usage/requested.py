"""What each job requested, as columns. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.core.usage.model import UsageKind
from rowtui.core.usage.store import UsageColumns

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Requested(NamedTuple):
    """What each job requested: columns of equal length. `memory` in KiB, NaN if not stated."""

    cpus: NDArray[Any]
    gpus: NDArray[Any]
    memory: NDArray[Any]
    walltime: NDArray[Any]

    @classmethod
    def of(cls, columns: UsageColumns) -> Requested:
        """Return the requests of these jobs."""

        def memory(kind: UsageKind) -> float:
            return float("nan") if kind.memory_mb is None else kind.memory_mb * 1024.0

        return cls(
            of_kind(columns, lambda kind: kind.cpus),
            of_kind(columns, lambda kind: kind.gpus),
            of_kind(columns, memory),
            of_kind(columns, lambda kind: kind.walltime_seconds),
        )


def of_kind(columns: UsageColumns, value: Callable[[UsageKind], float]) -> NDArray[Any]:
    """Return a number for each job that depends on its kind only."""
    return columns.by_line("kind", lambda line: value(columns.kind(line)))
