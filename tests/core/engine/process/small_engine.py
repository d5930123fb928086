"""An engine in a process of its own that does what tests of the way to it need.

What it did it writes into the folder of its options, a file for each thing.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

from rowtui.core.base.errors import IncomparableError, InvalidFileError, Problem, RowtuiError
from rowtui.core.base.text import Cost
from rowtui.core.clusters.transports.login import LoginError, LoginTrouble
from rowtui.core.engine.process.serve import main
from rowtui.core.engine.process.start import EngineOptions, EngineProcess, ProjectOpened
from rowtui.core.project.context.questions import LoginQuestion, OpenQuestions, Withdrawn
from rowtui.core.submission.plan.model import JobStep, Plan, PlannedDestination, PlannedJob
from rowtui.core.submission.sending.release_held import SendingProgress

from tests.core.engine.flat import FlatEngine

PROGRAM = f"""\
import sys
sys.path.insert(0, {str(Path(__file__).parents[4])!r})
from tests.core.engine.process.small_engine import serve
serve()
"""


def start(folder: Path) -> EngineProcess:
    return EngineProcess(EngineOptions(str(folder)), PROGRAM)


def serve() -> None:
    main(lambda options: (ProjectOpened((), ()), lambda: SmallEngine(options)))


def plan_of(jobs: int, script: str = "echo") -> Plan:
    planned = tuple(
        PlannedJob(
            f"t-{number}", f"job{number}", "one", 0, (f"d{number}",), PlannedDestination("local"),
            f"{script}{number}", "log", 1, 1, 0, None, 600, Cost(), reasons=("the only one",),
        )
        for number in range(jobs)
    )  # fmt: skip
    return Plan(f"plan{jobs}", "now", "me", "local", "local", planned, Cost())


class Unpicklable(RowtuiError):
    def __init__(self) -> None:
        super().__init__("this holds a lock", "do without")
        self.lock = asyncio.Lock()
        self.call: Callable[[], int] = lambda: 1


ERRORS: dict[str, Callable[[], Exception]] = {
    "plain": lambda: RowtuiError("what", "hint"),
    "file": lambda: InvalidFileError((Problem("f.toml", 2, 3, "wrong", "right"),)),
    "incomparable": lambda: IncomparableError("no order", ("a", "b"), "hint"),
    "login": lambda: LoginError(LoginTrouble.CANCELLED, "given up", "again", tried=("key",)),
    "missing": lambda: FileNotFoundError(2, "No such file or directory", "/nowhere"),
    "unpicklable": Unpicklable,
    "defect": lambda: ZeroDivisionError("of a kind"),
}


class SmallEngine(FlatEngine):
    """A few of the protocol's methods; arguments mean what each says."""

    def __init__(self, options: EngineOptions) -> None:
        super().__init__()
        self.options = options
        self.folder = Path(options.start)
        self.made: list[Plan] = []
        self.asking = OpenQuestions()

    def note(self, name: str, text: str = "") -> None:
        with (self.folder / name).open("a") as file:
            file.write(text + "\n")

    async def refresh(self, *, full: bool = False) -> Plan | int:
        """The generation that it began with."""
        return self.options.generation

    async def groups_page(self, *_: object) -> None:
        """Waits for ever."""
        self.note("waiting")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.note("cancelled")
            raise

    async def jobs_view(self, *, now: bool = False) -> int:
        """Ends its process, as a defect would."""
        os.kill(os.getpid(), signal.SIGKILL)
        return 0

    async def plans_make(self, action_index: int, groups: object, limit: object) -> Plan:
        """So many jobs."""
        self.made.append(plan_of(action_index, "#" * 3000))
        return self.made[-1]

    async def plans_transfers(self, plan: Plan) -> tuple[bool, int]:
        """Whether it is one of those made here, and its jobs."""
        return any(plan is one for one in self.made), len(plan.jobs)

    async def logs_tail(self, token: str, lines: int) -> None:
        raise ERRORS[token]()

    async def jobs_hold(self, tokens: Sequence[str]) -> Any:
        """The same again."""
        return tokens

    async def plans_submit(self, plan: Plan) -> AsyncIterator[SendingProgress]:
        try:
            for number, job in enumerate(plan.jobs, 1):
                self.note("sent", job.token)
                yield SendingProgress(
                    number, len(plan.jobs), job.token, "sent", "", JobStep.ACCEPTED
                )
        finally:
            await asyncio.sleep(0)
            self.note("given back")

    async def changes(self) -> AsyncIterator[str]:
        yield "watching"
        await asyncio.Event().wait()

    async def clusters_questions(self) -> AsyncIterator[LoginQuestion | Withdrawn]:
        asker = self.asking.asker("far")
        task = asyncio.create_task(self.login(asker))
        try:
            async for question in self.asking.stream():
                yield question
        finally:
            task.cancel()

    async def login(self, asker: Any) -> None:
        answers = await asker.ask(())
        sys.stderr.write(f"the answer is {answers!r}\n")
        sys.stderr.flush()
        self.note("answers", ",".join(answers))

    def clusters_answer(self, number: int, answers: Sequence[str] | None) -> None:
        self.asking.answer(number, answers)

    async def close(self) -> None:
        self.note("closed")
        with contextlib.suppress(FileNotFoundError):
            if (self.folder / "hang").stat():
                await asyncio.Event().wait()
