"""A command that the user types asks the queue; what goes on by itself keeps to its interval."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from rowtui.cli.main import main
from rowtui.core.clusters.polling import policy as poll_policy

from tests.cli.in_process import Here, prepared
from tests.differential.fake_slurm import install, make_queue

WORKFLOW = """\
[[action]]
name = "one"
command = "touch workspace/{directory}/x"
products = ["x"]
"""
CLUSTER = """\
[[cluster]]
name = "shared"
identify.always = true
scheduler = "slurm"
partition = [{ name = "p" }]
"""


@pytest.fixture
def asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[], int]:
    """How often the shared queue has been asked, in a project with a job that waits there."""
    here: Here = prepared(tmp_path, monkeypatch, capsys, WORKFLOW)
    folder = here.home / ".config/rowtui"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "clusters.toml").write_text(CLUSTER)
    programs, calls = tmp_path / "bin", tmp_path / "calls"
    install(programs)
    make_queue(tmp_path / "slurm")
    squeue = programs / "squeue"
    squeue.write_text(squeue.read_text().replace("\n", f'\necho "$*" >>{calls}\n', 1))
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("FAKE_SLURM", str(tmp_path / "slurm"))
    # The last answer is always too old for the user, and young enough for everything else.
    monkeypatch.setattr(poll_policy, "BY_HAND_SECONDS", 0.0)
    assert main(["submit", "--yes"]) == 0
    assert main(["show", "jobs", "--long"]) == 0
    assert "pending" in capsys.readouterr().out
    return lambda: len(calls.read_text().splitlines())


@pytest.mark.parametrize(
    "line",
    ["show status", "show jobs", "show jobs --long", "show directories", "plan", "queue"],
)
def test_a_typed_command_asks_the_queue_before_the_interval_is_over(
    line: str, asked: Callable[[], int]
) -> None:
    before = asked()
    main(line.split())
    assert asked() > before


@pytest.mark.parametrize("line", ["show status --watch 77", "show jobs --long --watch 77"])
def test_what_watches_keeps_to_the_interval(
    line: str, asked: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    def sleep(seconds: float) -> None:
        if seconds != 77:  # somebody else's
            return
        seen.append(asked())
        if len(seen) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("rowtui.cli.output.watch.time.sleep", sleep)
    before = asked()
    assert main(line.split()) == 130
    first, second, third = seen
    assert before < first == second == third
