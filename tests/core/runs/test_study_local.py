"""Networks that are driven to their ends on this machine's own queue."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.planning.plan_submission import plan_submission
from rowtui.core.project.queue.verbs import cancel_jobs
from rowtui.core.project.scan import look_again
from rowtui.core.runs.execution.driver import DriverMessage, MessageKind
from rowtui.core.runs.execution.permission import PlanAnswer
from rowtui.core.runs.limits.limits import LimitKind, RunLimits
from rowtui.core.runs.model import BY_HAND, Cancelled, JobFailed, PlanSubmitted, RunStatus
from rowtui.core.runs.running import OpenRun
from rowtui.core.runs.store import RunStore

from tests.core.runs.driving import (
    Drive,
    Person,
    Step,
    action,
    begin,
    drive,
    example,
    inputs,
    make,
    ran,
)

SWEEP = """\
[[source]]
name = "state"
[source.values]
t = [1, 2, 3]
r = [0, 1]
"""
TWO_STEPS = (
    SWEEP
    + """
[[node]]
name = "simulate"
from = "state"

[[node]]
name = "average"
from = "simulate"
output = "energy"
collapse = ["r"]
"""
)
SIMULATE = action(
    "simulate", "grep -o '\"r\": [0-9]*' value.json > energy", ["energy"], node="state"
)
AVERAGE = action("average", "cat ../state*/energy > mean", ["mean"])


def failing_at(where: str, how: str = "exit 1", size: int = 1) -> Step:
    """Simulations, of which one fails as long as there is no file `mended` in the project."""
    command = (
        f'if [ "${{PWD##*/}}" = "{where}" ] && [ ! -e ../../mended ]; then {how}; fi; '
        "echo 1 > energy"
    )
    return action("simulate", command, ["energy"], node="state", size=size)


# The example


def test_the_example_runs_by_itself_from_an_empty_workspace_to_the_plot(here: Path) -> None:
    root = example(here / "study")
    driven = drive(root)
    assert driven.told[-1].kind is MessageKind.OVER
    assert driven.told[-1].success
    assert driven.problems() == []
    text = (root / "results/slopes.svg").read_text()
    assert text.count("<rect") == 4
    assert len(ran(root)) == 24 + 12 + 4 + 1
    assert set(ran(root).values()) == {1}
    assert driven.run.status is RunStatus.FINISHED

    # driven once more, and as another run: nothing is left to do
    again = drive(root)
    other = drive(root, run=begin(OpenProject.open(root, cluster="local")))
    for done in (again, other):
        assert [told.kind for told in done.told] == [MessageKind.BEGUN, MessageKind.OVER]
        assert done.told[-1].success
    assert set(ran(root).values()) == {1}


# What fails


def test_a_job_that_fails_takes_with_it_only_what_needs_it(here: Path) -> None:
    root = make(here / "p", TWO_STEPS, failing_at("state,t=2,r=1"), AVERAGE)
    driven = drive(root)
    assert driven.told[-1].sentence == (
        "nothing is left to do: 1 sample failed, and 1 that depend on their results cannot run"
    )
    assert driven.run.status is RunStatus.FAILED
    failed = [it for it in driven.run.events() if isinstance(it, JobFailed)]
    assert [(it.node, it.sample, it.reason) for it in failed] == [
        ("simulate", "state,t=2,r=1", "exit code 2")
    ] or [(it.node, it.sample) for it in failed] == [("simulate", "state,t=2,r=1")]
    assert set(ran(root)) >= {"average,t=1: average", "average,t=3: average"}
    assert "average,t=2: average" not in ran(root)

    # when it is mended and tried again, the rest follows, and nothing runs again that is done
    (root / "mended").touch()
    running = OpenRun(OpenProject.open(root, cluster="local"), driven.run)
    running.look()
    job = running.growth.job_in("simulate", "state,t=2,r=1")
    assert job is not None
    assert running.graph.state(job) is GraphJobState.FAILED
    running.retry([job])
    assert drive(root).told[-1].success
    times = ran(root)
    assert times.pop("state,t=2,r=1: simulate") == 2
    assert set(times.values()) == {1}
    assert len(times) == 5 + 3


def test_a_job_that_ends_without_its_product_has_failed(here: Path) -> None:
    root = make(here / "p", TWO_STEPS, failing_at("state,t=2,r=1", "exit 0"), AVERAGE)
    driven = drive(root)
    (failed,) = (it for it in driven.run.events() if isinstance(it, JobFailed))
    assert failed.sample == "state,t=2,r=1"
    assert "products are missing" in failed.reason
    assert not driven.told[-1].success


def test_a_failed_sample_is_left_out_where_one_is_enough(here: Path) -> None:
    network = TWO_STEPS.replace('collapse = ["r"]', 'collapse = ["r"]\nrequire = 1')
    root = make(here / "p", network, failing_at("state,t=2,r=1"), AVERAGE)
    driven = drive(root)
    assert driven.told[-1].sentence == "nothing is left to do: 1 sample failed"
    said = inputs(root, "average,t=2")
    assert [it["path"] for it in said["inputs"]["simulate"]] == ["../state,t=2,r=0/energy"]
    (left,) = said["left_out"]
    assert (left["directory"], left["input"]) == ("state,t=2,r=1", "simulate")
    assert left["reason"]
    assert ran(root)["average,t=2: average"] == 1


def test_directories_after_one_that_failed_in_the_same_job_are_sent_again(here: Path) -> None:
    simulate = failing_at("state,t=1,r=1", size=6)
    root = make(here / "p", TWO_STEPS, simulate, AVERAGE)
    driven = drive(root)
    assert driven.told[-1].sentence == (
        "nothing is left to do: 1 sample failed, and 1 that depend on their results cannot run"
    )
    assert set(ran(root).values()) == {1}
    assert len(ran(root)) == 6 + 2


def test_a_job_that_the_user_cancels_is_cancelled_in_its_run_and_has_not_failed(
    here: Path,
) -> None:
    simulate = failing_at("state,t=2,r=1", "sleep 100")
    root = make(here / "p", TWO_STEPS, simulate, AVERAGE)
    project = OpenProject.open(root, cluster="local")
    driven = Drive(project)

    async def cancel(_: DriverMessage) -> None:
        for record in project.jobs.records():
            sent = "state,t=2,r=1" in record.directories
            if sent and (root / "workspace/state,t=2,r=1/runs").exists():
                await cancel_jobs(project, [record.token])

    last = asyncio.run(driven.to_the_end(cancel))
    assert last.kind is MessageKind.OVER
    assert not last.success
    events = driven.run.events()
    assert not any(isinstance(it, JobFailed) for it in events)
    (cancelled,) = (it for it in events if isinstance(it, Cancelled))
    assert (cancelled.samples, cancelled.why) == (("state,t=2,r=1",), BY_HAND)


def test_what_a_person_gives_up_takes_its_running_job_with_it(here: Path) -> None:
    root = make(here / "p", TWO_STEPS, failing_at("state,t=2,r=1", "sleep 100"), AVERAGE)
    driven = Drive(OpenProject.open(root, cluster="local"))

    async def give_up(_: DriverMessage) -> None:
        job = driven.running.growth.job_in("simulate", "state,t=2,r=1")
        assert job is not None
        if (root / "workspace/state,t=2,r=1/runs").exists():
            driven.running.cancel([job], "not wanted")

    last = asyncio.run(driven.to_the_end(give_up))
    assert last.kind is MessageKind.OVER
    assert last.sentence.startswith("nothing is left to do: 1 sample was cancelled, and 1")


# Lists

FOLDS = """
[[node]]
name = "split"
from = "state"

