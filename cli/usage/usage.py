"""`rowtui usage`: what jobs requested and used, by action, node, day and so on, or job by job."""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rowtui.cli.environment import run as run_async
from rowtui.cli.jobs.choice import known_clusters
from rowtui.cli.jobs.job_text import read_job_name
from rowtui.cli.output.output import Output, Row, TableCell, TextColumn, table_lines
from rowtui.cli.project.open import open_project
from rowtui.cli.usage.recommended import print_recommended, sizes_of, write_recommended
from rowtui.cli.usage.running import (
    clock,
    job_lines,
    kib,
    running_jobs,
    running_lines,
    step_lines,
)
from rowtui.cli.usage.usage_json import ShownUsage, usage_document, write_csv
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import carbon, count, energy, hours, money, plural, visible
from rowtui.core.clusters.schedulers.base import job_label
from rowtui.core.submission.plan.model import OPEN
from rowtui.core.usage.costs import UsageMoney
from rowtui.core.usage.model import JobUsage
from rowtui.core.usage.store import UsageColumns
from rowtui.core.usage.table import UsageRow, chosen_usage, total_row, usage_table

if TYPE_CHECKING:
    from rowtui.core.submission.plan.record import JobRecord

GPU_NOTE = "GPU-hours: charged. GPU: share of them in which GPUs worked, where it was measured."

_HEADINGS = (
    "Jobs", "Failed", "CPU-hours", "Used", "Memory", "Most", "Limit", "Time", "Longest", "Limit",
)  # fmt: skip

_LARGEST = 200  # jobs whose details are printed one after another


def usage(args: argparse.Namespace, out: Output) -> int:
    """Print a table, the named jobs, or recommendations; 1 if a named job is not known."""
    project = open_project(args, out)
    plain = not (args.jobs or args.csv or args.json or args.write or args.recommend or args.yes)
    if plain and not (args.resource or args.risk or project.usage.any_ended()):
        known_clusters(args, project, ())
        out.print("No job has ended yet.")
        return 0
    everything = run_async(project.usage.complete())
    if everything.damaged:
        out.warn(
            f"{plural(everything.damaged, 'record')} of what jobs used cannot be read; the others "
            "are shown"
        )
    clusters = known_clusters(args, project, everything.clusters())
    records = list(project.jobs.records()) if args.jobs else []
    asked = [_Asked.of(text, records) for text in args.jobs]
    columns = chosen_usage(
        everything,
        actions=[args.action] if args.action else (),
        clusters=clusters,
        since=args.since or 0.0,
        failed=args.failed,
        job_ids={name.id for it in args.jobs if (name := read_job_name(it)) is not None},
        tokens={token for each in asked for token in each.tokens},
    )
    if (args.resource or args.yes) and not args.write:
        option = "--resource" if args.resource else "--yes"
        raise RowtuiError(f"{option} belongs to --write", "add --write, or leave it out")
    if args.risk and not (args.recommend or args.write):
        raise RowtuiError("--risk belongs to --recommend", "add --recommend, or leave it out")
    if args.csv and args.by:
        raise RowtuiError("--csv has a row for each job", "leave --by out, or use --json")
    if args.write and (asked or args.csv):
        raise RowtuiError("--write is about all jobs of an action", "name an action with -a")
    costs = project.usage.costs(columns)
    if args.csv:
        write_csv(columns, costs, sys.stdout)
        return 0
    found = _named(columns, asked)
    jobs = [job for _, job in found]
    waiting = {
        it.token
        for it in records
        if it.step in OPEN and any(each.means(it.token, it.job_id) for each in asked)
    }
    steps = run_async(project.usage.steps(jobs)) if jobs else {}
    running = run_async(running_jobs(project, waiting)) if waiting else []
    older = 0 if asked else len(project.usage.unmeasured(everything))
    shown = ShownUsage(found, running, steps, older)
    lacking = False
    shown_jobs = [(job.token, job.job_id) for job in jobs]
    shown_jobs += [(view.token, view.job_id) for view, _ in running]
    for each in asked:
        if not any(each.means(*it) for it in shown_jobs):
            lacking = True
            text = visible(each.text)
            out.warn(f"job {text} does not run, or nothing is known of what it used")
    by = args.by or "action"
    known = project.usage.evidence(columns) if args.write or args.recommend else columns
    if args.write:
        code, written = write_recommended(args, project, known, out)
        if args.json:
            shown = shown._replace(written=written)
            out.json(usage_document(by, columns, costs, shown))
        return code
    sizes = sizes_of(project, known, args.risk) if args.recommend else []
    if args.json:
        shown = shown._replace(sizes=sizes)
        out.json(usage_document(by, columns, costs, shown))
    elif asked:
        texts: list[Iterator[str]] = [
            itertools.chain(job_lines(job, out), step_lines(steps.get(job.token, ()), out))
            for job in jobs
        ]
        texts += [running_lines(*each, out) for each in running]
        for number, lines in enumerate(texts):
            out.lines([""] * bool(number) + list(lines))
    elif args.recommend:
        print_recommended(sizes, known, out)
    elif not len(columns):
        nothing = "No job was measured." if older else "No job has ended yet."
        out.print("No job matches." if len(everything) else nothing)
    else:
        out.lines(_table(columns, by, out))
        out.lines(_cost_lines(total_row(columns, costs)))
    if older and not args.json:
        are = "1 older job is" if older == 1 else f"{count(older)} older jobs are"
        word = "it counts" if older == 1 else "they count"
        out.print(f"{are} without measurements; {word} in `rowtui report`.")
    return 1 if lacking else 0


