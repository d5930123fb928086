"""Pictures of every screen, from the sample project of the tests: always the same.

    python -m screenshots [NAME ...]      all pictures, or those whose name contains a NAME
    python -m screenshots --text          only their texts

Beside each `NAME.png` lies what is on it, as `text/NAME.txt`, of some also the colours; `tests/tui/test_screenshots.py`
draws the scenes again and compares. A PNG is made from Textual's SVG by Chromium where there is
one, else by cairosvg where that is installed.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

os.environ.update(TEXTUAL_ANIMATIONS="none", TZ="UTC", COLORTERM="truecolor")
os.environ.pop("NO_COLOR", None)

from rowtui.core.project.views.views import TransferView
from rowtui.tui.shell.terminal import Manner
from rowtui.tui.widgets.table.virtual_table import VirtualTable

from screenshots import demo, placing, submit
from screenshots.clusters import far_one, on_anvil, typing, with_commands
from screenshots.projects import projects
from tests.tui.hand import Hand, opened, screen_colours
from tests.tui.sample import SampleEngine
from tests.tui.sample_again import with_failures
from tests.tui.sample_clusters import with_clusters
from tests.tui.sample_network import with_network
from tests.tui.sample_packing import SpreadEngine, with_awkward_jobs, with_many
from tests.tui.sample_past import columns_of, ended_jobs, running_jobs
from tests.tui.sample_queue import with_array

HERE = Path(__file__).parent
TEXTS = HERE / "text"
LOW, MIDDLE, BIG = (80, 24), (120, 36), (200, 50)
Steps = Callable[[Hand[SampleEngine]], Awaitable[None]]


@dataclass(frozen=True)
class Shot:
    """One picture of a scene."""

    size: tuple[int, int]
    theme: str = "rowtui-dark"
    word: str = ""  # in the picture's name
    before: Steps | None = None  # what is done before this one is taken
    colours: bool = False  # also keep the colours as text

    def name(self, scene: str) -> str:
        return "-".join(part for part in (scene, self.word, "{}x{}".format(*self.size)) if part)


@dataclass(frozen=True)
class Scene:
    """What is done before the pictures are taken, and the text by which one knows it is there."""

    steps: Steps
    sign: str
    shots: tuple[Shot, ...] = (Shot(MIDDLE),)
    options: dict[str, Any] = field(default_factory=dict)
    engine: Callable[[], SampleEngine] = SampleEngine


def with_past() -> SampleEngine:
    """The sample project with 600 jobs that have ended, and a bad node."""
    engine = SampleEngine()
    engine.past_jobs = columns_of(ended_jobs(engine.now))
    engine.past_running = running_jobs(engine.now)
    engine.past_budget = 2_000.0
    return engine


def keys(*pressed: str) -> Steps:
    async def run(hand: Hand[SampleEngine]) -> None:
        for key in pressed:
            await hand.press(key)
            await hand.rests()

    return run


async def live(hand: Hand[SampleEngine]) -> None:
    hand.engine.advance(20)
    plan = await hand.engine.plans.make(1, [0, 1, 2], None)
    async for _ in hand.engine.plans.submit(plan):
        pass
    await hand.sees("4 pending")
    for seconds, sign in ((45, "job 4712 (sample) completed"), (25, "0:00:25")):
        hand.engine.advance(seconds)
        await hand.press("r")
        await hand.sees("sample: 16 more completed", sign)
    table = hand.app.screen.query_one(VirtualTable)
    await hand.until(lambda: not table._flashing, "what changed stands out no more")
    await hand.rests()


async def sending(hand: Hand[SampleEngine]) -> None:
    never = asyncio.Event()

    async def gate(number: int) -> None:
        if number == 6:
            await never.wait()

    hand.engine.gate = gate
    await keys("2", "a", "s", "s", "8", "enter")(hand)
    await hand.sees("sending: 5 of 8")


async def broken(hand: Hand[SampleEngine]) -> None:
    from rowtui.core.base.errors import Problem, WorkflowError

    hand.engine.refresh_error = WorkflowError(
        (
            Problem(
                "workflow.toml", 12, 1, "unknown key `comand` in [[action]]",
                "did you mean `command`?",
            ),
            Problem("workflow.toml", 31, 20, "`maximum_size` is a whole number of at least 1"),
        )
    )  # fmt: skip
    hand.engine.tell("workflow")


async def problems(hand: Hand[SampleEngine]) -> None:
    from rowtui.core.base.errors import Problem

    hand.engine.bad = (("T0.9-rho0.4-s2", "value.json: not JSON: line 3, column 9"),)
    hand.engine.notices = ("the cache was rebuilt: it was written by a newer version",)
    hand.engine.problems = (
        Problem(
            "workflow.toml", 22, 1, "products is empty: `analyze` never completes", "", "warning"
        ),
    )
    hand.engine.tell("workspace")


def with_warnings() -> SampleEngine:
    engine = SampleEngine()
    engine.group_warnings[4] = "wholenode: CPUs (388) not a preferred multiple: use 384 or 512 CPUs"
    return engine


async def clusters(hand: Hand[SampleEngine]) -> None:
    hand.engine.remote["bridges"] = hand.engine.remote["delta"]._replace(
        name="bridges", where="someone@bridges.example", login="", error="no route to host",
        as_of=hand.engine.now - 900, next_at=hand.engine.now + 130,
    )  # fmt: skip
    hand.engine.tell("jobs")
    await keys("6", "m", "j", "j")(hand)


def login(*typed: str) -> Steps:
    """Connect delta from its job in the queue, and type this into the dialogs."""

    async def steps(hand: Hand[SampleEngine]) -> None:
        await hand.press("6")
        await hand.sees(" 8 directories")  # the detail of the job, which shows beside the dialog
        await keys("L", *typed)(hand)

    return steps


async def failed_login(hand: Hand[SampleEngine]) -> None:
    from rowtui.core.clusters.transports.login import KnownKey, changed_key_error

    from tests.tui.sample_clusters import HOST_KEY

    async def changed(_: object) -> None:
        on_file = "SHA256:7kWcDbzYQ0mUe1mYfUq2vM8sTq3m5O3c9yqJc0mCzGk"
        known = KnownKey("/home/someone/.ssh/known_hosts", 12, HOST_KEY.kind, on_file)
        raise changed_key_error("someone@login.delta.example", HOST_KEY, (known,))

    hand.engine.logins["delta"] = changed
    await login()(hand)


async def copied_first(hand: Hand[SampleEngine]) -> None:
    hand.engine.destination, hand.engine.scheduler = "anvil", "slurm"
    place = "/scratch/someone/rowtui/lj-fluid-1a2b3c4d"
    hand.engine.transfer_views = (
        TransferView(
            "anvil", place, 1214, 48_300_000, unchanged=20, conflicts=("project.py",),
            back=("equilibrated.gsd",),
        ),
    )  # fmt: skip
    await keys("2", "a", "s")(hand)


def changing(*typed: str) -> Steps:
    """Open the form for jobs that wait; the scheduler is asked for their terms first."""

    async def steps(hand: Hand[SampleEngine]) -> None:
        await keys("6", "a", "e")(hand)
        await hand.sees("Change 24 jobs that wait")
        await keys(*typed)(hand)

    return steps


async def again_wrong(hand: Hand[SampleEngine]) -> None:
    await keys("1", "d", "a", "R", "6", "4", "down", "4")(hand)
    await hand.press("enter")


BOTH = (Shot(MIDDLE), Shot(LOW))
SIZES = (*BOTH, Shot(BIG))
THEMED = tuple(
    Shot(MIDDLE, name, word)
    for name, word in {
        "rowtui-light": "light", "high-contrast": "contrast", "deuteranopia": "deuteranopia",
        "tritanopia": "tritanopia", "terminal": "terminal",
    }.items()
)  # fmt: skip
SCENES: dict[str, Scene] = {
    "status": Scene(
        live,
        "sample: 16 more completed",
        (
            Shot(MIDDLE, colours=True),
            Shot(LOW),
            Shot(BIG),
            Shot(MIDDLE, "rowtui-light", "light", colours=True),
            *THEMED[1:],
        ),
    ),
    "status-problems": Scene(problems, "1 directory is not counted", options={"read_only": True}),
    "status-broken": Scene(broken, "STALE"),
    "groups": Scene(
        keys("2", "j", "space", "space"),
        "2 of 8 groups marked",
        SIZES,
        engine=with_warnings,
    ),
    "groups-filter": Scene(keys("2", "slash", *"T1.1 !s3"), "2 of 8", BOTH),
    "groups-directories": Scene(
        keys("2", "d", "slash", *"s2 rho>0.4", "enter", "o", "o"), "78", BOTH
    ),
    "groups-columns": Scene(keys("2", "|", "j", "space"), "[ ] Dirs", (Shot(LOW),)),
    "explain": Scene(
        keys("2", "j", "w"), "✓ goes to wholenode", (Shot(MIDDLE), Shot(LOW), Shot(BIG))
    ),
    "explain-sources": Scene(keys("3", "enter"), "Written in", BOTH),
    "explain-refused": Scene(keys("3", "j", "j"), "It refuses the job", BOTH),
    "explain-what-if": Scene(placing.wondering, "4 accept it, 2 refuse it", BOTH),
    "explain-write": Scene(placing.writing, "-walltime.per", BOTH, engine=placing.WritingEngine),
    "pack": Scene(
        keys("4", "[", "j"),
        "The node with 5 slots",
        (Shot(MIDDLE, colours=True), Shot(LOW), Shot(BIG)),
    ),
    "pack-cores": Scene(keys("4", "[", "i"), "a column is", BOTH),
    "pack-compared": Scene(keys("4", "[", "="), "seed          10"),
    "pack-changed": Scene(keys("4", "[", "g", "space"), "without large:", BOTH),
    "pack-limits": Scene(keys("4", "[", "e", "tab", "2", "tab", "3"), "3 is not like", BOTH),
    "pack-packing": Scene(placing.packing, "◐ packing", BOTH),
    "pack-many": Scene(keys("4", "["), "597  2,985", engine=with_many),
    "pack-left": Scene(keys("4", "[", "j", "j"), "asks 512 CPUs", BOTH, engine=with_awkward_jobs),
    "pack-no-types": Scene(
        keys("4", "[", "]", "]"), "has no node types", (Shot(LOW),), engine=SpreadEngine
    ),
    "submit-packed": Scene(keys("4", "[", "s", "G", "k"), "request", BOTH),
    "submit": Scene(keys("2", "a", "s", "j", "j", "j"), "Nothing is sent yet", (*SIZES, *THEMED)),
    "submit-question": Scene(keys("2", "a", "s", "s", "8"), "Type 8"),
    "submit-copied": Scene(copied_first, "changed here and on anvil", BOTH, engine=with_clusters),
    "submit-review": Scene(submit.review, "lines changed", SIZES, engine=submit.ReviewedEngine),
    "submit-over": Scene(submit.over, "8 anyway", BOTH, engine=submit.OverEngine),
    "submit-ended": Scene(submit.ended, "1 unclear", BOTH, engine=submit.FaultyEngine),
    "submit-sending": Scene(sending, "sending: 5 of 8"),
    "queue": Scene(keys("6", "j", "j"), "Resources", (*SIZES, *THEMED)),
    "queue-cancel": Scene(keys("6", "space", "space", "c"), "Cancel 2 jobs?"),
    "queue-clusters": Scene(clusters, "no route to host", SIZES, engine=with_clusters),
    "queue-array": Scene(
        keys("6", "m"), "relax-MoS2", SIZES, engine=lambda: with_array(with_clusters())
    ),
    "queue-why": Scene(keys("6", "j", "j", "w", "r"), "may start", SIZES, engine=with_clusters),
    "queue-hold": Scene(keys("6", "j", "j", "H"), "Hold 1 job?", engine=with_clusters),
    "queue-change": Scene(
        changing(*"8h", "tab", *"highmem", "enter"),
        "Afterwards",
        BOTH,
        engine=lambda: with_array(with_clusters()),
    ),
    "queue-change-form": Scene(
        changing(*"8 hours", "tab"),
        "is no time",
        BOTH,
        engine=lambda: with_array(with_clusters()),
    ),
    "again": Scene(keys("6", "j", "j", "j", "j", "R"), "Retry 1", SIZES, engine=with_failures),
    "again-wrong": Scene(again_wrong, "is no amount of memory", BOTH, engine=with_failures),
    "submit-again": Scene(
        keys("1", "d", "a", "R", "2", "x", "enter"),
        "ran out",
        SIZES,
        engine=with_failures,
    ),
    "login-key": Scene(login(), "Is this delta?", BOTH, engine=with_clusters),
    "login": Scene(
        login("right", "enter", *"secret", "enter", "1", "2"),
        "One-time code",
        BOTH,
        engine=with_clusters,
    ),
    "login-failed": Scene(failed_login, "No connection to delta", BOTH, engine=with_clusters),
    "log": Scene(keys("6", "enter"), "following the end", SIZES),
    "network": Scene(
        keys("8"),
        "60 samples",
        (Shot(MIDDLE, colours=True), Shot(BIG), Shot(LOW), Shot(MIDDLE, "rowtui-light", "light")),
        engine=with_network,
    ),
    "network-running": Scene(keys("8"), "runs by itself", BOTH, engine=placing.network_running),
    "network-list": Scene(keys("8", "i"), "i graph", BOTH, engine=with_network),
    "network-waits": Scene(keys("8", "l", "enter", "w"), "waits for itself", engine=with_network),
    "network-redo": Scene(
        keys("8", "colon", *"redo", "enter"), "go to the trash", engine=with_network
    ),
    "network-samples": Scene(
        keys("8", "enter", "space", "space"), "2 of 60", BOTH, engine=with_network
    ),
    "network-start": Scene(keys("8", "S"), "Type yes", BOTH, engine=with_network),
    "network-cancel": Scene(keys("8", "enter", "j", "c"), "Cancel 1 sample?", engine=with_network),
    "past": Scene(keys("9"), "jobs per", (*BOTH, Shot(BIG), Shot((40, 12))), engine=with_past),
    "past-none": Scene(keys("9"), "No job has ended yet", (Shot(LOW),)),
    "network-none": Scene(keys("8"), "rowtui network init", (Shot(LOW),)),
    "clusters": Scene(on_anvil, "Nodes now", SIZES, engine=far_one),
    "command-line": Scene(typing, "cluster CLUSTER", BOTH, engine=with_clusters),
    "commands": Scene(keys("at"), "Permission denied", engine=with_commands),
    "activity": Scene(keys("2", "s", "escape", "at"), "left the plan"),
    "ascii": Scene(keys("2"), "o eligible", BOTH, {"how": Manner(ascii_only=True, colours=0)}),
    "demo": Scene(
        demo.status,
        "DEMO",
        tuple(Shot(MIDDLE, word=word, before=before) for word, before in demo.VIEWS.items()),
        {"played": demo.Badge()},
        demo.still_demo,
    ),  # fmt: skip
    "help": Scene(keys("2", "question_mark"), "Keys of 2 Groups"),
    "projects": Scene(projects, "lj-fluid", (*SIZES, Shot((40, 12)))),
    "palette": Scene(keys("2", "ctrl+p"), "In 2 Groups"),
}


def has_size(hand: Hand[SampleEngine], size: tuple[int, int]) -> bool:
    """Whether all that is visible was laid out in this size, also what is behind a dialog."""
    visible = (*hand.app._background_screens, hand.app.screen)
    return all(tuple(screen._compositor.size) == size for screen in visible)


@asynccontextmanager
async def shown(scene: Scene) -> AsyncIterator[Hand[SampleEngine]]:
    """The dashboard, in which nothing depends on the time that drawing takes.

    Queues and networks are not asked again by themselves, and what a job used is asked at once.
    """
    first = scene.shots[0]
    feed = dict.fromkeys(("JOBS_SECONDS", "OWN_JOBS_SECONDS", "NETWORK_SECONDS"), 3600.0)
    with (
        patch.multiple("rowtui.tui.shell.feed", **feed),
        patch("rowtui.tui.views.queue.jobs.REST_SECONDS", 0.0),
    ):
        async with (
            demo.closing(scene.engine()) as engine,
            opened(engine, size=first.size, theme=first.theme, **scene.options) as hand,
        ):
            yield hand


async def drawn(
    scene: str, taken: Callable[[str], bool] = lambda _: True
) -> AsyncIterator[tuple[str, Hand[SampleEngine], dict[str, str]]]:
    """The running dashboard at each picture of a scene: its name, the dashboard, its texts."""
    one = SCENES[scene]
    first = one.shots[0]
    async with shown(one) as hand:
        await hand.sees("eligible")
        if scene == "log":
            hand.engine.advance(25)
        await one.steps(hand)
        await hand.sees(one.sign)
        size, theme = first.size, first.theme
        for shot in one.shots:
            if not taken(shot.name(scene)):
                continue
            if shot.size != size:
                await hand.pilot.resize_terminal(*shot.size)
                await hand.until(partial(has_size, hand, shot.size), "the new size")
            if shot.theme != theme:
                hand.app.theme = shot.theme
            size, theme = shot.size, shot.theme
            if shot.before is not None:
                await shot.before(hand)
            hand.app.clear_notifications()
            await hand.rests()
            name = shot.name(scene)
            texts = {f"{name}.txt": hand.text()}
            if shot.colours:
                texts[f"{name}.colours.txt"] = screen_colours(hand.app)
            yield name, hand, texts


def as_svg(hand: Hand[SampleEngine], name: str) -> str:
    """The screen as SVG with DejaVu Sans Mono."""
    svg = hand.app.export_screenshot(title=f"rowtui: {name.rpartition('-')[0]}")
    svg = re.sub(r"@font-face\s*\{.*?\}", "", svg, flags=re.DOTALL)
    svg = svg.replace("Fira Code", "DejaVu Sans Mono").replace(
        "</style>", "text { font-variant-ligatures: none; }\n</style>", 1
    )
    return re.sub(r"terminal-\d+", "terminal", svg)


def to_png(svg: Path, png: Path) -> str:
    """Draw a PNG; says with what, or why not."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium:
        box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg.read_text())
        assert box is not None
        width, height = (round(float(side)) for side in box.groups())
        subprocess.run(
            [
                chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                f"--user-data-dir={svg.parent / 'profile'}",
                "--default-background-color=00000000", f"--window-size={width},{height}",
                f"--screenshot={png}", svg.resolve().as_uri(),
            ],
            check=True, capture_output=True, timeout=300,
        )  # fmt: skip
        return "by chromium"
    try:
        import cairosvg
    except ImportError:
        return "not drawn: neither chromium nor cairosvg is here"
    cairosvg.svg2png(url=str(svg), write_to=str(png))
    return "by cairosvg"


async def make(wanted: list[str], folder: Path, with_png: bool) -> None:
    """Draw what is wanted; SVGs go into `folder`."""

    def taken(name: str) -> bool:
        return not wanted or any(part in name for part in wanted)

    for scene, one in SCENES.items():
        if not any(taken(shot.name(scene)) for shot in one.shots):
            continue
        names = []
        async for name, hand, texts in drawn(scene, taken):
            for path, text in texts.items():
                (TEXTS / path).write_text(text, encoding="utf-8")
            (folder / f"{name}.svg").write_text(as_svg(hand, name), encoding="utf-8")
            names.append(name)
        for name in names:
            how = to_png(folder / f"{name}.svg", HERE / f"{name}.png") if with_png else ""
            print(name, how, flush=True)


def main(arguments: list[str]) -> int:
    """Draw the pictures."""
    wanted = [name for name in arguments if not name.startswith("--")]
    TEXTS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="rowtui-screenshots-") as folder:
        asyncio.run(make(wanted, Path(folder), "--text" not in arguments))
    return 0
