"""Publishing by runs: what people keep there stays, and what a run published is renewed."""

from __future__ import annotations

from pathlib import Path

from rowtui.core.project.open_project import OpenProject

from tests.core.runs.driving import action, begin, drive, make

NETWORK = """\
[[source]]
name = "n"
values = { k = [1, 2] }
[[node]]
name = "say"
from = "n"
[[sink]]
name = "out"
from = "say"
output = "said"
publish = "results/{k}.txt"
"""


def test_a_run_renews_what_runs_published_and_leaves_what_people_wrote(here: Path) -> None:
    say = action("say", "cat ../../word > said", ["said"], node="n")
    root = make(here / "p", NETWORK, say)
    (root / "word").write_text("one")
    (root / "results").mkdir()
    (root / "results" / "2.txt").write_text("mine")

    first = drive(root)
    (root / "word").write_text("another")
    for each in (root / "workspace").glob("*/said"):
        each.write_text("another")
    project = OpenProject.open(root, cluster="local")
    second = drive(root, run=begin(project))

    assert first.told[-1].success
    assert second.told[-1].success
    assert (root / "results" / "1.txt").read_text() == "another"
    assert (root / "results" / "2.txt").read_text() == "mine"
    assert any("no run published exists" in it for it in first.project.take_notices())
