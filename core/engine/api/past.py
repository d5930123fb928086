"""Requests about what ran when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rowtui.core.usage.past import PastRequest, PastView
    from rowtui.core.usage.table import UsageRow


class PastService(Protocol):
    """The jobs of this project that have ended."""

    async def view(self, asked: PastRequest) -> PastView:
        """Return throughput, CPUs in use, waits, failures of nodes and single jobs; bounded.

        Raises: RowtuiError if the records cannot be read.
        """

    async def used(self) -> tuple[UsageRow, ...]:
        """Return what the jobs of each action used of what they requested.

        Raises: RowtuiError if the records cannot be read.
        """
