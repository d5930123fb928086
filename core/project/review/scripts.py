"""Whether bash can parse the scripts of a plan. Each distinct shape is checked once.

Scripts that differ only in a job's own data (token, directories, values) have one shape, so that
thousands of jobs need a handful of processes. The check is `bash -n`, which executes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural
from rowtui.core.project.review.views import Check, CheckState, Finding, Ranges, ranges_of
from rowtui.core.submission.bundles.script import bundle_script
from rowtui.core.submission.plan.arrays import array_script
from rowtui.core.submission.plan.model import Plan, PlannedJob
from rowtui.core.submission.plan.plan import bash_complaint
from rowtui.core.submission.scripts.script_parts import FIXED
from rowtui.core.submission.sending.send import units_of

NAME = "scripts"
MOST_SHAPES = 40
"""Most scripts that are checked: each takes a few milliseconds, and a plan seldom has more than
ten.
"""

AT_ONCE = 2
PATIENCE = 20.0
"""Timeout in seconds for all checks; the result reports scripts that were not checked by then."""


class Shape(NamedTuple):
    """A script, and the jobs whose scripts have its shape."""

    script: str
    jobs: Ranges


class _Found(NamedTuple):
    write: Callable[[], str]
    positions: list[int]


def shapes_of(plan: Plan, kinds: Mapping[str, str]) -> list[Shape]:
    """Return the distinct scripts of a plan in its order: of jobs, of bundles and of arrays.

    `kinds`: the kind of scheduler by cluster. The function only computes; it does not wait for I/O.
    """
    found: dict[object, _Found] = {}
    at = 0
    for unit in units_of(plan.jobs):
        where = unit.cluster
        for offset, job in enumerate(unit.jobs):
            write = partial(getattr, job, "script")
            found.setdefault(_key(job), _Found(write, [])).positions.append(at + offset)
        if unit.bundle is not None or len(unit.jobs) > 1:
            word = "an array" if unit.bundle is None else unit.bundle.node_type
            write = partial(_joined, unit.jobs, kinds.get(where, plan.scheduler))
            entry = found.setdefault((word, where, _key(unit.jobs[0])), _Found(write, []))
            entry.positions.extend(range(at, at + len(unit.jobs)))
        at += len(unit.jobs)
    return [Shape(one.write(), ranges_of(one.positions)) for one in found.values()]


def _key(job: PlannedJob) -> object:
    before, fixed, rest = job.script.partition(FIXED)
    if not fixed:
        return (job.action, job.destination.cluster)
    header = before[: before.find("\n\n")]
    return (tuple(line for line in header.split("\n") if "--job-name=" not in line), rest)


def _joined(jobs: Sequence[PlannedJob], scheduler: str) -> str:
    """Return the script that is submitted for several jobs."""
    return array_script(jobs) if jobs[0].bundle is None else bundle_script(jobs, scheduler)


async def check_scripts(
    plan: Plan, kinds: Mapping[str, str], complaint_of: Callable[[str], str] = bash_complaint
) -> Check:
    """Return the errors that bash finds in the scripts."""
    try:
        shapes = await asyncio.to_thread(shapes_of, plan, kinds)
    except (AssertionError, RowtuiError) as error:  # a script that another version wrote
        return Check(NAME, CheckState.NOT_OFFERED, f"they cannot be taken apart: {error}")
    turns = asyncio.Semaphore(AT_ONCE)
    asked = shapes[:MOST_SHAPES]

    async def ask(shape: Shape) -> Finding | None:
        async with turns:
            said = await asyncio.to_thread(complaint_of, shape.script)
        if not said:
            return None
        fix = "mend the action's command or its setup in workflow.toml"
        return Finding(CheckState.FAILED, f"bash cannot read it: {said}", fix, shape.jobs)

    tasks = [asyncio.ensure_future(ask(shape)) for shape in asked]
    try:
        done, late = await asyncio.wait(tasks, timeout=PATIENCE) if tasks else (set(), set())
    finally:
        for task in tasks:
            task.cancel()
    findings = tuple(it for task in tasks if task in done and (it := task.result()))
    left = len(shapes) - len(done)
    text = (
        f"bash -n reads {plural(len(done), 'distinct script')} of {plural(len(plan.jobs), 'job')}"
    )
    if left:
        text += f"; {left:,} more were not asked about"
    state = CheckState.FAILED if findings else CheckState.WARNING if late else CheckState.OK
    return Check(NAME, state, text, findings=findings)
