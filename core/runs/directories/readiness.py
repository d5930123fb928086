"""Make and remove a network's own directories, so that they exist while their jobs have inputs.

A directory that belongs to a node is made when all inputs of its job are complete or left out. It
is made as a whole, with value file and inputs.json. Before that, neither Row nor a manual `submit`
can find it. A directory whose inputs are no longer complete is moved out of the workspace with its
content, and is moved back when they are complete. Jobs that are planned earlier are planned on a
state in which their directories exist already (`with_planned`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.files import sync_folder
from rowtui.core.base.lazy import NDArray, np
from rowtui.core.base.text import visible
from rowtui.core.network.definition.spec import JSON
from rowtui.core.network.graph.dynamic_graph import Growth
from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.network.samples.sample_flow import Lists
from rowtui.core.runs.directories.directories import (
    DirectoryConflict,
    MadeDirectories,
    Value,
    beside,
    make_directories,
)
from rowtui.core.runs.directories.inputs import FILE, inputs_bytes, inputs_of, write_inputs
from rowtui.core.runs.store import RunStore
from rowtui.core.state.directories import StoredDirectories
from rowtui.core.state.merge import merge_directories
from rowtui.core.state.model import State, bit_set, positions
from rowtui.core.state.records import moved
from rowtui.core.state.store.stored import Stored
from rowtui.core.workspace.gather import Gathered, workflow_pointers
from rowtui.core.workspace.list import Stamps

if TYPE_CHECKING:
    from rowtui.core.project.open_project import OpenProject
    from rowtui.core.runs.observed_states import ObservedStates

UNUSABLE = "its directory cannot be used"
_MAY_BE_REFUSED = (
    GraphJobState.WAITING,
    GraphJobState.ELIGIBLE,
    GraphJobState.CANCELLED,
    GraphJobState.BLOCKED,
)
_PLACE = "waiting"  # name of the folder for directories that were moved away


def own_nodes(growth: Growth) -> list[str]:
    """Return the nodes that have directories of their own."""
    flow = growth.flow
    return [name for name in flow.runs if flow.shape.home(name) == name]


def values_of(growth: Growth, jobs: Iterable[int]) -> Iterator[tuple[str, dict[str, JSON]]]:
    """Yield the names and values of the nodes' own directories for these jobs."""
    flow = growth.flow
    for job in jobs:
        node, row = growth.where(job)
        if flow.shape.home(node) == node:
            yield flow.directories(node)[row], flow.value(node, row)


def unprepared(growth: Growth, facts: ObservedStates) -> list[int]:
    """Return ready jobs whose own directory does not exist, or was not checked yet."""
    states = np.frombuffer(growth.graph.snapshot().states, np.uint8)
    found: list[int] = []
    for node in own_nodes(growth):
        jobs = growth.jobs(node)
        wanted = states[jobs] == GraphJobState.ELIGIBLE
        if wanted.any():
            rows = facts.rows_there(node)
            wanted[rows] &= ~facts.are_prepared(jobs[rows])
            found += jobs[wanted].tolist()
    return found


def not_ready(growth: Growth, facts: ObservedStates, state: State) -> list[int]:
    """Return jobs that lack inputs although their own directory exists.

    Directories that are submitted or completed for any action are left out.
    """
    taken = 0
    for members in (*map(bit_set, state.submitted.values()), *state.completed.values()):
        taken |= members
    return [job for job, position in _lacking(growth, facts, state) if not taken >> position & 1]


def is_sent_ahead(growth: Growth, facts: ObservedStates, state: State) -> bool:
    """Whether jobs that lack inputs are submitted: their directories may have to be moved away."""
    sent = 0
    for jobs in state.submitted.values():
        sent |= bit_set(jobs)
    return bool(sent) and any(sent >> at & 1 for _, at in _lacking(growth, facts, state))