def _cost_lines(total: UsageRow) -> Iterator[str]:
    """Yield money, and energy, if they are known."""
    for it in total.money:
        used = "" if it.used is None else f", of which the CPU and GPU time used {money_used(it)}"
        yield f"Money: charged {money(it.charged, it.currency)}{used}."
    if total.energy_kwh is not None and total.carbon_g is not None:
        yield f"Energy: about {energy(total.energy_kwh)}, {carbon(total.carbon_g)}."


def money_used(it: UsageMoney) -> str:
    """Return what the measured jobs used, and what they were charged if others are not measured."""
    if it.used is None:
        return "–"
    used = money(it.used, it.currency)
    if math.isclose(it.measured, it.charged):
        return used
    return f"{used} of the measured {money(it.measured, it.currency)}"


class _Asked(NamedTuple):
    """The jobs that a word of the user names: by id, or those of a directory by their tokens."""

    text: str
    tokens: frozenset[str] = frozenset()

    @classmethod
    def of(cls, text: str, records: Sequence[JobRecord]) -> _Asked:
        """Return what is named; a job's id comes before a directory's name. Raises: RowtuiError."""
        by_id = cls(text)
        if any(by_id.means(it.token, it.job_id) for it in records):
            return by_id
        its = frozenset(it.token for it in records if text.rstrip("/") in it.directories)
        if not its and read_job_name(text) is None:
            why = f"'{visible(text)}' is no job id, and no job ran on a directory with this name"
            raise RowtuiError(why, "write 12, 12_3, 12.3 or the name of a directory")
        return cls(text, its)

    def means(self, token: str, job_id: int) -> bool:
        """Whether this job is named; a bare id names a whole array or bundle."""
        is_it = bool(job_id) and self.text in (str(job_id), job_label(job_id, token))
        return is_it or token in self.tokens


def _named(columns: UsageColumns, asked: Sequence[_Asked]) -> list[tuple[int, JobUsage]]:
    """Return the named jobs with their places among all jobs."""
    if not asked:
        return []
    every = enumerate(columns.jobs())
    jobs = [(at, job) for at, job in every if any(it.means(job.token, job.job_id) for it in asked)]
    if len(jobs) > _LARGEST:
        raise RowtuiError(f"these are {count(len(jobs))} jobs", "name fewer, or use --csv")
    return jobs


def _table(columns: UsageColumns, by: str, out: Output) -> Iterator[str]:
    rows = usage_table(columns, by)
    gpus = has_gpus(rows)
    headings = [TextColumn(by.capitalize(), style="bold")]
    headings += [TextColumn(name, right=True) for name in row_headings(gpus=gpus)]
    shown: list[Row] = [_cells(row, gpus=gpus) for row in rows]
    if len(rows) > 1:
        shown += [None, _cells(total_row(columns), gpus=gpus)]
    yield from table_lines(headings, shown, out)
    yield ""
    yield "CPU-hours: charged, CPUs x time. Used: share of them in which CPUs worked."
    if gpus:
        yield GPU_NOTE
    yield "Memory and Time: the median job, the most of all jobs, and the most requested."


def _cells(row: UsageRow, *, gpus: bool) -> Row:
    jobs, failed, *rest = row_texts(row, gpus=gpus)
    style = "red bold" if row.failed else ""
    return [row.name, jobs, TableCell(failed, style), *rest]


def has_gpus(rows: Sequence[UsageRow]) -> bool:
    """Whether the use of GPUs was measured in one of these rows."""
    return any(row.gpu_share is not None for row in rows)


def row_headings(*, gpus: bool) -> tuple[str, ...]:
    """Return what stands above the numbers of `row_texts`."""
    return (*_HEADINGS[:4], *(("GPU-hours", "GPU") if gpus else ()), *_HEADINGS[4:])


def row_texts(row: UsageRow, *, gpus: bool) -> list[str]:
    """Return the numbers of a row: jobs, failed, CPU-hours, used; with `gpus` the same of GPUs;
    memory and time, each as median, most and requested.
    """
    of_gpus = [hours(row.charged_gpu_hours), _percent(row.gpu_share)]
    return [
        count(row.jobs),
        count(row.failed),
        hours(row.charged_cpu_hours),
        _percent(row.cpu_share),
        *(of_gpus if gpus else ()),
        kib(row.median_memory_kib),
        kib(row.most_memory_kib),
        kib(row.requested_memory_kib),
        clock(row.median_wall_seconds),
        clock(row.longest_wall_seconds),
        clock(row.requested_wall_seconds),
    ]


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"
