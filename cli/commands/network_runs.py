"""`rowtui network runs`: every run of this project's network, also those that cannot be used."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rowtui.cli.network_project import open_network
from rowtui.core.text import plural, visible

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output import Output
    from rowtui.core.runs.store import BadRun, Run


def run(args: argparse.Namespace, out: Output) -> int:
    """Print them, oldest first."""
    networks = open_network(args, out)
    runs = networks.runs()
    if args.json:
        out.print(json.dumps({"version": 1, "runs": [_fields(it) for it in runs]}, indent=2))
        return 0
    if not runs:
        out.print("No run yet; 'rowtui network run' begins one.")
        return 0
    from rowtui.cli.table import Cell, Column, table_lines
    from rowtui.core.runs.moments import time_text
    from rowtui.core.runs.store import BadRun

    columns = [
        Column("Run", style="bold"),
        Column("Status"),
        Column("Sent", right=True),
        Column("Failed", right=True),
        Column("Core-hours", right=True),
        Column("Begun"),
        Column("By"),
    ]
    styles = {"finished": "green", "failed": "red bold", "paused": "yellow bold"}
    rows: list[list[str | Cell]] = []
    for it in runs:
        if isinstance(it, BadRun):
            rows.append([it.id, Cell("bad", "red bold")])
            continue
        fields = _fields(it)
        status = "driven" if fields["holder"] else fields["status"]
        word = {"finished": "done", "running": "let go"}.get(status, status)
        holder = it.holder()
        who = f"{visible(it.about.user)}" + (f", {holder}" if holder else "")
        spent = fields["spent"]["core_hours"]
        rows.append(
            [
                it.id,
                Cell(word, styles.get(status, "")),
                f"{fields['submitted']:,}",
                f"{fields['failed']:,}",
                _amount(spent),
                time_text(it.about.created),
                who,
            ]
        )
    out.lines(table_lines(columns, rows, out))
    for it in runs:
        if isinstance(it, BadRun):
            out.warn(f"{it.why}" + (f"\n{it.hint}" if it.hint else ""))
    counts = sum(isinstance(it, BadRun) for it in runs)
    if counts:
        out.note(f"{plural(counts, 'run')} cannot be used; the others can.")
    return 0


def _amount(number: float) -> str:
    from rowtui.core.runs.limits import amount

    return amount(number)


def _fields(run: Run | BadRun) -> dict[str, Any]:
    """What the journal of a run says, without its network."""
    from rowtui.cli.network_json import spent_json
    from rowtui.core.runs.model import limits_fields
    from rowtui.core.runs.store import BadRun

    if isinstance(run, BadRun):
        return {"id": run.id, "status": "bad", "why": run.why, "hint": run.hint or None}
    standing = run.standing
    holder = run.holder()
    return {
        "id": run.id,
        "status": standing.status.value,
        "name": run.about.name,
        "user": run.about.user,
        "created": run.about.created,
        "at": run.about.created if standing.at is None else standing.at,
        "holder": None if holder is None else holder._asdict(),
        "submitted": standing.submitted,
        "failed": standing.failed,
        "limits": limits_fields(standing.limits or run.about.limits),
        "spent": spent_json(standing.spent()),
    }
