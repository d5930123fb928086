"""The dashboard opens at a place, copies and restores it, and lends its terminal to a shell."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.journeys.pane import Pane


@pytest.fixture
def pane(terminal: Callable[..., Pane], project: Path) -> Pane:
    """A shell in a project with three completed jobs."""
    pane = terminal(project, (100, 30))
    pane.enter("rowtui submit -a simulate --yes && echo ready")
    pane.until(lambda shown: "\nready" in shown, "the end of the jobs")
    return pane


def under_the_cursor(shown: str) -> str:
    return next((line for line in shown.splitlines() if "›" in line), "")


def test_a_place_is_opened_copied_and_restored(pane: Pane, project: Path, home: Path) -> None:
    # errors come before any screen
    pane.enter("clear; rowtui --view quue")
    pane.sees("there is no view 'quue'; did you mean 'queue'?", "shell>")
    pane.enter("clear; rowtui --view queue --filter 'stat=failed'")
    pane.sees("[ERROR rowtui]", "stat", "shell>")
    pane.enter("clear; rowtui --view 2 --action simulat")
    pane.sees("did you mean 'simulate'?", "shell>")

    pane.enter("clear; rowtui --view queue --filter state=completed --job 2")
    pane.sees("[6 Queue]", "/ state=completed", "3 jobs")
    pane.until(lambda shown: " 2 " in under_the_cursor(shown), "the cursor on job 2")

    # the copied line opens the same place
    pane.tmux("set", "-g", "set-clipboard", "on")
    pane.press("Y")
    pane.sees("Copied cd")
    copied = pane.tmux("show-buffer")
    assert copied == f"cd {project} && rowtui --view queue --filter state=completed --job 2"
    pane.press("j", "q")
    pane.sees("shell>")
    pane.enter(f"clear; cd /; {copied}")
    pane.sees("[6 Queue]", "/ state=completed")
    pane.until(lambda shown: " 2 " in under_the_cursor(shown), "the cursor on job 2")
    pane.press("q")
    pane.sees("shell>")

    # without options, the last place comes back
    pane.enter("clear; rowtui")
    pane.sees("[6 Queue]", "/ state=completed", "3 jobs")
    pane.press("q")
    pane.sees("shell>")
    pane.enter("clear; rowtui --view groups --action simulate --status all")
    pane.sees("[all 6]", "3 groups")
    pane.press("j")
    pane.until(lambda shown: " 2 " in under_the_cursor(shown), "the cursor on group 2")
    pane.press("q")
    pane.sees("shell>")
    pane.enter("clear; rowtui")
    pane.sees("[2 Groups]", "[all 6]", "3 groups")
    pane.until(lambda shown: " 2 " in under_the_cursor(shown), "the cursor on group 2")
    pane.press("q")
    pane.sees("shell>")

    # a damaged file costs a message, and --fresh reads none of it
    [stored] = (home / ".local/state/rowtui/sessions").iterdir()
    assert json.loads(stored.read_text())["root"] == str(project)
    stored.write_text("{")
    pane.enter("clear; rowtui")
    pane.sees("[1 Status]", "opens as new")
    pane.press("6", "q")
    pane.sees("shell>")
    pane.enter("clear; rowtui --fresh")
    pane.sees("[1 Status]", "simulate")
    pane.press("q")
    pane.sees("shell>")


COMMANDS = """\
[[command]]
key = "ctrl+g"
views = ["queue"]
name = "about this job"
mode = "page"
run = ["sh", "-c", 'for it; do echo "<$it>"; done', "sh", "job {id}", "{project}", "{state}"]

[[command]]
key = "f5"
name = "list the directory"
run = "ls workspace/{directory}; echo it was {directory}"
"""


def test_a_command_of_the_user_has_the_row_and_a_page_or_the_terminal(
    pane: Pane, project: Path, home: Path
) -> None:
    config = home / ".config/rowtui"
    config.mkdir(parents=True)
    (config / "commands.toml").write_text(COMMANDS)
    pane.enter("clear; rowtui --view queue --job 2")
    pane.until(lambda shown: " 2 " in under_the_cursor(shown), "the cursor on job 2")
    pane.press("C-g")
    pane.sees("about this job", "<job 2>", f"<{project}>"[:60], "<completed>")
    pane.leaves("<job 2>")
    pane.press("F5")
    pane.sees("trajectory", "it was d2", "Enter returns to the dashboard.")
    pane.press("Enter")
    pane.sees("[6 Queue]", "completed")
    pane.press("q")
    pane.sees("shell>")


def test_a_shell_opens_in_the_directory_and_gives_the_terminal_back(
    pane: Pane, project: Path
) -> None:
    before = pane.tmux("display-message", "-p", "#{pane_tty}").strip()
    pane.enter(f"clear; stty -a < {before} > before; rowtui --view 2 --action simulate "
               "--directory d4")  # fmt: skip
    pane.until(lambda shown: "d4" in under_the_cursor(shown), "the cursor on d4")
    pane.press("!")
    pane.sees("workspace/d4\n`exit` returns to the dashboard.")
    # the shell is ended without a chance to put anything right
    pane.enter("pwd > ../../where; stty -echo -icanon; kill -9 $$")
    pane.sees("[2 Groups]", "Directories of simulate")
    assert (project / "where").read_text() == f"{project}/workspace/d4\n"
    pane.press("1")
    pane.sees("[1 Status]", "simulate")
    pane.press("!")
    pane.sees("study\n`exit` returns to the dashboard.")
    pane.enter("exit 3")
    pane.sees("[1 Status]", "simulate")
    pane.press("q")
    pane.sees("shell>")
    pane.enter(f"clear; stty -a < {before} > after; cmp before after && echo the same")
    pane.until(lambda shown: "the same" in shown.splitlines(), "the terminal as it was")
