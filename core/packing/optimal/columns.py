"""Pack few classes of any size by column generation, and give the bound that follows from it.

`fractional.py` computes how often each content would be used if bins could be divided, and
`whole_bins.py` makes whole bins of it. The time depends on the number of classes and not on the
number of items. This module imports HiGHS only if it is installed. Source: P. C. Gilmore and R. E.
Gomory (column generation).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError
from rowtui.core.packing.heuristics.bins import Vectors
from rowtui.core.packing.model import GoOn

if TYPE_CHECKING:
    from rowtui.core.packing.optimal.whole_bins import Generated


def available() -> bool:
    """Whether the solver that column generation needs is installed (the extra `exact`)."""
    try:
        import highspy  # noqa: F401
    except ImportError:
        return False
    return True


def generate(vectors: Vectors, go_on: GoOn) -> Generated:
    """Return a packing of all items, and the bound.

    Column generation works best for up to about 150 different items.

    Raises:
        RowtuiError: HiGHS is not installed.
    """
    if not available():
        raise RowtuiError(
            "column generation needs HiGHS, which is not installed here",
            "pip install 'rowtui[exact]', or choose another packer",
        )
    from rowtui.core.packing.optimal.whole_bins import pack_whole

    return pack_whole(vectors, go_on)
