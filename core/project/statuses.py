"""The status table of a project, with the amounts of its mapping files; and its stored text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rowtui.core.groups.model import StatusTable
from rowtui.core.groups.status import status_table
from rowtui.core.project.mapping_files import has_mapping_files
from rowtui.core.project.summary import write_summary

if TYPE_CHECKING:
    from rowtui.core.project.project import Project


def project_status(project: Project, among: Sequence[int] | None = None) -> StatusTable:
    """Return the status of all directories, or of those at these positions, for every action.

    Costs are those of a plan, with the amounts that mapping files give to the jobs.
    """
    state = project.state
    if among is not None:
        rows = status_table(project.workflow, state, among).rows
    else:
        rows = tuple(project.status_row(action) for action in project.workflow.actions)
    if has_mapping_files(project.root, project.environment):
        rows = project.mapped_costs.of(project, rows, among)
    return StatusTable(rows, len(state.directories), len(state.directories.bad))


def keep_texts(project: Project, texts: dict[str, str]) -> None:
    """Keep the text of the status table for as long as nothing changes.

    The text is not kept while jobs are submitted, because their end leaves no sign on disk; while
    files have problems to report; or with mapping files, because the table's costs depend on them.
    """
    if has_mapping_files(project.root, project.environment):
        return
    stored = project.store.load().stored
    if stored is None or stored.state.generation != project.state.generation:
        return
    if not (project.workflow.problems or any(project.state.submitted.values())):
        write_summary(project.root, project.workflow.workspace, stored, texts)
