"""Named jobs that run: what they use now, for `rowtui usage JOB`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rowtui.cli.jobs.queue_text import JobName
from rowtui.cli.output.output import Output
from rowtui.core.base.text import plural, visible
from rowtui.core.clusters.schedulers.base import JobState

if TYPE_CHECKING:
    from rowtui.core.base.json import usage as to
    from rowtui.core.project.project import Project
    from rowtui.core.project.views.views import JobView
    from rowtui.core.usage.running import UsageNow

MOST_RUNNING = 200  # jobs whose use is printed one after another


async def running_jobs(
    project: Project, names: Sequence[JobName]
) -> list[tuple[JobView, UsageNow | None]]:
    """Return the named jobs that run now, with what they use; a cluster is asked only for them."""
    if not project.has_jobs_to_ask_for():
        return []
    seen = await project.jobs.view()
    views = [
        view
        for view in seen.jobs
        if view.state is JobState.RUNNING and any(name.means(view.record) for name in names)
    ][:MOST_RUNNING]
    known = await project.usage.now(views, by_hand=True)
    return [(view, known.get(view.record.token)) for view in views]


def running_lines(view: JobView, now: UsageNow | None, out: Output) -> Iterator[str]:
    """Yield what a running job uses, in a few lines."""
    record = view.record
    where = f"{record.cluster}/{record.partition}" if record.partition else record.cluster
    size = plural(view.size, "directory", "directories")
    yield out.style(f"job {record.label}", "bold") + visible(
        f"  {record.action} on {size}, {where}" + (f", node {view.nodes}" if view.nodes else "")
    )
    if now is None:
        again = "it was asked a moment ago, or gave no answer"
        yield f"  running  {visible(record.cluster)} does not report what it uses: {again}"
        return
    yield f"  running  {visible(now.words)}"
    if now.warning:
        yield "  " + out.style(f"         {now.warning}", "yellow bold")
    if now.problem:
        yield f"           {visible(now.problem)}"


def running_json(view: JobView, now: UsageNow) -> to.RunningJobJson:
    """Return a running job for `--json`."""
    record = view.record
    return {
        "id": record.label,
        "token": record.token,
        "action": visible(record.action),
        "cluster": visible(record.cluster),
        "measured_at": datetime.fromtimestamp(now.at, UTC).isoformat(timespec="seconds"),
        "wall_seconds": None if now.wall is None else round(now.wall, 2),
        "requested_wall_seconds": now.walltime,
        "cpu_seconds": None if now.cpu is None else round(now.cpu, 2),
        "cpus": now.cpus,
        "memory_kib": now.memory_kib,
        "requested_memory_kib": now.memory_limit_kib,
        "near_limits": list(now.near),
        "problem": visible(now.problem) or None,
    }
