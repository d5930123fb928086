"""Failed work tried again: which groups, with what, and what the plan says of it."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rowtui.core.base.errors import RowtuiError
from rowtui.core.clusters.model import Cluster, Identify, Partition
from rowtui.core.clusters.schedulers.kind import kind_of
from rowtui.core.clusters.schedulers.measured import Used
from rowtui.core.engine.local import InProcessEngine
from rowtui.core.groups.form import job_requests
from rowtui.core.groups.model import Group
from rowtui.core.groups.status import status_counts
from rowtui.core.project.next_attempt import (
    MOST_EXCLUDED,
    Amount,
    AmountChange,
    excluded_nodes,
    nodes_text,
    parse_cpus,
    parse_memory,
    parse_walltime,
)
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.planning.plan_submission import plan_submission
from rowtui.core.project.views.needs import ProjectNeeds
from rowtui.core.state.model import LastOutcome
from rowtui.core.state.row.postcard import encode_submitted
from rowtui.core.submission.plan.apply_placement import PlacedRequest
from rowtui.core.submission.plan.model import Plan
from rowtui.core.submission.plan.outcome import JobResult, read_old_end
from rowtui.core.submission.reconcile.ending import OUT_OF_MEMORY, TIME_LIMIT
from rowtui.core.usage.model import JobUsage, UsageKind
from rowtui.core.workflow.model import Action

from tests.core.project.failing import WORKFLOW, Failing

SLURM = Cluster("our", Identify(always=True), "slurm", ())


@pytest.fixture(autouse=True)
def large_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROWTUI_LOCAL_CORES", "64")


@pytest.fixture
def failing(tmp_path: Path) -> Failing:
    return Failing.make(tmp_path)


def everything(project: OpenProject) -> Plan:
    return plan_submission(project, project.workflow.actions)


def directories(plan: Plan) -> list[tuple[str, ...]]:
    return [job.directories for job in plan.jobs]


# Which groups


def test_a_failed_job_is_one_group_again_in_its_order(tmp_path: Path) -> None:
    failing = Failing.make(
        tmp_path, workflow=WORKFLOW + 'group.sort_by = ["/v"]\ngroup.reverse_sort = true\n'
    )
    project = failing.open()
    failing.fail(project, everything(project), "exit code 2")
    path = failing.root / "workflow.toml"
    path.write_text(path.read_text().replace("maximum_size = 2", "maximum_size = 4"))
    project = failing.open()
    assert directories(everything(project)) == [("e", "d", "c", "b"), ("a",)]

    again = failing.again(project)
    assert directories(again.plan) == [("e", "d"), ("c", "b"), ("a",)]
    assert [job.attempt for job in again.plan.jobs] == [2, 2, 2]
    assert (
        again.plan.jobs[0].reasons[0] == "attempt 2: job 1100 failed: exit code 2; the same again"
    )
    assert not again.plan.warnings


def test_what_is_left_of_several_jobs_that_failed_alike_is_grouped_as_the_action_says(
    failing: Failing,
) -> None:
    project = failing.open()
    failing.fail(project, everything(project), OUT_OF_MEMORY, complete=("a", "d"))
    again = failing.again(project)
    assert directories(again.plan) == [("e",), ("b", "c")]
    both = again.plan.jobs[1]
    assert both.reasons[0].startswith("attempt 2: job 1100, job 1101 failed: out of memory; ")
    assert (both.memory_mb, both.walltime_seconds, both.cpus) == (2048, 7200, 2)


def test_what_failed_in_different_ways_is_not_put_together(failing: Failing) -> None:
    project = failing.open()
    for names, reason in ((("a", "b"), OUT_OF_MEMORY), (("c", "d"), TIME_LIMIT)):
        among = [at for at in map(project.state.directories.position, names) if at is not None]
        only = plan_submission(project, project.workflow.actions, among)
        failing.fail(project, only, reason, complete=names[:1])
    assert directories(failing.again(project).plan) == [("b",), ("d",)]


def test_a_directory_that_was_completed_by_hand_meanwhile_is_left_alone(failing: Failing) -> None:
    project = failing.open()
    failing.fail(project, everything(project), "exit code 2")
    (failing.root / "workspace/a/x").touch()
    project.synchronise(full=True)
    assert directories(failing.again(project).plan) == [("c", "d"), ("e",), ("b",)]


def test_only_the_last_job_of_a_directory_counts(failing: Failing) -> None:
    project = failing.open()
    first = failing.fail(project, everything(project), OUT_OF_MEMORY)
    second = failing.fail(project, failing.again(project).plan, TIME_LIMIT)
    again = failing.again(project)
    assert [job.attempt for job in again.plan.jobs] == [3, 3, 3]
    assert all("reached its time limit" in job.reasons[0] for job in again.plan.jobs)

    old = failing.again(project, tokens=[first[0].token])
    assert not old.plan.jobs
    assert "job 1100: nothing of it is to be tried again" in old.plan.skipped[0]
    assert directories(failing.again(project, tokens=[second[0].token]).plan) == [("a", "b")]


def test_what_row_submitted_meanwhile_is_not_sent_again(failing: Failing) -> None:
    project = failing.open()
    failing.fail(project, everything(project), "exit code 2")
    project.close()
    submitted = encode_submitted({"one": {b"d": ("local", 77)}})
    (failing.root / ".row/submitted.postcard").write_bytes(submitted)
    project.synchronise()
    assert directories(failing.again(project).plan) == [("a", "b"), ("e",), ("c",)]


def test_what_a_failed_job_did_not_reach_goes_with_it_and_what_was_cancelled_must_be_named(
    failing: Failing,
) -> None:
    project = failing.open()
    ends = {"b": LastOutcome.NOT_REACHED, "c": LastOutcome.CANCELLED, "d": LastOutcome.CANCELLED}
    jobs = failing.fail(project, everything(project), "exit code 2", outcomes=ends)
    row = project.status_table().rows[0]
    assert status_counts(row)[2:] == (5, 0, 2, 1, 2)
    assert directories(failing.again(project).plan) == [("a", "b"), ("e",)]
    assert directories(failing.again(project, tokens=[jobs[1].token]).plan) == [("c", "d")]
    assert directories(failing.again(project, names=["b", "d"]).plan) == [("b", "d")]
    # what needs the user, and what the next plan warns of, are those that failed
    assert [need.directories for need in ProjectNeeds(project).failures([row])] == [2]
    warned = [job.directories for job in everything(project).jobs if job.warnings]
    assert warned == [("a", "b"), ("e",)]
    assert "a failed: exit code 2" in everything(project).jobs[0].warnings[0]


def test_directories_and_jobs_can_be_chosen_together(failing: Failing) -> None:
    project = failing.open()
    jobs = failing.fail(project, everything(project), "exit code 2")
    chosen = failing.again(project, tokens=[jobs[1].token], names=["a"])
    assert directories(chosen.plan) == [("c", "d"), ("a",)]


def test_a_screen_asks_for_the_jobs_that_it_shows(failing: Failing) -> None:
    project = failing.open()
    jobs = failing.fail(project, everything(project), OUT_OF_MEMORY)
    engine = InProcessEngine(project)
    change = AmountChange(parse_memory("2x"))
    plan = asyncio.run(engine.plans.again([jobs[2].token], change))
    assert [(job.directories, job.memory_mb) for job in plan.jobs] == [(("e",), 2048)]
    assert not asyncio.run(engine.plans.again([], change)).jobs


def test_a_group_that_must_be_whole_is_not_tried_again_in_parts(tmp_path: Path) -> None:
    failing = Failing.make(tmp_path, workflow=WORKFLOW + "group.submit_whole = true\n")
    project = failing.open()
    failing.fail(project, everything(project), "exit code 2", complete=("c",))
    again = failing.again(project)
    assert directories(again.plan) == [("a", "b"), ("e",)]
    assert "submit_whole is set" in again.plan.skipped[0]


def test_a_failure_whose_plan_is_gone_is_tried_again_all_the_same(failing: Failing) -> None:
    project = failing.open()
    failing.fail(project, everything(project), OUT_OF_MEMORY)
    for folder in ("plans", "journal"):
        for file in (failing.root / ".row/rowtui" / folder).iterdir():
            file.unlink()
    project = failing.open()
    again = failing.again(project)
    assert directories(again.plan) == [("a", "b"), ("c", "d"), ("e",)]
    assert "the earlier request is no longer on record" in again.plan.jobs[0].reasons[0]
    more = failing.again(project, AmountChange(memory=Amount(2.0, times=True)))
    assert not more.plan.jobs
    assert "the earlier memory of the job is unknown" in more.plan.skipped[0]


# With what


def test_a_job_gets_so_many_times_what_it_had_or_so_much(failing: Failing) -> None:
    project = failing.open()
    failing.fail(project, everything(project), OUT_OF_MEMORY)
    change = AmountChange(parse_memory("1.5x"), parse_walltime("04:00:00"), parse_cpus("2x"))
    jobs = failing.again(project, change).plan.jobs
    assert [(job.memory_mb, job.walltime_seconds, job.cpus) for job in jobs] == [
        (3072, 14400, 4),
        (3072, 14400, 4),
        (1536, 14400, 2),
    ]
    assert jobs[0].reasons[0] == (
        "attempt 2: job 1100 ran out of memory;"
        " memory 2 GB -> 3 GB; time 02:00:00 -> 04:00:00; CPUs 2 -> 4"
    )
    assert "export ACTION_WALLTIME_IN_MINUTES=240" in jobs[0].script


def test_what_was_asked_for_stays_until_something_else_is(failing: Failing) -> None:
    project = failing.open()
    failing.fail(project, everything(project), OUT_OF_MEMORY)
    failing.fail(
        project, failing.again(project, AmountChange(parse_memory("2x"))).plan, OUT_OF_MEMORY
    )
    project = failing.open()
    assert [job.memory_mb for job in failing.again(project).plan.jobs] == [4096, 4096, 2048]
    assert "the same again" in failing.again(project).plan.jobs[0].reasons[0]
    thrice = failing.again(project, AmountChange(parse_memory("3x"))).plan
    assert [job.memory_mb for job in thrice.jobs] == [12288, 12288, 6144]
    # What was asked for a job of two directories is half as much for one.
    failing.fail(project, failing.again(project).plan, OUT_OF_MEMORY, complete=("a",))
    (left,) = failing.again(project, names=["b"]).plan.jobs
    assert (left.directories, left.memory_mb, left.attempt) == (("b",), 2048, 4)
    twice = AmountChange(*[Amount(2.0, times=True)] * 3)
    (left,) = failing.again(project, twice, names=["b"]).plan.jobs
    assert (left.memory_mb, left.walltime_seconds, left.cpus) == (4096, 7200, 2)


def test_more_is_suggested_and_nothing_changed_by_itself(failing: Failing) -> None:
    project = failing.open()
    failing.fail(project, everything(project), OUT_OF_MEMORY)
    again = failing.again(project)
    (cause,) = again.causes
    assert (cause.cause, cause.jobs, cause.unchanged) == (OUT_OF_MEMORY, 3, 3)
    assert cause.suggestion == AmountChange(memory=Amount(2.0, times=True))
    assert [job.memory_mb for job in again.plan.jobs] == [2048, 2048, 1024]
    (changed,) = failing.again(project, cause.suggestion).causes
    assert changed.unchanged == 0


def test_partitions_are_refused_where_there_are_none(failing: Failing) -> None:
    project = failing.open()
    failing.fail(project, everything(project), "exit code 2")
    again = failing.again(project, AmountChange(partition="big"))
    assert not again.plan.jobs
    assert "3 jobs left out, from a on: local has no partitions" in again.plan.skipped[0]
    elsewhere = failing.again(project, AmountChange(cluster="moon"))
    assert "moon cannot be reached from here" in elsewhere.plan.skipped[0]


CLUSTERS = """\
[[cluster]]
name = "our"
identify.always = true
scheduler = "slurm"
[[cluster.partition]]
name = "small"
memory_per_cpu_mb = 2000
[[cluster.partition]]
name = "big"
memory_per_cpu_mb = 64000
[[cluster.partition]]
name = "special"
prevent_auto_select = true
"""


def test_a_job_that_outgrew_its_partition_goes_to_the_next(failing: Failing) -> None:
    own = failing.home / ".config/rowtui"
    own.mkdir(parents=True)
    (own / "clusters.toml").write_text(CLUSTERS)
    failing.cluster = "our"
    project = failing.open()
    jobs = failing.fail(project, everything(project), OUT_OF_MEMORY)
    assert {str(job.destination) for job in jobs} == {"our/small"}

    more = failing.again(project, AmountChange(parse_memory("4x"))).plan
    assert {str(job.destination) for job in more.jobs} == {"our/big"}
    assert "#SBATCH --mem-per-cpu=4096M" in more.jobs[0].script
    assert "memory 2 GB -> 8 GB; our/small -> our/big" in more.jobs[0].reasons[0]
    assert any("not small: memory_per_cpu_mb" in reason for reason in more.jobs[0].reasons)

    named = failing.again(project, AmountChange(partition="special")).plan
    assert {str(job.destination) for job in named.jobs} == {"our/special"}
    assert "special: asked for by hand" in named.jobs[0].reasons
    failing.fail(project, named, TIME_LIMIT)
    stays = failing.again(project).plan
    assert {str(job.destination) for job in stays.jobs} == {"our/special"}
    none = failing.again(project, AmountChange(partition="specail")).plan
    assert "did you mean 'special'" in none.skipped[0]
    local = failing.again(project, AmountChange(cluster="local")).plan
    assert {str(job.destination) for job in local.jobs} == {"local"}
    assert "our/special -> local" in local.jobs[0].reasons[0]


# Where it may not run

EXCLUDE, CONTINUES = AmountChange(exclude=True), AmountChange(continues=True)


def on_slurm(failing: Failing, options: str = "") -> OpenProject:
    """The project on a cluster; `options`: a line of the cluster."""
    own = failing.home / ".config/rowtui"
    own.mkdir(parents=True, exist_ok=True)
    (own / "clusters.toml").write_text(CLUSTERS.replace("[[cluster.", f"{options}\n[[cluster.", 1))
    failing.cluster = "our"
    return failing.open()


def excluded(plan: Plan) -> set[str]:
    """The options of a plan's scripts that exclude nodes, in the order that sbatch reads."""
    lines = [job.script.splitlines() for job in plan.jobs]
    return {" ".join(it for it in each if "--exclude" in it) for each in lines}


