"""The packing choice from a command's options."""

from __future__ import annotations

import argparse
from typing import Literal

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.project.planning.pack_views import PackChoice
from rowtui.core.workflow.toml_file import did_you_mean


def choice_of(args: argparse.Namespace) -> PackChoice | Literal[False] | None:
    """Return the user's choice; False: no packing; None: clusters.toml decides.

    Raises: RowtuiError for a packer that does not exist, and for `--no-pack` together with an
    option for packing, before any file is read.
    """
    wanted = getattr(args, "pack", None)
    given = (
        getattr(args, "packer", None),
        getattr(args, "largest", None),
        getattr(args, "longest", None),
        getattr(args, "time_factor", None),
        getattr(args, "search", None),
        *getattr(args, "node_type", ()),
    )
    if not wanted and all(it is None for it in given):
        return wanted
    if wanted is False:
        raise RowtuiError("--no-pack packs nothing", "leave out the options that say how to pack")

    if args.packer:
        _refuse_unknown(args.packer)
    return PackChoice(
        packer=args.packer or "",
        largest_bundle=args.largest,
        longest_seconds=args.longest,
        node_types=tuple(dict.fromkeys(args.node_type)),
        time_factor=args.time_factor,
        budget=PackChoice().budget if args.search is None else args.search,
    )


def _refuse_unknown(packer: str) -> None:
    from rowtui.core.packing.pack import installed_packers, packers

    known = [name for name, _ in packers(installed_packers().packers)]
    if packer not in known:
        there_are = f"there are {', '.join(map(visible, known))}"
        meant = did_you_mean(packer, known)
        hint = f"{meant} {there_are}" if meant else there_are
        raise RowtuiError(f"there is no packer '{visible(packer)}'", hint)
