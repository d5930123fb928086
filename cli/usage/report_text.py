"""The report as sentences and tables, which its HTML and its Markdown share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from rowtui.cli.usage.usage import GPU_NOTE, has_gpus, money_used, row_headings, row_texts
from rowtui.core.base.text import Cost, carbon, count, energy, full_cost, money, plural, visible
from rowtui.core.clusters.model import EnergyFactors
from rowtui.core.clusters.schedulers.base import NO_ID, job_label
from rowtui.core.usage.report import UsageReport
from rowtui.core.usage.table import UsageRow
from rowtui.core.workflow.duration import format_duration

SETUP = (
    "Energy and CO2e are not estimated: add [cluster.energy] to ~/.config/rowtui/clusters.toml "
    "(docs/usage.md)."
)
METHOD = (
    "Energy: time x (CPUs x power x measured use + requested memory x power + GPUs x power) x PUE; "
    "use that was not measured counts as 100%. Method: Green Algorithms, Lannelongue et al. 2021, "
    "doi:10.1002/advs.202100707."
)
_ROWS_NOTE = (
    "CPU-hours: charged. Used: share of them in which CPUs worked. Memory and Time: the median "
    "job, the most of all jobs, and the most requested."
)
_MONEY_NOTE = (
    "Charged: the price of each job's share of its node, for the time that the job took. Used: the "
    "price of the CPU time (of jobs with GPUs: GPU time) alone."
)


class RunSummary(NamedTuple):
    """One run of the project's network. `nodes`: a row of texts for each node."""

    sentence: str
    nodes: tuple[tuple[str, ...], ...]


class ReportSource(NamedTuple):
    """All that a report shows. `logs`: paths by token of failed jobs; `energy`: by cluster.

    `head`: when, by whom and from where the report was written. `chosen`: the conditions of the
    jobs; none for all jobs of the project.
    """

    name: str
    head: tuple[tuple[str, str], ...]
    chosen: tuple[str, ...]
    found: UsageReport
    logs: Mapping[str, str]
    energy: Mapping[str, EnergyFactors]
    run: RunSummary | None = None


