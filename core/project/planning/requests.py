"""Job requests for the eligible directories of some actions.

The input is a project, actions and a choice of their groups. Only the needed groups are formed.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.groups.choice import duplicates, whole_groups
from rowtui.core.groups.form import FirstRequests, job_requests
from rowtui.core.groups.model import JobRequest, Status
from rowtui.core.state.model import DirectorySet
from rowtui.core.submission.plan.model import RefusedAt, RefusedWork
from rowtui.core.workflow.model import Action

if TYPE_CHECKING:
    from rowtui.core.project.project import Project


class ChosenRequests(NamedTuple):
    """The requests that could be submitted, by action in order, and the work that is left out."""

    parts: tuple[Sequence[JobRequest], ...]
    refused: tuple[RefusedWork, ...] = ()
    problems: tuple[str, ...] = ()


def choose_requests(
    project: Project,
    actions: Sequence[Action],
    among: Sequence[int] | None = None,
    *,
    only: Mapping[int, Collection[int]] | None = None,
    limit: int | None = None,
) -> ChosenRequests:
    """Return job requests for the eligible directories of these actions, in order.

    `only`: action index -> numbers of the chosen groups, from 0. A bad action does not stop the
    others: it adds a sentence to `problems`. Actions that `limit` excludes are not evaluated.
    Raises: RowtuiError if a directory would be submitted twice.
    """
    parts: list[Sequence[JobRequest]] = []
    refused: list[RefusedWork] = []
    problems: list[str] = []
    # All groups are formed only if a directory may be in two groups.
    repeats = _may_repeat(project, actions, among)
    left = sys.maxsize if limit is None or repeats else limit
    for action in actions:
        if not left:
            break
        try:
            cut = project.cut(action, (Status.ELIGIBLE,), among)
            part: Sequence[JobRequest] = FirstRequests(cut, left if only is None else len(cut))
            if action.group.submit_whole and len(cut):
                every = project.cut(action, tuple(Status)).page()
                kept, left_out = whole_groups(cut.page(), every, project.state.directories)
                part = job_requests(kept)
                name = project.state.directories.name
                refused += (
                    RefusedWork(
                        RefusedAt.GROUP,
                        action.name,
                        (tuple(map(name, it.group.indices)),),
                        it.reason,
                        text=it.sentence,
                    )
                    for it in left_out
                )
        except RowtuiError as error:
            problems.append(str(error))
            continue
        if only is not None:
            wanted = only.get(action.index, ())
            part = tuple(request for number, request in enumerate(part) if number in wanted)
        if len(part) > left:
            part = part[:left]
        parts.append(part)
        left -= len(part)
    every_group = (request.group for request in chain.from_iterable(parts))
    twice = duplicates(every_group) if repeats else ()
    if twice:
        raise RowtuiError(
            "\n".join(each.sentence(project.state.directories) for each in twice[:10]),
            "check that actions of the same name include different directories",
        )
    if repeats and limit is not None:
        for number, part in enumerate(parts):
            parts[number] = tuple(islice(part, limit))
            limit -= len(parts[number])
    return ChosenRequests(tuple(parts), tuple(refused), tuple(problems))


def _may_repeat(project: Project, actions: Sequence[Action], among: Sequence[int] | None) -> bool:
    """Whether a directory may be eligible twice under one action name."""
    if among is not None and len(set(among)) < len(among):
        return True
    times = Counter(action.name for action in actions)
    seen: dict[str, DirectorySet] = {}
    for action in actions:
        if times[action.name] == 1:
            continue
        eligible = project.status_row(action, among).eligible
        if seen.get(action.name, 0) & eligible:
            return True
        seen[action.name] = seen.get(action.name, 0) | eligible
    return False
