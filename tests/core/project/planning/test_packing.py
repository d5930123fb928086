"""A project's jobs are packed on the node types of where they go, and run there."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import Cost
from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.planning.pack_views import PackChoice, PackedPlan
from rowtui.core.project.planning.plan_submission import pack_submission, plan_submission
from rowtui.core.project.planning.pool_packing import (
    PoolPacking,
    PoolSizes,
    opening_plan,
    pool_cost,
)
from rowtui.core.project.queue.verbs import cancel_jobs
from rowtui.core.state.model import LastOutcome
from rowtui.core.submission.bundles.bundles import SCRIPT_MB, WATCH_MB
from rowtui.core.submission.plan.charges import charges_of
from rowtui.core.submission.plan.model import count_jobs
from rowtui.core.submission.plan.planner import PlanError
from rowtui.core.submission.plan.record import IN_LANE

from tests.eventually import eventually, eventually_async
from tests.rig.login import LoginNode

NAMES = [f"d{number:02}" for number in range(24)]
WORKFLOW = """\
[workspace]
value_file = "v.json"

[[action]]
name = "one"
command = "sh run.sh {directory}"
products = ["one"]
group.maximum_size = 1
[action.resources]
threads_per_process = 2
memory_per_cpu_mb = 100
walltime.per_submission = "00:02:00"

[[action]]
name = "wide"
command = "touch workspace/{directory}/wide"
products = ["wide"]
group.maximum_size = 1
[[action.group.include]]
condition = ["/v", "==", 0]
[action.resources]
threads_per_process = 100
memory_per_cpu_mb = 100
"""
RUN = 'echo x >> "workspace/$1/runs"; touch "workspace/$1/one"\n'
CLUSTERS = """\
[[cluster]]
name = "alpha"
scheduler = "slurm"
currency = "EUR"
[[cluster.partition]]
name = "cpu"
maximum_cpus_per_job = 1000
[cluster.ssh]
host = "alpha"
config = ["{config}"]
paths = [{{ local = "/", remote = "/" }}]

[[cluster.node_type]]
name = "half"
partition = "cpu"
cpus = 8
memory = "16G"
price_per_hour = 0.5
maximum_walltime = "01:00:00"

