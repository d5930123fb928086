"""`rowtui demo`, as far as it needs no terminal."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rowtui.cli.main import main


def test_the_demos_are_listed_and_another_name_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["demo", "--list"]) == 0
    listed = capsys.readouterr().out
    assert "small" in listed
    assert "four simulated clusters" in listed
    assert main(["demo", "huge"]) == 1
    assert "no demo called 'huge'" in capsys.readouterr().err
    assert main(["demo", "large", "--directories", "3"]) == 1
    assert "2,000 to 1,000,000" in capsys.readouterr().err


def test_the_large_demo_is_made_and_kept_where_somebody_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    kept = tmp_path / "here"
    made = ["demo", "large", "--headless", "--directories", "2000", "--keep", str(kept)]
    assert main(made) == 0
    assert (kept / "workflow.toml").exists()
    assert main(made) == 1
    assert "is not empty" in capsys.readouterr().err


def test_the_network_demo_runs_to_its_plot_and_says_what_to_type(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    kept = tmp_path / "it's here"
    assert main(["demo", "network", "--headless", "--keep", str(kept)]) == 0
    said = capsys.readouterr().out
    assert "$ rowtui network run --yes" in said
    assert "Done: all jobs of the network are completed." in said
    assert f"✓ {kept}/results/slopes.svg" in said
    assert re.search(r"pressure 0.5, size 16: 1\.\d+  #{24}\n", said)
    assert "pressure 0.5" in (kept / "results/slopes.svg").read_text()
