"""Driving a run to its end on the command line: a line for each event, a bar, and questions.

The input is a run that the user has confirmed; the result is how the run ended. Events that only
count done jobs are combined and printed at most every few seconds; the bar is a line on stderr
below the printed text. For programs each event is an object on its own line.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import aclosing

from rowtui.cli.jobs.json import unsent_job
from rowtui.cli.network.shared.json import EventFailureJson, RunEventJson, states_json
from rowtui.cli.network.shared.limits import TerminalUser, logs_of
from rowtui.cli.network.shared.text import clock
from rowtui.cli.output.output import Output
from rowtui.cli.pack.text import cut
from rowtui.cli.project.open import is_interactive
from rowtui.core.base.document import document, utc
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural, visible
from rowtui.core.network.graph.job_model import STATES, GraphJobState
from rowtui.core.project.retry_policy import RetryPolicy
from rowtui.core.runs.execution.driver import WAITS, DriverMessage, MessageKind
from rowtui.core.runs.networks import Networks
from rowtui.core.runs.running import OpenRun
from rowtui.core.runs.store import Run
from rowtui.core.submission.plan.outcome import failure_json

CELLS = 20
_SAID = ("submitted", "eligible", "failed", "cancelled", "blocked")


class ProgressLine:
    """The progress line. Call `draw` repeatedly, and `clear` before other text is written."""

    def __init__(self, out: Output) -> None:
        self._shows = out.progress
        self._started = time.monotonic()
        self._there = False

    def draw(self, counts: Sequence[Sequence[int]]) -> None:
        """Draw the line for these counts of jobs: by node, by state."""
        if not self._shows:
            return
        text = bar_text(counts, time.monotonic() - self._started)
        width = shutil.get_terminal_size().columns
        sys.stdout.flush()
        sys.stderr.write(f"\r\x1b[K{cut(text, width - 1)}")
        sys.stderr.flush()
        self._there = True

    def clear(self) -> None:
        """Erase the line."""
        if self._there:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._there = False


def bar_text(counts: Sequence[Sequence[int]], seconds: float) -> str:
    """Return `Jobs ████░░░░ 12/41, 4 submitted, 1 failed (0:12)`."""
    all_of = [sum(each[state] for each in counts) for state in range(STATES)]
    total = sum(all_of)
    done = all_of[GraphJobState.COMPLETED] + all_of[GraphJobState.SKIPPED]
    share = done / total if total else 0.0
    filled = "█" * int(share * CELLS)
    numbers = {word: all_of[GraphJobState[word.upper()]] for word in _SAID}
    parts = [f"{number:,} {word}" for word, number in numbers.items() if number]
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    clock = f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
    more = "".join(f", {each}" for each in parts)
    return f"Jobs {filled:░<{CELLS}} {done:,}/{total:,}{more} ({clock})"


DRAW_SECONDS = 0.5
TELL_SECONDS = 5.0  # seconds between lines that only count done jobs
SHOWN_FAILURES = 3  # failures that are named at each event


class Driving:
    """One run, as this command drives it."""

    def __init__(
        self,
        networks: Networks,
        run: Run,
        out: Output,
        policy: RetryPolicy,
        *,
        by_step: bool,
        as_json: bool,
    ) -> None:
        self.networks = networks
        self.run = run
        self.out = out
        self.policy = policy
        self.by_step = by_step
        self.as_json = as_json
        self.bar = ProgressLine(out)
        self.person = TerminalUser(out, networks, self.bar.clear)
        self.interrupted = False
        self._done = 0  # done jobs that no line has reported yet
        self._sent = 0
        self._told_at = 0.0

    async def drive(self) -> DriverMessage | None:
        """Drive the run until it is over or pauses; return the last event. Raises: RowtuiError."""
        last: DriverMessage | None = None
        asks = is_interactive() and not self.as_json
        telling = self.networks.drive(
            self.run,
            self.person.ask if asks else None,
            by_step=self.by_step,
            policy=self.policy,
        )
        drawing = asyncio.create_task(self._draw())
        loop, me = asyncio.get_running_loop(), asyncio.current_task()
        assert me is not None
        with contextlib.suppress(ValueError, RuntimeError):  # the main thread receives signals
            loop.add_signal_handler(signal.SIGINT, self._interrupt, me)
        try:
            async with aclosing(telling):
                async for message in telling:
                    last = message
                    self.tell(message)
        finally:
            loop.remove_signal_handler(signal.SIGINT)
            drawing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await drawing
            self.bar.clear()
        return last

    def _interrupt(self, me: asyncio.Task[object]) -> None:
        """Handle Ctrl-C: let current steps finish; a second Ctrl-C cancels them."""
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

    # Output

    def tell(self, message: DriverMessage) -> None:
        """Print an event, or keep it for a line with the next ones."""
        self.bar.clear()
        running = self._running()
        if self.as_json:
            line = json.dumps(document(event_document(message, running)))
            self.out.print(line)
            sys.stdout.flush()
            self._notices(message, running)
            return
        self._notices(message, running)
        if message.kind is MessageKind.SENT and message.plan is not None:
            self._sent += len(message.plan.jobs)
        elif message.kind is MessageKind.HAPPENED and message.happened is not None:
            happened = message.happened
            self._done += happened.completed
            if any(happened._replace(completed=0)):
                self._count()
                self._line(message.sentence if not happened.completed else _without_done(message))
                self._failures(running, happened.failed)
        elif message.kind in (MessageKind.PROBLEM, MessageKind.WAITING):
            self._count()
            waits = message.kind is MessageKind.WAITING
            self.out.warn(f"{message.sentence}{WAITS * waits}")
        elif message.kind in (MessageKind.RETRY, MessageKind.CONTINUES):
            self._count()
            self._line(f"{message.kind.value}: {message.sentence}")
        elif message.kind is MessageKind.BEGUN:
            self._line(message.sentence)
            self._told_at = time.monotonic()
        else:  # over or paused: the caller reports it
            self._count()
        if time.monotonic() - self._told_at >= TELL_SECONDS:
            self._count()
        if running is not None:
            self.bar.draw(running.graph.counts())

    def _notices(self, message: DriverMessage, running: OpenRun | None) -> None:
        """Print the project's notices, except failures that are printed as failures."""
        happened = message.happened
        failed = happened.failed if happened is not None and running is not None else ()
        reasons = tuple(f": {running.graph.reason(job)}" for job in failed) if running else ()
        for notice in self.networks.project.take_notices():
            if not (reasons and notice.partition(" in directory ")[0].endswith(reasons)):
                self.out.warn(notice)

    def _count(self) -> None:
        """Print a line with the counts that have not been reported yet."""
        parts = []
        if self._sent:
            parts.append(f"sent {plural(self._sent, 'job')}")
        if self._done:
            parts.append(f"{plural(self._done, 'sample')} completed")
        if parts:
            self._line(", ".join(parts))
        self._sent = self._done = 0

    def _line(self, text: str) -> None:
        self.out.print(f"{clock()}  {visible(text)}")
        sys.stdout.flush()
        self._told_at = time.monotonic()

    def _failures(self, running: OpenRun | None, jobs: Sequence[int]) -> None:
        """Print the first failed jobs, with the paths of their logs."""
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

    def _running(self) -> OpenRun | None:
        return None if self.networks.driving is None else self.networks.driving.running


def _without_done(message: DriverMessage) -> str:
    """Return the sentence without the number of completed jobs, which another line reports."""
    parts = message.sentence.split(", ")
    return ", ".join(part for part in parts if not part.endswith(" completed"))


def event_document(message: DriverMessage, running: OpenRun | None) -> RunEventJson:
    """Return a line for programs."""
    at = utc(time.time())
    found = RunEventJson(message.kind.value, None, at, message.sentence, message.success)
    if (plan := message.plan) is not None:
        found = found._replace(plan=plan.id, jobs=[unsent_job(job, plan) for job in plan.jobs])
    if (happened := message.happened) is not None:
        counts = (happened.completed, happened.blocked, happened.new, happened.published)
        found = RunEventJson(*found[:7], *counts)
        if running is not None:
            growth, graph = running.growth, running.graph
            failed = [
                EventFailureJson(
                    growth.where(job).node,
                    growth.directory(job),
                    failure_json(graph.reason(job), None),
                )
                for job in happened.failed
            ]
            found = found._replace(failed=failed)
    if running is None:
        return found
    counts_ = running.graph.counts()
    sums = tuple(sum(each[state] for each in counts_) for state in range(STATES))
    return found._replace(states=states_json(sums), charges=running.spent())