[[cluster.node_type]]
name = "whole"
partition = "cpu"
cpus = 16
memory = "60G"
price_per_hour = 1.0
maximum_walltime = "01:00:00"
"""

Make = Callable[..., OpenProject]


@pytest.fixture
def make(
    two_logins: tuple[LoginNode, LoginNode], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Make:
    alpha, _ = two_logins
    home = tmp_path / "home"
    (home / ".config/rowtui/mapping").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    for name in [name for name in os.environ if name.startswith("XDG_")]:
        monkeypatch.delenv(name)
    root = alpha.cluster.work / tmp_path.name
    for number, name in enumerate(NAMES):
        (root / "workspace" / name).mkdir(parents=True)
        (root / "workspace" / name / "v.json").write_text(json.dumps({"v": number}))

    def made(*, clusters: str = CLUSTERS, mapping: str = "", run: str = RUN) -> OpenProject:
        text = clusters.format(config=alpha.ssh_config)
        (home / ".config/rowtui/clusters.toml").write_text(text)
        if mapping:
            (home / ".config/rowtui/mapping/mine.yml").write_text(mapping)
        (root / "workflow.toml").write_text(WORKFLOW)
        (root / "run.sh").write_text(run)
        project = OpenProject.open(root, cluster="alpha")
        project.synchronise()
        return project

    return made


def pack(project: OpenProject, *, action: str = "one", **choice: object) -> PackedPlan:
    actions = [it for it in project.workflow.actions if action in ("*", it.name)]
    return pack_submission(project, actions, PackChoice(budget=0.0, **choice))  # type: ignore[arg-type]


async def submit(project: OpenProject, packed: PackedPlan) -> list[str]:
    return [step.error async for step in project.jobs.submit(packed.plan) if step.error]


async def over(project: OpenProject) -> None:
    """Until no job of the project is active."""
    await eventually_async(
        lambda: project.jobs.view(everywhere=True),
        lambda view: not any(job.state.active for job in view.jobs),
        every=0.1,
    )


def runs(project: OpenProject) -> dict[str, int]:
    found = {}
    for name in NAMES:
        log = project.root / "workspace" / name / "runs"
        found[name] = len(log.read_text().split()) if log.exists() else 0
    return found


async def test_jobs_share_nodes_and_each_runs_once(make: Make) -> None:
    project = make()
    packed = pack(project)

    (there,) = packed.destinations
    assert str(there.destination) == "alpha/cpu"
    assert (there.packed.jobs, there.packed.unit) == (24, "EUR")
    assert there.packed.bound <= there.packed.cost < there.packed.alone
    assert sum(bundle.jobs for bundle in there.bundles) == 24
    assert sum(bundle.cost for bundle in there.bundles) == pytest.approx(there.packed.cost)
    for bundle in there.bundles:
        kind = there.node_types[bundle.node_type]
        assert bundle.used.cpus == 2 * len(bundle.lanes) <= kind.cpus
        assert bundle.used.memory_mb == 200 * len(bundle.lanes)
        for lane in bundle.lanes:
            for at in lane.jobs:
                place = packed.plan.jobs[at].bundle
                assert place is not None
                assert (place.token, place.own_seconds) == (bundle.token, 120)
                assert place.memory_mb == bundle.used.memory_mb + SCRIPT_MB + WATCH_MB * len(
                    bundle.lanes
                )

    assert await submit(project, packed) == []
    ids = {it.job_id for it in project.state.submitted["one"].values()}
    assert len(ids) == len(there.bundles)
    await over(project)
    assert runs(project) == dict.fromkeys(NAMES, 1)
    assert project.state.completed["one"].bit_count() == 24
    assert project.state.ends == {}
    await project.let_go()


async def test_a_bundle_is_as_long_everywhere_as_it_is_sent(make: Make) -> None:
    packed = pack(make(), largest_bundle=5)
    jobs = packed.plan.jobs
    sent = []
    for bundle in packed.destinations[0].bundles:
        first = jobs[bundle.lanes[0].jobs[0]]
        sent.append(first.bundle.seconds if first.bundle else first.walltime_seconds)
    assert [bundle.seconds for bundle in packed.destinations[0].bundles] == sent
    counts = count_jobs(jobs)
    assert counts.jobs == 24
    assert counts.bundles + counts.alone == len(sent)


async def test_what_a_person_chooses_is_kept(make: Make) -> None:
    project = make()
    small = pack(project, node_types=("half",), largest_bundle=6, longest_seconds=400)
    (there,) = small.destinations
    assert {kind.name for kind in there.node_types} == {"half"}
    assert max(bundle.jobs for bundle in there.bundles) <= 6
    assert max(bundle.seconds for bundle in there.bundles) <= 400
    slow = pack(project, time_factor=1.5)
    assert {
        seconds for lane in slow.destinations[0].bundles[0].lanes for seconds in lane.seconds
    } == {180}
    with pytest.raises(RowtuiError, match="no node type giant"):
        pack(project, node_types=("giant",))
    with pytest.raises(RowtuiError, match="no packer 'magic'"):
        pack(project, packer="magic")


async def test_what_fits_nowhere_goes_alone_with_the_reason(make: Make) -> None:
    packed = pack(make(), action="*")
    (there,) = packed.destinations
    (left,) = there.left_alone
    assert [packed.plan.jobs[at].action for at in left.jobs] == ["wide"]
    assert "100 CPUs" in left.reason
    assert "whole" in left.reason
    assert [job.action for job in packed.plan.jobs if job.bundle is None] == ["wide"]
    assert any("100 CPUs" in warning for warning in packed.plan.warnings)


async def test_without_node_types_it_is_said_how_to_find_them(make: Make) -> None:
    text = CLUSTERS[: CLUSTERS.index("[[cluster.node_type]]")]
    packed = pack(make(clusters=text))
    (there,) = packed.destinations
    assert (there.packed.jobs, there.bundles) == (0, ())
    assert "rowtui doctor --node-types alpha" in there.left_alone[0].reason
    assert all(job.bundle is None for job in packed.plan.jobs)


async def test_a_file_may_say_that_plans_are_packed(make: Make) -> None:
    project = make(clusters=CLUSTERS + "[cluster.packing]\nlargest_bundle = 5\n")
    plan = plan_submission(project, project.workflow.actions[:1])
    tokens = [job.bundle.token for job in plan.jobs if job.bundle]
    assert len(tokens) == 24 - tokens.count("")
    assert max(map(tokens.count, tokens)) <= 5
    project.packing = False
    plan = plan_submission(project, project.workflow.actions[:1])
    assert not any(job.bundle for job in plan.jobs)


async def test_a_mapping_says_on_which_node_type_a_job_must_run(make: Make) -> None:
    mapping = """\
tools:
  one:
    params: {node_type: half}
destinations:
  cpu: {runner: alpha, params: {partition: cpu}}
