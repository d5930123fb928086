"""The driver of a run: look -> retry -> plan -> permit -> submit, turn after turn until it is over.

`Driver` has the loop, the question to the user, the journal around a submission, and the messages.
Its two subclasses are sources of work: `ProjectRun` (the status rows of a project) and `Autopilot`
(the job graph of a network). Every decision is in the run's journal before its effect, so that a
run which was interrupted at any moment goes on with the next driver.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import enum
import gc
import os
import time
from abc import ABC, abstractmethod
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import NotSavedError, RowtuiError
from rowtui.core.base.text import plural, visible
from rowtui.core.clusters.transports.login import NEED_LOGIN, PASSING, LoginError
from rowtui.core.project.planning.pack_terms import prices_of
from rowtui.core.project.views.follow import Changes
from rowtui.core.runs.execution.execution import ExecutionError
from rowtui.core.runs.execution.permission import Ask, Permission, permitted_part
from rowtui.core.runs.limits.limits import Fit, Spent, fits
from rowtui.core.runs.limits.spending import (
    never_begun,
    not_sent_events,
    submitted_events,
    unsent_of,
)
from rowtui.core.runs.model import Event, Paused, RunStatus, Stopped
from rowtui.core.runs.run import LookPause
from rowtui.core.submission.plan.charges import Money, charges_of
from rowtui.core.submission.plan.model import Plan
from rowtui.core.submission.sending.send import SilentClusterError
from rowtui.core.workflow.find import WORKFLOW_FILE

if TYPE_CHECKING:
    from rowtui.core.project.open_project import OpenProject
    from rowtui.core.project.retry_policy import RetryPolicy
    from rowtui.core.runs.run import Run
    from rowtui.core.runs.running import RunUpdate
    from rowtui.core.submission.sending.release_held import SendingProgress


class MessageKind(enum.Enum):
    """The kind of a message of a driver."""

    BEGUN = "begun"
    HAPPENED = "happened"  # jobs ended, or files of lists arrived
    SENT = "sent"
    RETRY = "retry"  # failed work that a rule retries is about to be submitted
    CONTINUES = "continues"  # work that a rule continues is about to be submitted
    PROBLEM = "problem"
    WAITING = "waiting"  # nothing can be saved now: the run goes on by itself
    PAUSED = "paused"
    OVER = "over"


class DriverMessage(NamedTuple):
    """One message of a driver. `happened`: what a poll found; `plan`: what was submitted.

    `completed`, `failed`: jobs that ended, in runs without a network.
    """

    kind: MessageKind
    sentence: str
    happened: RunUpdate | None = None
    plan: Plan | None = None
    success: bool = True
    completed: int = 0
    failed: int = 0


STOPPED_ELSEWHERE = "another process stopped the run"


UNWRITABLE_SECONDS = 60.0
"""The wait before a driver tries again to write, as after a full disk."""


WAITS = "; the run waits, and tries again each minute"


async def until_writable(
    turns: Callable[[], AsyncGenerator[DriverMessage, None]], stop: asyncio.Event, root: Path
) -> AsyncGenerator[DriverMessage, None]:
    """Yield the messages of a driver's turns, and begin again while nothing can be saved.

    Nothing is submitted that is not in the journals, so that the driver may wait and go on. The
    wait is reported once, until something was done again. Raises: RowtuiError if the project's
    folder `root` was deleted, which is not so while its file system is not mounted.
    """
    device, reported = os.stat(root).st_dev, False
    while not stop.is_set():
        try:
            async with contextlib.aclosing(turns()) as messages:
                async for message in messages:
                    reported = reported and message.kind is MessageKind.PROBLEM
                    yield message
            return
        except NotSavedError as error:
            if _is_deleted(root, device):
                raise RowtuiError(f"the folder {visible(str(root))} was deleted") from None
            if not reported:
                reported = True
                yield DriverMessage(MessageKind.WAITING, error.message, success=False)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), UNWRITABLE_SECONDS)


def _is_deleted(root: Path, device: int) -> bool:
    with contextlib.suppress(OSError):
        gone = not (root / WORKFLOW_FILE).exists()  # its folder may be made again for a journal
        return gone and os.stat(root.parent).st_dev == device
    return False


MEMORY_SECONDS = 60.0
"""The shortest time between two returns of memory, each of which looks at every object."""


def _return_memory() -> None:
    """Return freed memory, such as that of a plan's scripts, to the system, as glibc can."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


_IDLE_TURNS = 2


