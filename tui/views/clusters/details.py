"""The view Clusters as cells and lines: one row for each cluster, and the details of one."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from rowtui.core.base.errors import Problem
from rowtui.core.base.text import plural
from rowtui.core.clusters.model import NodeType, Partition, PartitionLoad
from rowtui.core.clusters.polling.policy import LOAD_SHARE, PollPace
from rowtui.core.project.context.clusters import ClusterDetail, ClusterNodes
from rowtui.core.project.views.views import ClusterView
from rowtui.tui.views.clusters.texts import cluster_mark
from rowtui.tui.widgets.cells import Cell, Line, Number, cut, fit, line, plain, width_of, wrapped
from rowtui.tui.widgets.columns import TableColumn
from rowtui.tui.widgets.short_text import AWAY, Mark, age, ago, limit

LABEL = 12
"""The number of columns of the labels on the left of the details."""


def cluster_columns() -> tuple[TableColumn, ...]:
    """Return the columns; the columns with the highest priority numbers are dropped first."""
    return (
        TableColumn("name", "Cluster", 6, 16, grow=1),
        TableColumn("state", "State", 15),
        TableColumn("running", "Running", 4, 7, "right", 1, short="Run"),
        TableColumn("waiting", "Pending", 4, 7, "right", 2, short="Pend"),
        TableColumn("seen", "Asked", 8, 9, "right", 3),
        TableColumn("next", "Next", 6, 8, "right", 5),
        TableColumn("took", "Answer", 6, 7, "right", 6),
        TableColumn("pace", "Polled", 12, 13, priority=7),
        TableColumn("scheduler", "Scheduler", 9, 11, priority=8),
        TableColumn("where", "Where", 8, 28, priority=4, grow=2),
    )


def mark_of(cluster: ClusterDetail, connecting: Collection[str] = ()) -> Mark:
    """Return the mark for the connection to a cluster."""
    if cluster.away:
        return AWAY
    view = ClusterView(
        cluster.name, cluster.scheduler, connected=cluster.connected, login=cluster.login,
        error=cluster.error, slow=cluster.pace is PollPace.SLOWED,
    )  # fmt: skip
    return cluster_mark(view, connecting)


def cluster_cells(
    cluster: ClusterDetail, now: float, connecting: Collection[str] = ()
) -> Mapping[str, Cell]:
    """Return the cells of one row."""
    name = "title" if cluster.chosen else "dim" if cluster.away else ""
    pace = "warning" if cluster.pace in (PollPace.SLOWED, PollPace.BACKING_OFF) else "dim"
    known = cluster.looked_at
    return {
        "name": line((cluster.name, name)),
        "state": mark_of(cluster, connecting).spans,
        "running": Number(cluster.running, "submitted" if cluster.running else "dim")
        if known
        else line(("–", "dim")),
        "waiting": Number(cluster.waiting, "" if cluster.waiting else "dim")
        if known
        else line(("–", "dim")),
        "seen": line((ago(cluster.as_of, now), "dim")),
        "next": line((_to_come(cluster, now), "dim")),
        "took": line((_took(cluster), "dim")),
        "pace": line((_pace(cluster) if known else "", pace)),
        "scheduler": line((cluster.scheduler, "dim")),
        "where": line((cluster.where or "elsewhere", "dim")),
    }


def _pace(cluster: ClusterDetail) -> str:
    """Return how often the queue is polled: `every 15 s`, `when needed`, `3 failures`."""
    if cluster.pace is PollPace.AT_WILL:
        return "when needed"
    if cluster.pace is PollPace.BACKING_OFF:
        return plural(cluster.failures, "failure")
    slowed = LOAD_SHARE * cluster.latency if cluster.pace is PollPace.SLOWED else 0.0
    return f"every {limit(round(max(cluster.interval, slowed)))}"


def detail_lines(
    cluster: ClusterDetail,
    now: float,
    width: int,
    *,
    connecting: Collection[str] = (),
    nodes: ClusterNodes | None = None,
    refused: str = "",
    asking: bool = False,
) -> list[Line]:
    """Return all details of one cluster, for a width."""
    mark = mark_of(cluster, connecting)
    lines = [
        *_entry("state", [mark.spans, *_state_words(cluster)], width),
        *_entry("described", [line((place, "")) for place in cluster.places], width),
    ]
    if cluster.chosen:
        lines += _entry("jobs go here", [line((cluster.chosen, ""))], width)
    if not cluster.away:
        lines += _entry("its queue", _looks(cluster, now), width)
    # The answer to the latest request comes first.
    lines += _asked_nodes(nodes, now, width, refused, asking)
    lines += [(), *_partitions(cluster, width), (), *_node_types(cluster, width)]
    return [cut(one, width) for one in lines]


def problem_lines(problems: Sequence[Problem], width: int) -> list[Line]:
    """Return the errors in the files: a cluster with an error is in no list."""
    found = []
    for one in problems:
        style = "failed" if one.severity == "error" else "warning"
        found += wrapped(line(("▲ " if style == "warning" else "✗ ", style), str(one)), width, 2)
    return found


def _state_words(cluster: ClusterDetail) -> list[Line]:
    if cluster.away:
        return [line((cluster.away, ""))]
    words = []
    if cluster.where != "here":
        by = f" by {cluster.transport}" if cluster.transport else ""
        words.append(line((f"{cluster.where}{by}", "")))
    if cluster.login:
        words.append(line((cluster.login, "warning")))
    if cluster.error and cluster.error != cluster.login:
        words.append(line((cluster.error, "warning")))
    if cluster.connected is False:
        by_hand = cluster.login_command
        tail = f" or type {by_hand}" if by_hand else ""
        words.append(line(("L", "key"), (f" logs in{tail}", "dim")))
    return words


def _looks(cluster: ClusterDetail, now: float) -> list[Line]:
    if not cluster.looked_at:
        return [line(("not asked yet", "dim"))]
    jobs = f"{cluster.running:,} running, {cluster.waiting:,} pending"
    if cluster.as_of is not None:
        jobs += f" · as of {ago(cluster.as_of, now)}"
    left = cluster.next_at - now
    soon = (f"in {age(left)}" if left >= 5 else "now") if cluster.next_at else ""
    if cluster.pace is PollPace.BACKING_OFF:
        polled = f"next try {soon}, after {plural(cluster.failures, 'failure')}"
    else:
        polled = f"polled {_pace(cluster)}"
        if cluster.pace is PollPace.SLOWED:
            polled += f" instead of {limit(cluster.interval)}: its answers take {_took(cluster)}"
        elif cluster.latency:
            polled += f", its answer took {_took(cluster)}"
        polled += f"; next {soon}" if soon else ""
    return [line(jobs), line(polled)]


def _partitions(cluster: ClusterDetail, width: int) -> list[Line]:
    loads = {load.partition: load for load in cluster.load}
    rows = [
        (
            line((one.name, "title")),
            *_load(loads.get(one.name)),
            line((", ".join(limits(one)), "dim")),
        )
        for one in cluster.partitions
    ]
    heads = ("Partition", "Idle nodes", "Idle CPUs", "Run / wait", "Wait", "Limits")
    if not any(loads.get(one.name) for one in cluster.partitions):
        rows = [(row[0], row[-1]) for row in rows]
        heads = (heads[0], heads[-1])  # type: ignore[assignment]
    return _table("Partitions", cluster.partitions_note, heads, rows, width)


def _node_types(cluster: ClusterDetail, width: int) -> list[Line]:
    rows = [_kind_row(kind, cluster.currency) for kind in cluster.kinds]
    note = cluster.kinds_note
    return _table("Node types", note, KIND_HEADS, rows, width)


_NUMBER = re.compile(r"–|[\d.,]+( (of|/) [\d.,]+)?( \w+)?")
"""A cell of a column of numbers, with its unit."""

KIND_HEADS = ("Type", "Partition", "CPUs", "Memory", "GPUs", "Price / h", "Nodes", "Longest job")


def _kind_row(kind: NodeType, currency: str, count: str = "") -> tuple[Line, ...]:
    memory = "–" if kind.memory_mb is None else f"{kind.memory_mb / 1024:,.0f} GB"
    price = kind.price_per_hour
    priced = "–" if price is None else f"{price:,.2f} {currency}".rstrip()
    many = count or ("–" if kind.at_most is None else f"{kind.at_most:,}")
    longest = "–" if kind.longest_seconds is None else limit(kind.longest_seconds)
    whole = " whole" if kind.whole_node else ""
    texts = (
        kind.partition or "any", f"{kind.cpus:,}{whole}", memory,
        f"{kind.gpus:,}" if kind.gpus else "–", priced, many, longest,
    )  # fmt: skip
    return (line((kind.name, "title")), *(line(text) for text in texts))


def _asked_nodes(
    nodes: ClusterNodes | None, now: float, width: int, refused: str, asking: bool
) -> list[Line]:
    if asking:
        return [(), line(("asking the cluster for its nodes…", "dim"))]
    if refused:
        return [(), *wrapped(line(("▲ ", "warning"), refused), width, 2)]
    if nodes is None:
        return []
    rows = []
    for one in nodes.kinds:
        many = f"{one.nodes:,}"
        many += f", {one.down:,} down" if one.down else ""
        many += f", {one.asleep:,} asleep" if one.asleep else ""
        rows.append(_kind_row(one.kind, "", many))
    note = f"as reported {ago(nodes.at, now)}"
    lines = [(), *_table("Nodes now", note, KIND_HEADS, rows, width)]
    return lines + [found for text in nodes.notices for found in wrapped(line(text), width, 2)]


def limits(partition: Partition) -> list[str]:
    """Return the limits of a partition for a job, in words."""
    parts = []
    if partition.maximum_cpus_per_job is not None:
        parts.append(f"at most {plural(partition.maximum_cpus_per_job, 'CPU')}")
    if partition.require_cpus_multiple_of:
        parts.append(f"CPUs in {partition.require_cpus_multiple_of}s")
    if partition.minimum_gpus_per_job:
        parts.append(f"at least {plural(partition.minimum_gpus_per_job, 'GPU')}")
    if partition.maximum_gpus_per_job == 0:
        parts.append("no GPUs")
    elif partition.maximum_gpus_per_job is not None:
        parts.append(f"at most {plural(partition.maximum_gpus_per_job, 'GPU')}")
    if partition.require_gpus_multiple_of:
        parts.append(f"GPUs in {partition.require_gpus_multiple_of}s")
    for amount, written, of in (
        (partition.memory_per_cpu_mb, partition.memory_per_cpu, "CPU"),
        (partition.memory_per_gpu_mb, partition.memory_per_gpu, "GPU"),
    ):
        if amount is not None or written:
            parts.append(f"{written or f'{amount:,} MB'} a {of}")
    if partition.cpus_per_node:
        parts.append(f"{plural(partition.cpus_per_node, 'CPU')} a node")
    if partition.gpus_per_node:
        parts.append(f"{plural(partition.gpus_per_node, 'GPU')} a node")
    if partition.maximum_walltime_seconds is not None:
        parts.append(f"{limit(partition.maximum_walltime_seconds)} at most")
    if partition.account_suffix:
        parts.append(f"account ends with {partition.account_suffix}")
    if partition.prevent_auto_select:
        parts.append("only by name")
    return parts or ["none"]


def _table(
    title: str, note: str, heads: Sequence[str], rows: Sequence[Sequence[Line]], width: int
) -> list[Line]:
    """Return a heading, and the rows in columns as wide as their texts; the last column is cut.

    Columns of numbers are at the right; a column in which nothing is known is left out.
    """
    head = cut(line((title, "heading"), (f"  {note}" if note else "", "dim")), width)
    if not rows:
        return [head] if note else [cut(line((title, "heading"), ("  none", "dim")), width)]
    texts = [[plain(row[at]) for row in rows] for at in range(len(heads))]
    shown = [at for at, column in enumerate(texts) if set(column) != {"–"}]
    every = [tuple(line((text, "dim")) for text in heads), *rows]
    found = [head]
    for row in every:
        cells: list[Line] = []
        for at in shown:
            size = max(width_of(one[at]) for one in every)
            right = all(_NUMBER.fullmatch(text) for text in texts[at])
            cells += [line("  "), line(" " * (size - width_of(row[at]))) * right, row[at]]
            cells += [line(" " * (size - width_of(row[at])))] * (not right and at != shown[-1])
        found.append(cut(_joined(cells), width))
    return found


def _joined(lines: Iterable[Line]) -> Line:
    return tuple(span for one in lines for span in one)


def _entry(label: str, texts: Sequence[Line], width: int) -> list[Line]:
    """Return a label on the left, and lines beside it."""
    found: list[Line] = []
    for text in texts:
        for part in wrapped(text, width - LABEL - 2):
            start = label if not found else ""
            whole = (*fit(line((start, "dim")), LABEL), *line("  "), *part)
            found.append(cut(whole, width))
    return found


def _to_come(cluster: ClusterDetail, now: float) -> str:
    if not cluster.next_at:
        return "–"
    left = cluster.next_at - now
    return age(left) if left >= 5 else "now"


def _took(cluster: ClusterDetail) -> str:
    if not cluster.latency:
        return "–"
    return f"{cluster.latency:.1f} s" if cluster.latency >= 0.05 else "<0.1 s"


def _load(load: PartitionLoad | None) -> list[Line]:
    """Return the cells between the name of a partition and its limits."""
    if load is None:
        return [line("–")] * 4
    return [
        line(f"{load.free_nodes:,} of {load.nodes:,}"),
        line(f"{load.free_cores:,} of {load.cores:,}"),
        line(f"{load.running:,} / {load.pending:,}"),
        line("–" if load.expected_wait is None else age(load.expected_wait)),
    ]
