"""What docs/packing.md says is what the code does and prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rowtui.cli.main import main

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "packing.md").read_text(encoding="utf-8")
WORKFLOW = """\
[default.action.group]
maximum_size = 1

[[action]]
name = "simulate"
command = "./simulate {directory}"
products = ["trajectory"]
[action.resources]
threads_per_process = 6
memory_per_cpu_mb = 2000
walltime.per_submission = "02:00:00"

[[action]]
name = "describe"
command = "./describe {directory}"
products = ["description"]
[action.resources]
memory_per_cpu_mb = 4000
walltime.per_submission = "00:10:00"

[[action]]
name = "render"
command = "./render {directories}"
products = ["picture"]
[action.group]
maximum_size = 100
[action.resources]
threads_per_process = 64
walltime.per_submission = "01:00:00"
"""
CLUSTERS = """\
[[cluster]]
name = "alpha"
scheduler = "slurm"
currency = "EUR"
ssh.host = "nowhere.invalid"
[[cluster.partition]]
name = "cpu"

[[cluster.node_type]]
name = "c16"
partition = "cpu"
cpus = 16
memory = "64G"
price_per_hour = 0.60
boot_time = "00:02:00"
maximum_walltime = "12:00:00"

[[cluster.node_type]]
name = "c32"
partition = "cpu"
cpus = 32
memory = "128G"
price_per_hour = 1.15
boot_time = "00:02:00"
maximum_walltime = "12:00:00"
"""


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def shown(command: str) -> list[str]:
    """The lines of the page after a command, without their numbers."""
    text = PAGE.partition(f"$ {command}\n")[2].partition("```")[0].partition("\n$ ")[0]
    return bare(text)


def bare(text: str) -> list[str]:
    """Words that stay whatever is packed how: without amounts, times, bars and bundles."""
    kept = [line for line in text.splitlines() if line.strip() and "×" not in line]
    words = [re.findall(r"[A-Za-z][A-Za-z0-9-]*(?:/[a-z]+)?", line) for line in kept]
    return [
        " ".join(word for word in line if not re.fullmatch("h|min|s|d", word)) for line in words
    ]


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project of the page."""
    for number in range(40):
        (tmp_path / "study" / "workspace" / f"run-{number:02}").mkdir(parents=True)
    (tmp_path / "study" / "workflow.toml").write_text(WORKFLOW)
    file = tmp_path / ".config" / "rowtui" / "clusters.toml"
    file.parent.mkdir(parents=True)
    file.write_text(CLUSTERS)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("ROWTUI_CLUSTER", "alpha")
    monkeypatch.chdir(tmp_path / "study")
    return tmp_path / "study"


def test_what_is_shown_is_what_is_printed(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert study.is_dir()
    for look in ("", " --compare"):
        words = f"pack --longest 02:30:00{look}"
        page = shown(f"rowtui {words}")
        assert main([*words.split(), "--search", "0"]) == 0
        printed = bare(capsys.readouterr().out)
        assert page[0] == printed[0]
        assert [line for line in page if line not in printed] == [], words
