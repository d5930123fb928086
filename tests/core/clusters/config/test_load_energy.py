"""`energy` in rowtui's clusters.toml: what is read, and what is said of mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest
from rowtui.core.clusters.config.load import ClusterFile, load_clusters
from rowtui.core.clusters.model import EnergyFactors

HEAD = '[[cluster]]\nname = "alpha"\nssh.host = "alpha"\n'


def load(folder: Path, text: str) -> ClusterFile:
    (folder / "rowtui").mkdir()
    (folder / "rowtui" / "clusters.toml").write_text(text)
    return load_clusters({"HOME": str(folder), "XDG_CONFIG_HOME": str(folder)})


def test_factors_are_read_and_others_have_the_published_values(tmp_path: Path) -> None:
    text = HEAD + '[cluster.energy]\ncore_watts = 6.25\npue = 1.1\nsource = "the site"\n'
    found = load(tmp_path, text)
    assert found.problems == ()
    assert found.clusters[0].energy == EnergyFactors(6.25, 0.3725, 200.0, 1.1, 475.0, "the site")


def test_factors_can_be_added_to_a_cluster_that_is_described_elsewhere(tmp_path: Path) -> None:
    found = load(tmp_path, '[[cluster]]\nname = "local"\n[cluster.energy]\ncarbon_g_per_kwh = 20\n')
    local = found.named("local")
    assert found.problems == ()
    assert local is not None
    assert local.energy == EnergyFactors(carbon_g_per_kwh=20.0)


def test_a_cluster_without_factors_has_none(tmp_path: Path) -> None:
    assert load(tmp_path, HEAD).clusters[0].energy is None


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("core_wats = 12", "unknown key `core_wats`", "core_watts"),
        ("pue = 0.9", "`pue` is 0.9 but must be from 1 to 10", ""),
        ("core_watts = -1", "`core_watts` is -1 but must be from 0 to 1,000", ""),
        ("gpu_watts = nan", "`gpu_watts` is nan but must be from 0 to 10,000", ""),
        ('core_watts = "12"', "`core_watts` must be a number, not a string", ""),
        ("carbon_g_per_kwh = true", "`carbon_g_per_kwh` must be a number, not a boolean", ""),
        ("source = 1", "`source` must be a string, not an integer", ""),
    ],
)
def test_mistakes_have_a_place(tmp_path: Path, text: str, message: str, hint: str) -> None:
    found = load(tmp_path, f"{HEAD}[cluster.energy]\n{text}\n")
    [problem] = found.problems
    assert message in problem.message
    assert hint in problem.hint
    assert problem.line == 5
    assert found.named("alpha") is None


def test_a_number_instead_of_a_table_is_explained(tmp_path: Path) -> None:
    [problem] = load(tmp_path, HEAD + "energy = 12\n").problems
    assert problem.line == 4
    assert "core_watts" in problem.hint
