"""Requests about what ran when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rowtui.core.usage.past import PastRequest, PastView


class PastService(Protocol):
    """The jobs of this project that have ended."""

    async def view(self, asked: PastRequest) -> PastView:
        """Return throughput, CPUs in use, waits, failures of nodes and single jobs; bounded.

        Raises: RowtuiError if the records cannot be read.
        """
        ...
