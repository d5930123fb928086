"""Filtered and sorted lists of directories and groups, computed with numpy.

Takes a project and a request; gives `ListedRows`. `lists` caches them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.filter import parse_filter, with_known_fields
from rowtui.core.engine.local.cuts import ListedRows, RequestedList
from rowtui.core.engine.local.group_rows import end_detail
from rowtui.core.groups.form import job_cost, sort_key
from rowtui.core.groups.listing import (
    Coded,
    Rows,
    chosen_rows,
    codes_of_pointer,
    members_of,
    numbers_of,
    sorted_rows,
)
from rowtui.core.groups.model import ActionStatus
from rowtui.core.groups.status import STATUS_OF, status_codes, with_status
from rowtui.core.project.views.views import AS_IS, DIRECTORY_FIELDS, GROUP_FIELDS
from rowtui.core.state.model import among

if TYPE_CHECKING:
    from rowtui.core.groups.form import GroupCut
    from rowtui.core.project.open_project import OpenProject


def list_directories(project: OpenProject, which: RequestedList) -> ListedRows:
    """Return all directories of an action. See `Lists.directories`."""
    row = project.status_row(which.action)
    members = with_status(row, which.statuses)
    if row.problem and not members:
        raise RowtuiError(f"action '{which.action.name}': {row.problem}")
    positions = members_of(members)
    if which.asked == AS_IS:
        return ListedRows(positions, len(positions))
    return _some(project, row, positions, which)


def list_group(project: OpenProject, which: RequestedList, positions: Sequence[int]) -> ListedRows:
    """Return the directories of one group. See `Lists.of_group`."""
    row = project.status_row(which.action)
    return _some(project, row, np.asarray(positions, dtype=np.uint32), which)


def list_groups(
    project: OpenProject, which: RequestedList, cut: GroupCut, problem_of: Callable[[int], str]
) -> ListedRows:
    """Return the groups of a cut. See `Lists.groups`."""
    asked, go_on = which.asked, which.go_on
    wanted = with_known_fields(parse_filter(asked.filter), GROUP_FIELDS, pointers=True)
    texts = any(not term.field for term in wanted.terms)
    named = {*wanted.fields, asked.sort, "sort_key" if texts else ""}
    rows = _group_rows(project, cut, problem_of, go_on, named)
    chosen = chosen_rows(rows, wanted)
    if asked.sort:
        chosen = sorted_rows(rows, chosen, asked.sort, asked.descending)
    sizes = np.diff(np.asarray(cut.begins, dtype=np.int64))[chosen]
    counted = tuple(sorted(Counter(sizes.tolist()).items()))
    return ListedRows(chosen, len(cut), _pointers(wanted.fields, asked.sort), counted)


def _group_rows(
    project: OpenProject,
    cut: GroupCut,
    problem_of: Callable[[int], str],
    go_on: Callable[[], bool],
    named: set[str],
) -> Rows:

    begins = np.asarray(cut.begins, dtype=np.int64)
    positions = numbers_of(cut.positions)[begins[:-1]]
    sizes, by_size = np.unique(np.diff(begins), return_inverse=True)
    resources = cut.action.resources
    by: dict[str, Callable[[int], Any]] = {
        "size": int,
        "processes": resources.processes.total,
        "cpus": resources.total_cpus,
        "gpus": resources.total_gpus,
        "walltime": resources.walltime.total_seconds,
        "cost": lambda size: _hours(job_cost(resources, size)),
        "problem": problem_of,
    }
    columns = {
        name: Coded(by_size, [of(int(size)) for size in sizes], said=name == "problem")
        for name, of in by.items()
    }
    if "number" in named:
        numbers = range(1, len(positions) + 1)
        columns["number"] = Coded(np.arange(len(positions)), numbers, ranked=True)
    rows = Rows(project.state.directories, positions, columns, name="first", go_on=go_on)
    if cut.action.group.sort_by and "sort_key" in named:
        columns["sort_key"] = _sort_keys(cut, rows)
    return rows


def _sort_keys(cut: GroupCut, rows: Rows) -> Coded:
    """Return the sort key of each group as text; each distinct key is formatted once."""
    combined = np.zeros(len(rows.positions), dtype=np.int64)
    for pointer in cut.action.group.sort_by:
        codes, width = codes_of_pointer(rows, pointer)
        combined = np.unique(combined, return_inverse=True)[1] * width + codes
    _, first, codes = np.unique(combined, return_index=True, return_inverse=True)
    directories = rows.directories
    texts = []
    for count, at in enumerate(rows.positions[first].tolist()):
        if not count % 1000:
            rows.check()
        texts.append(sort_key(cut.action, directories, at))
    return Coded(codes, texts, said=True, ranked=True)


def _some(
    project: OpenProject, row: ActionStatus, positions: Any, which: RequestedList
) -> ListedRows:

    asked = which.asked
    wanted = with_known_fields(parse_filter(asked.filter), DIRECTORY_FIELDS, pointers=True)
    columns = _directory_columns(project, row, positions)
    rows = Rows(project.state.directories, positions, columns, go_on=which.go_on)
    chosen = chosen_rows(rows, wanted)
    if asked.sort:
        chosen = sorted_rows(rows, chosen, asked.sort, asked.descending)
    return ListedRows(positions[chosen], len(positions), _pointers(wanted.fields, asked.sort))


def _directory_columns(
    project: OpenProject, row: ActionStatus, positions: Any
) -> Mapping[str, Coded]:

    state, action = project.state, row.action
    count = len(state.directories)
    codes = np.frombuffer(status_codes(row, count), dtype=np.uint8)[positions]
    words = ["waiting" if status is None else status.value for status in STATUS_OF]
    jobs = {
        at: f"{job.cluster}/{job.job_id}"
        for at, job in state.submitted.get(action.name, {}).items()
        if job.job_id
    }
    ends = state.ends.get(action.name, {})
    whys = {at: end_detail(ends[at]) for at in among(row.ended, ends)}
    return {
        "status": Coded(codes, words, said=True),
        "job": _sparse(jobs, count, positions),
        "detail": _sparse(whys, count, positions),
    }


def _hours(cost: Any) -> float:
    return float(cost.cpu_hours + cost.gpu_hours)


def _pointers(fields: Sequence[str], sort: str) -> tuple[str, ...]:
    """Return the distinct pointers among these names."""
    return tuple(dict.fromkeys(one for one in (*fields, sort) if one.startswith("/")))


def _sparse(texts: Mapping[int, str], count: int, positions: Any) -> Coded:
    """Return a column in which few directories have a text."""
    values = ["", *dict.fromkeys(texts.values())]
    code_of = {text: code for code, text in enumerate(values)}
    codes = np.zeros(count, dtype=np.uint32)
    if texts:
        where = np.fromiter(texts, np.int64, len(texts))
        codes[where] = np.fromiter(map(code_of.__getitem__, texts.values()), np.uint32, len(texts))
    return Coded(codes[positions], values, said=True)
