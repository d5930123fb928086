"""What jobs cost in money and energy: by hand, and in sums that are those of the single jobs."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some
from rowtui.core.clusters.model import Cluster, EnergyFactors, Identify, NodeType
from rowtui.core.clusters.schedulers.measured import Used
from rowtui.core.submission.plan.outcome import read_old_end
from rowtui.core.usage.costs import JobCost, job_costs
from rowtui.core.usage.model import JobUsage, UsageKind
from rowtui.core.usage.store import UsageColumns, UsageStore
from rowtui.core.usage.table import total_row, usage_table

KIND = UsageKind("simulate", "alpha", "cpu", "jane", 1, 4, 0, 8192, 3600)
HALF = Used(1800.0, 3600.0)
NODE = NodeType("small", "cpu", 16, 65_536, price_per_hour=1.6)


def cluster(name: str = "alpha", currency: str = "EUR", *nodes: NodeType) -> Cluster:
    factors = EnergyFactors(10.0, 0.5, 300.0, 1.5, 400.0)
    return Cluster(
        name, Identify(), "slurm", node_types=nodes or (NODE,), currency=currency, energy=factors
    )


def job(number: int, kind: UsageKind = KIND, used: Used = HALF) -> JobUsage:
    return JobUsage(f"abc-{number}", kind, number, 1, read_old_end(0, "", 9000.0), 1000.0, used)


def stored(root: Path, *jobs: JobUsage) -> UsageColumns:
    store = UsageStore(root)
    store.append(jobs)
    return store.columns()


def cost(root: Path, it: JobUsage, *clusters: Cluster) -> JobCost:
    return job_costs(stored(root, it), {each.name: each for each in clusters}).of(0)


def test_a_job_is_charged_its_share_of_a_node_and_uses_its_cpu_time(tmp_path: Path) -> None:
    found = cost(tmp_path, job(1), cluster())
    # Half an hour of 4 of 16 CPUs that cost 1.60 an hour, in which one hour of one CPU worked.
    assert found.charged == pytest.approx(0.2)
    assert found.used == pytest.approx(0.1)
    assert found.currency == "EUR"


def test_energy_is_that_of_the_published_formula(tmp_path: Path) -> None:
    found = cost(tmp_path, job(1), cluster())
    watts = 4 * 10 * 0.5 + 8 * 0.5
    assert found.energy_kwh == pytest.approx(0.5 * watts * 1.5 / 1000)
    assert found.carbon_g == pytest.approx(0.5 * watts * 1.5 / 1000 * 400)


def test_cpus_that_were_not_measured_count_as_busy(tmp_path: Path) -> None:
    found = cost(tmp_path, job(1, used=Used(3600.0)), cluster())
    assert found.energy_kwh == pytest.approx((4 * 10 + 8 * 0.5) * 1.5 / 1000)
    assert found.used is None


def test_memory_counts_as_requested_else_as_measured_and_gpus_count(tmp_path: Path) -> None:
    kind = KIND._replace(memory_mb=None, gpus=2)
    found = cost(tmp_path, job(1, kind, Used(3600.0, 4 * 3600.0, 2 << 20)), cluster())
    assert found.energy_kwh == pytest.approx((4 * 10 + 2 * 0.5 + 2 * 300) * 1.5 / 1000)


def test_a_job_gets_whole_nodes_where_nodes_are_whole_but_not_in_a_bundle(tmp_path: Path) -> None:
    whole = cluster("alpha", "EUR", NODE._replace(whole_node=True))
    alone, large = job(1), job(2, KIND._replace(cpus=20))
    inside = job(3)._replace(token="abc-3~3")
    costs = job_costs(stored(tmp_path, alone, large, inside), {"alpha": whole})
    assert list(costs.charged) == pytest.approx([0.8, 1.6, 0.2])


def test_the_cheapest_node_type_that_holds_the_job_counts(tmp_path: Path) -> None:
    tiny = NodeType("tiny", "cpu", 2, 4096, price_per_hour=0.01)
    large = NodeType("large", "cpu", 64, 1 << 20, price_per_hour=100.0)
    other = NodeType("other", "debug", 64, 1 << 20, price_per_hour=0.01)
    found = cost(tmp_path, job(1), cluster("alpha", "EUR", tiny, NODE, large, other))
    assert found.charged == pytest.approx(0.2)


@pytest.mark.parametrize("known", [(), (Cluster("alpha", Identify(), "slurm"),)])
def test_without_configuration_nothing_is_known(tmp_path: Path, known: tuple[Cluster, ...]) -> None:
    assert cost(tmp_path, job(1), *known) == JobCost(None, None, None, None, None)


def test_a_job_without_a_time_costs_an_unknown_amount(tmp_path: Path) -> None:
    assert cost(tmp_path, job(1, used=Used()), cluster()) == JobCost(None, None, None, None, None)


def test_different_currencies_are_not_added(tmp_path: Path) -> None:
    columns = stored(tmp_path, job(1), job(2, KIND._replace(cluster="beta")))
    costs = job_costs(columns, {"alpha": cluster(), "beta": cluster("beta", "USD")})
    money = total_row(columns, costs).money
    assert [(it.currency, it.jobs) for it in money] == [("EUR", 1), ("USD", 1)]
    assert [it.charged for it in money] == pytest.approx([0.2, 0.2])
    rows = {row.name: row.money for row in usage_table(columns, "cluster", costs)}
    assert rows == {"alpha": money[:1], "beta": money[1:]}


walls = some.none() | some.floats(0, 1e6, width=32)


@given(
    some.lists(
        some.tuples(some.sampled_from("abc"), some.integers(1, 64), walls, walls),
        min_size=1, max_size=20,
    )
)  # fmt: skip
def test_sums_of_groups_are_those_of_the_jobs(
    tmp_path_factory: pytest.TempPathFactory,
    jobs: list[tuple[str, int, float | None, float | None]],
) -> None:
    root = tmp_path_factory.mktemp("project")
    columns = stored(root, *(
        job(number, KIND._replace(action=action, cpus=cpus), Used(wall, cpu))
        for number, (action, cpus, wall, cpu) in enumerate(jobs)
    ))  # fmt: skip
    costs = job_costs(columns, {"alpha": cluster()})
    each = [costs.of(at) for at in range(len(columns))]
    rows, total = usage_table(columns, "action", costs), total_row(columns, costs)
    assert sum(row.jobs for row in rows) == total.jobs == len(jobs)
    for single, row_sum, whole in (
        ([it.charged for it in each], [it.charged for row in rows for it in row.money],
         [it.charged for it in total.money]),
        ([it.energy_kwh for it in each], [row.energy_kwh for row in rows], [total.energy_kwh]),
    ):  # fmt: skip
        sums = [math.fsum(it for it in amounts if it) for amounts in (single, row_sum, whole)]
        assert sums[0] == pytest.approx(sums[1]) == pytest.approx(sums[2])
