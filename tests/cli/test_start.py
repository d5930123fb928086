"""The program ends at once when it has shown something, and nothing of it is lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

START = "import sys; from rowtui.cli.main import start; sys.exit(start()); print('not reached')"


def started(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", START, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_all_that_is_shown_arrives_and_the_code_is_the_commands(tmp_path: Path) -> None:
    (tmp_path / "workflow.toml").write_text(
        '[[action]]\nname = "a"\ncommand = "true {directory}"\n'
    )
    for number in range(5_000):
        (tmp_path / "workspace" / f"{number:040}").mkdir(parents=True)

    listed = started(tmp_path, "show", "directories")
    wrong = started(tmp_path, "show", "directories", "-a", "b")

    assert listed.stdout.splitlines() == [f"{number:040}" for number in range(5_000)]
    assert (listed.returncode, listed.stderr) == (0, "")
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert "Action 'b' not found" in wrong.stderr
