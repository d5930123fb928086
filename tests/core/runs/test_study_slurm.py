"""Networks that are driven on two real Slurm clusters at once, over SSH."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import pytest
from rowtui.core.project.open_project import OpenProject
from rowtui.core.runs.execution.driver import DriverMessage, MessageKind
from rowtui.core.runs.limits.limits import RunLimits
from rowtui.core.runs.model import JobFailed
from rowtui.core.runs.running import OpenRun
from rowtui.core.submission.plan.model import Plan
from rowtui.core.submission.sending.release_held import SendingProgress
from rowtui.core.submission.sending.send import SilentClusterError

from tests.core.runs.driving import Drive, action, drive, example, make, ran
from tests.core.runs.killed import Moment, was_killed
from tests.core.runs.killed import begin as begin_killed
from tests.rig.login import LoginNode

CLUSTER = """
[[cluster]]
name = "{name}"
scheduler = "slurm"
partition = [{{ name = "{partition}" }}]
[cluster.ssh]
host = "{name}"
config = ["{config}"]
{where}
"""
HAPPENED = "rowtui.core.runs.execution.autopilot:happened_text"
SENT = "rowtui.core.runs.execution.autopilot:Autopilot._settle_plan"
SEES_ALL = 'paths = [{{ local = "/", remote = "/" }}]'
MAPPING = """\
tools:
{tools}
destinations:
  cpu: {{runner: alpha, scheduling: {{accept: [alpha]}}, params: {{partition: cpu}}}}
  batch: {{runner: beta, scheduling: {{accept: [beta]}}, params: {{partition: batch}}}}
"""
TWO_STEPS = """\
[[source]]
name = "state"
[source.values]
t = [1, 2]
r = [0, 1]

[[node]]
name = "simulate"
from = "state"

[[node]]
name = "average"
from = "simulate"
output = "energy"
collapse = ["r"]
require = 1

[[node]]
name = "report"
from = "average"
collapse = ["t"]

