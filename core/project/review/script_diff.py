"""The difference between two scripts, in the form that the user wants to see.

The input is the script last submitted and the script to be submitted. The result is lines that are
the same, gone or new. Data that always differs (token, directories, job name, values) is summarised
in one line. Unchanged lines are folded, except for some context around changes.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from functools import partial
from typing import NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural
from rowtui.core.project.review.views import CheckState, PlanCheck, PlanFinding, Ranges, ranges_of
from rowtui.core.submission.bundles.script import bundle_script
from rowtui.core.submission.plan.arrays import array_script, units_of
from rowtui.core.submission.plan.model import Plan, PlannedJob
from rowtui.core.submission.scripts.parts import FIXED, bash_complaint

# Whether bash can parse the scripts of a plan. Each distinct shape is checked once.
#
# Scripts that differ only in a job's own data (token, directories, values) have one shape, so that
# thousands of jobs need a handful of processes. The check is `bash -n`, which executes nothing.


SCRIPTS = "scripts"
MOST_SHAPES = 40
"""Most scripts that are checked: each takes a few milliseconds, and a plan seldom has more than
ten.
"""

AT_ONCE = 2
PATIENCE = 20.0
"""Timeout in seconds for all checks; the result reports scripts that were not checked by then."""


class ScriptShape(NamedTuple):
    """A script, and the jobs whose scripts have its shape."""

    script: str
    jobs: Ranges


class _Found(NamedTuple):
    write: Callable[[], str]
    positions: list[int]


def shapes_of(plan: Plan, kinds: Mapping[str, str]) -> list[ScriptShape]:
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
    return [ScriptShape(one.write(), ranges_of(one.positions)) for one in found.values()]


def _key(job: PlannedJob) -> object:
    before, fixed, rest = job.script.partition(FIXED)
    if not fixed:
        return (job.action, job.destination.cluster)
    header = before[: before.find("\n\n")]
    return (tuple(line for line in header.split("\n") if "--job-name=" not in line), rest)


def _joined(jobs: Sequence[PlannedJob], scheduler: str) -> str:
    """Return the script that is submitted for several jobs."""
    return (
        array_script(jobs, scheduler) if jobs[0].bundle is None else bundle_script(jobs, scheduler)
    )


async def check_scripts(
    plan: Plan, kinds: Mapping[str, str], complaint_of: Callable[[str], str] = bash_complaint
) -> PlanCheck:
    """Return the errors that bash finds in the scripts."""
    try:
        shapes = await asyncio.to_thread(shapes_of, plan, kinds)
    except (AssertionError, RowtuiError) as error:  # a script that another version wrote
        return PlanCheck(SCRIPTS, CheckState.NOT_OFFERED, f"they cannot be taken apart: {error}")
    turns = asyncio.Semaphore(AT_ONCE)
    asked = shapes[:MOST_SHAPES]

    async def ask(shape: ScriptShape) -> PlanFinding | None:
        async with turns:
            found = await asyncio.to_thread(complaint_of, shape.script)
        if not found:
            return None
        fix = "correct the action's command or its setup in workflow.toml"
        return PlanFinding(CheckState.FAILED, f"bash cannot read it: {found}", fix, shape.jobs)

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
    return PlanCheck(SCRIPTS, state, text, findings=findings)


CONTEXT = 2
"""Number of unchanged lines around a change."""

LEAST_FOLDED = 3
"""Fewer unchanged lines than this are shown, because a fold marker takes a line as well."""

MOST_COMPARED = 1500
"""Most differing lines of each script that are compared; longer scripts are listed in sequence,
which takes no time.
"""

MOST_SHOWN = 200
"""Most lines that are shown of a completely different script."""

_BLOCK = re.compile(r"(directories|rowtui_(?!products\b)\w+)=\((?!.*\)\s*$).*")
_ONE_LINE = re.compile(r"(directories|rowtui_(?:token|not_utf8|requires|values?_?\w*))=(.*)")
_NAME = re.compile(r"#SBATCH --job-name=")
_WORDS = {
    "directories": "directories",
    "rowtui_not_utf8": "directories",
    "rowtui_token": "token",
    "rowtui_tokens": "token",
    "rowtui_requires": "needed files",
    "job name": "job name",
}


class DifferenceLine(NamedTuple):
    """A line of a difference.

    `kind`: "same", "gone", "new", "fold" (of `lines` lines), or "quiet".
    """

    kind: str
    text: str
    lines: int = 0


class _Entry(NamedTuple):
    """One line: `key` is compared, `text` is shown.

    `own`: the kind of data, for data that always differs.
    """

    key: str
    text: str
    own: str = ""


class ScriptDifference(NamedTuple):
    """All lines, unfolded. `quiet`: the data that also differs, "" for none."""

    parts: tuple[DifferenceLine, ...]
    quiet: str

    @property
    def changes(self) -> int:
        """Return the number of lines that are gone or new."""
        return sum(1 for part in self.parts if part.kind in ("gone", "new"))


def difference(old: str, new: str) -> ScriptDifference:
    """Return what differs in the new script."""
    before, after = _entries(old), _entries(new)
    head = _alike(before, after)
    left, right = before[head:], after[head:]
    tail = _alike(left[::-1], right[::-1])
    left, right = left[: len(left) - tail], right[: len(right) - tail]
    parts = [DifferenceLine("same", it.text) for it in after[:head]]
    if max(len(left), len(right)) > MOST_COMPARED:
        parts += [*_many("gone", left), *_many("new", right)]
    else:
        parts += _compared(left, right)
    parts += [DifferenceLine("same", it.text) for it in after[len(after) - tail :]]
    return ScriptDifference(tuple(parts), _quiet(before, after))


def shape(script: str) -> tuple[str, ...]:
    """Return the compared lines. Scripts of one shape differ from another in the same lines."""
    return tuple(entry.key for entry in _entries(script))


def _compared(left: Sequence[_Entry], right: Sequence[_Entry]) -> Iterable[DifferenceLine]:
    matcher = SequenceMatcher(None, [it.key for it in left], [it.key for it in right], False)
    for word, from_left, to_left, from_right, to_right in matcher.get_opcodes():
        kind = "same" if word == "equal" else "new"
        if word != "equal":
            yield from (DifferenceLine("gone", it.text) for it in left[from_left:to_left])
        yield from (DifferenceLine(kind, it.text) for it in right[from_right:to_right])


def _many(kind: str, entries: Sequence[_Entry]) -> list[DifferenceLine]:
    parts = [DifferenceLine(kind, it.text) for it in entries[:MOST_SHOWN]]
    if len(entries) > MOST_SHOWN:
        left = len(entries) - MOST_SHOWN
        parts.append(DifferenceLine("fold", f"{plural(left, 'more line')} that are {kind}", left))
    return parts


def _alike(one: Sequence[_Entry], other: Sequence[_Entry]) -> int:
    """Return the number of equal entries at the beginning."""
    count = 0
    for a, b in zip(one, other, strict=False):
        if a.key != b.key:
            break
        count += 1
    return count


def _entries(script: str) -> list[_Entry]:
    """Return the lines, with each list of job-specific data as one entry."""
    found: list[_Entry] = []
    lines = iter(script.splitlines())
    for text in lines:
        if block := _BLOCK.match(text):
            inside = []
            for more in lines:
                if more == ")":
                    break
                inside.append(more)
            shown = f"{block[1]}=( {_some(inside)} )"
            found.append(_Entry(f"{block[1]}=(", shown, f"{block[1]}\n" + "\n".join(inside)))
        elif one := _ONE_LINE.match(text):
            found.append(_Entry(f"{one[1]}=", text, f"{one[1]}\n{one[2]}"))
        elif _NAME.match(text):
            found.append(_Entry("--job-name", text, f"job name\n{text}"))
        else:
            found.append(_Entry(text.replace("%A_%a", "%j"), text))
    return found


def _some(inside: Sequence[str]) -> str:
    if len(inside) <= 3:
        return " ".join(inside)
    return f"{inside[0]} {inside[1]} … {len(inside):,}"


def _quiet(before: Sequence[_Entry], after: Sequence[_Entry]) -> str:
    """Return `other directories, job name and token`: the kinds of data that always differ."""
    old, new = ({it.key: it.own for it in those if it.own} for those in (before, after))
    names = [own.partition("\n")[0] for key, own in new.items() if old.get(key, own) != own]
    words = list(dict.fromkeys(_WORDS.get(name, "values") for name in names))
    if not words:
        return ""
    return "other " + (" and ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words))


def folded(parts: Sequence[DifferenceLine]) -> list[DifferenceLine]:
    """Return the changes with some context, and counts for the other lines."""
    keep = bytearray(len(parts))
    for at, part in enumerate(parts):
        if part.kind != "same":
            first, last = max(0, at - CONTEXT), min(len(parts), at + CONTEXT + 1)
            keep[first:last] = b"\1" * (last - first)
    found: list[DifferenceLine] = []
    at = 0
    while at < len(parts):
        end = at
        while end < len(parts) and not keep[end]:
            end += 1
        if end - at >= LEAST_FOLDED:
            found.append(DifferenceLine("fold", "", end - at))
        else:
            found += parts[at:end]
        if end < len(parts):
            found.append(parts[end])
        at = end + 1
    return found
