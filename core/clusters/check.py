"""Find the parts of a workflow that cannot work on one cluster, before any job is submitted.

A loaded workflow has no line numbers; workflow.toml is read again for line numbers only if there is
a problem.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from rowtui.core.base.errors import Problem, RowtuiError
from rowtui.core.base.files import read_bounded
from rowtui.core.base.text import visible
from rowtui.core.clusters.config.builtin import CLUSTERS
from rowtui.core.clusters.model import Cluster, LauncherError, Launchers, launcher_prefix
from rowtui.core.clusters.partition import choose_partition
from rowtui.core.clusters.schedulers.kind import needs_description
from rowtui.core.workflow.model import Action, Workflow
from rowtui.core.workflow.toml_file import TomlFile, did_you_mean

if TYPE_CHECKING:
    from rowtui.core.workflow.parse import RawWorkflow

# A group of one directory may fail a check that a larger group passes (`require_cpus_multiple_of`).
_SIZES_TO_TRY = 256


def check_workflow(
    workflow: Workflow,
    cluster: Cluster,
    launchers: Launchers,
    known_clusters: Collection[str] | None = None,
) -> tuple[Problem, ...]:
    """Return the launchers, partitions and submit options that cannot work, with positions.

    `known_clusters` are the names of all clusters (default: the built-in ones and this one).
    """
    known = {*(known_clusters or [c.name for c in CLUSTERS]), cluster.name}
    places = _Places(workflow)
    found = []
    for action in workflow.actions:
        found += _check_launchers(action, cluster, launchers, places)
        if not needs_description(cluster):  # otherwise its partitions are not known yet
            found += _check_partition(action, cluster, places)
        for name in action.submit_options:
            if name not in known:
                message = f"no cluster is called '{visible(name)}'"
                hint = did_you_mean(name, known)
                keys = ("submit_options", name)
                found.append(places.problem(action, keys, message, hint, "warning"))
    return tuple(sorted(found, key=lambda problem: (problem.line, problem.column)))


def _check_launchers(
    action: Action, cluster: Cluster, launchers: Launchers, places: _Places
) -> list[Problem]:
    most = action.group.maximum_size
    for directories in (1,) if most == 1 else (1, 2):
        try:
            launcher_prefix(action, launchers, cluster.name, directories)
        except LauncherError as error:
            keys: tuple[str | int, ...] = ("launchers",)
            if error.index is not None:
                keys = ("launchers", error.index)
            elif not action.launchers:
                keys = ("resources", "processes")
            # An error with two directories concerns larger groups only; single directories do run.
            severity = "error" if directories == 1 else "warning"
            return [places.problem(action, keys, error.message, error.hint, severity)]
    return []


def _check_partition(action: Action, cluster: Cluster, places: _Places) -> list[Problem]:
    options = action.submit_options.get(cluster.name)
    named = options.partition if options is not None else None
    sizes = [1]
    if action.resources.processes.per_directory:
        most = action.group.maximum_size or _SIZES_TO_TRY
        sizes = [*range(1, min(most, _SIZES_TO_TRY) + 1), most]
    first = None
    for size in sizes:
        choice = choose_partition(cluster, action.resources, size, named)
        if choice.partition is not None:
            return []
        first = first or choice
    refusals = first.refusals if first is not None else ()
    if named is not None:
        keys: tuple[str | int, ...] = ("submit_options", cluster.name, "partition")
    else:
        keys = ("resources",)
    if named is not None and refusals and refusals[0].constraint == "name":
        message = f"cluster {visible(cluster.name)} has no partition '{visible(named)}'"
        hint = f"it has {refusals[0].offered}"
        if refusals[0].hint.startswith("did"):
            hint = refusals[0].hint
    else:
        message = f"no partition of {visible(cluster.name)} takes it, not even for one directory"
        hint = "\n    ".join(visible(str(refusal)) for refusal in refusals)
        hint = hint or "the cluster has no partitions"
    return [places.problem(action, keys, message, hint, "error")]


class _Places:
    """Lines and columns of values in workflow.toml; the file is read at the first query."""

    def __init__(self, workflow: Workflow) -> None:
        self.workflow = workflow
        self.shown = visible(str(workflow.path))
        self.read: tuple[TomlFile, RawWorkflow] | None = None
        self.failed = False

    def problem(
        self, action: Action, keys: tuple[str | int, ...], message: str, hint: str, severity: str
    ) -> Problem:
        line, column = self.locate(action.index, keys)
        title = f"action '{visible(action.name)}': "
        text = message if "action '" in message else title + message
        return Problem(self.shown, line, column, text, hint, severity, action.index)

    def locate(self, index: int, keys: tuple[str | int, ...]) -> tuple[int, int]:
        from rowtui.core.workflow.inherit import FromError, inherit
        from rowtui.core.workflow.load import LARGEST_FILE
        from rowtui.core.workflow.parse import WORKFLOW_KEYS, parse_tables

        if self.read is None and not self.failed:
            try:
                data = read_bounded(self.workflow.path, LARGEST_FILE)
                file = TomlFile(data, self.shown, WORKFLOW_KEYS)
                self.read = file, parse_tables(file)
            except (OSError, RowtuiError):  # removed or broken since: no line
                self.failed = True
        if self.read is None:
            return 0, 0
        file, raw = self.read
        try:
            return file.locate(inherit(raw, index).path_of(*keys))
        except (FromError, IndexError):
            return 0, 0
