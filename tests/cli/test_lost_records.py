"""Records are lost while jobs of the project are queued elsewhere than the next ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.in_process import prepared
from tests.eventually import eventually

WORKFLOW = '''\
[[action]]
name = "one"
command = """
until [ -e go ]; do sleep 0.1; done; echo {directory} >> runs; touch workspace/{directory}/x"""
products = ["x"]
[action.group]
maximum_size = 1
'''


def test_after_a_loss_all_clusters_with_jobs_of_the_project_are_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = prepared(tmp_path, monkeypatch, capsys, WORKFLOW)
    own = here.folder / ".row/rowtui"
    try:
        for _ in range(2):
            before = {*own.glob("journal/*.jsonl")}
            done = here("submit", "--yes", "--detach", "-n", "1", "--cluster", "local")
            assert done.code == 0, done
        for lost in {*own.glob("journal/*.jsonl")} - before:
            lost.unlink()
        for path in [*own.glob("*.rtc"), *here.folder.glob(".row/*.postcard")]:
            path.unlink()

        refused = here("submit", "--yes", "-n", "1", "--cluster", "none")

        assert refused.code == 1
        assert "1 job of this project is in the queue of local" in refused.err
        assert not (here.folder / "runs").exists()
    finally:
        (here.folder / "go").touch()
    eventually(
        lambda: (
            (here.folder / "runs").exists() and len((here.folder / "runs").read_text().split()) == 2
        ),
        what="the jobs to end",
    )
