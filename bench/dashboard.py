"""Measure the dashboard in a terminal of its own: `python -m bench.dashboard`.

A real pty of 200 x 50 that is drained and counted; the CPU time is the whole process's, from
/proc. First paint is measured on a real project; the rest on make-believe rows, so that nothing
but the dashboard is in the figures. Printed beside the reach of the design.
"""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import json
import os
import pty
import select
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from bench.__main__ import machine
from bench.make_project import make_project

COLUMNS, LINES = 200, 50
ROWS = 1_000_000
VISIBLE = 46
BEAT = 0.02
"""Seconds between two looks whether the event loop is free; more often would be work by itself."""
BARE = """
from textual.app import App
from textual.widgets import Static

class Bare(App):
    def compose(self):
        yield Static("Needs you: eligible")

Bare().run()
"""
TICK = os.sysconf("SC_CLK_TCK")


class Pty:
    """One program in a terminal; everything it writes is read at once and counted."""

    def __init__(self, command: Sequence[str], folder: Path, environment: dict[str, str]) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        self.began = time.perf_counter()
        self.process = subprocess.Popen(
            command, cwd=folder, stdin=slave, stdout=slave, stderr=slave,
            env=environment, start_new_session=True,
        )  # fmt: skip
        os.close(slave)
        self.seen = b""  # the end of it
        self.count = 0

    def read(self, seconds: float) -> bool:
        """Read what comes within that time; whether anything came."""
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.master, 1 << 16)
        except OSError:
            return False
        self.count += len(data)
        self.seen = (self.seen + data)[-100_000:]
        return True

    def until(self, text: bytes, seconds: float = 60.0) -> float:
        """When the text had been written, in seconds since the start."""
        end = time.perf_counter() + seconds
        while text not in self.seen:
            if time.perf_counter() > end or (
                not self.read(1.0) and self.process.poll() is not None
            ):
                raise SystemExit(f"never came: {text!r}\n{self.seen[-3000:]!r}")
        return time.perf_counter() - self.began

    def during(self, seconds: float) -> tuple[float, int]:
        """CPU seconds and bytes written while that time passes."""
        cpu, count = self.cpu(), self.count
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            self.read(left)
        return self.cpu() - cpu, self.count - count

    def cpu(self) -> float:
        """CPU seconds of the process so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.master)


def environment(home: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"], "HOME": str(home), "TERM": "xterm-256color",
        "COLORTERM": "truecolor", "LANG": "C.UTF-8", "ROWTUI_LOCAL_DIR": str(home / "queue"),
    }  # fmt: skip


def first_paint(rounds: int, directories: int) -> tuple[list[float], list[float], list[float]]:
    """Seconds from exec to the first frame, to the status, and to that of a bare Textual app."""
    frames, statuses, floors = [], [], []
    with tempfile.TemporaryDirectory(prefix="rowtui-bench-") as temporary:
        folder = Path(temporary)
        make_project(folder, directories)
        project = folder / "rowtui"
        command = [str(Path(sys.executable).parent / "rowtui"), "--cluster", "local"]
        own = environment(folder)
        subprocess.run(
            [*command, "show", "status"], cwd=project, env=own, check=True, capture_output=True
        )
        for number in range(rounds + 1):
            terminal = Pty(command, project, own)
            frame = terminal.until(b"Needs you")
            status = terminal.until(b"eligible")
            terminal.close()
            bare = Pty([sys.executable, "-c", BARE], project, own)
            floor = bare.until(b"Needs you")
            bare.close()
            if number:  # the first one warms the caches
                frames.append(frame)
                statuses.append(status)
                floors.append(floor)
    return frames, statuses, floors


# The other side: runs inside the terminal and writes its figures to a file.


async def _inside(path: Path, mode: str, seconds: float) -> None:
    from rowtui.tui.app import RowtuiApp
    from rowtui.tui.render.cells import Number, line
    from rowtui.tui.render.columns import Column
    from rowtui.tui.widgets.rows import ListRows
    from rowtui.tui.widgets.virtual_table import VirtualTable
    from textual.screen import Screen

    from tests.tui.sample import SampleEngine

    columns = (
        Column("name", "Directory", 16, 30),
        Column("state", "State", 12),
        *(Column(f"c{at}", f"Column {at}", 8, 12, "right") for at in range(4)),
    )
    version = [0] * VISIBLE

    def cells(at: int, row: int) -> dict[str, object]:
        new = version[at] if at < VISIBLE else 0
        return {
            "name": line(f"directory-{row:07d}"),
            "state": line(("○ eligible", "eligible") if row % 3 else ("✓ completed", "completed")),
            **{f"c{number}": Number(row * 7 + number + new) for number in range(4)},
        }

    class Computed(ListRows[int]):
        """A million rows without an index of a million keys."""

        def index_of(self, key: object) -> int | None:
            return key if isinstance(key, int) else None

    class Wide(Screen[None]):
        def compose(self):  # type: ignore[no-untyped-def]
            yield VirtualTable(name="wide")

    class Measured(RowtuiApp):
        CSS_PATH = str(files("rowtui.tui") / "app.tcss")

        def on_ready(self) -> None:
            self.run_worker(measure())

        def post_display_hook(self) -> None:
            painted.set()

    figures: dict[str, object] = {}
    painted = asyncio.Event()
    stalls: list[float] = []

    async def heartbeat() -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(BEAT)
            stalls.append(time.perf_counter() - before - BEAT)

    async def measure() -> None:
        await asyncio.sleep(1.0)
        await app.push_screen(Wide())
        table = app.screen.query_one(VirtualTable)
        rows = Computed(range(ROWS), lambda row: row, cells)
        table.show(rows, columns)
        table.focus()
        await asyncio.sleep(1.0)
        if mode == "updates":
            path.touch()  # noqa: ASYNC240
            beat = asyncio.create_task(heartbeat())
            end = time.perf_counter() + seconds
            while time.perf_counter() < end:
                at = time.perf_counter()
                for row in range(VISIBLE):
                    version[row] += 1
                table.rows_changed()
                await asyncio.sleep(max(0.0, 0.1 - (time.perf_counter() - at)))
            beat.cancel()
            figures["stalls"] = [max(stalls), statistics.quantiles(stalls, n=20)[-1]]
        else:
            beat = asyncio.create_task(heartbeat())
            for name, step in (("key", table.action_line_down), ("page", table.action_page_down)):
                took, used = [], []
                for _ in range(100):
                    await asyncio.sleep(0.02)
                    painted.clear()
                    at, cpu = time.perf_counter(), time.process_time()
                    step()
                    await painted.wait()
                    took.append(time.perf_counter() - at)
                    used.append(time.process_time() - cpu)
                figures[name] = (statistics.quantiles(took, n=20)[-1], min(used))
            beat.cancel()
            figures["stalls"] = [max(stalls), statistics.quantiles(stalls, n=20)[-1]]
        path.with_suffix(".part").write_text(json.dumps(figures))
        path.with_suffix(".part").rename(path.with_suffix(".done"))
        await asyncio.sleep(3600)

    app = Measured(SampleEngine())
    await app.run_async()
    if app.defect is not None:
        raise app.defect


def inside(mode: str, seconds: float) -> tuple[dict[str, object], float, int]:
    """Run one measurement in a terminal: its figures, and CPU and bytes while it lasts."""
    with tempfile.TemporaryDirectory(prefix="rowtui-bench-") as temporary:
        path = Path(temporary) / "figures"
        command = [
            sys.executable, "-m", "bench.dashboard", "--inside", mode, str(path), str(seconds),
        ]  # fmt: skip
        own = environment(Path(temporary))
        terminal = Pty(command, Path(__file__).parents[1], own)
        done = path.with_suffix(".done")
        cpu, count = 0.0, 0
        try:
            if mode == "updates":
                while not path.exists():
                    terminal.read(0.05)
                cpu, count = terminal.during(seconds)
            end = time.perf_counter() + 300
            while not done.exists():
                terminal.read(0.1)
                if terminal.process.poll() is not None or time.perf_counter() > end:
                    raise SystemExit(terminal.seen[-3000:].decode(errors="replace"))
            return json.loads(done.read_text()), cpu, count
        finally:
            terminal.close()


def idle(seconds: float) -> tuple[float, int]:
    """CPU seconds and bytes of the dashboard at rest on a real project."""
    with tempfile.TemporaryDirectory(prefix="rowtui-bench-") as temporary:
        folder = Path(temporary)
        make_project(folder, 1_000)
        command = [str(Path(sys.executable).parent / "rowtui"), "--cluster", "local"]
        terminal = Pty(command, folder / "rowtui", environment(folder))
        try:
            terminal.until(b"eligible")
            terminal.during(8.0)  # "now" becomes "5 s ago", and the like
            return terminal.during(seconds)
        finally:
            terminal.close()


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.dashboard", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--directories", type=int, default=10_000)
    parser.add_argument("--inside", nargs=3, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.inside:
        mode, path, seconds = chosen.inside
        asyncio.run(_inside(Path(path), mode, float(seconds)))
        return
    print(f"{machine()}\n")
    frames, statuses, floors = first_paint(chosen.rounds, chosen.directories)
    seconds = chosen.seconds
    idle_cpu, idle_bytes = idle(seconds)
    keys, _, _ = inside("keys", 0)
    updates, update_cpu, update_bytes = inside("updates", seconds)
    table = [
        ("first frame from exec", _span(frames), "0.5 s"),
        ("the status on it", _span(statuses), ""),
        ("floor: first frame of a bare Textual app", _span(floors), ""),
        ("idle: share of a core", f"{100 * idle_cpu / seconds:.1f} %", "0.5 %"),
        ("idle: to the terminal", f"{idle_bytes / seconds / 1000:.1f} kB/s", "30 kB/s"),
        (f"{VISIBLE} rows at 10 Hz: share of a core", f"{100 * update_cpu / seconds:.1f} %", "6 %"),
        ("the same: to the terminal", f"{update_bytes / seconds / 1000:.0f} kB/s", ""),
        ("key to painted, p95", _ms(keys["key"][0]), "16 ms"),
        ("page of 1,000,000 rows: CPU / p95", f"{_ms(keys['page'][1])} / {_ms(keys['page'][0])}",
         "6 ms / 16 ms"),
        ("longest stall of the event loop / p95",
         " / ".join(_ms(max(one, other)) for one, other in
                    zip(keys["stalls"], updates["stalls"], strict=True)), "50 / 16 ms"),
    ]  # fmt: skip
    print(f"| {COLUMNS} x {LINES} terminal | measured | reach |\n|---|--:|--:|")
    for row in table:
        print("| " + " | ".join(row) + " |")


def _span(values: list[float]) -> str:
    return f"{min(values):.2f} s (median {statistics.median(values):.2f})"


def _ms(value: float) -> str:
    return f"{1000 * value:.1f} ms"


if __name__ == "__main__":
    main()