def _lacking(growth: Growth, facts: ObservedStates, state: State) -> Iterator[tuple[int, int]]:
    """Yield jobs that lack inputs and have their own directory, with its position."""
    for node in own_nodes(growth):
        rows = facts.rows_there(node)
        jobs: NDArray[np.integer] = growth.jobs(node)[rows]
        lacking = jobs[~growth.graph.have_inputs(jobs)]
        for job in lacking.tolist():
            position = state.directories.position(growth.directory(job))
            if position is not None:
                yield job, position


def bring_directories(
    project: OpenProject,
    growth: Growth,
    facts: ObservedStates,
    lists: Lists,
    note: Callable[[Sequence[str]], None],
    *,
    those: Callable[[int], bool] = lambda _: True,
) -> MadeDirectories:
    """Make nodes' own directories where inputs are complete, and move the others away.

    `those`: the condition for ready jobs to get a directory. Raises: RowtuiError.
    """
    waiting = not_ready(growth, facts, project.state)
    if waiting:
        ours = RunStore(project.root).made()
        names = [
            name
            for job in waiting
            if (name := growth.directory(job)) in ours and not _has_products(project, name)
        ]
        if put_away(project, names):
            facts.prepare(waiting, done=False)
            project.synchronise()
    ready = [job for job in unprepared(growth, facts) if those(job)]
    if not ready:
        return MadeDirectories([], [], [])
    made = make_ready(project, growth, lists, ready, note)
    facts.prepare(ready)
    return made


def _has_products(project: OpenProject, name: str) -> bool:
    """Whether a directory holds a product, even if no record has it."""
    folder = project.workflow.workspace / name
    products = {it for action in project.workflow.actions for it in action.products}
    return any(os.path.lexists(folder / product) for product in products)


def make_ready(
    project: OpenProject,
    growth: Growth,
    lists: Lists,
    jobs: Sequence[int],
    note: Callable[[Sequence[str]], None],
) -> MadeDirectories:
    """Make the own directories of these jobs, or move back the ones that were moved away.

    Raises: RowtuiError if no directory can be made.
    """
    wanted: dict[str, Value] = {}
    inputs: dict[str, bytes] = {}
    wrong: list[DirectoryConflict] = []
    back: list[tuple[int, str]] = []
    job_at: dict[str, int] = {}
    away = _put_away(project)
    directories = project.state.directories
    for job, (name, value) in zip(jobs, values_of(growth, jobs), strict=True):
        if name in away:
            back.append((job, name))
            continue
        wanted[name], job_at[name] = value, job
        if directories.position(name) is None:
            try:
                inputs[name] = _inputs_bytes(growth, lists, job)
            except (RowtuiError, ValueError) as error:
                del wanted[name]
                why = f"its {FILE} cannot be written: {error}"
                wrong.append(DirectoryConflict(name, value, None, why))
    returned = _bring_back(project, growth, lists, back) if back else []
    made = make_directories(project, wanted.items(), note, inputs=inputs)
    if made.kept:  # directories of the network itself have inputs.json, which a run updates
        ours = RunStore(project.root).made()
        there = [inputs_of(growth, lists, job_at[name]) for name in made.kept if name not in ours]
        written = write_inputs(project.workflow.workspace, [it for it in there if it is not None])
        wrong += [DirectoryConflict(name, wanted[name], None, why) for name, why in written.failed]
    made.made.extend(returned)
    made.conflicts.extend(wrong)
    return made


def _inputs_bytes(growth: Growth, lists: Lists, job: int) -> bytes:
    found = inputs_of(growth, lists, job)
    assert found is not None
    return inputs_bytes(found)


def refused(growth: Growth, conflicts: Iterable[DirectoryConflict]) -> dict[int, str]:
    """Return the jobs whose directory is unusable, and why; jobs that are done are left out."""
    found: dict[int, str] = {}
    for conflict in conflicts:
        for node in growth.flow.runs:
            job = growth.job_in(node, conflict.name)
            if job is not None and growth.graph.state(job) in _MAY_BE_REFUSED:
                found[job] = f"{UNUSABLE}: {conflict.why}"
    return found


