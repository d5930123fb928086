"""Tables of what jobs used against what they requested: by action, node, day and so on. Pure.

The input is `UsageColumns`; the result is one `UsageRow` for each group of jobs. What a job was
charged is its CPUs times its wall time, whether it used them or not; what it used is its CPU time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.core.base.lazy import np
from rowtui.core.submission.plan.outcome import JobOutcome
from rowtui.core.usage.costs import JobCosts, UsageMoney
from rowtui.core.usage.model import UsageKind
from rowtui.core.usage.requested import Requested, of_kind
from rowtui.core.usage.store import UsageColumns

if TYPE_CHECKING:
    from numpy.typing import NDArray


class UsageRow(NamedTuple):
    """Several jobs together. Seconds, CPU-hours and KiB; null: not known of any of them.

    Of `jobs`, `ended_well` did their work, `failed` did not, and the user cancelled `cancelled`;
    the rest never ran. `charged_cpu_hours`: CPUs times wall time; `used_cpu_hours`: CPU time of the
    jobs of which it is known, which were charged `measured_cpu_hours`; the same of GPUs.
    `requested_...`: the most that a job requested. `cpu_share`, `gpu_share`: used of measured
    hours; other `..._share`: the mean of used by requested. `energy_kwh` and `carbon_g` (CO2e) are
    estimated for `energy_jobs` jobs.
    """

    name: str
    jobs: int
    ended_well: int
    failed: int
    cancelled: int
    charged_cpu_hours: float
    charged_gpu_hours: float
    used_cpu_hours: float | None
    measured_cpu_hours: float
    used_gpu_hours: float | None
    measured_gpu_hours: float
    gpu_share: float | None
    cpu_share: float | None
    median_wall_seconds: float | None
    longest_wall_seconds: float | None
    requested_wall_seconds: float | None
    wall_share: float | None
    median_memory_kib: float | None
    most_memory_kib: float | None
    requested_memory_kib: float | None
    memory_share: float | None
    money: tuple[UsageMoney, ...] = ()
    energy_jobs: int = 0
    energy_kwh: float | None = None
    carbon_g: float | None = None

    @property
    def outcomes(self) -> str:
        """Return `3 completed, 1 failed`, and how many were cancelled or never ran, if any."""
        rest = self.jobs - self.ended_well - self.failed - self.cancelled
        counts = (self.cancelled, "cancelled"), (rest, "never ran")
        more = "".join(f", {number:,} {word}" for number, word in counts if number)
        return f"{self.ended_well:,} completed, {self.failed:,} failed{more}"


GROUPINGS = ("action", "cluster", "partition", "node", "user", "attempt", "day", "reason")
"""What `usage_table` can group jobs by."""


def usage_table(
    columns: UsageColumns, by: str = "action", costs: JobCosts | None = None
) -> list[UsageRow]:
    """Return a row for each group, the one with the most charged hours first; days in order.

    Without `costs`, the rows have no money, energy and emissions.
    """
    if not len(columns):
        return []
    names, groups = groups_of(columns, by)
    order = np.argsort(groups, kind="stable")
    bounds = np.flatnonzero(np.diff(groups[order], prepend=-1))
    jobs = _Jobs.of(columns, costs)
    rows = [jobs.row(names[int(groups[part[0]])], part) for part in np.split(order, bounds[1:])]
    if by in ("day", "attempt"):
        return sorted(rows, key=lambda row: row.name)
    return sorted(rows, key=lambda row: (-row.charged_cpu_hours, row.name))


def total_row(columns: UsageColumns, costs: JobCosts | None = None) -> UsageRow:
    """Return all jobs as one row."""
    return _Jobs.of(columns, costs).row("total", np.arange(len(columns)))


def chosen_usage(
    columns: UsageColumns,
    *,
    actions: Collection[str] = (),
    clusters: Collection[str] = (),
    since: float = 0.0,
    failed: bool = False,
    job_ids: Collection[int] = (),
    tokens: Collection[str] = (),
) -> UsageColumns:
    """Return the jobs that match all of these; an empty choice matches every job.

    `actions` are patterns such as `sim*`; `since`: ended at this time or later. `job_ids`,
    `tokens`: jobs that match one of them.
    """
    mask = np.ones(len(columns), bool)

    def matches(kind: UsageKind) -> bool:
        named = not actions or any(fnmatchcase(kind.action, one) for one in actions)
        return named and (not clusters or kind.cluster in clusters)

    if actions or clusters:
        mask &= of_kind(columns, matches).astype(bool)
    if since:
        mask &= columns.column("ended_at") >= since
    if job_ids or tokens:
        mask &= np.isin(columns.column("job_id"), list(job_ids)) | columns.of_tokens(tokens)
    if failed:
        mask &= has_failed(columns)
    return columns.chosen(mask)


def ended_well(columns: UsageColumns) -> NDArray[np.bool_]:
    """Return which jobs did their work."""
    return of_outcome(columns, lambda outcome: outcome.good)


def has_failed(columns: UsageColumns) -> NDArray[np.bool_]:
    """Return which jobs failed."""
    return of_outcome(columns, lambda outcome: outcome.failed)


def was_cancelled(columns: UsageColumns) -> NDArray[np.bool_]:
    """Return which jobs the user cancelled."""
    return of_outcome(columns, lambda outcome: outcome.by_hand)


def of_outcome(columns: UsageColumns, is_true: Callable[[JobOutcome], bool]) -> NDArray[np.bool_]:
    """Return for which jobs this is true of how they ended."""
    found: NDArray[np.bool_] = columns.by_line(
        "end", lambda line: is_true(columns.end(line).outcome)
    ).astype(bool)
    return found


def groups_of(columns: UsageColumns, by: str) -> tuple[list[str], NDArray[Any]]:
    """Return the names of the groups, and the group of each job."""
    if by == "day":
        ended = columns.column("ended_at").astype(np.int64)
        days = (ended + _offset(int(ended[-1]))) // 86_400
        first = int(days.min())
        return [
            datetime.fromtimestamp(day * 86_400, UTC).date().isoformat()
            for day in range(first, int(days.max()) + 1)
        ], days - first
    name = {"node": "node", "reason": "end"}.get(by, "kind")
    texts = {line: _text_of(columns, line, by) for line in columns.lines(name)}
    places = {text: place for place, text in enumerate(sorted(set(texts.values())))}
    groups = columns.by_line(name, lambda line: places[texts[line]])
    return list(places), groups.astype(np.int64)


def _text_of(columns: UsageColumns, line: int, by: str) -> str:
    if by == "node":
        return columns.word(line) or "unknown"
    if by == "reason":
        return columns.end(line).kind or "completed"
    kind = columns.kind(line)
    if by == "partition":
        return f"{kind.cluster}/{kind.partition}" if kind.partition else kind.cluster
    return str(getattr(kind, by)) or "unknown"


def _offset(at: int) -> int:
    """Return the seconds by which the local clock is ahead of UTC."""
    offset = datetime.fromtimestamp(at, UTC).astimezone().utcoffset()
    return 0 if offset is None else int(offset.total_seconds())


class _Jobs(NamedTuple):
    """What the rows of a table need of each job."""

    wanted: Requested
    wall: NDArray[Any]
    cpu: NDArray[Any]
    gpu: NDArray[Any]
    memory: NDArray[Any]
    well: NDArray[np.bool_]
    failed: NDArray[np.bool_]
    cancelled: NDArray[np.bool_]
    costs: JobCosts | None

    @classmethod
    def of(cls, columns: UsageColumns, costs: JobCosts | None) -> _Jobs:
        memory = columns.column("memory").astype(np.float64)
        memory[memory == 0] = np.nan
        times = ("wall", "cpu", "gpu")
        wall, cpu, gpu = (columns.column(name).astype(np.float64) for name in times)
        ends = ended_well(columns), has_failed(columns), was_cancelled(columns)
        return cls(Requested.of(columns), wall, cpu, gpu, memory, *ends, costs)

    def row(self, name: str, part: NDArray[np.intp]) -> UsageRow:
        """Return the row of these jobs."""
        wall, cpu, memory = self.wall[part], self.cpu[part], self.memory[part]
        charged = self.wanted.cpus[part] * wall / 3600
        known = ~np.isnan(cpu) & ~np.isnan(wall)
        gpu, charged_gpu = self.gpu[part], self.wanted.gpus[part] * wall / 3600
        known_gpu = ~np.isnan(gpu) & (charged_gpu > 0)
        used_cpu = float(cpu[known].sum() / 3600) if known.any() else None
        used_gpu = float(gpu[known_gpu].sum() / 3600) if known_gpu.any() else None
        measured, measured_gpu = float(charged[known].sum()), float(charged_gpu[known_gpu].sum())
        row = UsageRow(
            name,
            len(part),
            int(self.well[part].sum()),
            int(self.failed[part].sum()),
            int(self.cancelled[part].sum()),
            float(np.nansum(charged)),
            float(np.nansum(charged_gpu)),
            used_cpu,
            measured,
            used_gpu,
            measured_gpu,
            _share(used_gpu, measured_gpu),
            _share(used_cpu, measured),
            _of(wall, np.median),
            _of(wall, np.max),
            _of(self.wanted.walltime[part], np.max),
            _of(_by(wall, self.wanted.walltime[part]), np.mean),
            _of(memory, np.median),
            _of(memory, np.max),
            _of(self.wanted.memory[part], np.max),
            _of(_by(memory, self.wanted.memory[part]), np.mean),
        )
        if self.costs is None:
            return row
        energy_jobs, energy, carbon = self.costs.energy_of(part)
        return row._replace(
            money=self.costs.money_of(part),
            energy_jobs=energy_jobs,
            energy_kwh=energy,
            carbon_g=carbon,
        )


def _share(used: float | None, measured: float) -> float | None:
    return None if used is None or not measured else used / measured


def _by(used: NDArray[Any], requested: NDArray[Any]) -> NDArray[Any]:
    """Return used by requested amounts, NaN where nothing was requested."""
    unknown = np.full(len(used), np.nan)
    share: NDArray[Any] = np.divide(used, requested, out=unknown, where=requested > 0)
    return share


def _of(values: NDArray[Any], reduce: Callable[[Any], Any]) -> float | None:
    """Return a statistic of the known values; None if there are none."""
    known = values[np.isfinite(values)]
    return float(reduce(known)) if len(known) else None