class Pace(NamedTuple):
    """What is left after a turn. `waits`: something will happen without a person.

    `idle`: all that is left to do is to wait for submitted jobs. `until`: when there is something
    to do at the latest, in monotonic seconds.
    """

    waits: bool
    idle: bool
    until: float | None = None


class SentPlan(NamedTuple):
    """The result of a submission: the tokens of the jobs that were not submitted, and the errors.

    `failed`: an error ended the submission; `silent`: because a cluster does not answer, or needs a
    login. `stopped`: the failure of an execution plug-in, or "".
    """

    unsent: frozenset[str]
    errors: tuple[str, ...] = ()
    failed: bool = False
    silent: bool = False
    stopped: str = ""


class Driver(ABC):
    """Drives one run. `ask` gets the plan and the reasons why the user must confirm it.

    `ask`: None pauses the run instead. `policy`: which failed jobs are submitted again.
    `look_seconds`: the shortest wait between two looks. `turn`: the lock held while the project's
    records are used. `ask_queues`: polls the schedulers and records their answers, if another
    component polls them as well.
    """

    by_step = False
    """Ask before every plan."""

    def __init__(
        self,
        project: OpenProject,
        run: Run,
        ask: Ask | None,
        policy: RetryPolicy,
        *,
        look_seconds: float,
        turn: asyncio.Lock | None = None,
        ask_queues: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.project = project
        self.run = run
        self.ask = ask
        self.policy = policy
        if project.messages is not None:
            project.messages.continues = lambda job: policy.continues(project.workflow, job)
        self.look_seconds = look_seconds
        self.turn = turn or asyncio.Lock()
        self.ask_queues = ask_queues
        self._reported: set[str] = set()
        self.logins_needed: dict[str, str] = {}  # see `Connections`, as of the last turn
        self._stop = asyncio.Event()
        self._changed = asyncio.Event()

    # What a source of work defines

    @abstractmethod
    def one_turn(self) -> AsyncGenerator[DriverMessage, None]:
        """Look, retry and submit once; a message PAUSED or OVER ends the run. Sets `pace`."""

    @abstractmethod
    async def nothing_left(self) -> DriverMessage:
        """Return the end of the run: nothing can happen any more without a person."""

    @abstractmethod
    async def spent(self) -> Spent:
        """Return what the run has spent, by its journal and by what is submitted now."""

    def note(self, *events: Event) -> None:
        """Append events to the run's journal. Raises: NotSavedError."""
        self.run.append(*events)

    confirmed: Callable[[], None] | None = None
    """Called after the user confirmed new limits."""

    pace = Pace(waits=True, idle=False)
    """What the last turn left, see `Pace`."""

    # The loop

    @property
    def stopping(self) -> bool:
        """Whether the run is about to end because somebody stopped it."""
        return self._stop.is_set()

    def stop(self, why: str = "") -> None:
        """Make the run end soon, and record that the user stopped it. Submitted jobs go on."""
        self._stop.set()
        self._changed.set()
        if self.run.status is RunStatus.RUNNING:
            self.run.append(Stopped(time.time(), why))

    async def turns(self) -> AsyncGenerator[DriverMessage, None]:
        """Run until nothing is left or the user must decide. Raises: RowtuiError."""
        changes = Changes(self.project)
        listening = asyncio.create_task(self._listen(changes))
        pause = LookPause(self.run, self._changed, self.look_seconds)
        try:
            async for message in until_writable(
                lambda: self._turns(pause), self._stop, self.project.root
            ):
                yield message
        finally:
            changes.close()
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)

    async def _turns(self, pause: LookPause) -> AsyncGenerator[DriverMessage, None]:
        await asyncio.to_thread(self._refund)
        used, returned = True, float("-inf")  # memory since then, in monotonic seconds
        idle = 0  # consecutive turns after which nothing waits; other programs submit as well
        while not self._stop.is_set():
            self._changed.clear()
            async with contextlib.aclosing(self.one_turn()) as messages:
                async for message in messages:
                    yield message
                    if message.kind in (MessageKind.PAUSED, MessageKind.OVER):
                        return
            if self.project.always_ask:  # the user has left the terminal, whose questions block
                self.project.person = None
            for message in self._report_logins():
                yield message
            if self._stop.is_set():
                return
            used = used or not self.pace.idle
            if used and self.pace.idle and time.monotonic() - returned > MEMORY_SECONDS:
                await asyncio.to_thread(_return_memory)
                used, returned = False, time.monotonic()
            idle = 0 if self.pace.waits else idle + 1
            if idle >= _IDLE_TURNS:
                yield await self.nothing_left()
                return
            await pause.wait(idle=self.pace.idle, until=self.pace.until)

    def _refund(self) -> None:
        """Record that jobs were not sent which the journal has as about to be sent."""
        if unsent := never_begun(self.run.events(), self.project.jobs.journal):
            self.note(*unsent)

    def _report_logins(self) -> Iterator[DriverMessage]:
        """Report each cluster that needs a login of the user, once until it has one."""
        connections, before = self.project.connections, self.logins_needed
        self.logins_needed = connections.logins_needed()
        for name, why in self.logins_needed.items() - before.items():
            if self.project.messages is not None:
                self.project.messages.login_needed(name, why)
            command = connections.login_command(name)
            how = f"; log in with '{command}', and the run goes on" if command else ""
            text = f"{visible(name)} needs a login: {why}{how}"
            yield DriverMessage(MessageKind.PROBLEM, text, success=False)

    async def _listen(self, changes: Changes) -> None:
        async for _ in changes.words(reports_only=True):
            self._changed.set()

    async def look(self) -> None:
        """Poll the schedulers that are due, and read the records. Raises: NotSavedError."""
        project = self.project
        if self.ask_queues is not None:
            await self.ask_queues()
        elif project.has_jobs_to_ask_for():
            await project.jobs.entered(await project.jobs.queues.ask(may_send=True))
        async with self.turn:
            await asyncio.to_thread(project.synchronise)
        if project.has_jobs_to_ask_for() and project.jobs.unsaved is not None:
            raise project.jobs.unsaved

    # Submission

    async def permitted(self, plan: Plan) -> Permission:
        """Return the part of a plan that the limits or the user allow."""
        async with self.turn:
            money = await asyncio.to_thread(prices_of, self.project, plan)
            balances = await asyncio.to_thread(self.project.balances_of, plan)

        async def fit() -> Fit:
            spent = await self.spent()
            return fits(self.run.limits, spent, plan, time.time(), money, balances=balances)

        permission = await permitted_part(
            self.run, plan, fit, self.ask, self.confirmed, by_step=self.by_step
        )
        return permission._replace(money=money)

    async def submit(
        self,
        plan: Plan,
        money: Mapping[str, Money],
        steps: AsyncGenerator[SendingProgress, None],
        before: Sequence[Event] = (),
    ) -> SentPlan:
        """Carry out a plan by `steps`. `money`: see `Permission`.

        `before` is in the run's journal first. Jobs that were not submitted are refunded. A partly
        submitted bundle is charged in full.
        """
        units = tuple(charges_of(plan, money))
        await asyncio.to_thread(self.note, *before, *submitted_events(plan.id, units))
        errors: list[str] = []
        failed, silent, stopped = False, False, ""
        try:
            async with contextlib.aclosing(steps):
                async for step in steps:
                    if step.error:
                        errors.append(step.error)
                    if self._stop.is_set():
                        break
        except ExecutionError as error:
            stopped = str(error)
        except RowtuiError as error:  # nothing was submitted, or what was is in the journal
            failed = True
            errors.append(str(error))
            waits = isinstance(error, LoginError) and error.trouble in PASSING | NEED_LOGIN
            silent = waits or isinstance(error, SilentClusterError)
        unsent = await asyncio.to_thread(unsent_of, plan, self.project.jobs.journal)
        if free := not_sent_events(plan.id, units, unsent):
            await asyncio.to_thread(self.note, *free)
        return SentPlan(frozenset(unsent), tuple(dict.fromkeys(errors)), failed, silent, stopped)

    # Messages

    def problems(
        self, texts: Iterable[str], kind: MessageKind = MessageKind.PROBLEM
    ) -> Iterator[DriverMessage]:
        """Yield what is wrong, each sentence once in the run."""
        for text in texts:
            if text not in self._reported:
                self._reported.add(text)
                yield DriverMessage(kind, text, success=False)

    @staticmethod
    def sent(number: int, plan: Plan) -> DriverMessage:
        """Return the message of a submission; without scripts, since it stays in memory."""
        jobs = tuple(job._replace(script="") for job in plan.jobs)
        text = f"sent {plural(number, 'job')}"
        return DriverMessage(MessageKind.SENT, text, plan=plan._replace(jobs=jobs))

    def paused(self, why: str, plan: Plan | None = None) -> DriverMessage:
        """Record that the run pauses, and return its message."""
        self.run.append(Paused(time.time(), why))
        return DriverMessage(MessageKind.PAUSED, why, plan=plan, success=False)
