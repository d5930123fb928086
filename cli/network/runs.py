"""`rowtui network runs`: every run of this project's network, including unusable ones."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rowtui.cli.network.shared.project import open_network
from rowtui.core.base.json_objects import VERSION
from rowtui.core.base.text import Cost, plural, visible

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output.output import Output
    from rowtui.core.base import json_objects as to
    from rowtui.core.runs.store import BadRun, Run


def run(args: argparse.Namespace, out: Output) -> int:
    """Print the runs, newest first."""
    networks = open_network(args, out)
    runs = list(reversed(networks.runs()))
    if args.json:
        document: to.Runs = {"version": VERSION, "runs": [_listed(it) for it in runs]}
        out.print(json.dumps(document, indent=2))
        return 0
    if not runs:
        out.print("No run yet; 'rowtui network run' begins one.")
        return 0
    from rowtui.cli.output.table import Cell, Column, table_lines
    from rowtui.core.runs.limits.limits import cost_text
    from rowtui.core.runs.limits.time_parsing import time_text
    from rowtui.core.runs.store import BadRun

    columns = [
        Column("Run", style="bold"),
        Column("Status"),
        Column("Submitted", right=True),
        Column("Failed", right=True),
        Column("Charged", right=True),
        Column("Begun"),
        Column("By"),
    ]
    styles = {"finished": "green", "failed": "red bold", "paused": "yellow bold"}
    rows: list[list[str | Cell]] = []
    for it in runs:
        if isinstance(it, BadRun):
            rows.append([it.id, Cell("bad", "red bold")])
            continue
        standing = it.standing
        holder = it.holder()
        status = standing.status.value
        word = "not driven" if status == "running" and not holder else status
        who = f"{visible(it.about.user)}" + (f", {holder}" if holder else "")
        spent = standing.spent()
        rows.append(
            [
                it.id,
                Cell(word, styles.get(status, "")),
                f"{standing.submitted:,}",
                f"{standing.failed:,}",
                cost_text(Cost(spent.cpu_hours, spent.gpu_hours)),
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


def _listed(run: Run | BadRun) -> to.ListedRun:
    """Return the data of a run's journal, without its network."""
    from rowtui.cli.network.shared.json import charged_json, limits_json
    from rowtui.core.engine.api.json_views import utc
    from rowtui.core.runs.store import BadRun

    if isinstance(run, BadRun):
        return {"id": run.id, "status": "bad", "why": run.why, "hint": run.hint or None}
    standing = run.standing
    holder = run.holder()
    found: to.ListedRun = {
        "id": run.id,
        "status": standing.status.value,
        "name": run.about.name,
        "user": run.about.user,
        "created_at": utc(run.about.created) or "",
        "at": utc(run.about.created if standing.at is None else standing.at) or "",
        "holder": None
        if holder is None
        else {"host": holder.host, "pid": holder.pid, "since": utc(holder.since) or ""},
        "submitted": standing.submitted,
        "failed": standing.failed,
        "limits": limits_json(standing.limits or run.about.limits),
    }
    charges = charged_json(standing.spent())
    found["charged"] = charges["charged"]
    found["prices"] = charges["prices"]
    found["jobs_in_queue"] = charges["jobs_in_queue"]
    found["failures"] = charges["failures"]
    found["failures_in_a_row"] = charges["failures_in_a_row"]
    return found
