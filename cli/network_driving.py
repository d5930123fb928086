"""A run driven to its end on the command line: a line for each event, a bar, questions.

Takes a run that a person has confirmed; gives how it ended. Events that only count what is done are
told together, at most every few seconds; for programs each is an object on a line of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sys
import time
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from rowtui.cli.network_asking import Person
from rowtui.cli.network_bar import Bar
from rowtui.cli.network_json import spent_json, states_json
from rowtui.cli.network_project import logs_of
from rowtui.cli.network_text import clock
from rowtui.cli.project import is_interactive
from rowtui.core.errors import RowtuiError
from rowtui.core.network.job_model import STATES
from rowtui.core.runs.autopilot import Kind
from rowtui.core.submission.fence import without_directory
from rowtui.core.text import plural, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rowtui.cli.output import Output
    from rowtui.core.runs.autopilot import Told
    from rowtui.core.runs.networks import Networks
    from rowtui.core.runs.running import Running
    from rowtui.core.runs.store import Run

DRAW_SECONDS = 0.5
TELL_SECONDS = 5.0  # between lines that only count what is done
SHOWN_FAILURES = 3  # of one look


class Driving:
    """One run, as this command drives it."""

    def __init__(
        self, networks: Networks, run: Run, out: Output, *, by_step: bool, as_json: bool
    ) -> None:
        self.networks = networks
        self.run = run
        self.out = out
        self.by_step = by_step
        self.as_json = as_json
        self.bar = Bar(out)
        self.person = Person(out, networks, self.bar.clear)
        self.interrupted = False
        self._done = 0  # jobs done of which no line told
        self._sent = 0
        self._told_at = 0.0

    async def drive(self) -> Told | None:
        """Until it is over or pauses: what it said last. Raises: RowtuiError."""
        last: Told | None = None
        asks = is_interactive() and not self.as_json
        telling = self.networks.drive(
            self.run, self.person.ask if asks else None, by_step=self.by_step
        )
        drawing = asyncio.create_task(self._draw())
        loop, me = asyncio.get_running_loop(), asyncio.current_task()
        assert me is not None
        with contextlib.suppress(ValueError, RuntimeError):  # signals come to the main thread
            loop.add_signal_handler(signal.SIGINT, self._interrupt, me)
        try:
            async with aclosing(telling):
                async for told in telling:
                    last = told
                    self.tell(told)
        finally:
            loop.remove_signal_handler(signal.SIGINT)
            drawing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await drawing
            self.bar.clear()
        return last

    def _interrupt(self, me: asyncio.Task[object]) -> None:
        """Ctrl-C: what goes on is brought to its end, at the second one it is cut off."""
        again, self.interrupted = self.interrupted, True
        autopilot = self.networks.driving
        if autopilot is not None:
            with contextlib.suppress(RowtuiError):
                autopilot.stop("interrupted at the terminal")
        if again or autopilot is None or self.person.asking:
            me.cancel()
        self.bar.clear()
        if self.out.progress:
            self.out.note("")

    async def _draw(self) -> None:
        while True:
            driving = self.networks.driving
            if driving is not None and not self.person.asking and not self.as_json:
                self.bar.draw(driving.running.graph.counts())
            await asyncio.sleep(DRAW_SECONDS)

    # What is told

    def tell(self, told: Told) -> None:
        """Print an event, or keep it for a line with the next ones."""
        self.bar.clear()
        running = self._running()
        if self.as_json:
            line = json.dumps(event_json(told, running))
            self.out.print(line)
            sys.stdout.flush()
            self._notices(told, running)
            return
        self._notices(told, running)
        if told.kind is Kind.SENT and told.plan is not None:
            self._sent += len(told.plan.jobs)
        elif told.kind is Kind.HAPPENED and told.happened is not None:
            happened = told.happened
            self._done += happened.completed
            if any(happened._replace(completed=0)):
                self._count()
                self._line(told.sentence if not happened.completed else _without_done(told))
                self._failures(running, happened.failed)
        elif told.kind is Kind.PROBLEM:
            self._count()
            self.out.warn(told.sentence)
        elif told.kind is Kind.BEGUN:
            self._line(told.sentence)
            self._told_at = time.monotonic()
        else:  # it is over, or pauses: the caller says so
            self._count()
        if time.monotonic() - self._told_at >= TELL_SECONDS:
            self._count()
        if running is not None:
            self.bar.draw(running.graph.counts())

    def _notices(self, told: Told, running: Running | None) -> None:
        """What the project noticed, but for failures that are told as such."""
        failed = told.happened.failed if told.happened is not None and running is not None else ()
        reasons = tuple(f": {running.graph.reason(job)}" for job in failed) if running else ()
        for notice in self.networks.project.take_notices():
            if not (reasons and without_directory(notice).endswith(reasons)):
                self.out.warn(notice)

    def _count(self) -> None:
        """A line with what was only counted so far."""
        said = []
        if self._sent:
            said.append(f"sent {plural(self._sent, 'job')}")
        if self._done:
            said.append(f"{plural(self._done, 'sample')} done")
        if said:
            self._line(", ".join(said))
        self._sent = self._done = 0

    def _line(self, text: str) -> None:
        self.out.print(f"{clock()}  {visible(text)}")
        sys.stdout.flush()
        self._told_at = time.monotonic()

    def _failures(self, running: Running | None, jobs: Sequence[int]) -> None:
        """The first that failed, with where their logs are."""
        if running is None or not jobs:
            return
        shown = []
        for job in jobs[:SHOWN_FAILURES]:
            where = running.growth.where(job)
            node = running.growth.flow.network.node(where.node)
            assert node is not None
            shown.append((job, where.node, node.action, running.growth.directory(job)))
        logs = logs_of(self.networks, [(action, name) for _, _, action, name in shown])
        for job, node_name, action, directory in shown:
            text = f"{node_name} {directory}: {running.graph.reason(job)}"
            if log := logs.get((action, directory)):
                text += f"\nIts log: {log}"
            self.bar.clear()
            self.out.error(text)
        if len(jobs) > len(shown):
            self.out.error(f"{plural(len(jobs) - len(shown), 'more job')} failed.")

    def _running(self) -> Running | None:
        return None if self.networks.driving is None else self.networks.driving.running


def _without_done(told: Told) -> str:
    """The sentence without how many jobs are done, which another line tells."""
    return ", ".join(part for part in told.sentence.split(", ") if not part.endswith(" done"))


def event_json(told: Told, running: Running | None) -> dict[str, Any]:
    """A line for programs: see docs/formats.md."""
    found: dict[str, Any] = {
        "event": told.kind.value,
        "at": time.time(),
        "sentence": told.sentence,
        "success": told.success,
    }
    if told.plan is not None:
        found["plan"] = told.plan.id
        found["jobs"] = [
            {"token": job.token, "action": job.action, "directories": list(job.directories)}
            for job in told.plan.jobs
        ]
    if told.happened is not None:
        happened = told.happened
        found |= {
            "completed": happened.completed,
            "cancelled": happened.cancelled,
            "new": happened.new,
            "published": happened.published,
        }
        if running is not None:
            found["failed"] = [
                {
                    "node": running.growth.where(job).node,
                    "directory": running.growth.directory(job),
                    "reason": running.graph.reason(job),
                }
                for job in happened.failed
            ]
    if running is not None:
        counts = running.graph.counts()
        sums = tuple(sum(each[state] for each in counts) for state in range(STATES))
        found["states"] = states_json(sums)
        found["spent"] = spent_json(running.spent())
    return found
