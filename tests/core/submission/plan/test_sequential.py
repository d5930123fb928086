"""Lists of jobs run one after another in one scheduler job, and chains in them keep their order."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rowtui.core.clusters.schedulers.local.scheduler import LocalScheduler
from rowtui.core.clusters.schedulers.slurm.scheduler import SlurmScheduler
from rowtui.core.runs.execution.lists import one_after_another
from rowtui.core.submission.bundles.bundles import SCRIPT_MB, START_SECONDS, STEP_SECONDS, WATCH_MB
from rowtui.core.submission.plan.arrays import units_of
from rowtui.core.submission.plan.dependencies import UPSTREAM_FAILED
from rowtui.core.submission.plan.json import plan_from_json, plan_id, plan_to_json
from rowtui.core.submission.plan.model import Plan, PlannedDestination, PlannedJob

from tests.core.submission.plan.test_dependencies import ALPHA, NAMES, Chain, everything
from tests.eventually import eventually
from tests.rig.slurm import SlurmCluster


@pytest.fixture
def here(tmp_path: Path, scheduler: LocalScheduler) -> Chain:
    return Chain(tmp_path / "project", NAMES, scheduler)


@pytest.fixture
def chain(slurm: SlurmCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Chain:
    monkeypatch.setenv("SLURM_CONF", str(slurm.conf))
    return Chain(tmp_path / "pro ject", NAMES, SlurmScheduler("alpha"), ALPHA)


def sized(jobs: tuple[PlannedJob, ...]) -> list[PlannedJob]:
    return [
        job._replace(cpus=at % 3 + 1, memory_mb=100 * at, gpus=at % 2, walltime_seconds=60 * at)
        for at, job in enumerate(jobs)
    ]


# -- what is planned -------------------------------------------------------------------------------


def test_a_list_asks_for_the_most_of_each_and_for_the_time_of_all(here: Chain) -> None:
    jobs = sized(here.chain().jobs)
    made = one_after_another(jobs, [jobs[1:5]])
    place = made.jobs[1].bundle
    assert place is not None
    assert (place.cpus, place.gpus, place.whole_node, place.node_type) == (3, 1, False, "")
    assert place.memory_mb == 400 + SCRIPT_MB + WATCH_MB
    assert place.seconds == 60 * (1 + 2 + 3 + 4) + START_SECONDS + 4 * STEP_SECONDS
    assert {job.bundle and job.bundle.lane for job in made.jobs[1:5]} == {0}
    assert [job.action for job in made.jobs[1:5]] == ["one", "one", "two", "two"]
    assert (made.jobs[0].bundle, made.jobs[5].bundle, made.warnings) == (None, None, ())


def test_jobs_stand_after_those_that_they_depend_on(here: Chain) -> None:
    jobs = here.chain().jobs
    # The second of "a" is put before its first, and a list before the one that it waits for.
    made = one_after_another(jobs, [[jobs[3], jobs[0]], [jobs[5], jobs[4]], [jobs[1], jobs[2]]])
    names = [(job.action, job.directories[0]) for job in made.jobs]
    for name in here.state.directories.names():
        assert names.index(("one", name)) < names.index(("two", name))
    seen: set[str] = set()
    for job in made.jobs:
        assert set(job.depends_on) <= seen
        seen.add(job.token)
    first = made.jobs[0]
    assert made.jobs[1].depends_on == (first.token,)
    assert made.jobs[1].token.startswith(first.token.rpartition("~")[0])


def test_lists_that_would_wait_for_each_other_are_taken_apart(here: Chain) -> None:
    jobs = here.chain().jobs
    made = one_after_another(jobs, [[jobs[0], jobs[4]], [jobs[1], jobs[3]]])
    assert sum(job.bundle is not None for job in made.jobs) == 2
    assert made.warnings == (
        "sequential: 2 jobs go alone: lists of jobs would wait for each other",
    )


def test_what_goes_elsewhere_goes_alone(here: Chain) -> None:
    jobs = list(here.chain().jobs)
    jobs[2] = jobs[2]._replace(destination=PlannedDestination("elsewhere"))
    made = one_after_another(jobs, [jobs[:3]])
    assert [job.bundle is not None for job in made.jobs] == [True, True, False, False, False, False]
    (warning,) = made.warnings
    assert warning.startswith("sequential: 1 job goes alone: their list goes to several places")


@st.composite
def tangles(draw: st.DrawFn) -> tuple[list[tuple[int, ...]], list[list[int]]]:
    """For each of some jobs those before it that it depends on; and lists of any of them."""
    count = draw(st.integers(1, 12))
    needs = [
        tuple(draw(st.sets(st.integers(0, at - 1), max_size=3)) if at else ())
        for at in range(count)
    ]
    numbers = st.integers(0, count - 1)
    return needs, draw(st.lists(st.lists(numbers, max_size=5, unique=True), max_size=5))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tangles())
def test_whatever_is_put_together_each_job_is_there_once_after_what_it_needs(
    pattern: PlannedJob, tangle: tuple[list[tuple[int, ...]], list[list[int]]]
) -> None:
    needs, lists = tangle
    jobs = [
        pattern._replace(
            token=f"n-{at}",
            script=pattern.script.replace(pattern.token, f"n-{at}"),
            directories=(str(at),),
            depends_on=tuple(f"n-{it}" for it in those),
        )
        for at, those in enumerate(needs)
    ]
    made = one_after_another(jobs, [[jobs[at] for at in those] for those in lists]).jobs

    assert sorted(int(job.directories[0]) for job in made) == list(range(len(jobs)))
    tokens = {int(job.directories[0]): job.token for job in made}
    sent: set[str] = set()
    for unit in units_of(made):  # no unit is torn apart, and none waits for a later one
        for job in unit.jobs:
            assert set(job.depends_on) <= sent
            assert job.depends_on == tuple(tokens[it] for it in needs[int(job.directories[0])])
            sent.add(job.token)
    assert len(sent) == len(jobs)


@pytest.fixture
def pattern(here: Chain) -> PlannedJob:
    return here.chain().jobs[0]


# -- how they run ----------------------------------------------------------------------------------


def one_lane(chain: Chain) -> Plan:
    """Everything in one list, in the order of the directories."""
    plan = chain.chain(units=[[at + turn for at in range(3) for turn in (0, 3)]])
    assert plan_from_json(plan_to_json(plan)) == plan
    return plan


async def runs_in_its_order(chain: Chain) -> None:
    chain.spoil("a")
    plan = one_lane(chain)
    progress = await chain.submit(plan)
    assert [step.error for step in progress if step.error] == []
    assert len({it.job_id for it in chain.state.submitted["one"].values()}) == 1
    await chain.over(plan)
    said = chain.said(plan)
    assert said["one", "a"] == "ended: exit code 7 in directory a"
    assert said["two", "a"] == f"abandoned: {UPSTREAM_FAILED}"
    assert chain.seconds() == {"a": 0, "b c": 1, "$(touch pwned)": 1}
    assert (list(chain.state.ends), chain.state.submitted) == (["one"], {})
    # and what was given back may be submitted again
    (chain.root / "workspace/a/spoiled").unlink()
    again = chain.chain(units=[[1, 4]])
    again = again._replace(jobs=tuple(job for job in again.jobs if job.directories == ("a",)))
    again = again._replace(id=plan_id(again))
    await chain.submit(again)
    await chain.over(again)
    assert everything(chain.state)


async def test_the_local_queue_runs_a_list_in_its_order(here: Chain) -> None:
    await runs_in_its_order(here)


class TestSlurm:
    pytestmark = [pytest.mark.slurm, pytest.mark.slow]

    async def test_slurm_runs_a_list_in_its_order(self, chain: Chain) -> None:
        await runs_in_its_order(chain)

    async def test_what_cannot_be_reached_any_more_is_free_while_the_list_goes_on(
        self, chain: Chain
    ) -> None:
        first = min(NAMES)
        chain.spoil(first)
        wait = "until [ -e go ]; do sleep 0.2; done; "
        spoiled = "[ -e workspace/{directory}/spoiled ]"
        chain.with_command(f"{spoiled} || {wait}{chain.action.command}")
        plan = one_lane(chain)
        await chain.submit(plan)
        fences = chain.root / ".row/rowtui/fence"
        (token,) = (
            job.token for job in plan.jobs if (job.action, job.directories) == ("two", (first,))
        )
        eventually((fences / token).is_symlink, what="its fence to be closed", every=0.05)
        await chain.settle()
        assert set(chain.said(plan)) == {(act, name) for act in ("one", "two") for name in NAMES}
        assert chain.said(plan)["two", first] == f"abandoned: {UPSTREAM_FAILED}"
        assert len(chain.state.submitted["two"]) == len(NAMES) - 1
        (chain.root / "go").touch()
        await chain.over(plan)
        assert sum(chain.seconds().values()) == 2