def test_nodes_on_which_attempts_failed_are_excluded_from_all_later_ones(failing: Failing) -> None:
    project = on_slurm(failing)
    failing.fail(project, everything(project), "exit code 2", node="n1")
    second = failing.again(project, EXCLUDE).plan
    assert excluded(second) == {"#SBATCH --exclude=n1"}
    assert second.jobs[0].reasons[0].endswith("exit code 2; the same again, not on n1")

    failing.fail(project, second, "exit code 2", node="n2")
    assert excluded(failing.again(project, EXCLUDE).plan) == {"#SBATCH --exclude=n1,n2"}
    more = failing.again(project, AmountChange(parse_memory("2x"))).plan
    assert excluded(more) == {"#SBATCH --exclude=n1"}

    failing.fail(project, more, "exit code 99", node="n3")
    goes_on = failing.again(project, CONTINUES).plan
    assert {(job.attempt, job.continues, job.is_retry) for job in goes_on.jobs} == {(3, 1, False)}
    assert excluded(goes_on) == {"#SBATCH --exclude=n1"}
    assert goes_on.jobs[0].reasons[0].startswith("attempt 3, continuation 1: job 1300 failed")
    assert {job.memory_mb for job in goes_on.jobs} == {job.memory_mb for job in more.jobs}