"""
    packed = pack(make(mapping=mapping))
    (there,) = packed.destinations
    used = {there.node_types[bundle.node_type].name for bundle in there.bundles}
    assert used == {"half"}


async def test_nodes_that_are_not_as_the_file_says_lose_nothing(make: Make) -> None:
    # given a file that promises 64 cores where nodes have 16
    text = CLUSTERS.replace("cpus = 16", "cpus = 64").replace('memory = "16G"', 'memory = "100M"')
    project = make(clusters=text)
    packed = pack(project)
    (bundle, *_) = packed.destinations[0].bundles
    assert bundle.used.cpus > 16
    # when it is submitted
    errors = await submit(project, packed)
    # then Slurm's own word is told, and every directory is free again
    assert any("refused" in error for error in errors)
    assert project.state.submitted == {}
    assert project.state.ends == {}
    assert runs(project) == dict.fromkeys(NAMES, 0)


async def test_a_job_may_be_taken_out_of_its_bundle_before_its_turn(make: Make) -> None:
    project = make(
        run='echo x >> "workspace/$1/runs"; until [ -e go ]; do sleep 0.2; done; '
        'touch "workspace/$1/one"\n'
    )
    packed = pack(project, node_types=("half",), longest_seconds=1000)
    assert await submit(project, packed) == []
    eventually(lambda: any(runs(project).values()), what="one to begin")
    view = await project.jobs.view(everywhere=True)
    waiting = [job for job in view.jobs if job.reason == IN_LANE]
    running = [job for job in view.jobs if job.state is JobState.RUNNING]
    assert waiting
    assert running
    assert all(job.state is JobState.PENDING for job in waiting)
    # when one that waits and one that runs are cancelled
    out, stays = waiting[-1], running[0]
    answers = await cancel_jobs(project, [out.token, stays.token])
    # then the first is out, and the second cannot be while others share its bundle
    told = {answer.error for answer in answers}
    assert told == {"", "it runs in a bundle with others: cancel them all, or let it end"}
    (project.root / "go").touch()
    await over(project)
    assert runs(project) == {name: int((name,) != out.directories) for name in NAMES}
    assert {end.outcome for end in project.state.ends["one"].values()} == {LastOutcome.CANCELLED}
    assert project.state.submitted == {}
    await project.let_go()


async def test_a_node_type_that_is_too_small_is_one_problem_of_the_mapping_file(
    make: Make,
) -> None:
    mapping = """\
tools:
  one:
    params: {node_type: half}
    cores: 12 + (values[0]["v"] == 3)
destinations:
  cpu: {runner: alpha, params: {partition: cpu}}
"""
    project = make(mapping=mapping)

    with pytest.raises(PlanError) as found:
        pack(project)

    (problem,) = found.value.problems
    assert (problem.file.rpartition("/")[2], problem.line, problem.action) == ("mine.yml", 3, 0)
    assert "24 jobs of 'one' must run on a node type that is too small" in problem.message
    assert problem.message.endswith("; so for 1 other size")
    assert "needs 12 CPUs, a half has 8" in problem.message
    assert "whole would do" in problem.message


def pooled(project: OpenProject, most: int = 4, action: str = "one") -> PoolPacking:
    """What a pool without allocations would do with the jobs of an action; nothing is sent."""
    actions = [it for it in project.workflow.actions if it.name == action]
    found = PoolPacking(project, PoolSizes(most))
    assert not plan_submission(project, actions, packing=found).jobs or found.alone
    return found


async def test_a_pool_opens_the_cheapest_nodes_for_as_long_as_all_may_take(make: Make) -> None:
    found = pooled(make())
    # 24 jobs of 2 CPUs and 2 min: 16 begin at once on four nodes of 8 CPUs, and 8 go on after them
    assert [(len(it.jobs), it.kind.name) for it in found.openings] == [(4, "half")] * 4
    assert {it.seconds for it in found.openings} == {24 * 2 * 120 // 32 + 60 + 45}
    assert len(found.kept_back) == 24


async def test_a_pool_proposes_what_its_allocations_are_charged(make: Make) -> None:
    gpus = 'memory = "16G"\ngpus = 2\n'
    project = make(clusters=CLUSTERS.replace('memory = "16G"\n', gpus).replace("1.0", "9.0"))
    actions = project.workflow.actions[:1]
    found = pooled(project, most=1000)
    assert {it.kind.name for it in found.openings} == {"half"}  # and the jobs use no GPU
    charged = charges_of(opening_plan(project, found.sizes, found.openings))
    total = Cost.total(it.cost for it in charged)
    proposed = pool_cost(project, actions)
    assert proposed.cpu_hours == pytest.approx(total.cpu_hours, rel=0.2)  # limits are whole minutes
    assert proposed.gpu_hours == pytest.approx(total.gpu_hours, rel=0.2)
    assert proposed.gpu_hours > 0


async def test_a_pool_keeps_to_the_named_type_and_refuses_one_that_is_too_small(
    make: Make,
) -> None:
    mapping = """\
tools:
  one:
    params: {node_type: whole}
destinations:
  cpu: {runner: alpha, params: {partition: cpu}}
"""
    found = pooled(make(mapping=mapping), most=1)
    assert [it.kind.name for it in found.openings] == ["whole"]
    small = mapping.replace("one:\n", "one:\n    cores: 9\n").replace("whole", "half")
    with pytest.raises(PlanError, match="must run on a node type that is too small"):
        pooled(make(mapping=small))


async def test_what_no_node_of_a_pool_holds_is_sent_alone_with_the_reason(make: Make) -> None:
    found = pooled(make(), action="wide")
    assert (found.openings, found.kept_back) == ([], [])
    assert next(iter(found.alone.values())).startswith("pool: 1 job goes alone: whole: ")
    text = CLUSTERS[: CLUSTERS.index("[[cluster.node_type]]")]
    (why,) = pooled(make(clusters=text)).alone
    assert "has no node types in clusters.toml" in why
