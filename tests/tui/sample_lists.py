"""Filters and sorts of the sample project's lists, the plain way: row by row."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rowtui.core.base.filter import parse_filter, row_matches, with_known_fields
from rowtui.core.base.text import Cost
from rowtui.core.base.values import MISSING, resolve
from rowtui.core.engine.api.groups import DirectoriesPage, DirectoryRow, GroupsPage, GroupSummary
from rowtui.core.project.views.views import DIRECTORY_FIELDS, GROUP_FIELDS, ListRequest

Values = Mapping[str, Any]


def groups_page(
    about: tuple[int, int, int, int],
    groups: Sequence[GroupSummary],
    values: Values,
    asked: ListRequest,
    find: str,
) -> GroupsPage:
    """`about`: generation, action, start, length."""
    generation, action, start, length = about

    def cells(group: GroupSummary) -> dict[str, Any]:
        cost = group.cost.cpu_hours
        return {"first": group.first, "sort_key": group.sort_key, "problem": group.problem} | {
            "number": group.number, "size": group.size, "cpus": group.cpus, "gpus": group.gpus,
            "walltime": group.walltime_seconds, "cost": cost, "processes": group.processes,
        }  # fmt: skip

    said = ("first", "sort_key", "problem")
    shown = arranged(groups, cells, lambda group: values[group.first], asked, (GROUP_FIELDS, said))
    firsts = [group.first for group in shown]
    return GroupsPage(
        generation,
        action,
        len(shown),
        sum(group.size for group in shown),
        start,
        tuple(shown[start : start + length]),
        of=len(groups),
        cost=Cost(sum(group.cost.cpu_hours for group in shown), 0.0),
        found=firsts.index(find) if find in firsts else None,
    )


def directories_page(
    about: tuple[int, int, int],
    rows: Sequence[DirectoryRow],
    values: Values,
    asked: ListRequest,
    pointers: tuple[str, ...] = (),
    find: str = "",
) -> DirectoriesPage:
    """`about`: generation, start, length."""
    generation, start, length = about

    def cells(row: DirectoryRow) -> dict[str, Any]:
        status = row.status.value
        return {"name": row.name, "status": status, "job": row.job, "detail": row.detail}

    said = ("name", "status", "job", "detail")
    shown = arranged(rows, cells, lambda row: values[row.name], asked, (DIRECTORY_FIELDS, said))
    named = (*parse_filter(asked.filter).fields, asked.sort)
    named = tuple(n if n.startswith("/") else "/" + n for n in named if n not in ("", *said))
    keys = [f"/{key}" for key in next(iter(values.values()), ())]
    pointers = tuple(dict.fromkeys((*named, *pointers, *keys)))
    names = [row.name for row in shown]
    return DirectoriesPage(
        generation,
        len(shown),
        start,
        tuple(
            row.__class__(
                row.name, row.status, row.value, row.job, row.detail,
                tuple(json.dumps(resolve(values[row.name], pointer)) for pointer in pointers),
            )
            for row in shown[start : start + length]
        ),
        len(rows),
        pointers,
        names.index(find) if find in names else None,
    )  # fmt: skip


def arranged(
    items: Sequence[Any],
    cells: Callable[[Any], dict[str, Any]],
    value: Callable[[Any], Any],
    asked: ListRequest,
    fields: tuple[Mapping[str, str], Sequence[str]],
) -> list[Any]:
    """The items that fit, in the order that was asked for."""
    known, said = fields
    wanted = with_known_fields(parse_filter(asked.filter), known, pointers=True)

    def fits(item: Any) -> bool:
        row = cells(item)
        row |= {name: resolve(value(item), name) for name in wanted.fields if name[0] == "/"}
        texts = {name: row[name] for name in said}
        return all(
            row_matches(type(wanted)((term,)), row if term.field else texts)
            for term in wanted.terms
        )

    found = [item for item in items if fits(item)]
    if not asked.sort:
        return found

    def key(item: Any) -> Any:
        name = asked.sort
        return resolve(value(item), name) if name[0] == "/" else cells(item)[name]

    lacking = [item for item in found if key(item) is MISSING]
    having = [item for item in found if key(item) is not MISSING]
    return sorted(having, key=key, reverse=asked.descending) + lacking