def test_a_name_that_is_no_node_is_not_excluded(failing: Failing) -> None:
    project = on_slurm(failing)
    failing.fail(project, everything(project), "exit code 2", node="n[1-2],n3\n#SBATCH --x")
    failing.fail(project, everything(project), "exit code 2", node="n1.full.name")
    again = failing.again(project, EXCLUDE).plan
    assert excluded(again) == {""}
    assert again.jobs[0].reasons[0].endswith("the same again, but none could be excluded")


@pytest.mark.parametrize(
    ("option", "whole"),
    [
        ("--exclude=bad[1-3]", "--exclude=bad[1-3],n1"),
        ("-x bad1,bad2", "--exclude=bad1,bad2,n1"),
        ("--exclude ./nodes", "--exclude ./nodes"),
        ("--comment=x --exclude=b", "--exclude=b,n1"),
        ("--nodelist=n[1-4]", ""),
        ("-w n1", ""),
    ],
)
def test_the_users_own_excluded_nodes_stay_excluded(
    failing: Failing, option: str, whole: str
) -> None:
    project = on_slurm(failing, f'submit_options = ["{option}"]')
    failing.fail(project, everything(project), "exit code 2", node="n1")
    (lines,) = excluded(failing.again(project, EXCLUDE).plan)
    assert lines.endswith(whole)