[[node]]
name = "train"
from = "split"
output = "folds.json"
expand = "fold"

[[node]]
name = "report"
from = "train"
output = "score"
collapse = ["fold"]
"""
SPLIT = action("split", "cp ../../folds-${PWD##*=}.json folds.json", ["folds.json"], node="state")
TRAIN = action("train", "echo 1 > score", ["score"])
REPORT = action("report", "touch report", ["report"])
LISTED = '[[source]]\nname = "state"\n[source.values]\nt = [1, 2]\n' + FOLDS


def test_lists_become_samples_while_the_run_goes_on(here: Path) -> None:
    root = make(here / "p", LISTED, SPLIT, TRAIN, REPORT)
    (root / "folds-1.json").write_text('["a", {"fold": "b", "seed": 7}]')
    (root / "folds-2.json").write_text("[]")
    driven = drive(root)
    assert driven.told[-1].success
    assert {name for name in ran(root) if "train" in name} == {
        "train,t=1,fold=a: train",
        "train,t=1,fold=b: train",
    }
    value = json.loads((root / "workspace/train,t=1,fold=b/value.json").read_text())
    assert value == {"node": "train", "t": 1, "fold": "b", "seed": 7}
    assert [it["value"] for it in inputs(root, "train,t=1,fold=b")["inputs"]["split"]] == ["b"]
    assert ran(root)["report,t=1: report"] == 1


def test_a_wrong_list_concerns_its_sample_alone_and_may_be_mended(here: Path) -> None:
    root = make(here / "p", LISTED, SPLIT, TRAIN, REPORT)
    (root / "folds-1.json").write_text('["a"]')
    (root / "folds-2.json").write_text('{"not": "a list"}')
    driven = drive(root)
    assert not driven.told[-1].success
    (failed,) = (it for it in driven.run.events() if isinstance(it, JobFailed))
    assert (failed.node, failed.sample) == ("split", "state,t=2")
    assert "not a list" in failed.reason
    assert ran(root)["report,t=1: report"] == 1
    # tried again without being mended, it is as wrong as before
    running = OpenRun(OpenProject.open(root, cluster="local"), driven.run)
    running.look()
    job = running.growth.job_in("split", "state,t=2")
    assert job is not None
    running.retry([job])
    assert not drive(root).told[-1].success
    # mended, it is taken
    (root / "workspace/state,t=2/folds.json").write_text('["c"]')
    assert drive(root).told[-1].success
    assert ran(root)["train,t=2,fold=c: train"] == 1
    assert set(ran(root).values()) == {1}


def test_a_list_that_is_gone_before_it_was_read_never_came(here: Path) -> None:
    root = make(here / "p", LISTED, SPLIT, TRAIN, REPORT)
    (root / "folds-1.json").write_text('["a"]')
    (root / "folds-2.json").write_text('["b"]')
    project = OpenProject.open(root, cluster="local")
    driven = Drive(project)
    read = driven.running.look

    def look() -> object:
        (root / "workspace/state,t=2/folds.json").unlink(missing_ok=True)
        return read()

    driven.running.look = look  # type: ignore[method-assign, assignment]
    last = asyncio.run(driven.to_the_end())
    assert not last.success
    (failed,) = (it for it in driven.run.events() if isinstance(it, JobFailed))
    assert "the list is missing" in failed.reason


def test_a_list_whose_samples_would_be_one_directory_stops_nothing_else(here: Path) -> None:
    root = make(here / "p", LISTED, SPLIT, TRAIN, REPORT)
    (root / "folds-1.json").write_text('["a"]')
    (root / "folds-2.json").write_text('["b", "B"]')
    driven = drive(root)
    (failed,) = (it for it in driven.run.events() if isinstance(it, JobFailed))
    assert failed.sample == "state,t=2"
    assert "upper and lower case" in failed.reason
    assert ran(root)["report,t=1: report"] == 1
    assert not drive(root).told[-1].success  # and it can still be opened


# What others do meanwhile


def test_what_is_run_by_hand_meanwhile_runs_once(here: Path) -> None:
    root = make(here / "p", TWO_STEPS, SIMULATE, AVERAGE)
    project = OpenProject.open(root, cluster="local")
    driven = Drive(project)
    by_hand = False

    async def submit(told: DriverMessage) -> None:
        nonlocal by_hand
        if told.kind is MessageKind.BEGUN:
            other = OpenProject.open(root, cluster="local")
            other.synchronise()
            plan = plan_submission(other, other.workflow.actions[:1], limit=4)
            async for _ in other.jobs.submit(plan):
                by_hand = True

    last = asyncio.run(driven.to_the_end(submit))
    assert by_hand
    assert last.success
    assert set(ran(root).values()) == {1}
    assert len(ran(root)) == 6 + 3
    sent = [it for it in driven.run.events() if isinstance(it, PlanSubmitted)]
    assert sum(len(it.jobs) for it in sent) == 2 + 3


def test_two_runs_at_once_share_the_work(here: Path) -> None:
    root = make(here / "p", TWO_STEPS, SIMULATE, AVERAGE)
    runs = [begin(OpenProject.open(root, cluster="local")) for _ in range(2)]

    async def both() -> None:
        drives = [Drive(OpenProject.open(root, cluster="local"), run) for run in runs]
        ends = await asyncio.gather(*(it.to_the_end() for it in drives))
        assert all(told.success and told.kind is MessageKind.OVER for told in ends)

    asyncio.run(both())
    assert set(ran(root).values()) == {1}
    assert len(ran(root)) == 6 + 3


def test_a_source_file_that_changes_during_a_run_does_not_touch_it(here: Path) -> None:
    network = TWO_STEPS.replace(
        SWEEP, '[[source]]\nname = "state"\ncsv = "t.csv"\ndimensions = ["t", "r"]\n'
    )
    root = make(here / "p", network, SIMULATE, AVERAGE)
    (root / "t.csv").write_text("t,r\n1,0\n1,1\n")
    project = OpenProject.open(root, cluster="local")
    run = begin(project)
    (root / "t.csv").write_text("t,r\n5,0\n")
    assert drive(root, run=run).told[-1].success
    assert set(ran(root)) == {
        "state,t=1,r=0: simulate",
        "state,t=1,r=1: simulate",
        "average,t=1: average",
    }
    # a new run takes what the file says now, and deletes nothing
    assert drive(root, run=begin(OpenProject.open(root, cluster="local"))).told[-1].success
    assert {"state,t=5,r=0: simulate", "average,t=5: average"} < set(ran(root))
    assert set(ran(root).values()) == {1}


def test_a_deleted_product_that_was_looked_for_is_made_again_with_what_waits_for_it(
    here: Path,
) -> None:
    root = make(here / "p", TWO_STEPS, SIMULATE, AVERAGE)
    project = OpenProject.open(root, cluster="local")
    driven = Drive(project)
    deleted = False

    async def delete(told: DriverMessage) -> None:
        nonlocal deleted
        path = root / "workspace/state,t=2,r=0/energy"
        if not deleted and project.state.completed.get("simulate", 0).bit_count() == 6:
            deleted = True
            path.unlink()
            await asyncio.to_thread(look_again, project, [b"state,t=2,r=0"])

    last = asyncio.run(driven.to_the_end(delete))
    assert deleted
    assert last.success
    times = ran(root)
    assert times["state,t=2,r=0: simulate"] == 2
    assert (root / "workspace/state,t=2,r=0/energy").exists()


def test_a_deleted_product_that_nobody_looked_for_is_made_again_when_it_is_needed(
    here: Path,
) -> None:
    # given a simulation that is complete by the records, and whose product somebody deletes
    network = TWO_STEPS.replace("t = [1, 2, 3]", "t = [2]")
    root = make(here / "p", network, SIMULATE, AVERAGE)
    path = root / "workspace/state,t=2,r=0/energy"
    driven = Drive(OpenProject.open(root, cluster="local"))
    deleted = 0

    async def delete(told: DriverMessage) -> None:
        nonlocal deleted
        done = driven.project.state.completed.get("simulate", 0).bit_count()
        if told.kind is MessageKind.HAPPENED and not deleted and done == 2:
            deleted += 1
            path.unlink()

    last = asyncio.run(driven.to_the_end(delete))
    # then the job that needs it does nothing, and it is made again
    assert deleted
    assert last.success
    assert ran(root) == {
        "state,t=2,r=0: simulate": 2,
        "state,t=2,r=1: simulate": 1,
        "average,t=2: average": 1,
    }


def test_a_directory_that_cannot_be_used_fails_alone_until_it_can(here: Path) -> None:
    root = make(here / "p", TWO_STEPS, SIMULATE, AVERAGE)
    taken = root / "workspace/state,t=2,r=0"
    taken.mkdir(parents=True)
    (taken / "value.json").write_text('{"node": "state", "t": 7}')
    driven = drive(root)
    assert driven.told[-1].sentence == (
        "nothing is left to do: 1 sample failed, and 1 that depend on their results cannot run"
    )
    assert json.loads((taken / "value.json").read_text()) == {"node": "state", "t": 7}
    (taken / "value.json").unlink()
    taken.rmdir()
    assert drive(root).told[-1].success
    assert set(ran(root).values()) == {1}


# Limits


def test_never_more_jobs_are_in_the_queue_than_was_confirmed(here: Path) -> None:
    root = make(here / "p", TWO_STEPS, SIMULATE, AVERAGE)
    project = OpenProject.open(root, cluster="local")
    driven = Drive(project, begin(project, RunLimits(jobs_in_queue=2)))
    most = 0

    async def count(_: DriverMessage) -> None:
        nonlocal most
        submitted = project.state.submitted.values()
        most = max(most, len({it.token for jobs in submitted for it in jobs.values()}))

    last = asyncio.run(driven.to_the_end(count))
    assert last.success
    assert most == 2
    assert driven.person.asked == []


def test_a_destination_that_was_not_confirmed_is_asked_for(here: Path) -> None:
    root = make(here / "p", TWO_STEPS, SIMULATE, AVERAGE)
    driven = drive(root, limits=RunLimits(destinations=("elsewhere",)))
    assert driven.told[-1].kind is MessageKind.PAUSED
    assert driven.run.status is RunStatus.PAUSED
    ((_, breaches),) = driven.person.asked
    assert [it.kind for it in breaches] == [LimitKind.DESTINATION]
    assert not ran(root)
    # when it is confirmed, it goes on
    person = Person(PlanAnswer(limits=RunLimits(destinations=("local",))))
    again = drive(root, person=person)
    assert again.told[-1].success
    assert len(person.asked) == 1


def test_what_a_budget_allows_is_sent_before_a_person_is_asked(here: Path) -> None:
    root = make(here / "p", TWO_STEPS, SIMULATE, AVERAGE)
    driven = drive(root, limits=RunLimits(cpu_hours=4.5 / 6))
    assert driven.told[-1].kind is MessageKind.PAUSED
    sent = [it for it in driven.run.events() if isinstance(it, PlanSubmitted)]
    assert [len(it.jobs) for it in sent] == [4]
    ((plan, breaches),) = driven.person.asked
    assert [it.kind for it in breaches] == [LimitKind.CPU_HOURS]
    assert all(len(job.directories) == 1 for job in plan.jobs)
    assert drive(root, person=Person(PlanAnswer(limits=RunLimits()))).told[-1].success
    assert set(ran(root).values()) == {1}


def test_it_stops_at_failures_in_a_row_until_a_person_lets_it_go_on(here: Path) -> None:
    simulate = action("simulate", "exit 1", ["energy"], node="state")
    root = make(here / "p", TWO_STEPS, simulate, AVERAGE)
    limits = RunLimits(jobs_in_queue=1, failures_in_a_row=2)
    driven = drive(root, limits=limits)
    assert driven.told[-1].kind is MessageKind.PAUSED
    assert "failed one after another" in driven.told[-1].sentence
    assert len(ran(root)) == 2
    assert drive(root).told[-1].kind is MessageKind.PAUSED
    assert len(ran(root)) == 4
    again = drive(root, person=Person(PlanAnswer(), PlanAnswer(limits=limits)))
    assert again.told[-1].kind is MessageKind.OVER
    assert len(ran(root)) == 6
    assert set(ran(root).values()) == {1}


def test_nothing_is_sent_after_the_time_that_was_confirmed(here: Path) -> None:
    root = make(here / "p", TWO_STEPS, SIMULATE, AVERAGE)
    driven = drive(root, limits=RunLimits(until=time.time() - 1))
    assert driven.told[-1].kind is MessageKind.PAUSED
    assert "nothing is to be sent after" in driven.told[-1].sentence
    assert not ran(root)


def test_what_workflow_toml_does_not_let_run_pauses_the_run_with_the_reason(here: Path) -> None:
    simulate = action("simulate", "echo 1 > energy", ["energy"], node="nothing")
    root = make(here / "p", TWO_STEPS, simulate, AVERAGE)
    driven = drive(root)
    assert driven.told[-1].kind is MessageKind.PAUSED
    assert "does not let it run there" in driven.told[-1].sentence
    assert len(driven.problems()) == 1


def test_one_process_alone_drives_a_run(here: Path) -> None:
    root = make(here / "p", TWO_STEPS, SIMULATE, AVERAGE)
    run = begin(OpenProject.open(root, cluster="local"))
    with run.hold():
        holder = RunStore(root).load(run.id).holder()
    assert holder is not None


def test_what_lists_would_have_brought_is_left_out_where_that_is_allowed(here: Path) -> None:
    # given two lists, of which one fails, and a report over all that they bring
    network = LISTED.replace('collapse = ["fold"]', 'collapse = ["t", "fold"]\nrequire = 1')
    root = make(here / "p", network, SPLIT, TRAIN, REPORT)
    (root / "folds-1.json").write_text('["a"]')
    driven = drive(root)
    assert driven.told[-1].sentence == "nothing is left to do: 1 sample failed"
    said = inputs(root, "report")
    assert [it["directory"] for it in said["inputs"]["train"]] == ["train,t=1,fold=a"]
    (left,) = said["left_out"]
    assert (left["directory"], left["input"]) == ("state,t=2", "train")