[[sink]]
name = "report"
from = "report"
output = "report"
publish = "results/report"
"""
WHERE = 'grep -o "ClusterName=[a-z]*" "$SLURM_CONF"'
SIMULATE = f'[ "$PWD" = "${{PWD%t=2,r=1}}" ] || exit 3; {WHERE} > energy'
ACTIONS = (
    action("simulate", SIMULATE, ["energy"], node="state"),
    action("average", f"{{ cat ../state,t=${{PWD##*=}},r=*/energy; {WHERE}; }} > mean", ["mean"]),
    action("report", "cat ../average*/mean > report", ["report"]),
)


@pytest.fixture
def two_of(
    here: Path, two_logins: tuple[LoginNode, LoginNode], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Path]:
    """Says how alpha and beta see projects, and which actions beta gets; gives a place for one."""
    alpha, _ = two_logins

    def make_settings(where: str = SEES_ALL, *beta: str) -> Path:
        folder = here / "home/.config/rowtui"
        (folder / "mapping").mkdir(parents=True, exist_ok=True)
        (folder / "clusters.toml").write_text(
            "".join(
                CLUSTER.format(
                    name=name,
                    partition=partition,
                    config=alpha.ssh_config,
                    where=where.format(name=name, here=here),
                )
                for name, partition in (("alpha", "cpu"), ("beta", "batch"))
            )
        )
        names = ("simulate", "average", "fit", "plot", "report")
        tools = (
            f"  {name}: {{scheduling: {{require: [{'beta' if name in beta else 'alpha'}]}}}}"
            for name in names
        )
        (folder / "mapping/mine.yml").write_text(MAPPING.format(tools="\n".join(tools)))
        return here / "project"

    return make_settings


def test_the_example_runs_on_two_clusters_that_see_its_folder(
    two_of: Callable[..., Path],
) -> None:
    root = example(two_of(SEES_ALL, "average", "plot"), small=True)
    driven = drive(root, cluster="alpha", limits=RunLimits(jobs_in_queue=4))
    assert driven.told[-1].kind is MessageKind.OVER
    assert driven.told[-1].success, driven.problems()
    assert (root / "results/slopes.svg").read_text().count("<rect") == 2
    assert len(ran(root)) == 12 + 6 + 2 + 1
    assert set(ran(root).values()) == {1}
    went = {(job.action, str(job.destination)) for job in driven.sent()}
    assert went == {
        ("simulate", "alpha/cpu"),
        ("average", "beta/batch"),
        ("fit", "alpha/cpu"),
        ("plot", "beta/batch"),
    }


def test_the_example_survives_deaths_and_failures_on_two_clusters(
    two_of: Callable[..., Path], two_logins: tuple[LoginNode, LoginNode]
) -> None:
    # given a simulation that fails at first
    root = example(two_of(SEES_ALL, "average", "plot"), small=True)
    unlucky = "state,temperature=1.5,pressure=0.5,size=8,replica=1"
    text = (root / "study.py").read_text()
    fail = (
        f"    if place.name == '{unlucky}' and not Path('mended').exists():\n        sys.exit(3)\n"
    )
    head = '    value = json.loads((place / "value.json").read_text())\n'
    assert head in text
    (root / "study.py").write_text(text.replace(head, head + fail))
    # when whoever drives is killed while jobs are sent, while they run, and while connections break
    slurm = "rowtui.core.clusters.schedulers.slurm.scheduler:SlurmScheduler.submit"
    assert was_killed(begin_killed(lambda: _drive(root), Moment(slurm, 2)))
    assert was_killed(begin_killed(lambda: _drive(root), Moment(HAPPENED)))
    for login in two_logins:
        login.cut()
    assert was_killed(begin_killed(lambda: _drive(root), Moment(SENT, after=True)))
    driven = _drive(root)
    # then all is done but for what failed
    assert driven.told[-1].sentence == (
        "nothing is left to do: 1 sample failed, and 3 that depend on their results cannot run"
    ), driven.problems()
    # and when that is tried again, the plot comes
    (root / "mended").touch()
    running = OpenRun(OpenProject.open(root, cluster="alpha"), driven.run)
    running.look()
    job = running.growth.job_in("simulate", unlucky)
    assert job is not None
    running.retry([job])
    assert _drive(root).told[-1].success
    assert (root / "results/slopes.svg").read_text().count("<rect") == 2
    assert len(ran(root)) == 12 + 6 + 2 + 1
    assert set(ran(root).values()) == {1}


def _drive(root: Path) -> Drive:
    return drive(root, cluster="alpha", limits=RunLimits(jobs_in_queue=4))


def test_what_was_made_in_one_copy_is_sent_to_the_other_that_needs_it(
    two_of: Callable[..., Path], here: Path
) -> None:
    # given clusters that do not see the project, and of which one averages what the other made
    root = make(two_of('mirror = "{here}/{name}"', "average"), TWO_STEPS, *ACTIONS)
    driven = drive(root, cluster="alpha")
    # then only what failed is missing, and the rest is here
    assert driven.told[-1].sentence == "nothing is left to do: 1 sample failed", driven.problems()
    (failed,) = (it for it in driven.run.events() if isinstance(it, JobFailed))
    assert failed.sample == "state,t=2,r=1"
    report = (root / "results/report").read_text().split()
    alpha, beta = "ClusterName=alpha", "ClusterName=beta"
    assert report == [alpha, alpha, beta, alpha, beta]
    # and nothing was sent that nobody needed
    (copy,) = (here / "beta").glob("**/workspace")
    there = {path.name: set(os.listdir(path)) for path in copy.iterdir()}
    assert set(there) == {
        *("average,t=1", "average,t=2", "state,t=1,r=0", "state,t=1,r=1", "state,t=2,r=0")
    }
    assert there["state,t=1,r=0"] == {"energy"}
    assert there["average,t=1"] >= {"inputs.json", "value.json", "mean"}


def test_what_is_never_fetched_serves_where_it_was_made(
    two_of: Callable[..., Path], here: Path
) -> None:
    root = make(two_of('mirror = "{here}/{name}"'), TWO_STEPS, *ACTIONS)
    (root / "mirror.toml").write_text('exclude = ["energy"]\n')
    driven = drive(root, cluster="alpha")
    assert driven.told[-1].sentence == "nothing is left to do: 1 sample failed", driven.problems()
    assert not list(root.glob("workspace/*/energy"))
    assert (root / "results/report").read_text().split() == ["ClusterName=alpha"] * 5


def test_what_a_scheduler_refuses_holds_up_nothing_else_and_costs_nothing(
    two_of: Callable[..., Path],
) -> None:
    # given averages that alpha does not take, and simulations that it does
    refused = '[action.submit_options.alpha]\ncustom = ["--constraint=nothing"]\n'
    simulate, average, report = ACTIONS
    average = average._replace(text=average.text + refused)
    root = make(two_of(SEES_ALL), TWO_STEPS, simulate, average, report)
    driven = drive(root, cluster="alpha", limits=RunLimits(cpu_hours=1.2))
    # then the simulations ran, and a person is told what Slurm said of the averages
    assert driven.told[-1].kind is MessageKind.PAUSED
    assert "feature" in driven.told[-1].sentence.lower()
    assert {name.partition(": ")[2] for name in ran(root)} == {"simulate"}
    assert driven.running.spent().cpu_hours == pytest.approx(4 / 6)
    # and when that is mended, the rest follows
    path = root / "workflow.toml"
    path.write_text(path.read_text().replace(refused, ""))
    again = drive(root, cluster="alpha")
    assert again.told[-1].sentence == "nothing is left to do: 1 sample failed", again.problems()
    assert set(ran(root).values()) == {1}


def test_a_cluster_that_cannot_be_reached_for_a_while_gets_its_jobs_later(
    two_of: Callable[..., Path], two_logins: tuple[LoginNode, LoginNode]
) -> None:
    root = make(two_of(SEES_ALL, "average"), TWO_STEPS, *ACTIONS)
    _, beta = two_logins
    beta.kill()
    driven = Drive(OpenProject.open(root, cluster="alpha"))
    tried = asyncio.Event()
    submit = driven.project.jobs.submit

    async def submit_and_tell(plan: Plan) -> AsyncGenerator[SendingProgress, None]:
        try:
            async for step in submit(plan):
                yield step
        except SilentClusterError:
            tried.set()
            raise

    driven.project.jobs.submit = submit_and_tell  # type: ignore[method-assign]

    async def drive_and_restart() -> DriverMessage:
        driving = asyncio.create_task(driven.to_the_end())
        await tried.wait()
        await asyncio.to_thread(beta.restart)
        return await driving

    last = asyncio.run(drive_and_restart())
    assert last.sentence == "nothing is left to do: 1 sample failed", driven.problems()
    assert set(ran(root).values()) == {1}
