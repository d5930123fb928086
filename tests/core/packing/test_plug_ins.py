"""Packers of other people come through entry points; what is of no use is said and left out."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from rowtui.core.packing.model import Demand, InstanceType, PackingProblem, ResourceAmounts
from rowtui.core.packing.pack import installed_packers, pack

THEIRS = """
from rowtui.core.packing.model import Bundle, Lane, RequestRun

class Alone:
    name = "alone"
    summary = "a node for each"
    def pack(self, problem, go_on):
        return tuple(
            Bundle(0, (Lane((RequestRun(n, 1),)),), there) for n, there in enumerate(problem.counts)
        )

class Usurper(Alone):
    name = "seed"

class Nameless:
    def pack(self, problem, go_on):
        return ()

def explode():
    raise SystemExit(3)
"""


@pytest.fixture
def their_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "their_packers.py").write_text(THEIRS)
    info = tmp_path / "their_packers-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-packers\nVersion: 1\n")
    points = ["a = their_packers:Alone", "b = their_packers:Usurper", "c = their_packers:Nameless"]
    points += ["d = their_packers:explode", "e = not_there:Packer"]
    (info / "entry_points.txt").write_text("[rowtui.packers]\n" + "\n".join(points) + "\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "their_packers", raising=False)


@pytest.mark.usefixtures("their_package")
def test_an_installed_packer_packs_under_its_name() -> None:
    problem = PackingProblem(
        (InstanceType("n", ResourceAmounts(4, 4), 1.0),), (Demand(ResourceAmounts(1, 1)),), (4,)
    )

    packers = installed_packers().packers

    assert list(packers) == ["alone"]
    assert pack(problem, "alone", packers=packers).nodes == 4


@pytest.mark.usefixtures("their_package")
def test_plug_ins_of_no_use_are_left_out_with_the_reason() -> None:
    left_out = {one.name: one for one in installed_packers().left_out}

    assert sorted(left_out) == ["b", "c", "d", "e"]
    assert "which is ours" in left_out["b"].why
    assert "makes no packer" in left_out["c"].why
    assert "SystemExit" in left_out["d"].why
    assert "ModuleNotFoundError" in left_out["e"].why
    assert "not_there:Packer" in left_out["e"].hint