def test_nodes_that_stand_out_are_excluded_too(
    failing: Failing, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = on_slurm(failing)
    bad, good = read_old_end(1, "exit code 2", 1e9), read_old_end(0, "", 1e9)

    def used(node: str, number: int, end: JobResult, cluster: str = "our") -> JobUsage:
        kind = UsageKind("one", cluster, "small", "me", 1, 1, 0, None, 60)
        token = f"{cluster}{node}-{number}"
        return JobUsage(token, kind, number, 1, end, 1e9, Used(node=node), True)

    jobs = [used(node, at, good) for node in ("n1", "n2", "n3") for at in range(1, 40)]
    jobs += [used("sick", at, bad) for at in range(1, 20)]
    jobs += [used("far", at, bad, "another") for at in range(1, 20)]
    project.usage.store.append(jobs)
    failing.fail(project, everything(project), "exit code 2", node="n1")
    monkeypatch.setattr("time.time", lambda: 1e9 + 86_400)
    assert excluded(failing.again(project, EXCLUDE).plan) == {"#SBATCH --exclude=sick,n1"}
    monkeypatch.setattr("time.time", lambda: 1e9 + 90 * 86_400)
    assert excluded(failing.again(project, EXCLUDE).plan) == {"#SBATCH --exclude=n1"}


names = st.text(st.characters(codec="ascii"), max_size=8) | st.from_regex(r"[a-z][a-z0-9.-]{0,6}")


@given(found=st.lists(names, max_size=60), number=st.none() | st.integers(1, 40))
def test_excluded_nodes_are_names_and_never_all_of_a_partition(
    found: list[str], number: int | None
) -> None:
    (request,) = job_requests((Group(Action(0, "one", "work"), (0,)),))
    place = PlacedRequest(request, SLURM, Partition("cpu", nodes=number))
    nodes = excluded_nodes(found, place)
    valid = list(dict.fromkeys(it for it in found if re.fullmatch(r"[A-Za-z0-9][\w-]*", it)))
    most = MOST_EXCLUDED if number is None else min(MOST_EXCLUDED, number - 1)
    assert list(nodes) == valid[max(0, len(valid) - most) :]
    line = kind_of(SLURM).exclude_option(nodes, ())
    assert re.fullmatch(r"--exclude=[A-Za-z0-9_,-]*", line)
    assert all(it in nodes_text(nodes) for it in nodes[-3:])


# What mapping files say

MAPPING = """\
tools:
  one:
    cores: 2
    mem: 2 * 2 ** (attempt - 1)
    params:
      SCALE: "{2 * int(job.destination_params.get('SCALE', 1)) if job.destination_params else 1}"
    resubmit:
      more_memory:
        condition: memory_limit_reached and attempt <= 2
        destination: tpv_dispatcher
      longer:
        condition: walltime_reached
        destination: large
        delay: 60 * attempt
destinations:
  small: {runner: local, max_accepted_mem: 8}
  large: {runner: local, max_accepted_mem: 100, min_accepted_mem: 1}
"""


def scale(job: object) -> str:
    basis = str(getattr(job, "basis", ""))
    return basis.partition('"SCALE":"')[2].partition('"')[0]


def test_rules_try_a_job_again_with_more_until_they_give_it_up(failing: Failing) -> None:
    failing.mapped(MAPPING)
    project = failing.open()
    first = failing.fail(project, everything(project), OUT_OF_MEMORY)
    assert [(job.memory_mb, scale(job)) for job in first] == [(2048, "1")] * 3

    second = failing.fail(project, failing.again(project).plan, OUT_OF_MEMORY)
    assert [(job.memory_mb, scale(job), job.attempt) for job in second] == [(4096, "2", 2)] * 3
    assert second[0].reasons[0] == (
        "attempt 2: job 1100 ran out of memory; memory 2 GB -> 4 GB, by the rule more_memory"
    )
    project = failing.open()
    third = failing.fail(project, failing.again(project).plan, OUT_OF_MEMORY)
    assert [(job.memory_mb, scale(job), job.attempt) for job in third] == [(8192, "4", 3)] * 3

    given_up = failing.again(project).plan
    assert not given_up.jobs
    assert "its resubmit rules give it up: out of memory at attempt 3" in given_up.skipped[0]
    asked = failing.again(project, AmountChange(parse_memory("2x"))).plan
    assert [(job.memory_mb, job.attempt) for job in asked.jobs] == [(16384, 4)] * 3
    assert any(reason.startswith("large: ") for reason in asked.jobs[0].reasons)


def test_a_rule_takes_the_place_of_what_was_asked_for_before(failing: Failing) -> None:
    failing.mapped(MAPPING)
    project = failing.open()
    failing.fail(project, everything(project), OUT_OF_MEMORY)
    asked = failing.again(project, AmountChange(parse_memory("3G"))).plan
    assert [(job.memory_mb, job.attempt) for job in asked.jobs] == [(3072, 2)] * 3
    failing.fail(project, asked, OUT_OF_MEMORY)
    ruled = failing.again(project).plan
    assert [(job.memory_mb, job.attempt) for job in ruled.jobs] == [(8192, 3)] * 3


def test_a_rule_can_send_a_job_to_one_destination_after_a_while(failing: Failing) -> None:
    failing.mapped(MAPPING)
    project = failing.open()
    failing.fail(project, everything(project), TIME_LIMIT)
    (job, *_) = failing.again(project).plan.jobs
    assert job.reasons[0].endswith(", by the rule longer")
    assert job.reasons[1].startswith("large: it is the only destination")
    assert "not small: only large, here is small" in job.reasons
    assert "local does not keep the rule's delay of 60 s" in job.warnings


def test_a_rule_that_names_no_destination_keeps_only_its_jobs_back(failing: Failing) -> None:
    failing.mapped(MAPPING.replace("destination: large", "destination: larg"))
    project = failing.open()
    failing.fail(project, everything(project), TIME_LIMIT)
    plan = failing.again(project).plan
    assert not plan.jobs
    assert "sends it to larg, which is no destination" in plan.skipped[0]


def test_without_a_rule_that_job_is_mapped_again_as_the_files_say_now(failing: Failing) -> None:
    project = failing.open()
    failing.fail(project, everything(project), OUT_OF_MEMORY)
    failing.mapped("tools:\n  one: {mem: 3 * attempt}\ndestinations:\n  here: {runner: local}\n")
    project = failing.open()
    (job, *_) = failing.again(project).plan.jobs
    assert (job.memory_mb, job.attempt) == (6144, 2)
    same = failing.again(project, AmountChange(parse_memory("1x"))).plan.jobs[0]
    assert (same.memory_mb, same.attempt) == (2048, 2)


REASONS = st.sampled_from(["exit code 2", OUT_OF_MEMORY, TIME_LIMIT, "cancelled", "lost"])
CHANGES = st.sampled_from(
    [
        AmountChange(),
        AmountChange(parse_memory("2x")),
        AmountChange(walltime=parse_walltime("1x")),
        AmountChange(),
    ]
)


@settings(max_examples=12)
@given(
    st.lists(st.tuples(REASONS, CHANGES, st.sets(st.sampled_from("abcde"), max_size=1)), max_size=4)
)
def test_the_attempt_never_decreases_and_nothing_is_lost(
    rounds: list[tuple[str, AmountChange, set[str]]],
) -> None:
    with TemporaryDirectory() as folder:
        failing = Failing.make(Path(folder))
        project = failing.open()
        tries = dict.fromkeys("abcde", 1)
        failing.fail(project, everything(project), OUT_OF_MEMORY)
        for reason, change, done in rounds:
            plan = failing.again(project, change).plan
            for job in plan.jobs:
                # A group's directories failed alike, so they were tried equally often.
                assert {tries[name] for name in job.directories} == {job.attempt - 1}
            sent = [name for job in plan.jobs for name in job.directories]
            assert sorted(sent) == sorted(tries)
            failing.fail(project, plan, reason, complete=tuple(done))
            tries = {name: n + 1 for name, n in tries.items() if name not in done}


@pytest.mark.parametrize("text", ["", "0x", "64", "x", "-1G", "1e9x", "0G", "2xx", "9999999T"])
def test_what_is_no_amount_of_memory_is_an_explained_error(text: str) -> None:
    with pytest.raises(RowtuiError):
        parse_memory(text)


def test_amounts_are_read_as_people_write_them() -> None:
    assert parse_memory("64 GB") == parse_memory("64g") == parse_memory("65536M")
    assert parse_memory("x2") == parse_memory("2X") == parse_cpus("2.0x") == parse_walltime("2x")
    assert parse_cpus("8") == Amount(8.0)
    assert str(AmountChange(parse_memory("1.5G"), parse_walltime("90:00"), parse_cpus("2x"))) == (
        "memory 1.5 GB, time 3-18:00:00, CPUs 2x"
    )
    for wrong in ("0", "1.5", "²", "8 cores"):
        with pytest.raises(RowtuiError):
            parse_cpus(wrong)
    assert parse_walltime("4h") == parse_walltime("04:00:00") == parse_walltime("240m")
    with pytest.raises(RowtuiError, match="4h or 30m"):
        parse_walltime("4")
