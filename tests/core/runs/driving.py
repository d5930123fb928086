"""Driving network runs in tests: a project from two files, and a person who answers."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rowtui.core.project.open_project import OpenProject
from rowtui.core.runs.execution.autopilot import Autopilot
from rowtui.core.runs.execution.driver import DriverMessage, MessageKind
from rowtui.core.runs.execution.permission import PlanAnswer
from rowtui.core.runs.limits.limits import Breach, RunLimits
from rowtui.core.runs.model import Event
from rowtui.core.runs.run import RunTotals
from rowtui.core.runs.running import OpenRun
from rowtui.core.runs.snapshot import read_study
from rowtui.core.runs.store import Run, RunStore
from rowtui.core.submission.plan.model import Plan, PlannedJob

from tests.eventually import eventually_async

EXAMPLE = Path(__file__).parents[3] / "examples/study"
LOOK = 0.2  # seconds
LIMIT = 120.0  # seconds: a run that takes as long hangs

HEAD = """\
[workspace]
value_file = "value.json"
"""
ACTION = """
[[action]]
name = "{name}"
command = "sh steps/{name}.sh {{directory}}"
products = {products}
previous_actions = {previous}
[action.group]
maximum_size = {size}
[[action.group.include]]
condition = ["/node", "==", "{node}"]
[action.resources]
walltime.per_submission = "00:10:00"
"""

Asked = tuple[Plan, tuple[Breach, ...]]


class Step(NamedTuple):
    """One action: its part of workflow.toml, and the script that it runs in a directory."""

    name: str
    text: str
    script: str


def action(
    name: str,
    script: str,
    products: Sequence[str],
    *,
    node: str = "",
    size: int = 1,
    previous: Sequence[str] = (),
) -> Step:
    """An action in the directories of a node (its own). It notes each of its runs."""
    text = ACTION.format(
        name=name,
        products=json.dumps(list(products)),
        previous=json.dumps(list(previous)),
        node=node or name,
        size=size,
    )
    return Step(name, text, f'cd "workspace/$1" || exit 9\necho {name} >> runs\n{script}\n')


def make(root: Path, network: str, *actions: Step) -> Path:
    """A project with this network."""
    (root / "steps").mkdir(parents=True, exist_ok=True)
    (root / "workflow.toml").write_text(HEAD + "".join(it.text for it in actions))
    (root / "network.toml").write_text(network)
    for it in actions:
        (root / "steps" / f"{it.name}.sh").write_text(it.script)
    return root


def example(root: Path, *, small: bool = False) -> Path:
    """The example study, with a note in each directory for each time that something ran there.

    `small`: of one size alone, half as many jobs.
    """
    shutil.copytree(EXAMPLE, root, ignore=shutil.ignore_patterns("workspace", ".row", "results"))
    path = root / "workflow.toml"
    text = path.read_text()
    for name in ("simulate", "average", "fit", "plot"):
        old = f'"python3 study.py {name} {{directory}}"'
        assert text.count(old) == 1
        new = (
            f"python3 study.py {name} {{directory}} && echo {name} >> workspace/{{directory}}/runs"
        )
        text = text.replace(old, f"'''{new}'''")
    path.write_text(text)
    if small:
        of_one_size(root)
    return root


def of_one_size(study: Path) -> None:
    """Take one of the two sizes out of the example study: half as many jobs."""
    path = study / "network.toml"
    text = path.read_text()
    assert text.count("size = [8, 16]") == 1
    path.write_text(text.replace("size = [8, 16]", "size = [8]"))


class Person:
    """Who is asked. Answers one after another; then `Answer()`, which is no."""

    def __init__(self, *answers: PlanAnswer) -> None:
        self.answers = list(answers)
        self.asked: list[Asked] = []

    async def __call__(self, plan: Plan, breaches: tuple[Breach, ...]) -> PlanAnswer:
        self.asked.append((plan, breaches))
        return self.answers.pop(0) if self.answers else PlanAnswer()


def begin(project: OpenProject, limits: RunLimits | None = None) -> Run:
    """A new run of the network as it is now."""
    study = read_study(project)
    return RunStore(project.root).create(
        study.network, study.rows.values(), limits=limits or RunLimits()
    )


class Drive:
    """One process's driving of a run."""

    def __init__(
        self, project: OpenProject, run: Run | None = None, *, person: Person | None = None
    ) -> None:
        self.project = project
        self.run = run or RunStore(project.root).latest() or begin(project)
        self.running = OpenRun(project, self.run)
        self.person = person or Person()
        self.autopilot = Autopilot(self.running, self.person, look_seconds=LOOK)
        self.autopilot.resting.first = 0.05
        self.told: list[DriverMessage] = []

    async def to_the_end(
        self, meanwhile: Callable[[DriverMessage], Awaitable[None]] | None = None
    ) -> DriverMessage:
        """Drive until it is over or pauses; `meanwhile` hears everything that is told."""
        with self.run.hold():
            async with asyncio.timeout(LIMIT):
                async for told in self.autopilot.drive():
                    self.told.append(told)
                    if meanwhile is not None:
                        await meanwhile(told)
        await self.project.let_go()
        return self.told[-1]

    def sent(self) -> list[PlannedJob]:
        """All jobs that were sent."""
        plans = (told.plan for told in self.told if told.kind is MessageKind.SENT)
        return [job for plan in plans if plan is not None for job in plan.jobs]

    def problems(self) -> list[str]:
        """All that was said to be wrong."""
        return [told.sentence for told in self.told if told.kind is MessageKind.PROBLEM]


def drive(
    root: Path,
    *,
    person: Person | None = None,
    limits: RunLimits | None = None,
    cluster: str | None = "local",
    run: Run | None = None,
) -> Drive:
    """Open a project, drive its newest run (or a new one) to its end, and give what was told."""
    project = OpenProject.open(root, cluster=cluster)
    known = run or RunStore(root).latest() or begin(project, limits)
    driven = Drive(project, known, person=person)
    asyncio.run(driven.to_the_end())
    return driven


def ran(root: Path, directories: Iterable[str] | None = None) -> Counter[str]:
    """How often each command ran in each directory: `directory: action`."""
    found: Counter[str] = Counter()
    workspace = root / "workspace"
    for name in sorted(os.listdir(workspace)) if directories is None else directories:
        path = workspace / name / "runs"
        if path.exists():
            found.update(f"{name}: {line}" for line in path.read_text().split())
    return found


async def ends_recorded(project: OpenProject) -> None:
    """Wait for the ends of all jobs: a run is over once their products are there."""

    async def look() -> bool:
        await project.jobs.entered(await project.jobs.queues.ask(may_send=True))
        project.synchronise()
        return not any(project.state.submitted.values())

    await eventually_async(look, what="the ends of all jobs")


def inputs(root: Path, directory: str) -> Mapping[str, Any]:
    """What stands in a directory's inputs.json."""
    found: dict[str, Any] = json.loads((root / "workspace" / directory / "inputs.json").read_text())
    return found


def standing_of(events: Iterable[Event]) -> RunTotals:
    """Where a run with this journal stands."""
    standing = RunTotals()
    for event in events:
        standing.take(event)
    return standing
