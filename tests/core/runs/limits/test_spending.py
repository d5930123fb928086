"""What is written down of a plan: the same amounts, however it is divided, in each currency."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.base.text import Cost
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.retry_policy import NO_RETRIES
from rowtui.core.runs.execution.permission import part_of
from rowtui.core.runs.execution.project_run import ProjectRun
from rowtui.core.runs.limits.limits import RunLimits, Spent, fits
from rowtui.core.runs.limits.spending import never_begun, submitted_events
from rowtui.core.runs.model import Event, NotSent, PlanSubmitted
from rowtui.core.runs.store import PROJECT_RUNS, RunStore
from rowtui.core.submission.plan.charges import Charge, bundle_prices, charges_of
from rowtui.core.submission.plan.model import (
    InBundle,
    JobStep,
    JournalEntry,
    Packed,
    Plan,
    PlannedDestination,
    PlannedJob,
)
from rowtui.core.submission.sending.journal import Journal
from rowtui.core.submission.sending.release_held import SendingProgress

from tests.core.runs.driving import standing_of

EUROPE, AMERICA, NOWHERE = (
    PlannedDestination(name, "cpu") for name in ("europe", "america", "nowhere")
)


def bundled(number: int, hours: int, where: PlannedDestination) -> PlannedJob:
    bundle = InBundle(f"b-{number}", "small", 1, None, 0, hours * 3600, False, 0, hours * 3600)
    return PlannedJob(
        f"t-{number}", "one-a", "one", 0, ("a",), where, "#!", "one-%j.out",
        1, 1, 0, None, hours * 3600, Cost(float(hours)), bundle=bundle,
    )  # fmt: skip


def plan(*jobs: PlannedJob) -> Plan:
    """One that was packed: an hour costs 1 EUR in Europe, and 2 USD in America."""
    packed = []
    for where, price, currency in ((EUROPE, 1.0, "EUR"), (AMERICA, 2.0, "USD")):
        hours = [job.walltime_seconds / 3600 for job in jobs if job.destination == where]
        cost = sum(hours) * price
        packed.append(Packed(where, "best", len(hours), len(hours), cost, cost, cost, currency))
    return Plan("p" * 64, "2026", "me", "x", "slurm", jobs, Cost(), packed=tuple(packed))


def spent_on(units: Sequence[Charge]) -> Spent:
    return standing_of(submitted_events("p", units)).spent()


def test_what_a_part_of_a_plan_costs_is_not_its_share_of_the_bundles() -> None:
    whole = plan(bundled(0, 10, EUROPE), bundled(1, 1, EUROPE))
    fit = fits(RunLimits(price=10.0, currency="EUR"), Spent(), whole, 0.0)
    part = part_of(whole, {job.token for job in fit.jobs})

    spent = spent_on(list(charges_of(part, bundle_prices(whole))))

    assert [job.token for job in part.jobs] == ["t-0"]
    assert spent.money == fit.spent.money == {"EUR": 10.0}


async def test_a_driver_charges_a_part_of_a_plan_what_it_costs_in_the_whole(tmp_path: Path) -> None:
    async def nothing() -> AsyncGenerator[SendingProgress, None]:
        for step in ():
            yield step

    (tmp_path / "workflow.toml").write_text("")
    (tmp_path / "workspace").mkdir()
    project = OpenProject.open(tmp_path)
    limits = RunLimits(price=10.0, currency="EUR")
    run = RunStore(tmp_path, PROJECT_RUNS).create(None, limits=limits)
    driver = ProjectRun(project, run, NO_RETRIES)
    permission = await driver.permitted(plan(bundled(0, 10, EUROPE), bundled(1, 1, EUROPE)))
    assert permission.part is not None

    await driver.submit(permission.part, permission.money, nothing())

    events = [it for it in run.events() if isinstance(it, PlanSubmitted)]
    assert [(it.jobs, it.money) for it in events] == [(("t-0",), 10.0)]


def test_each_currency_is_counted_by_itself() -> None:
    whole = plan(bundled(0, 1, EUROPE), bundled(1, 3, AMERICA), bundled(2, 5, NOWHERE))

    events = submitted_events(whole.id, charges_of(whole, bundle_prices(whole)))

    assert [(it.money, it.currency) for it in events] == [(1.0, "EUR"), (6.0, "USD")]
    assert [it.jobs for it in events] == [("t-0", "t-2"), ("t-1",)]
    assert standing_of(events).spent() == Spent(cpu_hours=9.0, money={"EUR": 1.0, "USD": 6.0})


@given(
    st.lists(
        st.tuples(st.integers(1, 20), st.sampled_from((EUROPE, AMERICA, NOWHERE)), st.booleans()),
        min_size=1,
        max_size=12,
    )
)
def test_what_was_not_sent_is_given_back_to_the_cent(
    jobs: list[tuple[int, PlannedDestination, bool]],
) -> None:
    whole = plan(
        *(
            bundled(at, hours, where)._replace(attempt=1 + hours % 2)
            for at, (hours, where, _) in enumerate(jobs)
        )
    )
    units = list(charges_of(whole, bundle_prices(whole)))
    free = [unit for unit, (_, _, sent) in zip(units, jobs, strict=True) if not sent]
    kept = [unit for unit, (_, _, sent) in zip(units, jobs, strict=True) if sent]

    written = [
        *submitted_events(whole.id, units),
        *(NotSent(*it) for it in submitted_events(whole.id, free)),
    ]

    found, wanted = standing_of(written).spent(), spent_on(kept)
    assert abs(found.cpu_hours - wanted.cpu_hours) < 1e-9
    assert found.retries == sum(unit.retries for unit in kept)
    for currency in ("EUR", "USD"):
        rest = found.money.get(currency, 0.0) - wanted.money.get(currency, 0.0)
        assert abs(rest) < 1e-9


def test_a_plan_whose_driver_was_cut_off_before_it_sent_anything_is_given_back(
    tmp_path: Path,
) -> None:
    journal = Journal(tmp_path)
    whole = plan(bundled(0, 10, EUROPE), bundled(1, 1, AMERICA))
    events: list[Event] = [*submitted_events(whole.id, charges_of(whole, bundle_prices(whole)))]

    back = never_begun(events, journal)
    spent = standing_of([*events, *back]).spent()
    assert (spent.cpu_hours, {*spent.money.values()}) == (0, {0})
    assert never_begun([*events, *back], journal) == []  # once

    # a job that was only planned was not sent, and is not if its driver is gone
    journal.append([JournalEntry("t-1", whole.id, JobStep.PLANNED, 1.0)])
    assert len(never_begun(events, journal)) == len(back)
    # but not if any job of it may have been sent
    journal.append([JournalEntry("t-1", whole.id, JobStep.SENDING, 2.0)])
    assert never_begun(events, journal) == []
