"""`rowtui plan --diff`: job scripts beside those that were submitted last."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.in_process import Here, prepared

WORKFLOW = """\
[[action]]
name = "one"
command = "test -e fine && touch workspace/{directory}/x"
products = ["x"]
group.maximum_size = 1
"""


def test_a_submission_without_a_named_cluster_states_that_it_stays_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = prepared(tmp_path, monkeypatch, capsys, WORKFLOW)
    monkeypatch.setenv("PATH", "/usr/bin/nothing")  # no scheduler is recognised
    made.cluster = ""
    assert "on this machine" not in made("submit", "-n", "1").out
    config = made.home / ".config/rowtui"
    config.mkdir(parents=True)
    (config / "clusters.toml").write_text('[[cluster]]\nname = "alpha"\nssh.host = "alpha"\n')
    assert "with '--cluster alpha' they go to alpha." in made("submit", "-n", "1").out
    made.cluster = "local"
    assert "on this machine" not in made("submit", "-n", "1").out


def test_a_script_is_compared_with_the_one_submitted_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = prepared(tmp_path, monkeypatch, capsys, WORKFLOW)
    here = Here(made.folder, made.home, made.capture)
    here.cluster = "local"
    first = here("plan", "--diff")
    assert first.out == "one on local, 3 jobs: no script of this action was submitted yet.\n"
    assert here("submit", "--yes").code == 1
    assert "one on local, 3 jobs: the script is as in job " in here("plan", "--diff").out

    file = made.folder / "workflow.toml"
    file.write_text(WORKFLOW.replace("fine &&", "fine && date &&"))

    changed = here("plan", "--diff").out
    assert changed.startswith("one on local, 3 jobs, against job ")
    assert "+ " in changed
    assert "date" in changed
    (change,) = here.json("plan", "--diff")["changes"]
    assert change["jobs"] == 3
    assert {line["sign"] for line in change["lines"]} == {"-", "+"}
    assert change["against"]["cluster"] == "local"
