"""Run a scenario and compare the facts of each of its moments."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from rowtui.core.engine.local import InProcessEngine
from rowtui.core.project.open_project import OpenProject

from tests.rig.login import LoginNode
from tests.seams.checker import LAWS, Contradiction, all_is_complete, check, compared
from tests.seams.combinations import Combination
from tests.seams.facts import Fact, collect_commands
from tests.seams.folder import FolderProject
from tests.seams.projects import SeamProject
from tests.seams.scenarios import SCENARIOS
from tests.seams.views import collect_views

TRIES = 5  # to see all facts while no job changes its state


class Moment(NamedTuple):
    """What was found at a moment: so many facts, and the contradictions among them.

    `compared`: by source, in how many comparisons with another source it took part.
    """

    name: str
    facts: int
    compared: Counter[str]
    contradictions: tuple[Contradiction, ...]


def run(
    which: Combination,
    folder: Path,
    login: LoginNode | None,
    wanted: Callable[[str], bool] = lambda _: True,
) -> Iterator[Moment]:
    """The wanted moments of a scenario, in a project made in this folder."""
    project = SeamProject(which, folder, login)
    try:
        with project.here():
            for name in SCENARIOS[which.event](project):
                if not wanted(name):
                    continue
                laws = (*LAWS, all_is_complete) if name == "the end" else LAWS
                for last in (False, True):  # a driver may take note of something in between
                    facts = collect(project)
                    found = tuple(check(facts, project.ran(), laws))
                    if last or not found:
                        break
                    time.sleep(2)
                yield Moment(name, len(facts), compared(facts), found)
    finally:
        project.close()


def collect(project: FolderProject) -> list[Fact]:
    """All facts while no job changes its state: what is collected across a change is dropped."""
    for _ in range(TRIES):
        facts = collect_commands(project)
        before = sorted(
            (fact.subject[1], fact.value)
            for fact in facts
            if fact.source == "show jobs" and fact.subject[0] == "job" and fact.field == "state"
        )
        facts += asyncio.run(_views(project))
        after = project.states()
        if before == after:
            return facts
    raise AssertionError(f"the jobs never stayed as they were: {before}, then {after}")


async def _views(project: FolderProject) -> list[Fact]:
    engine = InProcessEngine(OpenProject.open(project.root))
    try:
        return await collect_views(engine)
    finally:
        await engine.close()