class ReportTable(NamedTuple):
    """A table. The first `texts` columns are text, the others are numbers. `note`: below it."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    texts: int = 1


def sentences(source: ReportSource) -> Iterator[str]:
    """Yield the summary."""
    found = source.found
    total = found.total
    if source.chosen:
        yield f"Only a part of the project's jobs is shown: {', '.join(source.chosen)}."
    if total is None:
        yield "No such job has ended yet." if source.chosen else "No job has ended yet."
    else:
        charged = Cost(total.charged_cpu_hours, total.charged_gpu_hours)
        yield (
            f"{plural(total.jobs, 'job')} ended between {when(found.first)} and "
            f"{when(found.last)}: {total.outcomes}."
        )
        yield (
            f"They were charged {full_cost(charged)} "
            "(requested CPUs and GPUs times the time taken)."
        )
        if total.used_cpu_hours is not None and total.cpu_share is not None:
            yield (
                f"The CPUs worked in {total.cpu_share:.0%} of the measured time: "
                f"{total.used_cpu_hours:,.2f} CPU-hours."
            )
        yield from _cost_sentences(total)
        if found.unmeasured:
            yield f"Of {plural(found.unmeasured, 'job')} no time is known."
    if source.run is not None:
        yield source.run.sentence


def _cost_sentences(cost: UsageRow) -> Iterator[str]:
    for it in cost.money:
        some = "" if it.jobs == cost.jobs else f" for {plural(it.jobs, 'job')}"
        used = "" if it.used is None else f"; their CPU and GPU time used {money_used(it)}"
        yield f"In money they were charged {money(it.charged, it.currency)}{some}{used}."
    if cost.energy_kwh is None or cost.carbon_g is None:
        yield SETUP
    else:
        some = "" if cost.energy_jobs == cost.jobs else f" ({plural(cost.energy_jobs, 'job')})"
        yield f"They took about {energy(cost.energy_kwh)} of energy, {carbon(cost.carbon_g)}{some}."


def tables(source: ReportSource) -> Iterator[ReportTable]:
    """Yield the tables that have rows."""
    for table in _every_table(source):
        if table.rows:
            yield table


def _every_table(source: ReportSource) -> Iterator[ReportTable]:
    found = source.found
    actions = [*found.actions, *([] if found.total is None else [found.total])]
    yield _usage_table("Requested and used", "Action", actions, _ROWS_NOTE)
    yield ReportTable(
        "Used, as shares of the request",
        ("Action", "Of", "Jobs", "Least", "Quarter", "Median", "3 quarters", "Most", "Over 100%"),
        [
            [
                visible(it.action), it.resource, count(it.jobs),
                *(f"{share:.0%}" for share in (it.least, it.lower, it.median, it.upper, it.most)),
                count(it.over),
            ]
            for it in found.shares
        ],
        "A quarter of the jobs used at most the share below Quarter, half of them at most the "
        "median, three quarters at most the next. Over 100%: jobs that used more than requested.",
        texts=2,
    )  # fmt: skip
    yield from _cost_tables(source)
    if source.run is not None:
        states = ("Node", "Samples", "Completed", "Failed", "Cancelled", "Open", "Retried")
        yield ReportTable("Network run", states, source.run.nodes)
    yield _usage_table("Failures by cause", "Cause", found.reasons)
    newest = [
        [
            visible(cause.reason),
            visible(job_label(job.job_id, job.token) or NO_ID),
            visible(job.kind.action),
            visible(job.used.node) or "–",
            when(job.ended_at),
            visible(source.logs.get(job.token, "")) or "–",
        ]
        for cause in found.failures
        for job in cause.newest
    ]
    headings = ("Cause", "Job", "Action", "Node", "Ended", "Log")
    yield ReportTable("Newest failures of each cause", headings, newest, texts=6)
    yield _usage_table("By day", "Day", found.days)
    waits = [
        [
            visible(it.partition),
            count(it.jobs),
            format_duration(it.median),
            format_duration(it.most),
        ]
        for it in found.waits
    ]
    yield ReportTable("Time in the queue", ("Partition", "Jobs", "Median", "Longest"), waits)
    yield _usage_table("Nodes, those with most failures first", "Node", found.nodes)


def _usage_table(title: str, name: str, rows: Sequence[UsageRow], note: str = "") -> ReportTable:
    gpus = has_gpus(rows)
    cells = [[visible(row.name), *row_texts(row, gpus=gpus)] for row in rows]
    note = f"{note} {GPU_NOTE}" if gpus and note else note
    return ReportTable(title, (name, *row_headings(gpus=gpus)), cells, note)


def _cost_tables(source: ReportSource) -> Iterator[ReportTable]:
    found, total = source.found, source.found.total
    if total is None:
        return
    has_energy = total.energy_kwh is not None
    headings = ["Jobs"]
    notes = []
    if total.money:
        headings += ["Charged", "Used"]
        notes.append(_MONEY_NOTE)
    if has_energy:
        headings += ["Energy", "CO2e"]
        notes.append(METHOD)
        notes += (_factors(name, it) for name, it in source.energy.items())
    if len(headings) == 1:
        return

    def row(it: UsageRow) -> list[str]:
        cells = [visible(it.name), count(it.jobs)]
        if total.money:
            cells.append(" and ".join(money(each.charged, each.currency) for each in it.money))
            cells.append(" and ".join(money_used(each) for each in it.money))
        if has_energy:
            cells.append("" if it.energy_kwh is None else energy(it.energy_kwh))
            cells.append("" if it.carbon_g is None else carbon(it.carbon_g).removesuffix(" CO2e"))
        return [cell or "–" for cell in cells]

    rows = [row(it) for it in (*sorted(found.actions), total)]
    yield ReportTable("Costs by action", ("Action", *headings), rows, " ".join(notes))
    clusters = [row(it) for it in (*sorted(found.clusters), total)]
    yield ReportTable("Costs by cluster", ("Cluster", *headings), clusters)


def _factors(cluster: str, it: EnergyFactors) -> str:
    source = f", from {it.source}" if it.source else ""
    return (
        f"{visible(cluster)}: {it.core_watts:g} W for a CPU, {it.memory_watts_per_gb:g} W for a "
        f"GB, {it.gpu_watts:g} W for a GPU, PUE {it.pue:g}, {it.carbon_g_per_kwh:g} g of CO2e for "
        f"a kWh{source}."
    )


def markdown(source: ReportSource) -> Iterator[str]:
    """Yield the lines of the report for a mail."""
    yield f"# {_plain(source.name)}"
    yield ""
    for name, text in source.head:
        yield f"- {name}: {text}"
    yield ""
    yield from sentences(source)
    for table in tables(source):
        yield ""
        yield f"## {table.title}"
        yield ""
        yield f"| {' | '.join(table.headings)} |"
        aligned = ["---"] * table.texts + ["---:"] * (len(table.headings) - table.texts)
        yield f"|{'|'.join(aligned)}|"
        for row in table.rows:
            yield f"| {' | '.join(_plain(cell) for cell in row)} |"
        if table.note:
            yield ""
            yield table.note


def _plain(text: str) -> str:
    return text.replace("|", "\\|")


def when(at: float) -> str:
    """Return a local time to the minute."""
    return datetime.fromtimestamp(at, UTC).astimezone().strftime("%Y-%m-%d %H:%M")
