"""The status of all directories for each action, cached while valid, and its table of amounts.

The input is the records; the result is rows of the status table. When completions arrive, only the
rows of their action and of the actions that depend on it are recomputed. The set of directories
that an action includes is recomputed only for other directories or another workflow.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.files import own_config_folder
from rowtui.core.groups.form import is_linear
from rowtui.core.groups.include import included
from rowtui.core.groups.model import ActionStatus, StatusTable
from rowtui.core.groups.order import ActionOrder, action_order, order_from_bytes, order_to_bytes
from rowtui.core.groups.status import is_renewed, status_of, status_table
from rowtui.core.project.summary import write_summary

if TYPE_CHECKING:
    from rowtui.core.project.project import Project
    from rowtui.core.state.directories import StoredDirectories
    from rowtui.core.state.model import DirectorySet, State
    from rowtui.core.state.store.store import Store
    from rowtui.core.workflow.model import Action


# Whether a project has any mapping file, and the paths that show changes of mapping files.
#
# As long as there are no mapping files, the modules that parse them are not imported.


_NAMES = ("mapping.yml", "mapping.yaml")


def has_mapping_files(root: Path, environment: Mapping[str, str]) -> bool:
    """Whether `find_sources` would find any mapping file, even an unreadable one."""
    if any(os.path.lexists(root / name) for name in _NAMES):
        return True
    own = own_config_folder(environment)
    return own is not None and os.path.lexists(own / "mapping")


def mapping_paths(project: Project) -> tuple[Path, ...]:
    """Return the paths to watch for mapping files that are made, edited, deleted or trusted.

    Files that are included by mapping files are among these once the mapping files were read.
    """
    root, environment = project.root, project.environment
    paths = [root / name for name in _NAMES]
    own = own_config_folder(environment)
    if own is not None:
        paths.append(own / "mapping")
    if has_mapping_files(root, environment):
        from rowtui.core.mapping.files.places import user_places

        paths.append(user_places(environment).trust)
        if own is not None:
            with contextlib.suppress(OSError):
                paths += sorted(path for path in (own / "mapping").iterdir() if path.is_file())
        paths += map(Path, known_mapping_places(project))
    return tuple(dict.fromkeys(paths))


def known_mapping_places(project: Project) -> tuple[str, ...]:
    """Return the mapping files on disk, as far as they were read already, without reading."""
    mapping = vars(project).get("mapping")
    return () if mapping is None else mapping.known_places()


# Stored orders of a project's directories: read from its folder, or computed and stored there.
#
# Orders are computed while the directories are read for the first time, which takes a thousand
# times as long; after any later change, the first caller that needs an order computes it.


def stored_order(
    store: Store,
    directories: StoredDirectories,
    sort_by: tuple[str, ...],
    notice: Callable[[str], None],
) -> ActionOrder:
    """Return the order of all directories by these pointers.

    It is stored if it had to be computed.
    """
    key = json.dumps(sort_by)
    data = store.load_orders(directories, key)
    if data is not None:
        try:
            return order_from_bytes(data)
        except ValueError:
            notice("a stored sort order was damaged and has been computed again")
    order = action_order(sort_by, directories)
    store.save_orders(directories, key, order_to_bytes(order))
    return order


def keep_orders(
    store: Store,
    directories: StoredDirectories,
    actions: Iterable[Action],
) -> None:
    """Compute and store the orders that these actions need. Using an order raises its errors."""
    for sort_by in dict.fromkeys(action.group.sort_by for action in actions):
        if sort_by:
            with contextlib.suppress(RowtuiError):
                stored_order(store, directories, sort_by, lambda _: None)


class StatusRows:
    """The rows of one project. Call `forget` after workflow.toml was read again."""

    def __init__(self) -> None:
        self._rows: dict[int, ActionStatus] = {}
        self._included: dict[int, DirectorySet] = {}

    def forget(self) -> None:
        """Clear all rows, because the actions or the directories changed."""
        self._rows.clear()
        self._included.clear()

    def follow(self, before: State, after: State) -> None:
        """Drop the rows that changed records, over the same directories, have made invalid."""
        self._rows = {
            index: row
            for index, row in self._rows.items()
            if not is_renewed(row.action, before, after)
        }

    def known(self, action: Action) -> ActionStatus | None:
        """Return the row if it is cached."""
        row = self._rows.get(action.index)
        return row if row is not None and _is_of(row, action) else None

    def row(
        self, action: Action, state: State, order_of: Callable[[Action], ActionOrder | None]
    ) -> ActionStatus:
        """Return the row of an action; it is the identical object until something about it changes.

        An action from before workflow.toml was read again does not influence later rows.
        """
        row = self._rows.get(action.index)
        if row is not None and not _is_of(row, action):
            self._included.pop(action.index, None)
            row = None
        if row is None:
            row = self._rows[action.index] = self._made(action, state, order_of)
        return row

    def _made(
        self, action: Action, state: State, order_of: Callable[[Action], ActionOrder | None]
    ) -> ActionStatus:
        members = self._included.get(action.index)
        if members is None:
            try:
                members = included(action, state.directories, state.everything)
            except RowtuiError as error:
                return ActionStatus(action, problem=error.message)
            self._included[action.index] = members
        order = order_of(action) if _needs_order_for_cost(action) else None
        orders = {} if order is None else {action.group.sort_by: order}
        return status_of(action, state, members, None, orders)


def _is_of(row: ActionStatus, action: Action) -> bool:
    return row.action is action or row.action == action


def _needs_order_for_cost(action: Action) -> bool:
    return action.group.split_by_sort_key and not is_linear(action.resources)


# The status table of a project, with the amounts of its mapping files; and its stored text.


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
