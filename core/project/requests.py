"""What could be submitted: job requests for the eligible directories of some actions.

Takes a project, actions and what to choose of their groups; forms no more groups than are needed.
Source: Row A5.1.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.errors import RowtuiError
from rowtui.core.grouping.model import Group, JobRequest, Status
from rowtui.core.grouping.request import job_requests
from rowtui.core.grouping.select import duplicates
from rowtui.core.grouping.whole import whole_groups
from rowtui.core.state.model import DirectorySet
from rowtui.core.workflow.model import Action

if TYPE_CHECKING:
    from rowtui.core.project.project import Project


class Requests(NamedTuple):
    """What could be submitted: job requests in order, and a sentence for each group left out."""

    requests: tuple[JobRequest, ...]
    skipped: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def form_requests(
    project: Project,
    actions: Sequence[Action],
    among: Sequence[int] | None = None,
    *,
    only: Mapping[int, Collection[int]] | None = None,
    limit: int | None = None,
) -> Requests:
    """See `Project.requests`."""
    chosen: list[Group] = []
    skipped: list[str] = []
    problems: list[str] = []
    # All groups are formed only where a directory may be in two of them.
    repeats = _may_repeat(project, actions, among)
    needed = None if repeats else limit
    for action in actions:
        try:
            cut = project.cut(action, (Status.ELIGIBLE,), among)
            if action.group.submit_whole and len(cut):
                every = project.groups(action, tuple(Status))
                groups, left_out = whole_groups(cut.page(), every, project.state.directories)
                skipped += left_out
            elif only is None and needed is not None:
                groups = cut.page(0, needed - len(chosen))
            else:
                groups = cut.page()
        except RowtuiError as error:
            problems.append(str(error))
            continue
        if only is not None:
            wanted = only.get(action.index, ())
            groups = tuple(group for number, group in enumerate(groups) if number in wanted)
        chosen += groups
    twice = duplicates(chosen) if repeats else ()
    if twice:
        raise RowtuiError(
            "\n".join(each.sentence(project.state.directories) for each in twice[:10]),
            "check that actions of the same name include different directories",
        )
    requests = job_requests(chosen if limit is None else chosen[:limit])
    return Requests(requests, tuple(skipped), tuple(problems))


def _may_repeat(project: Project, actions: Sequence[Action], among: Sequence[int] | None) -> bool:
    """Whether a directory may be eligible twice for one name."""
    if among is not None and len(set(among)) < len(among):
        return True
    seen: dict[str, DirectorySet] = {}
    for action in actions:
        eligible = project.status_row(action, among).eligible
        if seen.get(action.name, 0) & eligible:
            return True
        seen[action.name] = seen.get(action.name, 0) | eligible
    return False
