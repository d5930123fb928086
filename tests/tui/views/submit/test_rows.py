"""The rows of a plan: filtered and sorted as any list is, some at a time, bundles in one piece."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from rowtui.core.project.views.views import ListRequest
from rowtui.core.submission.plan.model import InBundle, Plan
from rowtui.tui.views.submit.plan import Became, Sending, SentOutcome
from rowtui.tui.views.submit.plan_rows import plan_rows, row_values
from rowtui.tui.views.submit.table import AT_ONCE, PlanRows
from rowtui.tui.widgets.table.engine_rows import MemoryRows

from tests.tui.sample import SampleEngine

NAMES = {name: name for name in ("number", "cpus", "first", "outcome", "cost", "warnings")}
Work = Callable[[], Coroutine[Any, Any, None]]


def plan_of(count: int) -> Plan:
    plan = asyncio.run(SampleEngine().plans_make(1, None, None))
    jobs = [
        plan.jobs[0]._replace(
            token=f"t{number}",
            directories=(f"d{number % 7}", f"only-{number}"),
            cpus=number % 5,
            warnings=("narrow",) if number % 3 == 0 else (),
        )
        for number in range(count)
    ]
    return plan._replace(jobs=tuple(jobs))


def arranged(sending: Sending, asked: ListRequest) -> PlanRows:
    """The rows, once all work for them is done."""
    todo: list[Work] = []
    rows = PlanRows(plan_rows(sending.plan), sending, todo.append, lambda: None)
    rows.arrange(asked, None, NAMES)
    for work in todo:
        asyncio.run(work())
    assert rows.settled
    return rows


SHORT, LONG = Sending(plan_of(23)), Sending(plan_of(2 * AT_ONCE + 1))


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([SHORT, LONG]),
    st.sampled_from(["", "d3", "cpus>2", "!narrow", "only-17", "first=d5 cpus<3", "nobody"]),
    st.sampled_from(["", "cpus", "first", "warnings", "number"]),
    st.booleans(),
)
def test_a_plan_of_any_length_is_arranged_as_any_list_in_memory(
    sending: Sending, text: str, sort: str, descending: bool
) -> None:
    asked = ListRequest(text, sort, descending)
    slow = MemoryRows(
        plan_rows(sending.plan),
        lambda row: row.key,
        lambda *_: {},
        lambda row: row_values(row, sending),
    )
    slow.arrange(asked, None, NAMES)

    rows = arranged(sending, asked)

    assert [row.key for row in rows.items] == [row.key for row in slow.items]
    for at in range(0, rows.row_count, 50):
        assert rows.index_of(rows.items[at].key) == at


def test_requests_stay_below_the_heading_of_their_bundle_whatever_the_order() -> None:
    plan = plan_of(6)
    bundle = InBundle("b", "large", 64, None, 0, 3600, False, 0, 60)
    jobs = [job._replace(bundle=bundle) if 1 <= at < 4 else job for at, job in enumerate(plan.jobs)]
    sending = Sending(plan._replace(jobs=tuple(jobs)))

    rows = arranged(sending, ListRequest("", "cpus", True))

    # the bundle asks for 64, its requests for 1, 2 and 3, the others for 0, 4 and 0
    assert [row.key for row in rows.items] == ["b", "t3", "t2", "t1", "t4", "t0", "t5"]
    one = arranged(sending, ListRequest("only-2", "", False))
    assert [row.key for row in one.items] == ["t2"]
    assert one.hidden_on == 5


def test_a_long_plan_follows_its_sending_without_looking_all_the_time() -> None:
    sending = Sending(plan_of(AT_ONCE + 50), phase="sending")
    todo: list[Work] = []
    arrivals: list[int] = []
    rows = PlanRows(
        plan_rows(sending.plan), sending, todo.append, lambda: arrivals.append(rows.row_count)
    )
    rows.arrange(ListRequest("outcome~^accepted", "", False), None, NAMES)
    rows.follow()  # nothing more is begun while it looks
    assert len(todo) == 1
    assert not rows.settled
    asyncio.run(todo.pop()())
    rows.follow()  # nothing became of any job
    assert arrivals == [0]
    assert not todo

    sending.note("t3", SentOutcome(Became.ACCEPTED, "job 1"))
    rows.follow()
    assert rows.row_count == 0  # what was there stays until the look is over
    asyncio.run(todo.pop()())
    assert arrivals == [0, 1]
    assert not todo

    # of two questions only the newer one counts
    rows.arrange(ListRequest("only-1", "", False), None, NAMES)
    rows.arrange(ListRequest("only-249", "", False), None, NAMES)
    for work in todo:
        asyncio.run(work())
    assert [row.key for row in rows.items] == ["t249"]
    assert arrivals == [0, 1, 1]
