"""The engine's process as an `Engine` for screens; the counterpart is `InProcessEngine`.

A request of a service is sent to the process by its name, such as "queue.page", and the process
calls the method of this name; the services are the classes in `core/engine/local`. Arguments and
answers must be picklable and bounded. When the process is lost, `ProcessEngine` starts it again;
see `supervision`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, cast

from rowtui.core.engine.api.snapshot import ENGINE_BACK, ENGINE_LOST
from rowtui.core.engine.process.errors import EngineLost
from rowtui.core.engine.process.supervision import Supervised
from rowtui.core.project.context.questions import LoginQuestion, Withdrawn

if TYPE_CHECKING:
    from rowtui.core.engine.api.snapshot import ProjectSnapshot
    from rowtui.core.engine.local.jobs import JobsWork, QueueWork
    from rowtui.core.engine.local.logs import LogsWork
    from rowtui.core.engine.local.network import NetworkWork
    from rowtui.core.engine.local.pages import GroupsWork
    from rowtui.core.engine.local.past import PastWork
    from rowtui.core.engine.local.plans import MappingWork, PlansWork
    from rowtui.core.engine.local.polling import ClustersWork
    from rowtui.core.project.review.views import PlanCheck
    from rowtui.core.submission.plan.model import Plan
    from rowtui.core.submission.sending.release_held import SendingProgress


LOGINS_OF_A_LIFE = 1_000_000
"""Questions are numbered from 1 in each life of the process; each life gets this many numbers."""

AFTER_A_LOSS = "what was sent stands in the journal: press r, and look at 6 before anything is sent"


class Concealed(tuple[str, ...]):
    """The user's input for a login, which must not appear in any log."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Return a fixed text instead of the input."""
        return "(concealed)"


class RemoteService:
    """One service of the engine's process: each of its methods has one answer."""

    def __init__(self, engine: Supervised, service: str) -> None:
        self._engine = engine
        self._service = service

    def __getattr__(self, name: str) -> Any:
        """Return a method that sends the request to the process."""

        def request(*arguments: Any, **named: Any) -> Any:
            return self._engine.ask(f"{self._service}.{name}", arguments, named)

        return request


class RemotePlans(RemoteService):
    """The service `plans` of the engine's process, two of whose methods stream their values."""

    def review(self, plan: Plan) -> AsyncIterator[PlanCheck]:
        """Yield the checks of a plan."""
        return self._engine.stream("plans.review", (plan,), {})

    async def submit(self, plan: Plan) -> AsyncIterator[SendingProgress]:
        """Submit a plan. Closing the iterator stops between two jobs."""
        try:
            async with aclosing(self._engine.stream("plans.submit", (plan,), {})) as steps:
                async for step in steps:
                    yield step
        except EngineLost as lost:
            raise EngineLost(lost.message, AFTER_A_LOSS) from None


class RemoteClusters(RemoteService):
    """The service `clusters` of the engine's process, whose logins end with the process."""

    async def questions(self) -> AsyncIterator[LoginQuestion | Withdrawn]:
        """Yield the questions of logins; the open questions of a lost process are withdrawn."""
        while True:
            first = self._engine.lives * LOGINS_OF_A_LIFE
            open_ones: set[int] = set()
            try:
                async with aclosing(self._engine.stream("clusters.questions", (), {})) as news:
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
            if not await self._engine.back():
                return

    def answer(self, number: int, answers: Sequence[str] | None) -> None:
        """Answer a question of a login, if it belongs to this life of the process."""
        life, number = divmod(number, LOGINS_OF_A_LIFE)
        if life == self._engine.lives:
            self._engine.tell(
                "clusters.answer", (number, None if answers is None else Concealed(answers))
            )


class ProcessEngine(Supervised):
    """An `Engine` in a process of its own. Made before the event loop, used in one."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.groups = cast("GroupsWork", RemoteService(self, "groups"))
        self.mapping = cast("MappingWork", RemoteService(self, "mapping"))
        self.plans = cast("PlansWork", RemotePlans(self, "plans"))
        self.jobs = cast("JobsWork", RemoteService(self, "jobs"))
        self.queue = cast("QueueWork", RemoteService(self, "queue"))
        self.logs = cast("LogsWork", RemoteService(self, "logs"))
        self.clusters = cast("ClustersWork", RemoteClusters(self, "clusters"))
        self.network = cast("NetworkWork", RemoteService(self, "network"))
        self.past = cast("PastWork", RemoteService(self, "past"))

    async def refresh(self, *, full: bool = False) -> ProjectSnapshot:
        """See `Engine`."""
        snapshot: ProjectSnapshot = await self.ask("refresh", (), {"full": full})
        return snapshot

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

    async def close(self) -> None:
        """Close the engine, so that its process ends."""
        await self.end()
