"""Pictures of every screen, from the sample project of the tests: always the same.

    python -m screenshots [NAME ...]      all pictures, or those whose name contains a NAME

Each picture is an SVG with DejaVu Sans Mono, and a PNG of it made by Chromium where there is one,
else by cairosvg where that is installed.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

os.environ.update(TEXTUAL_ANIMATIONS="none", TZ="UTC", COLORTERM="truecolor")

from tests.tui.sample import SampleEngine  # noqa: E402
from textual.pilot import Pilot  # noqa: E402

from rowtui.tui.app import RowtuiApp  # noqa: E402

HERE = Path(__file__).parent
Steps = Callable[[Pilot[Any], SampleEngine], Awaitable[None]]


async def settle(pilot: Pilot[Any]) -> None:
    for _ in range(4):
        await pilot.pause(0.08)


def keys(*pressed: str) -> Steps:
    async def run(pilot: Pilot[Any], engine: SampleEngine) -> None:
        for key in pressed:
            await pilot.press(key)
            await settle(pilot)

    return run


async def live(pilot: Pilot[Any], engine: SampleEngine) -> None:
    for _ in range(3):
        engine.advance(30)
        await settle(pilot)
        await pilot.pause(0.3)


async def sending(pilot: Pilot[Any], engine: SampleEngine) -> None:
    reached = asyncio.Event()
    never = asyncio.Event()

    async def gate(number: int) -> None:
        if number == 6:
            reached.set()
            await never.wait()

    engine.gate = gate
    await keys("2", "a", "s", "s", "8", "enter")(pilot, engine)
    await reached.wait()
    await settle(pilot)
    pilot.app.clear_notifications()


async def broken(pilot: Pilot[Any], engine: SampleEngine) -> None:
    from rowtui.core.errors import Problem, WorkflowError

    engine.refresh_error = WorkflowError(
        (
            Problem("workflow.toml", 12, 1, "unknown key `comand` in [[action]]", "did you mean `command`?"),
            Problem("workflow.toml", 31, 20, "`maximum_size` is a whole number of at least 1"),
        )
    )
    engine.tell("workflow")
    await settle(pilot)
    await pilot.pause(0.3)
    pilot.app.clear_notifications()


async def problems(pilot: Pilot[Any], engine: SampleEngine) -> None:
    from rowtui.core.errors import Problem

    engine.bad = (("T0.9-rho0.4-s2", "value.json: not JSON: line 3, column 9"),)
    engine.notices = ("the cache was rebuilt: it was written by a newer version",)
    engine.problems = (
        Problem("workflow.toml", 22, 1, "products is empty: `analyze` never completes", "", "warning"),
    )
    engine.tell("workspace")
    await settle(pilot)
    await pilot.pause(0.3)


SCREENS: dict[str, tuple[Steps, tuple[tuple[int, int], ...], dict[str, Any]]] = {
    "status": (live, ((80, 24), (120, 36), (200, 60)), {}),
    "status-light": (live, ((120, 36),), {"theme": "rowtui-light"}),
    "status-contrast": (live, ((120, 36),), {"theme": "high-contrast"}),
    "status-deuteranopia": (live, ((120, 36),), {"theme": "deuteranopia"}),
    "status-problems": (problems, ((80, 24), (120, 36)), {"read_only": True}),
    "status-broken": (broken, ((80, 24), (120, 36)), {}),
    "groups": (keys("2", "j", "space", "space", "space"), ((80, 24), (120, 36), (200, 60)), {}),
    "submit": (keys("2", "space", "space", "space", "space", "s", "j"), ((80, 24), (120, 36)), {}),
    "submit-question": (keys("2", "a", "s", "s", "8"), ((80, 24), (120, 36)), {}),
    "submit-sending": (sending, ((80, 24), (120, 36)), {}),
    "queue": (keys("6", "j", "j"), ((80, 24), (120, 36)), {}),
    "queue-cancel": (keys("6", "j", "j", "space", "space", "c"), ((80, 24), (120, 36)), {}),
    "log": (keys("6", "j", "j", "j", "enter"), ((80, 24), (120, 36)), {}),
    "activity": (keys("2", "s", "escape", "at"), ((80, 24), (120, 36)), {}),
    "help": (keys("2", "question_mark"), ((80, 24), (120, 36)), {}),
    "palette": (keys("2", "ctrl+p"), ((80, 24), (120, 36)), {}),
}


async def picture(name: str, steps: Steps, size: tuple[int, int], options: dict[str, Any]) -> str:
    """One screen as SVG."""
    engine = SampleEngine()
    app = RowtuiApp(engine, clock=lambda: engine.now, **options)
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        await steps(pilot, engine)
        await settle(pilot)
        svg = app.export_screenshot(title=f"rowtui: {name}")
    svg = re.sub(r"@font-face\s*\{.*?\}", "", svg, flags=re.S)
    svg = svg.replace("Fira Code", "DejaVu Sans Mono").replace(
        "</style>", "text { font-variant-ligatures: none; }\n</style>", 1
    )
    return re.sub(r"terminal-\d+", "terminal", svg)


def to_png(svg: Path, png: Path) -> str:
    """Draw a PNG; says with what, or "" if nothing could."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium:
        box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg.read_text())
        assert box is not None
        width, height = (round(float(side)) for side in box.groups())
        with tempfile.TemporaryDirectory() as profile:
            subprocess.run(
                [
                    chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                    f"--user-data-dir={profile}", "--default-background-color=00000000",
                    f"--window-size={width},{height}", f"--screenshot={png}", svg.resolve().as_uri(),
                ],
                check=True, capture_output=True, timeout=120,
            )  # fmt: skip
        return "chromium"
    try:
        import cairosvg
    except ImportError:
        return ""
    cairosvg.svg2png(url=str(svg), write_to=str(png))
    return "cairosvg"


def main(wanted: list[str]) -> int:
    folder = HERE
    with_png = "--no-png" not in wanted
    names = [name for name in wanted if not name.startswith("--")]
    for name, (steps, sizes, options) in SCREENS.items():
        if names and not any(part in name for part in names):
            continue
        for width, height in sizes:
            path = folder / f"{name}-{width}x{height}.svg"
            path.write_text(asyncio.run(picture(name, steps, (width, height), options)))
            drawn = to_png(path, path.with_suffix(".png")) if with_png else ""
            print(path.name, drawn)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
