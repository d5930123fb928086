"""The job graph of a network's samples; both grow as lists become known.

A job is a sample of a node. Its number never changes; its row may change in a new flow with more
samples. Jobs whose lists a collapse waits for are among the dependencies of a job. Source: Fastr's
documentation (the DAG is extended by callbacks).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeAlias

from rowtui.core.base.lazy import NDArray, np
from rowtui.core.network.definition.spec import ALL, Link, Require
from rowtui.core.network.graph.edges import awaited, edges
from rowtui.core.network.graph.job_graph import JobGraph
from rowtui.core.network.graph.job_model import GraphChange, GraphJobState, JobBlock, nothing
from rowtui.core.network.samples.columns import Columns, Rows, joint_keys, match
from rowtui.core.network.samples.node_run import NodeRun
from rowtui.core.network.samples.sample_flow import Flow, Lists

Jobs: TypeAlias = "NDArray[np.int32]"


class Where(NamedTuple):
    """The node and row of a job, in the newest flow."""

    node: str
    row: int


class InputMember(NamedTuple):
    """One sample that goes into an input of a job.

    `source` and `directory` are the source or node and the directory of the sample; `output` is the
    product ("": the whole directory). `entry`: the place in the sample's list, None for no list,
    and `expanded` the dimension that the list became. `job`: the job that makes the sample; None
    for a source, whose data may be `absent`.
    """

    input: str
    source: str
    row: int
    directory: str
    output: str
    entry: int | None
    job: int | None
    expanded: str = ""
    absent: bool = False


class _Needs(NamedTuple):
    """The dependencies of the rows of a node.

    `uses` encode the numbers of the node's links: 2 n for members through link n, 2 n + 1 for jobs
    whose lists may add members through link n.
    """

    jobs: Rows  # rows of the node
    needs: Rows  # numbers of jobs
    uses: Rows


class Growth:
    """A flow and its job graph, which grow together."""

    def __init__(self, flow: Flow) -> None:
        self.graph = JobGraph()
        self.flow = flow
        self._jobs: dict[str, Jobs] = {}  # by row
        self._rows: dict[str, dict[int, int]] = {}  # row by job, where that is not a plain range
        self._places: dict[str, dict[str, int]] = {}  # row by directory
        self._extend(None)

    def grow(self, lists: Lists, check: Callable[[Flow], None] = lambda _: None) -> GraphChange:
        """Add the content of lists; return the new jobs and the changes of states.

        Call this before the jobs that made the lists are completed in the graph. `check` raises if
        the new samples are not allowed. Raises: DimensionError, and the errors of `check`; nothing
        has changed then.
        """
        before = self.flow
        flow = Flow(before.network, before.shape, {}, lists=lists, before=before)
        check(flow)
        self.flow = flow
        with self.graph.lock:
            return self._extend(before)

    # Jobs, samples and directories

    def job(self, node: str, row: int) -> int:
        """Return the number of a sample's job."""
        return int(self._jobs[node][row])

    def jobs(self, node: str) -> Jobs:
        """Return the jobs of a node, by row."""
        return self._jobs[node]

    def where(self, job: int) -> Where:
        """Return the node and row of a job."""
        node = self.flow.names[self.graph.node(job)]
        return Where(node, self._row(node, job))

    def directory(self, job: int) -> str:
        """Return the directory in which a job runs."""
        node, row = self.where(job)
        return self.flow.directories(node)[row]

    def job_in(self, node: str, directory: str) -> int | None:
        """Return the job of a node in a directory; None if the node has no sample there."""
        row = self.places(node).get(directory)
        return None if row is None else int(self._jobs[node][row])

    def jobs_of(self, action: str, directories: Iterable[str]) -> list[int]:
        """Return the jobs that an action's job in these directories carries out."""
        nodes = [
            name
            for name in self.flow.runs
            if (node := self.flow.network.node(name)) and node.action == action
        ]
        found = (self.job_in(node, name) for name in directories for node in nodes)
        return [job for job in found if job is not None]

    def places(self, node: str) -> Mapping[str, int]:
        """Return the row of each directory of a node."""
        if node not in self._places:
            every = self.flow.directories(node)
            self._places[node] = dict(zip(every, range(len(every)), strict=True))
        return self._places[node]

    def members(self, job: int) -> list[InputMember]:
        """Return the members of a job, input by input, in order."""
        node, row = self.where(job)
        found = []
        for part in edges(self.flow.runs[node], np.array([row], dtype=np.int64)):
            source = self.flow.names[part.owner]
            every = self.flow.directories(source)
            made = self._jobs.get(source)
            places = part.places
            table = self.flow.sources.get(source)
            absent = None if table is None else table.are_missing(part.rows)
            for at, upstream in enumerate(part.rows.tolist()):
                found.append(
                    InputMember(
                        part.input.name,
                        source,
                        upstream,
                        every[upstream],
                        part.output.name,
                        None if places is None else int(places[at]),
                        None if made is None else int(made[upstream]),
                        part.link.expanded,
                        absent is not None and bool(absent[at]),
                    )
                )
        return found

    def lost_lists(self, job: int) -> list[tuple[str, int]]:
        """Return jobs whose lists a job does without, with the input of their members."""
        name = self.where(job).node
        node = self.flow.network.node(name)
        assert node is not None
        inputs = [it.name for group in node.groups for it in group for _ in it.links]
        tolerant = self._tolerant(name)
        return [
            (inputs[tolerant[it.slot // 2][0]], it.job)
            for it in self.graph.left_out(job)
            if it.slot % 2
        ]

    # Growth

    def _extend(self, before: Flow | None) -> GraphChange:
        change = nothing()
        missing: list[int] = []
        first = len(self.graph)
        for name, run in self.flow.runs.items():
            if before is not None and before.runs[name] is run:
                continue
            had = None if before is None else before.runs[name].columns
            mine, new = self._numbered(name, had, run.columns)
            self._jobs[name] = mine
            self._rows.pop(name, None)
            if had is None or len(new) or had.count != run.columns.count:
                self._places.pop(name, None)
            needs = self._needs(run)
            if len(new):
                block, without_data = self._block(name, run, new, needs)
                found = self.graph.extend(block)
                _add(change, found.change)
                missing += mine[without_data].tolist()
            if before is not None:
                self._add_to_old(name, needs, new, first, change)
        if missing:
            _add(change, self.graph.skip(missing))
        return change

    def _numbered(self, name: str, had: Columns | None, now: Columns) -> tuple[Jobs, Rows]:
        """Return the job of each row, reused or new, and the rows that are new."""
        first = len(self.graph)
        if had is None or not had.count:
            new: Rows = np.arange(now.count, dtype=np.int64)
            return np.arange(first, first + now.count, dtype=np.int32), new
        if had.count == now.count:
            return self._jobs[name], np.zeros(0, dtype=np.int64)
        sizes = [len(axis) for axis in now.axes]
        old_keys, new_keys = joint_keys([list(had.codes), list(now.codes)], sizes)
        at, which = match(new_keys, old_keys)
        jobs = np.full(now.count, -1, dtype=np.int32)
        jobs[at] = self._jobs[name][which]
        new = np.flatnonzero(jobs < 0)
        jobs[new] = np.arange(first, first + len(new), dtype=np.int32)
        return jobs, new

    def _needs(self, run: NodeRun) -> list[_Needs]:
        """Return the needs of each link; samples of sources exist, so they need no edges."""
        found: list[_Needs] = []
        for part in edges(run):
            jobs = self._jobs.get(self.flow.names[part.owner])
            if jobs is not None:
                uses = np.full(len(part.jobs), 2 * part.number, dtype=np.int64)
                found.append(_Needs(part.jobs, jobs[part.rows].astype(np.int64), uses))
        for wait in awaited(run):
            if not len(wait.jobs):
                continue
            needs = np.empty(len(wait.jobs), dtype=np.int64)
            for owner in np.unique(wait.owners):
                of_owner = wait.owners == owner
                jobs = self._jobs.get(self.flow.names[int(owner)])
                needs[of_owner] = -1 if jobs is None else jobs[wait.rows[of_owner]]
            answer = needs >= 0  # an absent list of a source is reported when sources are read
            uses = np.full(int(answer.sum()), 2 * wait.number + 1, dtype=np.int64)
            found.append(_Needs(wait.jobs[answer], needs[answer], uses))
        return found

    def _block(
        self, name: str, run: NodeRun, new: Rows, needs: list[_Needs]
    ) -> tuple[JobBlock, Rows]:
        """Return the new rows of a node as a block, and those whose sources' data is absent."""
        place = np.full(run.columns.count, -1, dtype=np.int64)
        place[new] = np.arange(len(new))
        jobs = np.concatenate([place[it.jobs] for it in needs] or [new[:0]])
        others = np.concatenate([it.needs for it in needs] or [new[:0]])
        uses = np.concatenate([it.uses for it in needs] or [new[:0]])
        if len(new) < run.columns.count:
            kept = jobs >= 0
            jobs, others, uses = jobs[kept], others[kept], uses[kept]
        if len(needs) > 1 or np.any(jobs[1:] < jobs[:-1]):
            order = np.argsort(jobs, kind="stable")
            jobs, others, uses = jobs[order], others[order], uses[order]
        numbers = np.bincount(jobs, minlength=len(new))
        starts = np.concatenate(([0], np.cumsum(numbers)))
        slots, slot_jobs, slot_least = self._slots(name, len(new), jobs, uses)
        block = JobBlock(
            self.flow.numbers[name], len(new), starts, others, slots, slot_jobs, slot_least
        )
        return block, self._without_data(name, run, new)

    def _slots(self, name: str, count: int, jobs: Rows, uses: Rows) -> tuple[Rows, Rows, Rows]:
        """Return the optional dependencies of jobs as slots, with the minimum for each slot.

        Each link that does not require all members gets two slots per job: one for the members and
        one for the lists that may add members.
        """
        slots = np.full(len(jobs), -1, dtype=np.int64)
        slot_jobs: list[Rows] = [slots[:0]]
        slot_least: list[Rows] = [slots[:0]]
        every = np.arange(count, dtype=np.int64)
        for at, (number, require) in enumerate(self._tolerant(name)):
            through, wait = (np.flatnonzero(uses == 2 * number + each) for each in (0, 1))
            slots[through] = 2 * at * count + jobs[through]
            slots[wait] = (2 * at + 1) * count + jobs[wait]
            members = np.bincount(jobs[through], minlength=count).tolist()
            lists = np.bincount(jobs[wait], minlength=count).tolist()
            pairs = [_least(require, *each) for each in zip(members, lists, strict=True)]
            slot_jobs += [every, every]
            slot_least += [np.array([pair[which] for pair in pairs]) for which in (0, 1)]
        return slots, np.concatenate(slot_jobs), np.concatenate(slot_least)

    def _tolerant(self, name: str) -> list[tuple[int, Require]]:
        """Return the links of a node that do not require all members, by number."""
        return [
            (number, link.require)
            for number, link in enumerate(self._links(name))
            if link.require != ALL
        ]

    def _links(self, name: str) -> list[Link]:
        """Return the links of a node in the order of the flow: by group, input, link."""
        node = self.flow.network.node(name)
        assert node is not None
        return [link for group in node.groups for it in group for link in it.links]

    def _without_data(self, name: str, run: NodeRun, new: Rows) -> Rows:
        """Return the new rows that lack samples of sources whose data is absent."""
        tolerant = dict(self._tolerant(name))
        node = self.flow.network.node(name)
        absent: list[Rows] = [new[:0]]
        for part in edges(run, new):
            source = self.flow.sources.get(self.flow.names[part.owner])
            if source is None or not len(source.missing):
                continue
            spec = self.flow.network.source(self.flow.names[part.owner])
            if spec and node and spec.default is not None and len(node.inputs) > 1:
                continue
            lacks = part.jobs[source.are_missing(part.rows)]
            require = tolerant.get(part.number)
            if require is not None:
                rows, lost = np.unique(lacks, return_counts=True)
                members = np.bincount(part.jobs, minlength=run.columns.count)[rows]
                least = np.array([require.least(it) for it in members.tolist()], dtype=np.int64)
                lacks = rows[members - lost < least]
            absent.append(lacks)
        return np.unique(np.concatenate(absent))

    def _add_to_old(
        self, name: str, needs: list[_Needs], new: Rows, first: int, change: GraphChange
    ) -> None:
        """Add dependencies to existing jobs that collect more samples than were known.

        The new dependencies are jobs from number `first` on, or entries of lists on the link that
        expands them.
        """
        links = self._links(name)
        if not any(link.collapse for link in links):
            return
        mine = self._jobs[name]
        turned = [2 * at for at, link in enumerate(links) if link.expand and link.collapse]
        more_for = np.zeros(len(mine), dtype=bool)
        for it in needs:
            more_for[it.jobs[(it.needs >= first) | np.isin(it.uses, turned)]] = True
        more_for[new] = False
        wanted: dict[int, list[tuple[int, int]]] = {}
        for it in needs:
            old = more_for[it.jobs]
            for row, other, use in zip(
                it.jobs[old].tolist(), it.needs[old].tolist(), it.uses[old].tolist(), strict=True
            ):
                wanted.setdefault(row, []).append((other, use))
        slot_of: dict[int, int] = {}
        for at, (number, _) in enumerate(self._tolerant(name)):
            slot_of |= {2 * number: 2 * at, 2 * number + 1: 2 * at + 1}
        for row, those in wanted.items():
            job = int(mine[row])
            had = set(self.graph.slotted(job))
            more = [
                (other, slot)
                for other, use in those
                if (other, slot := slot_of.get(use, -1)) not in had
            ]
            if not more or self.graph.state(job) not in _MAY_GROW:
                continue
            least: dict[int, int] = {}
            for at, (number, require) in enumerate(self._tolerant(name)):
                counts = [sum(use == 2 * number + each for _, use in those) for each in (0, 1)]
                least |= dict(zip((2 * at, 2 * at + 1), _least(require, *counts), strict=True))
            found = self.graph.add_dependencies(
                job, [other for other, _ in more], [slot for _, slot in more], least
            )
            _add(change, found)

    def _row(self, node: str, job: int) -> int:
        jobs = self._jobs[node]
        first = int(jobs[0])
        if 0 <= job - first < len(jobs) and jobs[job - first] == job:
            return job - first
        if node not in self._rows:
            self._rows[node] = {each: row for row, each in enumerate(jobs.tolist())}
        return self._rows[node][job]


def _least(require: Require, members: int, lists: int) -> tuple[int, int]:
    """Return the minimum of present members, and of the lists that may add members.

    As long as there is no member, all lists must arrive, because any of them may have one.
    """
    return require.least(members), 0 if members else lists


_MAY_GROW = (
    GraphJobState.WAITING,
    GraphJobState.FAILED,
    GraphJobState.CANCELLED,
    GraphJobState.SKIPPED,
    GraphJobState.BLOCKED,
)


def _add(change: GraphChange, more: GraphChange) -> None:
    for mine, theirs in zip(change, more, strict=True):
        mine.extend(_new(mine, theirs))


def _new(mine: list[int], theirs: Iterable[int]) -> list[int]:
    had = set(mine)
    return [job for job in theirs if job not in had]
