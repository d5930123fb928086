"""Measure a look at a long queue of Slurm's: `python -m bench.queue [--jobs N] [--json FILE]`.

Answers of squeue are made up in the form that is asked for, so that no Slurm is needed. For each
kind one line is printed: CPU time of reading it, and how long the event loop was kept waiting
while the scheduler took a whole snapshot of it; the last line has the same without any snapshot.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rowtui.core.clusters.command_log import CommandResult
from rowtui.core.clusters.schedulers.slurm.queue import QueueForm
from rowtui.core.clusters.schedulers.slurm.scheduler import SlurmScheduler

from bench.machine import machine
from bench.measured import Measured, write

ROUNDS = 15
BEAT = 0.001  # seconds between two looks at the clock
MARK = "0123456789abcdef"  # the same for all, so that answers are made beforehand
Answer = Callable[[str], bytes]  # by the mark of the form that was asked for


def record(mark: str, fields: str, token: str) -> str:
    """One record as squeue prints it."""
    return f"{mark}>{fields}{mark}|rowtui:{token}{mark}|fit and compare {token[:8]}\n"


def waiting_and_running(jobs: int) -> Answer:
    """One in ten runs, each for another time."""

    def answer(mark: str) -> bytes:
        lines = []
        for number in range(1, jobs + 1):
            ran = f"{number % 24}:{number % 60:02}:{number * 7 % 60:02}"
            fields = (
                f"{number}|{number}|N/A|RUNNING|{ran}|1-00:00:00|1795258775|cpu|n{number}|None"
                if number % 10 == 0
                else f"{number}|{number}|N/A|PENDING|0:00|1-00:00:00|N/A|cpu||Priority"
            )
            lines.append(record(mark, fields, f"0123456789abcdef-{number}"))
        return "".join(lines).encode()

    return answer


def failed(jobs: int) -> Answer:
    """All have ended, each after another time, and failed."""

    def answer(mark: str) -> bytes:
        if not mark:
            return "".join(f"{n:<20}{256:<20}{'N/A':<20}\n" for n in range(1, jobs + 1)).encode()
        return "".join(
            record(
                mark,
                f"{n}|{n}|N/A|FAILED|{n % 24}:{n % 60:02}:{n * 7 % 60:02}|1:00:00|"
                "1795258775|cpu|n1|NonZeroExitCode",
                f"0123456789abcdef-{n}",
            )
            for n in range(1, jobs + 1)
        ).encode()

    return answer


def one_array(jobs: int) -> Answer:
    """All in one line."""

    def answer(mark: str) -> bytes:
        fields = f"1|1|0-{jobs - 1}%50|PENDING|0:00|1:00:00|N/A|cpu||Priority"
        return record(mark, fields, "0123456789abcdef-0a").encode()

    return answer


class Canned:
    """A transport whose squeue is quick."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._kept: dict[str, bytes] = {}

    async def run(self, argv: Sequence[str], **_: object) -> CommandResult:
        """The answer, made once."""
        asked = MARK if "-o" in argv else ""
        if asked not in self._kept:
            self._kept[asked] = self._answer(asked)
        return CommandResult(tuple(argv), 0, self._kept[asked])


def cpu_of_reading(answer: Answer) -> tuple[list[float], int, int]:
    """The CPU seconds of some rounds, from the least on, how many jobs, and how many bytes."""
    form = QueueForm(MARK)
    data = answer(MARK)
    times = []
    for _ in range(ROUNDS):
        started = time.process_time()
        jobs = form.read(data).jobs
        times.append(time.process_time() - started)
    return sorted(times), len(jobs), len(data)


async def stalls(work: Callable[[], asyncio.Future[object] | asyncio.Task[object]]) -> list[float]:
    """How long the loop was kept from its beat, at worst, in each round."""
    longest = []
    for _ in range(ROUNDS):
        task = asyncio.ensure_future(work())
        late = 0.0
        before = time.perf_counter()
        while not task.done():
            await asyncio.sleep(BEAT)
            now = time.perf_counter()
            late = max(late, now - before - BEAT)
            before = now
        await task
        longest.append(late)
    return sorted(longest)


async def stalls_of_a_look(answer: Answer) -> list[float]:
    """The same while a scheduler takes snapshots, each as if it were its first."""
    transport = Canned(answer)
    await SlurmScheduler("alpha", transport).queue()

    async def look() -> object:
        snapshot = await SlurmScheduler("alpha", transport).queue()
        assert not snapshot.error
        return snapshot

    return await stalls(lambda: asyncio.ensure_future(look()))


def row(name: str, jobs: str, size: str, cpu: str, late: Sequence[float]) -> str:
    """One line of the table."""
    words = " / ".join(f"{1000 * it:.1f}" for it in (late[0], late[len(late) // 2], late[-1]))
    return f"| {name} | {jobs} | {size} | {cpu} | {words} |"


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.queue", description=__doc__)
    parser.add_argument("--jobs", type=int, default=10_300)
    parser.add_argument("--save", metavar="NAME", help="also write bench/results/NAME.md")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there")
    chosen = parser.parse_args()
    QueueForm.new = classmethod(lambda form: form(MARK))  # type: ignore[assignment, method-assign]
    lines = [
        f"# {machine()}",
        "",
        "| queue | jobs | kB | read, CPU s | stall of the loop, ms: least / median / worst |",
        "|---|---|---|---|---|",
    ]
    rows = []
    for make in (waiting_and_running, failed, one_array):
        answer = make(chosen.jobs)
        cpu, jobs, size = cpu_of_reading(answer)
        late = asyncio.run(stalls_of_a_look(answer))
        name = make.__name__.replace("_", " ")
        lines.append(row(name, f"{jobs:,}", f"{size / 1000:.0f}", f"{cpu[0]:.3f}", late))
        best = {"cpu s": cpu[0], "stall ms": 1000 * late[0]}
        median = {"cpu s": cpu[len(cpu) // 2], "stall ms": 1000 * late[len(late) // 2]}
        rows.append(
            Measured("read", chosen.jobs, best=best, median=median, variant=name, runs=ROUNDS)
        )
    idle = asyncio.run(stalls(lambda: asyncio.ensure_future(asyncio.sleep(0.1))))
    lines.append(row("nothing at all", "", "", "", idle))
    print("\n".join(lines))
    if chosen.json:
        write(chosen.json, rows)
    if chosen.save:
        results = Path(__file__).parent / "results" / f"{chosen.save}.md"
        results.write_text("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