def left_out(project: OpenProject, growth: Growth, facts: ObservedStates) -> dict[int, str]:
    """Return ready jobs whose directory exists and is not included in their action, and why.

    The cause is an edited value: neither Row nor `submit` would use the directory. If an action
    includes none of a node's directories, the mistake is in workflow.toml, and the run pauses. Call
    this function while `facts` is up to date with the records.
    """
    found: dict[int, str] = {}
    value_file = project.workflow.value_file or "its value file"
    for name in growth.flow.runs:
        node = growth.flow.network.node(name)
        assert node is not None
        actions = project.workflow.named(node.action)
        rows = [project.status_row(action) for action in actions]
        if any(row.problem for row in rows):
            continue  # the status reports this problem
        taken = 0
        for row in rows:
            taken |= row.completed | row.submitted | row.eligible | row.waiting
        if not facts.mask(name) & taken:
            continue
        for position in positions(facts.mask(name) & ~taken):
            job = facts.at(name, position)
            if job is not None and growth.graph.state(job) is GraphJobState.ELIGIBLE:
                action = visible(node.action)
                found[job] = f"{UNUSABLE}: with {value_file} as it is now, '{action}' leaves it out"
    return found


def put_away(project: OpenProject, names: Sequence[str]) -> list[str]:
    """Move directories out of the workspace until their inputs exist; return the moved ones.

    Raises: RowtuiError.
    """
    workspace = project.workflow.workspace
    moved_away: list[str] = []
    try:
        place = beside(project.root, workspace, _PLACE)
        for name in names:
            try:
                os.rename(workspace / name, place / name)
            except FileNotFoundError:
                continue  # another process moved it first
            except OSError as error:  # for example, a directory of that name was moved away before
                project.notice(f"{visible(name)} waits, and cannot be put away: {error.strerror}")
            else:
                moved_away.append(name)
        sync_folder(place)
        sync_folder(workspace)
    except OSError as error:
        raise RowtuiError(f"cannot put directories away: {error.strerror or error}") from None
    return moved_away


def _put_away(project: OpenProject) -> frozenset[str]:
    folder = project.root / ".row" / "rowtui" / "network" / _PLACE
    real = os.path.dirname(os.path.realpath(project.workflow.workspace))
    found: set[str] = set()
    for place in (folder, os.path.join(real, f".rowtui-{_PLACE}")):
        try:
            found.update(os.listdir(place))
        except OSError:
            continue
    return frozenset(found)


def _bring_back(
    project: OpenProject, growth: Growth, lists: Lists, jobs: Sequence[tuple[int, str]]
) -> list[str]:
    """Move directories back into the workspace, with a current inputs.json."""
    workspace = project.workflow.workspace
    returned: list[str] = []
    try:
        place = beside(project.root, workspace, _PLACE)
        every = [found for job, _ in jobs if (found := inputs_of(growth, lists, job)) is not None]
        written = write_inputs(place, every)
        for name, why in written.failed:
            project.notice(f"{visible(name)}: {why}")
        for name in (*written.written, *written.unchanged):
            if os.path.lexists(workspace / name):
                project.notice(f"{visible(name)} was made again, so it is not brought back")
                continue
            os.rename(place / name, workspace / name)
            returned.append(name)
        sync_folder(workspace)
    except OSError as error:
        raise RowtuiError(f"cannot bring directories back: {error.strerror or error}") from None
    return returned


def with_planned(project: OpenProject, planned: Mapping[str, Value]) -> State:
    """Return the state as it will be when these directories exist. Nothing is written."""
    state = project.state
    directories = state.directories
    assert isinstance(directories, StoredDirectories)
    found = Gathered()
    found.names = [os.fsencode(name) for name in planned]
    found.raw = [_compact(value) for value in planned.values()]
    found.stamps = Stamps(len(planned))
    merged = merge_directories(
        directories,
        (),
        found.names,
        found,
        value_file=project.workflow.value_file,
        pointers=workflow_pointers(project.workflow),
    )
    merged.directories.file = ""  # these directories are in no file, so their order is not stored
    return moved(Stored(state, ""), merged.directories, merged.mapping).state


def _compact(value: Value) -> bytes:
    return json.dumps(dict(value), ensure_ascii=False, separators=(",", ":")).encode()
