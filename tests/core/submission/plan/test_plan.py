"""Plans: where each job goes and why, all problems at once, and JSON that comes back."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import Cost
from rowtui.core.clusters.model import Cluster, Identify, Launcher, Launchers, Partition
from rowtui.core.clusters.schedulers.local.machine import Capacity
from rowtui.core.groups.form import job_requests
from rowtui.core.groups.model import Group, JobRequest
from rowtui.core.state.model import LastEnd, LastOutcome
from rowtui.core.submission.plan.draft import draft_jobs
from rowtui.core.submission.plan.json import (
    load_plan,
    plan_from_json,
    plan_id,
    plan_to_json,
    save_plan,
)
from rowtui.core.submission.plan.make_plan import make_plan
from rowtui.core.submission.plan.model import (
    InBundle,
    Plan,
    PlannedDestination,
    PlannedJob,
    RefusedAt,
)
from rowtui.core.submission.plan.planner import PlanError, Setting
from rowtui.core.submission.scripts.fixed_part import PRELUDE
from rowtui.core.submission.scripts.parts import bash_complaint, is_one_command, split_script
from rowtui.core.submission.scripts.script import write_recipe
from rowtui.core.workflow.model import (
    Action,
    Processes,
    Resources,
    SubmitOptions,
    Walltime,
    Workflow,
)
from rowtui.core.workflow.template import parse_command

LAUNCHERS = Launchers(
    {
        "mpi": {"default": Launcher(executable="mpirun", processes="-n ")},
        "omp": {"default": Launcher()},
    }
)
LOCAL = Cluster("local", Identify(always=True), "local")
SMALL = Partition("small", maximum_cpus_per_job=2, memory_per_cpu_mb=1000)
BIG = Partition("big", memory_per_cpu="2G", warn_cpus_not_multiple_of=4)
SLURM = Cluster("s", Identify(), "slurm", (SMALL, BIG))


@dataclass
class Names:
    names: list[str]
    values: list[Any]

    def name(self, position: int) -> str:
        return self.names[position]

    def value(self, position: int) -> Any:
        return self.values[position]


def names(count: int) -> Names:
    return Names([f"d{n}" for n in range(count)], [{"x": n} for n in range(count)])


def action(
    index: int = 0, name: str = "one", command: str = "echo {directory}", **rest: Any
) -> Action:
    return Action(index, name, command, products=("out",), **rest)


def requests(which: Action, *sizes: int) -> list[JobRequest]:
    groups, start = [], 0
    for size in sizes:
        groups.append(Group(which, tuple(range(start, start + size))))
        start += size
    return list(job_requests(groups))


LARGE = Capacity(1024, 1 << 20, ("0", "1", "2", "3"))


def setting(cluster: Cluster = LOCAL, **rest: Any) -> Setting:
    rest.setdefault("machine", lambda: LARGE)
    return Setting(cluster, LAUNCHERS, "2026-01-02T03:04:05Z", "me", "nonce", **rest)


def plan(
    wanted: list[JobRequest],
    cluster: Cluster = LOCAL,
    directories: Names | None = None,
    machine: Capacity = LARGE,
    **rest: Any,
) -> Plan:
    workflow = Workflow(
        Path("/p"), actions=tuple({r.action.index: r.action for r in wanted}.values())
    )
    where = setting(cluster, machine=lambda: machine)
    return make_plan(draft_jobs(workflow, [wanted], directories or names(50), where, **rest))


def test_a_plan_has_all_that_will_be_sent() -> None:
    resources = Resources(Processes(2), 3, walltime=Walltime(60), memory_per_cpu_mb=10)
    which = action(resources=resources, launchers=("mpi",))

    made = plan(requests(which, 2, 1), skipped=["a group"])

    first, second = made.jobs
    assert (first.token, second.token) == ("nonce-0", "nonce-1")
    assert first.directories == ("d0", "d1")
    assert first.name == "one-d0+1"
    assert (first.processes, first.cpus, first.memory_mb, first.walltime_seconds) == (2, 6, 60, 120)
    assert first.destination == PlannedDestination("local")
    assert "mpirun -n 2 echo" in first.script
    assert "rowtui_token=nonce-0\n" in first.script
    assert made.cost == first.cost.plus(second.cost)
    assert made.skipped == ("a group",)
    assert made.id == plan_id(made)


@pytest.mark.parametrize(
    ("cluster", "command", "outside"),
    [
        (SLURM, "echo {directory}", True),
        (LOCAL, "echo {directory}", False),  # its mpirun starts children
        (LOCAL, "setsid -f echo {directory}", True),
        (LOCAL, "echo /srun/setsid.log {directory}", False),
    ],
)
def test_a_script_states_that_a_launcher_may_start_processes_elsewhere(
    cluster: Cluster, command: str, outside: bool
) -> None:
    launchers = ("mpi",) if command.startswith("echo {") else ()
    made = plan(requests(action(command=command, launchers=launchers), 1), cluster)
    assert ("\nrowtui_outside=tree\n" in made.jobs[0].script) == outside


def test_the_same_inputs_make_the_same_plan() -> None:
    wanted = requests(action(), 3)

    assert plan_to_json(plan(wanted)) == plan_to_json(plan(wanted))


def test_every_job_says_why_it_goes_where_it_goes() -> None:
    made = plan(requests(action(resources=Resources(threads_per_process=3)), 1), SLURM)

    (job,) = made.jobs
    assert job.destination == PlannedDestination("s", "big")
    assert job.memory_mb == 3 * 2048
    assert job.reasons[0].startswith("big: ")
    assert "maximum_cpus_per_job is 2" in job.reasons[1]
    assert "preferred multiple" in job.warnings[0]
    assert "preferred multiple" in made.warnings[0]
    assert "#SBATCH --partition=big\n" in job.script


def test_a_named_partition_is_the_reason() -> None:
    options = {"s": SubmitOptions(partition="big")}

    (job,) = plan(requests(action(submit_options=options), 1), SLURM).jobs

    assert "submit_options.s.partition" in job.reasons[0]


def test_all_problems_of_all_jobs_come_at_once_and_once_for_each_action() -> None:
    wanted = [
        *requests(action(0, "broken", "echo"), 2, 2, 2),
        *requests(action(1, "unknown", launchers=("nope",)), 1, 1),
        *requests(action(2, "missing", "echo {directory} {/y}"), 1, 1),
        *requests(action(3, "many", resources=Resources(Processes(2))), 1),
        *requests(action(4, "fine"), 1),
        *requests(
            action(5, "nowhere", submit_options={"s": SubmitOptions(partition="gone")}), 1, 1
        ),
    ]

    with pytest.raises(PlanError) as error:
        plan(wanted, SLURM)

    problems = error.value.problems
    assert [problem.action for problem in problems] == [0, 1, 2, 2, 3, 5]
    texts = [str(problem) for problem in problems]
    assert "neither {directory} nor {directories}" in texts[0]
    assert "'nope'" in texts[1]
    assert "directory d0 has no /y" in texts[2]
    assert "no process launcher" in texts[4]
    assert "gone" in texts[5]


def test_many_directories_with_the_same_problem_are_counted() -> None:
    wanted = requests(action(command="echo {directory} {/y}"), *[1] * 40)

    with pytest.raises(PlanError) as error:
        plan(wanted)

    assert len(error.value.problems) == 4
    assert "37 more jobs" in error.value.problems[-1].message


def test_shell_that_bash_cannot_read_is_found_once_for_an_action() -> None:
    wanted = requests(action(command="if {directory}"), 1, 1)
    workflow = Workflow(Path("/p"))

    with pytest.raises(PlanError, match="bash cannot read") as error:
        draft_jobs(workflow, [wanted], names(2), setting(check_shell=bash_complaint))

    assert len(error.value.problems) == 1
    fine = requests(action(command="cat <<E\n{directory}\nE"), 1)
    assert draft_jobs(workflow, [fine], names(2), setting(check_shell=bash_complaint)).jobs


def test_directories_whose_last_job_failed_are_warned_of() -> None:
    failed = {"one": {1: LastEnd("c", 17, "t", "time limit")}}

    made = plan(requests(action(), 1, 2), ends=failed)

    assert made.jobs[0].warnings == ()
    assert made.jobs[1].warnings == ("the last job of d1 failed: time limit (c/17)",)
    assert made.warnings == ("one: the last job of d1 failed",)


def test_the_warning_of_a_job_names_each_cause_with_its_directories_and_jobs() -> None:
    ends = {
        0: LastEnd("c", 17, "t", "exit code 3"),
        1: LastEnd("c", 18, "u", "exit code 5"),
        2: LastEnd("c", 19, "v.4", "exit code 3"),  # a task of an array
        3: LastEnd("c", 20, "w", "cancelled", LastOutcome.CANCELLED),
    }
    made = plan(requests(action(), 4), ends={"one": ends})
    (job,) = made.jobs
    assert job.warnings == (
        "the last job of d0, d2 failed: exit code 3 (c/17, c/19_4)",
        "the last job of d1 failed: exit code 5 (c/18)",
    )
    assert made.warnings == ("one: the last job of d0, d2, d1 failed",)


def test_a_saved_plan_is_the_plan(tmp_path: Path) -> None:
    made = plan(requests(action(), 1), directories=Names(["b\udcff\n'"], [None]))

    path = save_plan(tmp_path, made)
    save_plan(tmp_path, made)

    assert path == tmp_path / ".row/rowtui/plans" / f"{made.id}.json"
    assert load_plan(tmp_path, made.id) == made
    assert made.jobs[0].directories == ("b\udcff\n'",)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"user":"me"', '"user":"us"', "changed"),
        ('"version":1', '"version":2', "version"),
        ('"user":"me"', '"user":3', "damaged"),
        ("}", "", "damaged"),
    ],
)
def test_a_changed_plan_is_refused(old: str, new: str, message: str) -> None:
    text = plan_to_json(plan(requests(action(), 1)))

    with pytest.raises(RowtuiError, match=message):
        plan_from_json(text.replace(old, new))


def test_the_part_that_all_scripts_share_is_saved_once() -> None:
    made = plan(requests(action(), *[1] * 10))

    assert all(PRELUDE in job.script for job in made.jobs)
    assert plan_to_json(made).count("rowtui_begin()") == 1
    assert plan_from_json(plan_to_json(made)) == made


def test_a_plan_of_another_version_is_read_and_can_be_sent_again() -> None:
    # Given the plan of a version whose scripts have another fixed part,
    older = PRELUDE.replace("rowtui_sample() {", "rowtui_other() {")
    made = plan(requests(action(), *[1] * 3))
    jobs = tuple(job._replace(script=job.script.replace(PRELUDE, older)) for job in made.jobs)
    fields = json.loads(plan_to_json(made))
    fields["shared"] = older
    del fields["id"]
    canonical = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    identity = hashlib.sha256(canonical.encode()).hexdigest()
    text = json.dumps({**fields, "id": identity}, sort_keys=True, separators=(",", ":"))
    assert text != plan_to_json(made._replace(jobs=jobs, id=identity))

    # then it is not taken for a changed one, and a bundle or array can be made of its scripts.
    found = plan_from_json(text)
    assert (found.id, found.jobs) == (identity, jobs)
    for then, now in zip(found.jobs, made.jobs, strict=True):
        assert split_script(then.script) == split_script(now.script) is not None
    with pytest.raises(RowtuiError, match="was changed"):
        plan_from_json(text.replace("rowtui_other", "rowtui_evil", 1))


@pytest.mark.parametrize("identity", ["../../x", "", "0" * 64])
def test_a_plan_that_is_not_there_is_an_error(tmp_path: Path, identity: str) -> None:
    with pytest.raises(RowtuiError):
        load_plan(tmp_path, identity)


def test_what_to_do_about_a_missing_plan_is_part_of_the_error(tmp_path: Path) -> None:
    with pytest.raises(RowtuiError) as caught:
        load_plan(tmp_path, "0" * 64)
    assert f"restore {tmp_path}/.row/rowtui/plans/" in caught.value.hint
    assert f"remove {tmp_path}/.row/rowtui/journal/{'0' * 64}.jsonl" in caught.value.hint


NAME = st.binary(max_size=8).map(lambda raw: raw.decode("utf-8", "surrogateescape"))
NUMBER = st.integers(0, 1 << 40)
COST = st.builds(Cost, *[st.floats(0, 1e12)] * 2)
JOB = st.builds(
    PlannedJob,
    token=NAME,
    name=NAME,
    action=NAME,
    action_index=NUMBER,
    directories=st.lists(NAME, max_size=3).map(tuple),
    destination=st.builds(PlannedDestination, NAME, NAME),
    script=st.lists(NAME | st.just(PRELUDE), max_size=4).map("".join),
    log_path=NAME,
    processes=NUMBER,
    cpus=NUMBER,
    gpus=NUMBER,
    memory_mb=st.none() | NUMBER,
    walltime_seconds=NUMBER,
    cost=COST,
    attempt=NUMBER,
    warnings=st.lists(NAME, max_size=2).map(tuple),
    reasons=st.lists(NAME, max_size=2).map(tuple),
    depends_on=st.lists(NAME, max_size=2).map(tuple),
    basis=NAME,
    bundle=st.none() | st.just(InBundle("b", "fat", 8, None, 0, 60, False, 1, 30)),
    starts_steps=st.booleans(),
    node_type=NAME,
    requires=st.lists(NAME, max_size=2).map(tuple),
)


@st.composite
def neighbours(draw: st.DrawFn) -> list[PlannedJob]:
    """Jobs that differ as the tasks of one array do, or as jobs that go alone."""
    job, array = draw(JOB), draw(NAME)
    return [
        job._replace(
            token=token,
            script=job.script + token,
            array=array,
            task=task if array else None,
        )
        for task, token in enumerate(draw(st.lists(NAME, max_size=3)))
    ]


PLAN = st.builds(
    Plan,
    id=st.just(""),
    created=NAME,
    user=NAME,
    cluster=NAME,
    scheduler=NAME,
    jobs=st.lists(neighbours(), max_size=3).map(lambda those: tuple(chain(*those))),
    cost=COST,
    warnings=st.lists(NAME, max_size=2).map(tuple),
    skipped=st.lists(NAME, max_size=2).map(tuple),
    packed=st.just(()),
    refused=st.just(()),
)


@given(PLAN)
def test_every_plan_comes_back_from_json(made: Plan) -> None:
    made = made._replace(id=plan_id(made))
    text = plan_to_json(made)

    assert plan_from_json(text) == made
    assert plan_to_json(plan_from_json(text)) == text
    assert text == json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"))
    assert text.isascii()
    assert "\n" not in text


@pytest.mark.parametrize(
    ("command", "plain"),
    [
        ("echo {directory}", True),
        ("python3 project.py  --T=1 {directories}", True),
        ("./run -n {/a} {workspace_path}/{directory}", False),
        ("iffy {directory}", True),
        ("if {directory}", False),
        ("for {directory}", False),
        ("echo {directory} &", False),
        ("echo 'x {directory}", False),
        ("echo {directory} )", False),
        ("echo\n{directory}", False),
    ],
)
def test_bash_is_asked_about_all_but_the_plainest_commands(command: str, plain: bool) -> None:
    recipe = write_recipe(parse_command(command), "workspace")
    assert is_one_command(recipe.filled.text) == plain
    if plain:
        assert bash_complaint(recipe.filled.text) == ""


def test_a_job_that_this_machine_can_never_run_is_refused_and_keeps_no_other_back() -> None:
    each = Resources(Processes(2, per_directory=True), 1, walltime=Walltime(60))
    which = action(resources=each, launchers=("mpi",))

    made = plan(requests(which, 1, 3, 1), machine=Capacity(4, 1000))

    assert [len(job.directories) for job in made.jobs] == [1, 1]
    (refused,) = made.refused
    assert (refused.stage, refused.action) == (RefusedAt.MACHINE, which.name)
    assert [len(names) for names in refused.jobs] == [3]
    assert refused.reason == "local: the job asks for 6 CPUs, this machine has 4"
    assert made.skipped == (refused.sentence,)


@pytest.mark.parametrize(
    ("resources", "reason"),
    [
        (Resources(Processes(1), gpus_per_process=1), "1 GPU, this machine has none"),
        (Resources(Processes(1), 2, memory_per_cpu_mb=600), "1,200 MiB of memory"),
    ],
)
def test_a_machine_without_gpus_or_memory_refuses_what_needs_them(
    resources: Resources, reason: str
) -> None:
    made = plan(requests(action(resources=resources), 1), machine=Capacity(4, 1000))

    assert not made.jobs
    assert reason in made.refused[0].reason


def test_a_group_that_no_partition_takes_keeps_no_other_back() -> None:
    small = Partition("small", maximum_cpus_per_job=4)
    cluster = LOCAL._replace(name="anvil", scheduler="slurm", partitions=(small,))
    each = Resources(Processes(2, per_directory=True), 1, walltime=Walltime(60))
    which = action(resources=each, launchers=("mpi",))

    made = plan(requests(which, 1, 3), cluster=cluster)

    assert [len(job.directories) for job in made.jobs] == [1]
    (refused,) = made.refused
    assert refused.stage is RefusedAt.PARTITION
    assert refused.reason == "no partition of anvil takes a job on 3 directories"
