"""How jobs are to be packed, from a command's options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import argparse

    from rowtui.core.project.pack_views import PackChoice


def choice_of(args: argparse.Namespace) -> PackChoice | Literal[False] | None:
    """What was asked for; False: not to pack; None: nothing, so that clusters.toml decides."""
    wanted = getattr(args, "pack", None)
    if wanted is False:
        return False
    given = (
        getattr(args, "packer", None),
        getattr(args, "largest", None),
        getattr(args, "longest", None),
        getattr(args, "time_factor", None),
        *getattr(args, "node_type", ()),
    )
    if not wanted and not any(given):
        return None
    from rowtui.core.project.pack_views import PackChoice

    return PackChoice(
        packer=args.packer or "",
        largest_bundle=args.largest,
        longest_seconds=args.longest,
        node_types=tuple(dict.fromkeys(args.node_type)),
        time_factor=args.time_factor,
        budget=args.search,
    )
