"""The queue view over long queues: taking a look in, pages, filters, orders, bytes to the screen.

    python -m bench.queue_view [JOBS ...]

The jobs are those of a synthetic squeue, read by the real parser; an engine does all of this in a
process (or thread) of its own, so that these are not times of the screen. Milliseconds, the least
of some runs.
"""

from __future__ import annotations

import pickle
import sys
import time
from collections.abc import Callable, Sequence

from rowtui.core.base.text import Cost
from rowtui.core.clusters.schedulers.base import Job
from rowtui.core.clusters.schedulers.slurm.queue import QueueForm
from rowtui.core.project.queue.book import QueueBook
from rowtui.core.project.queue.views import MINE, QueueRequest
from rowtui.core.project.views.views import ClusterView, JobsView
from rowtui.core.submission.plan.model import PlannedDestination, PlannedJob
from rowtui.core.submission.plan.record import JobRecord

SIZES = (10_000, 100_000)
RUNS = 5
PAGE = 100
TASKS = 100  # of each array
FILTER = "priority !state=running"


def squeue(form: QueueForm, jobs: int) -> bytes:
    """What squeue would print: arrays of running and waiting tasks."""
    lines = []
    for number in range(jobs):
        array, task = divmod(number, TASKS)
        state, reason = ("RUNNING", "None") if number % 5 == 0 else ("PENDING", "Priority")
        fields = f"{10_000_000 + number}|{1_000_000 + array}|{task}|{state}|1:00|2:00:00|N/A|cpu||"
        token = f"rowtui:a{array}" if array % 2 else "(null)"
        lines.append(f"{form.mark}>{fields}{reason}{form.mark}|{token}{form.mark}|name{array}\n")
    return "".join(lines).encode()


def _planned(job: Job) -> PlannedJob:
    return PlannedJob(
        job.token, job.name, "sample", 0, (f"dir{job.id}-{job.task}",), PlannedDestination("c"),
        "", "log", 1, 1, 0, None, 7_200, Cost(2.0, 0.0),
    )  # fmt: skip


def look(jobs: int) -> JobsView:
    """Half of the jobs are the project's."""
    form = QueueForm.new()
    found = form.read(squeue(form, jobs)).jobs
    ours = tuple(
        JobRecord(
            job.token, "c", job.key, plan_id="plan", planned=_planned(job), submitted_at=1.0,
            queued=job, size=1,
        )
        for job in found
        if job.token
    )  # fmt: skip
    return JobsView(1, 100.0, ours, clusters=(ClusterView("c", "slurm", jobs=tuple(found)),))


def least(work: Callable[[], object], runs: int = RUNS) -> float:
    """Milliseconds."""
    times = []
    for _ in range(runs):
        began = time.perf_counter()
        work()
        times.append(1000 * (time.perf_counter() - began))
    return min(times)


def measure(jobs: int) -> list[tuple[str, str]]:
    """What and how long, as text."""
    view = look(jobs)
    mine = QueueRequest(whose=MINE)

    def fresh() -> QueueBook:
        book = QueueBook()
        book.take(view)
        book.page(mine, 0, PAGE)
        return book

    def first(asked: QueueRequest) -> float:
        """On a list that has not been asked for it."""
        books = [fresh() for _ in range(2)]
        return least(lambda: books.pop().page(asked, 0, PAGE), 2)

    def anew() -> None:
        book.take(view._replace(jobs=(*view.jobs[1:], view.jobs[0])))

    def middle() -> None:
        book.page(unfolded, jobs // 2, PAGE)

    book = fresh()
    unfolded = mine._replace(folding=False)
    book.page(unfolded, 0, PAGE)
    page = book.page(unfolded, jobs // 2, PAGE)
    copy = book.take(view)
    return [
        ("a look, all of it new", f"{least(anew, 3):.1f}"),
        ("a look, nothing new", f"{least(lambda: book.take(view)):.2f}"),
        ("page, folded", f"{least(lambda: book.page(mine, 0, PAGE)):.2f}"),
        ("page, unfolded, in the middle", f"{least(middle):.2f}"),
        ("another order, its first page", f"{first(mine._replace(sort='elapsed')):.1f}"),
        ("a filter, its first page", f"{first(mine._replace(text=FILTER)):.1f}"),
        ("bytes of a page", f"{len(pickle.dumps(page)):,}"),
        ("bytes of the copy for the screen", f"{len(pickle.dumps(copy)):,}"),
        ("bytes of all jobs, for comparison", f"{len(pickle.dumps(view)):,}"),
    ]


def main(arguments: Sequence[str]) -> int:
    """Print a table."""
    sizes = [int(text) for text in arguments] or list(SIZES)
    results = [measure(size) for size in sizes]
    print("| ms | " + " | ".join(f"{size:,} jobs" for size in sizes) + " |")
    print("|---|" + "---|" * len(sizes))
    for rows in zip(*results, strict=True):
        print(f"| {rows[0][0]} | " + " | ".join(value for _, value in rows) + " |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
