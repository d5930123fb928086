"""The main journey in a real terminal, on a real project and a real queue, as a user starts it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from tests.eventually import eventually
from tests.journeys.pane import Pane, engine_of, processes_of, wait_for_the_end_of

MANY = """\
[[action]]
name = "wait"
command = "sleep 600; touch {workspace_path}/{directory}/x"
products = ["x"]
group.maximum_size = 1
"""


def test_from_opening_a_project_to_the_last_job(
    terminal: Callable[..., Pane], project: Path
) -> None:
    pane = terminal(project)
    pane.enter("rowtui")
    pane.sees("simulate: 6 eligible")
    # groups, and why they go where they go
    pane.press("Enter")
    pane.sees("Groups of simulate", "3 groups", "› ")
    pane.press("w")
    pane.sees("[3 Explain]", "goes to")
    # packed as they would be; this machine is one node
    pane.press("4")
    pane.sees("[4 Pack]")
    # all three groups, with their number typed
    pane.press("2")
    pane.sees("3 groups")
    pane.press("a")
    pane.sees("3 of 3 groups marked")
    pane.press("s")
    pane.sees("Jobs to submit", "3 jobs", "Nothing is sent yet")
    pane.press("s")
    pane.sees("Type 3")
    pane.enter("3")
    pane.sees("3 of 3 jobs accepted")
    pane.press("6")
    pane.until(lambda shown: shown.count("✓ completed") >= 3, "three completed jobs")
    pane.press("Enter")
    pane.sees("[7 Log]", "simulating d")
    # the next action fails
    pane.press("1")
    pane.sees("fit: 6 eligible")
    pane.press("j", "s")
    pane.sees("Jobs to submit", "1 job")
    pane.press("s")
    pane.sees("Type yes")
    pane.enter("yes")
    pane.sees("1 of 1 job accepted")
    pane.press("1")
    pane.sees("fit: 1 failed", "5 of them not reached")
    # from what needs you it is tried again, with more time
    pane.press("Tab", "g", "R")
    pane.sees("Retry 1 failed job?", "fit  6 directories")
    pane.press("Down")
    pane.enter("2x")
    pane.sees("Jobs to submit", "1 job", "attempt 2", "+ export ACTION_WALLTIME_IN_MINUTES=2")
    pane.press("s")
    pane.sees("Type yes")
    pane.enter("yes")
    pane.sees("1 of 1 job accepted")
    pane.press("6")
    pane.until(lambda shown: shown.count("✓ completed") >= 4, "four completed jobs")
    pane.press("1")
    pane.until(lambda shown: shown.count("100%") == 3, "two actions, and their sum")
    # and then nothing is left to do
    pane.press("q")
    pane.sees("shell>")
    pane.enter("rowtui show status; echo code $?")
    shown = pane.sees("code 0")
    assert "simulate         6         0        0       0" in shown
    assert "fit              6         0        0       0" in shown


def test_a_look_around_at_every_size(terminal: Callable[..., Pane], project: Path) -> None:
    pane = terminal(project, (120, 36))
    pane.enter("rowtui; echo code $?")
    pane.sees("simulate: 6 eligible")
    for number, title in enumerate(
        ("Status", "Groups", "Explain", "Pack", "Submit", "Queue", "Log", "Network"), 1
    ):
        pane.press(str(number))
        pane.sees(f"[{number} {title}]")
    pane.press("C")
    pane.sees("[C Clusters]")
    pane.press("?")
    pane.sees("Keys of Clusters", "Everywhere")
    for size in ((200, 50), (20, 5), (120, 36)):  # as long as a page lies on top
        pane.resize(*size)
        pane.until(lambda shown, width=size[0]: _widest(shown) == width, f"{size}")
    pane.leaves("Everywhere", "Keys of Clusters")
    pane.press("@")
    pane.leaves("Esc close", "━━")
    pane.press(":")
    pane.type("queue")
    pane.sees(":queue")
    pane.press("Enter")
    pane.sees("[6 Queue]")
    pane.press("1")
    pane.sees("[1 Status]", "6 eligible")
    for size, text in (
        ((200, 50), "[1 Status]"),
        ((20, 5), "Enter groups"),
        ((120, 36), "[1 Status]"),
    ):
        pane.resize(*size)
        pane.until(
            lambda shown, width=size[0], text=text: _widest(shown) <= width and text in shown,
            f"{size}",
        )
    pane.sees("simulate: 6 eligible")
    pane.press("q")
    pane.sees("code 0")
    assert "Traceback" not in pane.text()


def _widest(shown: str) -> int:
    return max(map(len, shown.splitlines()))


def _fits(shown: str, width: int) -> bool:
    return _widest(shown) <= width


def test_the_engine_dies_the_shell_comes_between_and_the_terminal_goes(
    terminal: Callable[..., Pane], project: Path, home: Path
) -> None:
    for number in range(6, 90):
        (project / f"workspace/d{number}").mkdir()
    (project / "workflow.toml").write_text(MANY)
    pane = terminal(project)
    pane.enter("rowtui")
    pane.sees("wait: 90 eligible")

    # the engine dies: it is said, and another one goes on
    first = engine_of(home)
    os.kill(first, signal.SIGKILL)
    pane.sees("the engine runs again")
    second = engine_of(home)
    assert second != first
    pane.press("Enter")
    pane.sees("Groups of wait", "90 groups")

    # the shell comes between
    pane.press("C-z")
    pane.sees("shell>", "Stopped")
    pane.enter("echo in between")
    pane.enter("fg")
    pane.sees("Groups of wait", "90 groups")
    assert engine_of(home) == second

    # the terminal goes while jobs are sent
    pane.press("a", "s")
    pane.sees("90 jobs", "Nothing is sent yet")
    pane.press("s")
    pane.sees("Type 90")
    pane.enter("90")
    pane.sees("sending: ")
    eventually(lambda: any(home.glob("queue/*/tokens/*")))
    dashboard = [pid for pid, words in processes_of(home).items() if words.endswith("rowtui ")]
    pane.tmux("kill-session")
    for pid in (*dashboard, second):
        wait_for_the_end_of(pid)
    left = processes_of(home)
    assert not any("engine.process" in words for words in left.values()), left

    # all that was sent is known, and nothing else
    again = terminal(project)
    again.enter("rowtui show status; echo code $?")
    shown = again.sees("code 0")
    row = next(line.split() for line in shown.splitlines() if line.startswith("wait "))
    jobs = len([*home.glob("queue/*/tokens/*")])
    assert [int(cell) for cell in row[1:4]] == [0, jobs, 90 - jobs]
    assert jobs > 0


ANSWERED = 8  # seconds after which a key that changed nothing is pressed again
KEYS_SAID = {
    "Enter see its eligible groups": "Enter",
    "1 back": "1",
    "space mark a group": "Space",
    "s submit the marked groups": "s",
    "s send the jobs": "s",
}


def _said(shown: str) -> list[str]:
    """What tells a stranger what to do: the next step, where the cursor is, and a question."""
    return [line for line in shown.splitlines() if line[1:6] == "Next:" or "Type yes" in line
            or line.lstrip("┃").startswith("›")]  # fmt: skip


def test_a_stranger_gets_from_the_demo_to_a_submission_with_what_the_screen_says(
    terminal: Callable[..., Pane], home: Path
) -> None:
    pane = terminal(home)
    pane.enter(f"rowtui demo --directories 40 --keep {home}/demo")
    shown = pane.sees("DEMO", "Next: ")
    done: list[tuple[str, bool]] = []  # what was said, and done once
    for _ in range(60):
        lines = [line.lstrip("┃") for line in shown.splitlines()]  # a frame where there is room
        said = next(line for line in lines if " Next: " in line)
        if "watch your jobs" in said:
            break
        step = (said, "Type yes" in shown)
        if "go to" in said:
            wanted = said.partition("go to ")[2].partition(",")[0]
            here = next((at for at, line in enumerate(lines) if line.startswith("›")), 0)
            there = next((at for at, line in enumerate(lines) if line[2:].startswith(wanted)), 0)
            if there != here:  # else the next step is about to be another
                pane.press("Down" if there > here else "Up")
        elif "mark a group" in said and not any(line.startswith("›") for line in lines):
            pass  # the groups are not there yet
        else:
            done.append(step)
            if step[1]:
                pane.enter("yes")
            else:
                for key in (key for words, key in KEYS_SAID.items() if words in said):
                    pane.press(key)
        was, soon = _said(shown), time.monotonic() + ANSWERED
        pane.until(
            lambda now, was=was, soon=soon: (
                " Next: " in now and (_said(now) != was or time.monotonic() > soon)
            ),
            "what is next",
        )
        shown = pane.rested()  # a step is read from a whole screen
    asked = any(typed for _, typed in done)
    assert asked, shown
    pane.sees("1 of 1 job accepted", "Next: 6 watch your jobs")
    pane.press("6")
    pane.sees("[6 Queue]", "Enter the log of a job")
    pane.press("q")
    pane.sees("to continue: cd")
