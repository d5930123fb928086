"""Which jobs of a plan are on, and what that comes to, without a terminal."""

from __future__ import annotations

from rowtui.tui.views.submit.plan import Sending, cost_and_checks
from rowtui.tui.views.submit.plan_choice import PlanChoice
from rowtui.tui.widgets.cells import plain

from tests.tui.sample import SampleEngine


async def test_the_clusters_named_are_those_to_which_jobs_go_and_not_where_one_is() -> None:
    plan = await SampleEngine().plans_make(1, [0, 1, 2], None)
    jobs = [
        job._replace(destination=job.destination._replace(cluster=name))
        for job, name in zip(plan.jobs, ("delta", "delta", "gl\x1b"), strict=True)
    ]
    plan = plan._replace(cluster="anvil", jobs=tuple(jobs))
    chosen = PlanChoice(plan)
    assert chosen.where == "delta and gl\\x1b"
    chosen.switch([jobs[2].token])
    assert chosen.where == "delta"
    chosen.switch_all()
    assert chosen.where == "delta and gl\\x1b"
    chosen.switch_all()
    assert chosen.requests == 0
    said = [plain(one) for one in cost_and_checks(Sending(plan), None)]
    assert said[0] == "192 CPU-hours at most, to delta and gl\\x1b"
