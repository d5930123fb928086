"""CAVATICA's scheduling while jobs arrive and end: events in, actions out, without clock and I/O.

After each event the state is the same as after a call of `seed.schedule`, except that empty
instances are released when all events of a step are processed, or later if the policy has a grace
time. CAVATICA's text does not cover instances that boot or get lost, and limits on the number of
instances of a type. If a limit is reached, a job takes the next cheapest type, or waits and is
tried again when there is room.

The engine is fast because a waiting job was refused by every existing instance. Therefore only an
instance that is new, or has more room than before, is filled from the waiting jobs, and only new
jobs are fitted on the other instances. Source: CAVATICA's documentation, "Multi-instance scheduling
algorithm".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import assert_never

from rowtui.core.base.text import plural, visible
from rowtui.core.packing.model import InstanceType, ResourceAmounts, UnplacedRequests
from rowtui.core.packing.node_types import Catalogue, why_nowhere
from rowtui.core.packing.online.model import (
    Action,
    Allocate,
    Event,
    Ignored,
    InstanceLost,
    InstanceReady,
    InstanceState,
    JobEnds,
    JobsArrive,
    OnlineJob,
    OnlineState,
    Order,
    Policy,
    Quotas,
    Refuse,
    ReleaseInstance,
    Start,
    TimePasses,
)
from rowtui.core.packing.online.waiting import (
    InstancePool,
    OnlineInstance,
    OnlineJobKind,
    OnlineTask,
    Rank,
    WaitingJobs,
)
from rowtui.core.packing.seed import SeedJob

# Largest number of needs in the cache of suitable types; a workflow has a few dozen needs.
_MOST_REMEMBERED = 100_000


class Online:
    """The engine. Names of node types differ; a job's id is in use until the job ends."""

    def __init__(
        self,
        node_types: Sequence[InstanceType],
        policy: Policy | None = None,
        state: OnlineState | None = None,
    ) -> None:
        """Start without jobs and instances, or from the state of another engine."""
        self._policy = policy or Policy()
        self._node_types = self._policy.limited(node_types)
        self._catalogue = Catalogue([(each.amounts, each.price) for each in node_types])
        self._number_of = {each.name: number for number, each in enumerate(self._node_types)}
        self._quotas = Quotas(self._node_types, self._catalogue, self._policy.most_instances)
        self._kinds: dict[tuple[ResourceAmounts, str], OnlineJobKind | UnplacedRequests] = {}
        self._tasks: dict[str, OnlineTask] = {}
        self._machines: dict[int, OnlineInstance] = {}
        self._binding = self._policy.bind_while_booting
        self._ready = InstancePool(self._machines, None if self._binding else True)
        self._booting = self._ready if self._binding else InstancePool(self._machines, False)
        self._waiting: WaitingJobs[OnlineTask] = WaitingJobs()
        # Jobs on booting instances, if the policy lets them move elsewhere.
        self._movable: WaitingJobs[OnlineTask] = WaitingJobs()
        # instance -> since when it is empty, in the order of time
        self._empty: dict[int, float] = {}
        self._actions: list[Action] = []
        self._at = 0.0
        self._next_instance = self._next_arrival = 0
        if state is not None:
            self._restore(state)

    @property
    def next_release(self) -> float | None:
        """When the next empty instance is to be released; the caller sends an event then."""
        for since in self._empty.values():
            return since + self._policy.grace_seconds
        return None

    def step(self, at: float, *events: Event) -> list[Action]:
        """Return the actions after these events, which happened at this time in this order.

        `at`: seconds, never less than before. Actions are in the order in which they are possible.
        """
        self._at = max(self._at, at)
        self._actions = []
        for event in events:
            if isinstance(event, JobEnds):
                self._end(event.job)
            elif isinstance(event, JobsArrive):
                self._arrive(event.jobs)
            elif isinstance(event, InstanceReady):
                self._become_ready(event.instance)
            elif isinstance(event, InstanceLost):
                self._lose(event.instance)
            elif not isinstance(event, TimePasses):
                assert_never(event)
        if self._empty:
            self._release_empty()
        return self._actions

    # -- events ----------------------------------------------------------------------------------

    def _arrive(self, jobs: Iterable[SeedJob]) -> None:
        tasks = []
        for job in jobs:
            if job.id in self._tasks:
                reason = "a job of this name exists already"
                self._actions.append(Ignored(f"job {visible(job.id)} arrives", reason))
                continue
            kind = self._kind_of(job)
            if isinstance(kind, OnlineJobKind):
                task = OnlineTask(job, self._next_arrival, kind, self._rank_of(kind, 0), 0)
                self._next_arrival += 1
                self._tasks[job.id] = task
                tasks.append(task)
            else:
                self._actions.append(Refuse(job.id, str(kind), kind))
        self._schedule(tasks)

    def _end(self, job: str) -> None:
        task = self._tasks.pop(job, None)
        if task is None:
            self._actions.append(Ignored(f"job {visible(job)} ends", "there is no such job"))
            return
        machine = task.machine
        if machine is None:
            self._waiting.remove(task)
            return
        if not self._binding and not machine.ready:
            self._movable.remove(task)
        self._pool_of(machine).remove(machine)
        machine.take_off(task)
        self._fill(machine)

    def _become_ready(self, number: int) -> None:
        machine = self._machines.get(number)
        if machine is None or machine.ready:
            reason = "it is ready already" if machine else "there is no such instance"
            self._actions.append(Ignored(f"instance {number} is ready", reason))
            return
        self._booting.remove(machine)
        machine.ready = True
        for task in machine.tasks.values():
            if not self._binding:
                self._movable.remove(task)
            self._actions.append(Start(task.job.id, number))
        self._fill(machine)

    def _lose(self, number: int) -> None:
        machine = self._machines.get(number)
        if machine is None:
            self._actions.append(Ignored(f"instance {number} is lost", "there is no such instance"))
            return
        self._remove(machine)
        again = []
        for task in machine.tasks.values():
            if not self._binding and not machine.ready:
                self._movable.remove(task)
            task.machine = None
            task.restarts += 1
            if task.restarts > self._policy.most_restarts:
                del self._tasks[task.job.id]
                reason = f"it lost its instance {plural(task.restarts, 'time')}"
                self._actions.append(Refuse(task.job.id, reason))
                continue
            kind = self._kind_of(task.job)
            # the kind was valid when the job arrived, so it is not Unplaced now
            if isinstance(kind, OnlineJobKind):
                task.rank = self._rank_of(kind, task.restarts)
            again.append(task)
        self._schedule(again)
        self._allocate_for_waiting()

    # -- the loop of CAVATICA's text --------------------------------------------------------------

    def _schedule(self, tasks: list[OnlineTask]) -> None:
        """Fit new jobs on the instances, and allocate instances for the jobs that do not fit."""
        if len(tasks) > 1:
            tasks.sort(key=lambda task: (task.rank, task.arrival))
        left = []
        for task in tasks:
            machine = self._ready.first(task)
            if machine is None and self._booting is not self._ready:
                machine = self._booting.first(task)
            if machine is None:
                self._waiting.add(task)
                left.append(task)
            else:
                pool = self._pool_of(machine)
                pool.remove(machine)
                self._put(task, machine)
                pool.add(machine)
        for task in left:
            if task.machine is None and task.types & self._quotas.open:
                self._allocate(task)

    def _allocate(self, task: OnlineTask) -> None:
        """Allocate an instance for a job: the cheapest type whose limit allows one more."""
        node_type = self._catalogue.cheapest(task.types & self._quotas.open)
        room = self._node_types[node_type].amounts
        machine = OnlineInstance(self._next_instance, node_type, room, self._at)
        self._next_instance += 1
        self._machines[machine.number] = machine
        self._quotas.take(node_type)
        self._actions.append(Allocate(machine.number, self._node_types[node_type].name))
        self._fill(machine)

    def _fill(self, machine: OnlineInstance) -> None:
        """Fill an instance that has more room from the waiting jobs, and add it to its pool.

        Booting instances that lose a job to this instance are filled again too.
        """
        node_type = machine.node_type
        left_by: dict[int, OnlineInstance] = {}
        while self._waiting or self._movable:
            task = self._waiting.first(machine.room, node_type)
            moved = None
            if machine.ready and self._movable:
                moved = self._movable.first(machine.room, node_type)
            if moved is not None and (task is None or _key(moved) < _key(task)):
                left_by |= self._call_back(moved)
                task = moved
            elif task is None:
                break
            else:
                self._waiting.remove(task)
            self._put(task, machine)
        self._pool_of(machine).add(machine)
        if not machine.tasks and machine.number not in self._empty:
            self._empty[machine.number] = self._at
        for number in sorted(left_by):
            self._booting.remove(left_by[number])
            self._fill(left_by[number])

    def _call_back(self, task: OnlineTask) -> dict[int, OnlineInstance]:
        """Take a job off a booting instance, and return this instance, which has more room now."""
        machine = task.machine
        if machine is None:
            return {}
        self._movable.remove(task)
        self._booting.remove(machine)
        machine.take_off(task)
        self._booting.add(machine)
        return {machine.number: machine}

    def _put(self, task: OnlineTask, machine: OnlineInstance) -> None:
        if not machine.tasks:
            self._empty.pop(machine.number, None)
        machine.put(task)
        if machine.ready:
            self._actions.append(Start(task.job.id, machine.number))
        elif not self._binding:
            self._movable.add(task)

    # -- release, and the allocations that become possible ----------------------------------------

    def _release_empty(self) -> None:
        """Release instances that were empty for long enough, or that block a waiting job."""
        while True:
            needed = self._quotas.all_in_use and bool(self._waiting)
            due = []
            for number, since in self._empty.items():
                if not needed and since + self._policy.grace_seconds > self._at:
                    break
                due.append(number)
            if not due:
                return
            for number in sorted(due):
                self._remove(self._machines[number])
                self._actions.append(ReleaseInstance(number))
            self._allocate_for_waiting()

    def _remove(self, machine: OnlineInstance) -> None:
        self._pool_of(machine).remove(machine)
        self._empty.pop(machine.number, None)
        del self._machines[machine.number]
        self._quotas.give_back(machine.node_type)

    def _allocate_for_waiting(self) -> None:
        """Allocate instances for waiting jobs while the limits allow more of a type."""
        while self._quotas.reopened:
            able = (task for task in self._waiting.heads() if task.types & self._quotas.open)
            first = min(able, key=_key, default=None)
            if first is None:
                self._quotas.reopened = False
            else:
                self._allocate(first)

    # -- properties of jobs ----------------------------------------------------------------------

    def _kind_of(self, job: SeedJob) -> OnlineJobKind | UnplacedRequests:
        key = (job.amounts, job.hint)
        kind = self._kinds.get(key)
        if kind is None:
            if len(self._kinds) >= _MOST_REMEMBERED:
                self._kinds.clear()
            kind = self._kinds[key] = self._find_kind(*key)
        return kind

    def _find_kind(self, need: ResourceAmounts, hint: str) -> OnlineJobKind | UnplacedRequests:
        types = self._catalogue.holding(need) & self._quotas.usable
        node_type = -1
        if hint:
            node_type = self._number_of.get(hint, -1)
            types &= self._catalogue.bits[node_type] if node_type >= 0 else 0
        if not types:
            return why_nowhere(need, hint, self._node_types)
        price = self._node_types[self._catalogue.cheapest(types)].price
        return OnlineJobKind(need, node_type, types, price)

    def _rank_of(self, kind: OnlineJobKind, restarts: int) -> Rank:
        """Return the rank; jobs that lost their instance come first."""
        again = 0 if restarts else 1
        return (again, -kind.price) if self._policy.order is Order.DEAREST_FIRST else (again,)

    def _pool_of(self, machine: OnlineInstance) -> InstancePool:
        return self._ready if machine.ready else self._booting

    # -- the state as a value --------------------------------------------------------------------

    def state(self) -> OnlineState:
        """Return the state; an engine that starts with this state continues in the same way."""
        reasons: dict[int, str] = {}
        jobs = []
        for task in sorted(self._tasks.values(), key=lambda task: task.arrival):
            waits, number = "", None
            if task.machine is not None:
                number = task.machine.number
            else:
                if task.types not in reasons:
                    reasons[task.types] = self._quotas.why_none(task.types)
                waits = reasons[task.types]
            jobs.append(OnlineJob(task.job, task.arrival, task.restarts, number, waits))
        instances = tuple(
            InstanceState(
                machine.number,
                self._node_types[machine.node_type].name,
                machine.ready,
                machine.allocated_at,
                self._empty.get(machine.number),
                tuple(machine.tasks),
            )
            for machine in self._machines.values()
        )
        return OnlineState(
            self._at, instances, tuple(jobs), self._next_instance, self._next_arrival
        )

    def _restore(self, state: OnlineState) -> None:
        self._at = state.at
        self._next_instance, self._next_arrival = state.next_instance, state.next_arrival
        for each in state.jobs:
            kind = self._kind_of(each.job)
            if isinstance(kind, UnplacedRequests):
                raise ValueError(f"state of another catalogue: {kind}")
            rank = self._rank_of(kind, each.restarts)
            task = OnlineTask(each.job, each.arrival, kind, rank, each.restarts)
            self._tasks[each.job.id] = task
            if each.instance is None:
                self._waiting.add(task)
        for there in state.instances:
            node_type = self._number_of[there.node_type]
            room = self._node_types[node_type].amounts
            machine = OnlineInstance(there.number, node_type, room, there.allocated_at)
            self._machines[there.number] = machine
            self._quotas.take(node_type)
            for job in there.jobs:
                self._put(self._tasks[job], machine)
            machine.ready = there.ready
            if there.ready and not self._binding:
                for job in there.jobs:
                    self._movable.remove(self._tasks[job])
            self._pool_of(machine).add(machine)
        empty = [each for each in state.instances if each.empty_since is not None]
        for there in sorted(empty, key=lambda each: (each.empty_since, each.number)):
            self._empty[there.number] = there.empty_since or 0.0


def _key(task: OnlineTask) -> tuple[Rank, int]:
    return task.rank, task.arrival
