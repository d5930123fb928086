"""Two commands that find the same damage at once: `python -m tests.cli.damaged_together ROUNDS`.

Each round writes random bytes into completed.postcard and starts `rowtui show status` twice. The
answers, and the answer after them, must have every completion.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.cli.conftest import Shell

WORKFLOW = '[[action]]\nname = "one"\ncommand = "true {directory}"\nproducts = ["out"]\n'
COUNT = 12


def made_project(shell: Shell) -> None:
    """A project of which every directory is complete, as Row's files say, too."""
    (shell.folder / "workflow.toml").write_text(WORKFLOW)
    for number in range(COUNT):
        directory = shell.folder / "workspace" / f"d{number}"
        directory.mkdir(parents=True)
        (directory / "out").touch()
    shell.succeed("scan")
    shell.succeed("show", "status")


def forgotten(shell: Shell, rounds: int) -> list[str]:
    """Return what went wrong in these rounds."""
    path = shell.folder / ".row" / "completed.postcard"
    wrong = []
    with ThreadPoolExecutor(2) as both:
        for number in range(rounds):
            path.write_bytes(os.urandom(50))
            looks = [both.submit(shell, "show", "status", "--json") for _ in range(2)]
            answers = [look.result(60) for look in looks]
            answers.append(shell("show", "status", "--json"))
            for answer in answers:
                done = json.loads(answer.stdout)["actions"][0]["completed"]
                if answer.returncode or done != COUNT:
                    wrong.append(f"round {number}: {done} completed; {answer.stderr}")
    return wrong


def main() -> int:
    """Run the rounds; return 1 if a completion was forgotten."""
    with tempfile.TemporaryDirectory() as place:
        shell = Shell(Path(place) / "project", Path(place) / "home")
        shell.folder.mkdir()
        shell.starts_python = True
        made_project(shell)
        wrong = forgotten(shell, int(sys.argv[1]))
    print("\n".join([*wrong, f"{len(wrong)} wrong answers in {sys.argv[1]} rounds"]))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
