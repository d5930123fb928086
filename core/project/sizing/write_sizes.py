"""Writing recommended resources to workflow.toml, after the user saw the change.

The input is the usage of jobs; the result is one change of the file for several actions, with the
basis of each setting. The change is shown, written and undone as that of a what-if is
(`workflow_edit`). What mapping files decide is not written: a sentence names the place and the
amount.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.groups.model import Status
from rowtui.core.project.explaining import explain_group
from rowtui.core.project.sizing.job_values import job_values
from rowtui.core.project.views.views import Edit
from rowtui.core.project.workflow_edit import shown_or_written, workflow_now
from rowtui.core.usage.amounts import CPUS, MEMORY, JobValues, of_one_action, values_of_action
from rowtui.core.usage.recommend import RISK
from rowtui.core.usage.right_size import (
    RESOURCES,
    KeptSize,
    RightSized,
    SizedSetting,
    memory_gb,
    right_sized,
)
from rowtui.core.workflow.edit import edit_resources
from rowtui.core.workflow.edit_amounts import EditRefusedError
from rowtui.core.workflow.find import has_mapping_files

if TYPE_CHECKING:
    from rowtui.core.mapping.model.decision import Decision
    from rowtui.core.project.open_project import OpenProject
    from rowtui.core.usage.store import UsageColumns
    from rowtui.core.workflow.model import Action


class SizesEdit(NamedTuple):
    """A change of workflow.toml, the settings that it changes, and those that stay."""

    edit: Edit
    changed: tuple[SizedSetting, ...] = ()
    kept: tuple[KeptSize, ...] = ()


def edit_for_sizes(
    project: OpenProject,
    columns: UsageColumns,
    *,
    only: Collection[str] = RESOURCES,
    risk: float = RISK,
    confirmed: str = "",
) -> SizesEdit:
    """Return the change that gives actions what their jobs need; write it if it is `confirmed`.

    `confirmed`: the token of the change that the user saw. An action whose settings cannot be
    changed is left out with the reason. Raises: RowtuiError if a confirmed change is not written.
    """
    try:
        before = after = workflow_now(project)
    except EditRefusedError as error:
        if confirmed:
            raise
        return SizesEdit(Edit(refused=error.message))
    values = job_values(project, columns)
    changed: list[SizedSetting] = []
    kept: list[KeptSize] = []
    for name in sorted({columns.kind(line).action for line in columns.lines("kind")}):
        actions = project.workflow.named(name)
        if len(actions) != 1:
            why = "is written more than once" if actions else "is not in workflow.toml any more"
            kept.append(KeptSize(name, f"the action {why}: nothing is changed for it"))
            continue
        its = of_one_action(columns, name)
        try:
            numbers = values_of_action(columns, name, values)
            after, sized = _edited(project, actions[0], its, numbers, after, only=only, risk=risk)
        except EditRefusedError as error:
            kept.append(KeptSize(name, error.message))
            continue
        changed += sized.changed
        kept += sized.kept
    if after == before:
        return SizesEdit(Edit(), (), tuple(kept))
    try:
        edit = shown_or_written(project, before, after, confirmed)
    except EditRefusedError as error:
        if confirmed:
            raise
        edit = Edit(refused=error.message)
    return SizesEdit(edit, tuple(changed), tuple(kept))


def _edited(
    project: OpenProject,
    action: Action,
    columns: UsageColumns,
    values: Sequence[JobValues],
    data: bytes,
    *,
    only: Collection[str],
    risk: float,
) -> tuple[bytes, RightSized]:
    """Return the file with the action's settings. Raises: EditRefusedError."""

    def new(*, keep_forms: bool = False) -> RightSized:
        return right_sized(
            action.name, action.resources, columns,
            only=only, risk=risk, keep_forms=keep_forms, values=values,
        )  # fmt: skip

    sized = new()
    mapped = _mapped(project, action, sized)
    sentences = [KeptSize(action.name, sentence) for sentence in mapped.values()]
    if mapped:
        only = [it for it in only if it not in mapped]
        sized = new()
    if sized.changed:
        try:
            data = edit_resources(data, action.index, sized.settings)
        except EditRefusedError:
            # The text may not allow another form of the time limit; its present form may do.
            if None not in sized.settings.keys.values():
                raise
            sized = new(keep_forms=True)
            if sized.changed:
                data = edit_resources(data, action.index, sized.settings)
    return data, sized._replace(kept=(*sized.kept, *sentences))


def _mapped(project: OpenProject, action: Action, sized: RightSized) -> dict[str, str]:
    """Return the resources that mapping files decide, each with a sentence on what to change."""
    wanted = {it.resource for it in sized.changed} & {CPUS, MEMORY}
    if not wanted or not has_mapping_files(project.root, project.environment):
        return {}
    try:
        groups = project.cut(action, tuple(Status))
    except RowtuiError:
        return {}
    if not len(groups):
        return {}
    group = groups[0]
    size = len(group.indices)
    resources = sized.settings.resources
    then = explain_group(
        project, action, (group._replace(action=action._replace(resources=resources)),), 0
    ).decision
    if then is None or not (then.candidates or then.refusals):
        return {}
    amounts = {CPUS: float(resources.total_cpus(size)), MEMORY: memory_gb(resources, size)}
    found = {}
    for resource in sorted(wanted):
        field = "cores" if resource == CPUS else "mem"
        try:
            is_same = abs(float(getattr(then.job, field) or 0) - amounts[resource]) < 0.01
        except (TypeError, ValueError):
            is_same = False
        if not is_same:
            found[resource] = (
                f"{resource} is decided by mapping files: write {field}: "
                f"{math.ceil(amounts[resource] * 100) / 100:g} in {_place(then, action.name)}"
            )
    return found


def _place(decision: Decision, action: str) -> str:
    """Return the file and line of the action's tool in the mapping files."""
    for matched in reversed(decision.matched):
        origin = matched.origin
        if origin.kind == "tool" and origin.id == action and origin.place.file:
            return visible(str(origin.place))
    return f"the tool {visible(action)} of mapping.yml"
