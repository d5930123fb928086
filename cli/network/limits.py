"""`rowtui network limits`: the limits of a run and its charges so far, and new limits."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rowtui.cli.network.shared.project import open_network
from rowtui.cli.project.open import ask, is_interactive
from rowtui.core.base.errors import RowtuiError

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output.output import Output
    from rowtui.core.runs.limits.limits import Limits
    from rowtui.core.runs.running import Running


def run(args: argparse.Namespace, out: Output) -> int:
    """Show the limits; with options ask, and confirm new limits, which a driving process adopts."""
    networks = open_network(args, out)
    from rowtui.cli.network.shared.jobs import run_of
    from rowtui.cli.network.shared.limits import with_options

    running = run_of(networks, args.run)
    before = running.run.limits
    limits = with_options(args, networks.project, before)
    changed = limits != before
    if changed and running.status.is_over:
        raise RowtuiError(
            f"run {running.run.id} is over", "'rowtui network run' begins another within limits"
        )
    if not args.json:
        _show(running, limits if changed else None, out)
    if changed and not args.yes:
        if args.json or not is_interactive():
            raise RowtuiError("nobody can be asked whether to change the limits", "add --yes")
        if not ask("Proceed?", out):
            out.warn("The limits are as they were.")
            return 1
    if changed:
        networks.begin(limits, name=running.run.id)
    if args.json:
        out.print(json.dumps(_fields(running, changed=changed), indent=2))
    elif changed:
        out.print(f"The limits of run {running.run.id} are changed.")
    networks.project.close()
    return 0


def _show(running: Running, wanted: Limits | None, out: Output) -> None:
    from rowtui.cli.network.shared.text import limit_lines, spent_text

    out.print(f"Run {running.run.id} is {running.status.value}.")
    for title, limits in (("Limits", running.run.limits), ("New limits", wanted)):
        if limits is not None:
            out.print(f"{title}:")
            out.lines(f"  {line}" for line in limit_lines(limits))
    out.print(f"Charged: {spent_text(running.spent())}.")


def _fields(running: Running, *, changed: bool) -> dict[str, object]:
    from rowtui.cli.network.shared.json import charged_json
    from rowtui.core.runs.model import limits_fields

    return {
        "version": 1,
        "run": running.run.id,
        "status": running.status.value,
        "limits": limits_fields(running.run.limits),
        **charged_json(running.spent()),
        "changed": changed,
    }
