"""What tests of network runs share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for projects, on a machine whose own queue and settings are this test's alone."""
    for name in [it for it in os.environ if it.startswith(("XDG_", "SLURM_", "ROW_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ROWTUI_LOCAL_DIR", str(tmp_path / "queue"))
    (tmp_path / "home").mkdir()
    return tmp_path
