"""`rowtui show cluster` for clusters that are reached over SSH."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rowtui.cli.main import main
from rowtui.core.clusters.config.load import load_clusters
from rowtui.core.clusters.model import Cluster, Identify, Partition
from rowtui.core.clusters.polling.description_cache import remember_description

OWN = """\
[[cluster]]
name = "greatlakes"
ssh.host = "gl"

[[cluster]]
name = "alpha"
[cluster.ssh]
host = "login"
paths = [{ local = "/home", remote = "/nfs/home" }]
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Our clusters.toml in a home of its own."""
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "ROW_HOME", "ROWTUI_CLUSTER", "ROW_CLUSTER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    file = tmp_path / ".config" / "rowtui" / "clusters.toml"
    file.parent.mkdir(parents=True)
    file.write_text(OWN)
    return file


def test_a_cluster_is_shown_by_its_name_with_the_way_to_it(
    own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", "cluster", "greatlakes"]) == 0
    shown = capsys.readouterr().out
    assert '[ssh]\nhost = "gl"\ntransport = "asyncssh"\n' in shown
    assert "[[partition]]" in shown

    assert main(["--cluster", "none", "show", "cluster", "alpha", "--json"]) == 0
    (values,) = json.loads(capsys.readouterr().out)["clusters"]
    assert values["remote"]["host"] == "login"
    assert values["remote"]["paths"] == [{"local": "/home", "remote": "/nfs/home"}]

    assert main(["show", "cluster", "anvil", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["clusters"][0]["remote"] is None


def test_what_a_cluster_said_of_itself_is_shown(
    own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    alpha = load_clusters({"HOME": str(own.parents[2])}).named("alpha")
    assert alpha is not None
    main(["show", "cluster", "alpha"])
    assert "partition = []" in capsys.readouterr().out

    said = Cluster("alpha", Identify(), "slurm", (Partition("cpu"),), maximum_array_size=7)
    remember_description(alpha, said)

    main(["show", "cluster", "alpha"])
    assert '[[partition]]\nname = "cpu"' in capsys.readouterr().out
    main(["show", "cluster", "--all", "--json"])
    values = {each["name"]: each for each in json.loads(capsys.readouterr().out)["clusters"]}
    assert values["alpha"]["maximum_array_size"] == 7


def test_a_name_and_all_do_not_go_together(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "cluster", "alpha", "--all"]) == 2
    assert "cannot be used with" in capsys.readouterr().err
    assert main(["show", "cluster", "alpah"]) == 1
    assert "did you mean 'alpha'" in capsys.readouterr().err


def test_what_is_wrong_in_the_file_is_said(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own.write_text(OWN.replace("host =", "hots ="))
    assert main(["show", "cluster", "--all", "--short"]) == 1
    done = capsys.readouterr()
    assert "alpha" not in done.out
    assert "clusters.toml:8:1: unknown key `hots`" in done.err
