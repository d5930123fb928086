"""The engine's process as an `Engine` for screens; the counterpart is `InProcessEngine`.

A method of the `Engine` protocol is one line here: `name = asked(Engine.name)` for a method with
one answer, `streamed(Engine.name)` for a method that gives several values. Its arguments and
answers must be picklable and bounded. The engine's process calls the method of the same name. When
the process is lost, `ProcessEngine` starts it again; see `supervision`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Sequence
from contextlib import aclosing
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from rowtui.core.engine.api.engine import ENGINE_BACK, ENGINE_LOST, Engine
from rowtui.core.engine.process.errors import EngineLost
from rowtui.core.engine.process.supervision import Supervised
from rowtui.core.project.context.questions import LoginQuestion, Withdrawn

if TYPE_CHECKING:
    from rowtui.core.submission.plan.model import Plan
    from rowtui.core.submission.sending.release_held import SendingProgress

P = ParamSpec("P")
T = TypeVar("T")

LOGINS_OF_A_LIFE = 1_000_000
"""Questions are numbered from 1 in each life of the process; each life gets this many numbers."""

AFTER_A_LOSS = "what was sent stands in the journal: press r, and look at 6 before anything is sent"


def asked(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[ProcessEngine, P], Coroutine[Any, Any, T]]:
    """Make a method that calls this method of the protocol in the engine's process."""

    @wraps(method)
    async def ask(self: ProcessEngine, /, *arguments: P.args, **named: P.kwargs) -> T:
        answer: T = await self.ask(method.__name__, arguments, named)
        return answer

    return ask


def streamed(
    method: Callable[Concatenate[Any, P], AsyncIterator[T]],
) -> Callable[Concatenate[ProcessEngine, P], AsyncGenerator[T, None]]:
    """Make a method that streams the values of this method of the protocol."""

    @wraps(method)
    def stream(
        self: ProcessEngine, /, *arguments: P.args, **named: P.kwargs
    ) -> AsyncGenerator[T, None]:
        return self.stream(method.__name__, arguments, named)

    return stream


class Concealed(tuple[str, ...]):
    """The user's input for a login, which must not appear in any log."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Return a fixed text instead of the input."""
        return "(concealed)"


class ProcessEngine(Supervised):
    """An `Engine` in a process of its own. Made before the event loop, used in one."""

    refresh = asked(Engine.refresh)
    groups = asked(Engine.groups)
    group_directories = asked(Engine.group_directories)
    directories = asked(Engine.directories)
    explain = asked(Engine.explain)
    edit_workflow = asked(Engine.edit_workflow)
    mapping_file = asked(Engine.mapping_file)
    trust = asked(Engine.trust)
    plan = asked(Engine.plan)
    pack = asked(Engine.pack)
    transfers = asked(Engine.transfers)
    failed_jobs = asked(Engine.failed_jobs)
    plan_again = asked(Engine.plan_again)
    review = streamed(Engine.review)
    script_before = asked(Engine.script_before)
    without = asked(Engine.without)
    export_plan = asked(Engine.export_plan)
    jobs = asked(Engine.jobs)
    queue = asked(Engine.queue)
    queue_all = asked(Engine.queue_all)
    queue_marked = asked(Engine.queue_marked)
    queue_chosen = asked(Engine.queue_chosen)
    queue_act = asked(Engine.queue_act)
    job_detail = asked(Engine.job_detail)
    find_job = asked(Engine.find_job)
    job_named = asked(Engine.job_named)
    cancel = asked(Engine.cancel)
    hold = asked(Engine.hold)
    release = asked(Engine.release)
    clusters = asked(Engine.clusters)
    cluster_nodes = asked(Engine.cluster_nodes)
    commands_ran = asked(Engine.commands_ran)
    connect = asked(Engine.connect)
    log_look = asked(Engine.log_look)
    log_page = asked(Engine.log_page)
    log_find = asked(Engine.log_find)
    log_tail = asked(Engine.log_tail)
    network = asked(Engine.network)
    network_samples = asked(Engine.network_samples)
    network_waits = asked(Engine.network_waits)
    network_redo_view = asked(Engine.network_redo_view)
    network_redo = asked(Engine.network_redo)
    network_dependents = asked(Engine.network_dependents)
    network_start = asked(Engine.network_start)
    network_stop = asked(Engine.network_stop)
    network_plan = asked(Engine.network_plan)
    network_retry = asked(Engine.network_retry)
    network_cancel = asked(Engine.network_cancel)

    # Methods of more than one line

    async def submit(self, plan: Plan) -> AsyncIterator[SendingProgress]:
        """Submit a plan. Closing the iterator stops between two jobs."""
        try:
            async with aclosing(self.stream("submit", (plan,), {})) as steps:
                async for step in steps:
                    yield step
        except EngineLost as lost:
            raise EngineLost(lost.message, AFTER_A_LOSS) from None

    async def changes(self) -> AsyncIterator[str]:
        """Yield the engine's change words, its loss and its return, until it is closed."""
        while True:
            try:
                async with aclosing(self.stream("changes", (), {})) as words:
                    async for word in words:
                        yield word
                return
            except EngineLost as lost:
                if self.closed:
                    return
                yield f"{ENGINE_LOST}: {lost}"
            if not await self.back():
                return
            yield ENGINE_BACK

    async def questions(self) -> AsyncIterator[LoginQuestion | Withdrawn]:
        """Yield the questions of logins; the open questions of a lost process are withdrawn."""
        while True:
            first = self.lives * LOGINS_OF_A_LIFE
            open_ones: set[int] = set()
            try:
                async with aclosing(self.stream("questions", (), {})) as news:
                    async for one in news:
                        number = first + one.number
                        if isinstance(one, LoginQuestion):
                            open_ones.add(number)
                        else:
                            open_ones.discard(number)
                        yield one._replace(number=number)
                return
            except EngineLost:
                for number in open_ones:
                    yield Withdrawn(number)
            if not await self.back():
                return

    def answer(self, number: int, answers: Sequence[str] | None) -> None:
        """Answer a question of a login, if it belongs to this life of the process."""
        life, number = divmod(number, LOGINS_OF_A_LIFE)
        if life == self.lives:
            self.tell("answer", (number, None if answers is None else Concealed(answers)))

    async def close(self) -> None:
        """Close the engine, so that its process ends."""
        await self.end()
