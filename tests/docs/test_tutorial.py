"""docs/tutorial.md is true: its files are saved, its commands typed, its outputs compared.

Everything runs in the order of the page, in one home that is empty at the beginning, on the queue
of this machine. Only times, dates, the path of the home and rowtui's version may differ.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.cli.conftest import Shell

PAGE = (Path(__file__).parents[2] / "docs" / "tutorial.md").read_text(encoding="utf-8")
ON_THIS_MACHINE = PAGE.split("\n## On a cluster\n")[0]
BLOCK = re.compile(r"(.*?)^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Command(NamedTuple):
    """A line that is typed, and the lines that come."""

    typed: str
    lines: list[str]


def commands(block: str) -> list[Command]:
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)
    assert not parts[0]
    return [Command(typed, lines) for typed, *lines in (part.splitlines() for part in parts[1:])]


class Reader:
    """Does what the page says."""

    def __init__(self, home: Path) -> None:
        self.home = self.folder = home
        self.environment = Shell(home, home).environment
        path = f"{Path(sys.executable).parent}{os.pathsep}{self.environment['PATH']}"
        self.environment |= {"PATH": path, "NO_COLOR": "1"}

    def save(self, text: str, content: str) -> None:
        added, name = re.findall(r"(Add|Save) this .*?`([\w.]+)`", text)[-1]
        with (self.folder / name).open("a" if added == "Add" else "w") as file:
            file.write(content)

    def type(self, command: Command) -> None:
        answers = re.findall(r"\[Y/n\]: (\w+)$", "\n".join(command.lines), re.MULTILINE)
        done = subprocess.run(
            ["bash", "-c", command.typed],
            cwd=self.folder,
            env=self.environment,
            input="".join(f"{answer}\n" for answer in answers),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=30,
            check=False,
        )
        wanted = [self.plain(re.sub(r"(\[Y/n\]: )\w+$", r"\1", line)) for line in command.lines]
        assert [self.plain(line) for line in done.stdout.splitlines()] == wanted, command.typed

    def plain(self, line: str) -> str:
        line = line.replace(str(self.home), "/home/me")
        line = re.sub(r"\(\d+m?s\)|\b\d\d:\d\d:\d\d\b|\b\d{4}-\d\d-\d\d\b", "TIME", line)
        return re.sub(r"^rowtui \d+\.\d\S*$", "rowtui VERSION", line).rstrip()


def test_the_page_leads_from_nothing_to_a_finished_project(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    reader = Reader(home)
    typed = 0
    for text, kind, content in BLOCK.findall(ON_THIS_MACHINE):
        if kind == "console":
            for command in commands(content):
                if command.typed.startswith("cd "):
                    reader.folder /= command.typed.removeprefix("cd ")
                else:
                    reader.type(command)
                typed += 1
        elif kind in ("python", "toml"):
            reader.save(text, content)
        else:
            assert (kind, content) == ("sh", "rowtui\n")
    assert typed == ON_THIS_MACHINE.count("\n$ ")
