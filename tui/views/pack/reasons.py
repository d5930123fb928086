"""The reason why packers cannot be compared now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowtui.tui.shell.reasons import with_packing

if TYPE_CHECKING:
    from rowtui.tui.shell.session import Session


def may_compare(session: Session) -> str:
    """Return why packers cannot be compared, or "": a packing and several packers are needed."""
    if reason := with_packing(session):
        return reason
    packing = session.packing
    if packing.comparing:
        return "they are being compared"
    many = len(packing.shown.packed.packers) if packing.shown else 0
    return "" if many > 1 else "there is no other packer"
