"""`rowtui --plain`: the dashboard as lines, with the commands that a person types."""

from __future__ import annotations

import json
import os
import queue
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.tui.outline.lines import HERE, changed, sections_of
from rowtui.tui.outline.outline import (
    MOST_BYTES,
    Field,
    Heading,
    Outline,
    Row,
    Table,
    Text,
    as_json,
    spoken,
)

PATIENCE = 60.0
"""Seconds before a test gives up."""


class Plain:
    """A person at a terminal that shows lines: types one, and reads up to the next prompt."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._read: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        while letter := self._process.stdout.read(1):
            self._read.put(letter)
        self._read.put("")

    def until(self, prompt: str = "Command: ") -> str:
        """What is printed, up to a prompt."""
        text = ""
        while not text.endswith("\n" + prompt):
            letter = self._read.get(timeout=PATIENCE)
            assert letter, f"rowtui ended: {text}"
            text += letter
        return text

    def types(self, line: str, prompt: str = "Command: ") -> str:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self.until(prompt)

    def ends(self, line: str) -> int:
        assert self._process.stdin is not None
        self._process.stdin.write(line)
        self._process.stdin.close()
        return self._process.wait(PATIENCE)


@contextmanager
def plain(tmp_path: Path, *words: str) -> Iterator[Plain]:
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path), "TERM": "dumb", "TZ": "UTC",
        "ROWTUI_LOCAL_DIR": str(tmp_path / "queue"),
    }  # fmt: skip
    with subprocess.Popen(
        [sys.executable, "-m", "rowtui.cli.main", *words],
        cwd=tmp_path, env=environment, text=True, encoding="utf-8",
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        try:
            yield Plain(process)
        finally:
            process.kill()


@pytest.mark.timeout(180)  # A demo of 2,000 directories is made first.
def test_a_person_who_hears_lines_goes_through_the_views_and_submits(tmp_path: Path) -> None:
    with plain(tmp_path, "demo", "large", "--directories", "2000", "--plain") as one:
        status = one.until()
        assert "\nStatus.\nboiling, 2,000 directories, " in status
        assert re.search(
            r"\n1\. equilibrate: [\d,]+ completed, 0 submitted, \d+ eligible, ", status
        )
        assert "\nTotal: all 5 actions: " in status
        assert "warning: gl asks for a login" in status
        assert "\x1b" not in status
        assert not set("│─█░✓✗▲○·▸") & set(status)

        groups = one.types("1")
        assert "\nGroups of equilibrate. 2 groups, " in groups
        assert "\n1. Dirs 64, First directory " in groups
        assert "There is no row 999 here." in one.types("999")
        chosen = one.types("row 2")
        assert re.search(r"\n2\. Dirs 58, .*, chosen\n", chosen)
        assert "\n1. Dirs 64" not in chosen  # It has not changed.
        assert re.search(r"\n2\. Dirs 58, .*, marked", one.types("mark"))
        assert "\n1. Dirs 64, " in one.types("r")

        inner = one.types("pane")
        assert "58 directories. You are here.\n" in inner
        page = re.search(r"Rows 1 to (\d+) of 58: next and previous turn the page", inner)
        assert page is not None
        assert f"\nRows {int(page[1]) + 1} to " in one.types("next")
        assert "\nRows 1 to " in one.types("previous")

        assert "there is no command 'fly'" in one.types("fly")
        assert "there is no command '4 GB'" in one.types("4 GB")
        assert "there is no command '99999999999'" in one.types("9" * 11)
        assert "\ngroups [ACTION]: the groups of this action, or of another\n" in one.types("help")

        one.types("pane")
        one.types("all")  # Both groups.
        plan = one.types("submit")
        assert "Nothing is sent yet. s asks for the number of jobs (2)" in plan
        prompt = "Type 2 and press Enter to send them: "
        question = one.types("submit", prompt)
        assert "\nSend 2 jobs to anvil?\n" in question
        assert "'3' is not '2': nothing was sent." in one.types("3")
        one.types("submit", prompt)
        assert "Nothing was sent." in one.types(":back")
        one.types("submit", prompt)
        assert "2 of 2 jobs accepted" in one.types("2")

        assert "\n1. pending: Cluster anvil, Job 3" in one.types("queue")
        one.types("/", "/: ")
        assert "Jobs of this project, / state=failed. 1 of " in one.types("state=failed")
        assert "\nLog.\n" in one.types("1")
        for command, title in (
            ("explain sample", "\n1. Destination "),
            ("pack sample", "\nPack.\n"),
            ("clusters", "4. gl: State needs login, "),
            ("past", "Failures by cause. "),
            ("network", "This project has no network."),
        ):
            assert title in one.types(command)
        assert "\nActivity and commands. " in one.types("activity")
        assert "\nNetwork.\n" in one.types("back")
        assert one.ends("quit\n") == 0


def test_the_end_of_the_lines_leaves_and_a_folder_without_a_project_lists_projects(
    tmp_path: Path,
) -> None:
    with plain(tmp_path, "--plain") as one:
        assert "\nThis folder is not a project yet.\n" in one.until()
        assert one.ends("") == 0


def test_glyphs_are_words_and_what_is_drawn_is_left_out() -> None:
    assert spoken("·") == "0"
    assert spoken("████▒▒░░   40%") == "40%"
    assert spoken("✓ completed") == "completed"
    assert spoken("✗ 3  ▶ 4 submitted") == "failed 3, 4 submitted"
    assert spoken("✗ no memory is set") == "failed: no memory is set"
    assert spoken("pending · QOS  2 h ") == "pending, QOS, 2 h"


@given(st.text())
def test_every_text_can_be_spoken_without_frames_and_gaps(text: str) -> None:
    said = spoken(text)
    assert "  " not in said
    assert not re.search("[\u2500-\u2572\u2574-\u259f\u2800-\u28ff✓✗▲]", said)


CELLS = st.text("abc", min_size=1, max_size=4)
TABLES = st.lists(st.tuples(CELLS, CELLS), max_size=9).map(
    lambda rows: Table("t", "", ("A", "B"), tuple(map(Row, rows)), 0, len(rows), focused=True)
)
PARTS = st.lists(
    TABLES | st.builds(Heading, CELLS) | st.builds(Text, st.tuples(CELLS))
    | st.builds(Field, CELLS, CELLS, st.booleans(), st.booleans())
)  # fmt: skip


@given(PARTS)
def test_rows_are_numbered_on_and_nothing_is_new_in_the_same_screen(parts: list[object]) -> None:
    outline = Outline("Status", "", False, tuple(parts), (), ())  # type: ignore[arg-type]
    sections = sections_of(outline)
    rows = sum(len(part.rows) for part in parts if isinstance(part, Table))
    lines = [line for section in sections for line in section]
    numbered = [int(found[1]) for line in lines if (found := re.match(r"(\d+)\. \w+: B ", line))]
    assert numbered == list(range(1, rows + 1))
    assert changed(sections, sections) == []
    assert all(section[0].removesuffix(HERE) for section in sections)


@given(PARTS, st.integers(0, 40))
def test_an_outline_for_the_browser_is_json_of_a_bounded_size(
    parts: list[object], rows: int
) -> None:
    long = Table("t", "", ("A",) * 30, (Row(("x" * 500,) * 30),) * rows, 0, rows)
    outline = Outline("Status", "", False, (*parts, long), (), ())  # type: ignore[arg-type]
    text = as_json(outline)
    assert len(text) <= MOST_BYTES
    assert json.loads(text)["title"] == "Status"
