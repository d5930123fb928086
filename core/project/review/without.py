"""A plan without the jobs that the user excluded: a separate plan with its own id.

The input is a plan and tokens; the result is the remaining plan. Jobs that depend on excluded jobs
are excluded as well, and the plan reports that. Bundles and arrays keep their size and numbers:
their remaining jobs run where they would have run. Pure.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.files import replace_file, temporary_sibling
from rowtui.core.base.text import Cost, plural, visible
from rowtui.core.project.review.views import ExportedFiles
from rowtui.core.submission.bundles.script import bundle_script
from rowtui.core.submission.plan.arrays import array_script, units_of
from rowtui.core.submission.plan.json import plan_id, plan_to_json
from rowtui.core.submission.plan.model import Plan, PlannedJob

# Export of a plan to a folder that the user names: all scripts as they would be sent, plan.json.
#
# Existing files are not touched unless the user allows it. Each file is written whole or not at
# all.


PLAN = "plan.json"
NAMED = 5  # most existing files that the message names


def script_files(plan: Plan, kinds: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Return the name and content of a file for each scheduler job. `kinds`: by cluster."""
    units = units_of(plan.jobs)
    digits = len(str(len(units)))
    for number, unit in enumerate(units, 1):
        first, scheduler = unit.jobs[0], kinds.get(unit.cluster, plan.scheduler)
        if unit.bundle is not None:
            script = bundle_script(unit.jobs, scheduler)
            word = f"bundle-{unit.bundle.node_type}"
        elif len(unit.jobs) > 1:
            script, word = array_script(unit.jobs, scheduler), f"array-{first.action}"
        else:
            script, word = first.script, first.name
        safe = re.sub(r"[^\w.+=-]", "_", word, flags=re.ASCII)[:80].strip(".")
        yield f"{number:0{digits}d}-{safe}.sh", script


def export_plan(
    plan: Plan, folder: Path, kinds: Mapping[str, str], *, overwrite: bool = False
) -> ExportedFiles:
    """Write the plan to the folder. If files exist there, nothing is written, unless `overwrite`.

    Raises: RowtuiError if the folder cannot be written.
    """
    shown = visible(str(folder))
    try:
        there = set(os.listdir(folder)) if folder.exists() else set()
        names = [PLAN, *(name for name, _ in script_files(plan, kinds))]
        in_the_way = [name for name in names if name in there]
        if in_the_way and not overwrite:
            return ExportedFiles(str(folder), 0, tuple(in_the_way[:NAMED]))
        folder.mkdir(parents=True, exist_ok=True)
        for name, script in script_files(plan, kinds):
            _replace(folder / name, script.encode("utf-8", "surrogateescape"))
        replace_file(folder / PLAN, plan_to_json(plan).encode("ascii"))
    except OSError as error:
        text = f"{shown} cannot be written: {error.strerror or error}"
        raise RowtuiError(text, "name another folder") from None
    except AssertionError:
        text = "the scripts of this plan cannot be joined: another version wrote them"
        raise RowtuiError(text) from None
    return ExportedFiles(str(folder), len(names))


def _replace(path: Path, data: bytes) -> None:
    """Replace the file whole or not at all, without fsync, which would take longest."""
    temporary = temporary_sibling(path)
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


Related = Mapping[str, tuple[str, ...]]
"""Token -> tokens."""


def dependents_of(jobs: Iterable[PlannedJob]) -> Related:
    """Return the direct dependents of each job. A job without dependents is not a key."""
    found: dict[str, list[str]] = {}
    for job in jobs:
        for token in job.depends_on:
            found.setdefault(token, []).append(job.token)
    return {token: tuple(others) for token, others in found.items()}


def closure(tokens: Iterable[str], related: Related) -> set[str]:
    """Return these tokens, and all tokens that are related to them over any number of steps."""
    seen = set(tokens)
    todo = list(seen)
    while todo:
        for other in related.get(todo.pop(), ()):
            if other not in seen:
                seen.add(other)
                todo.append(other)
    return seen


def without(plan: Plan, tokens: Collection[str]) -> Plan:
    """Return the plan without these jobs and their dependents; itself if it has none of them.

    Raises: RowtuiError if no job remains.
    """
    known = {job.token for job in plan.jobs}
    chosen = known.intersection(tokens)
    if not chosen:
        return plan
    gone = closure(chosen, dependents_of(plan.jobs))
    jobs = tuple(job for job in plan.jobs if job.token not in gone)
    if not jobs:
        raise RowtuiError(
            "every job of the plan is switched off", "switch on the jobs to be submitted"
        )
    cost = Cost()
    for job in jobs:
        cost = cost.plus(job.cost)
    followed = len(gone) - len(chosen)
    text = f"left out by hand: {plural(len(chosen), 'job')}"
    if followed:
        text += f", and {followed:,} that depend on them"
    changed = {job.destination for job in plan.jobs if job.token in gone and job.bundle is not None}
    actions = {job.action for job in jobs}
    about = tuple(f"{name}: " for name in {job.action for job in plan.jobs} - actions)
    left = plan._replace(
        id="",
        jobs=jobs,
        cost=cost,
        warnings=tuple(it for it in plan.warnings if not it.startswith(about)),
        skipped=(*plan.skipped, text),
        # the packing's savings were computed for all jobs of the destination
        packed=tuple(one for one in plan.packed if one.destination not in changed),
    )
    return left._replace(id=plan_id(left))
