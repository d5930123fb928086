"""`rowtui doctor --node-types`: a live cluster's nodes, ready for our clusters.toml."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from rowtui.cli.main import main
from rowtui.core.clusters.config.load import load_clusters
from rowtui.core.clusters.model import NodeType

from tests.rig.login import LoginNode
from tests.rig.slurm import SlurmCluster
from tests.schemas import printed

KINDS = [
    "cpu-16c-62g",
    "gpu-32c-250g-4xa100",
    "highmem-64c-1855g",
    "shared-8c-62g",
    "shared-8c-250g-4xa100",
    "closed-16c-62g",
]


class Done(NamedTuple):
    code: int
    out: str
    err: str


Doctor = Callable[..., Done]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder without any configuration."""
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "SSH_AUTH_SOCK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("SLURM_CONF", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ROW_HOME", str(tmp_path / "nowhere"))
    monkeypatch.setenv("ROWTUI_LOCAL_DIR", str(tmp_path / "local"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def doctor(capsys: pytest.CaptureFixture[str]) -> Doctor:
    def doctor(*words: str) -> Done:
        capsys.readouterr()
        code = main(["doctor", "--node-types", *words])
        done = Done(code, *capsys.readouterr())
        assert "unexpected" not in done.err
        printed(["doctor", "--node-types", *words], done.out)
        return done

    return doctor


def clusters(home: Path) -> Path:
    file = home / ".config" / "rowtui" / "clusters.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    return file


def reached(node: LoginNode, more: str = "") -> str:
    return (
        f'[[cluster]]\nname = "{node.name}"\n{more}\n[cluster.ssh]\nhost = "{node.name}"\n'
        f'config = ["{node.ssh_config}"]\n'
    )


def types(home: Path, name: str) -> tuple[NodeType, ...]:
    file = load_clusters({"HOME": str(home)})
    assert file.problems == ()
    cluster = file.named(name)
    assert cluster is not None
    return cluster.node_types


@pytest.mark.slurm
def test_a_login_node_in_no_file_gives_an_entry_that_can_be_pasted(
    home: Path, doctor: Doctor, slurm: SlurmCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_CONF", str(slurm.conf))

    done = doctor()
    clusters(home).write_text(done.out)

    assert done.code == 0
    assert [kind.name for kind in types(home, "alpha")] == KINDS
    assert str(clusters(home)) in done.err
    assert "price_per_hour" in done.err
    again = doctor("--json")
    assert json.loads(again.out)["cluster"] == "alpha"
    assert "# 2 nodes such as n1" in done.out


@pytest.mark.slurm
def test_with_the_entry_the_partitions_are_still_asked_for(
    home: Path,
    doctor: Doctor,
    slurm: SlurmCluster,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("SLURM_CONF", str(slurm.conf))
    assert doctor("--write", "--yes").code == 0
    capsys.readouterr()

    assert main(["show", "cluster", "--json"]) == 0

    (shown,) = json.loads(capsys.readouterr().out)["clusters"]
    assert [it["name"] for it in shown["partitions"]] == [
        "cpu", "gpu", "highmem", "shared", "closed",
    ]  # fmt: skip
    assert [it["name"] for it in shown["node_types"]] == KINDS
    assert shown["maximum_array_size"] == 1001


@pytest.mark.slurm
def test_a_cluster_behind_a_login_node_is_asked_over_ssh_and_the_entry_is_added(
    home: Path, doctor: Doctor, login: LoginNode
) -> None:
    before = "# mine\n" + reached(login).rstrip("\n")
    clusters(home).write_text(before)

    done = doctor("alpha", "--write", "--yes")

    assert done.code == 0, done.err
    assert [kind.name for kind in types(home, "alpha")] == KINDS
    backup = clusters(home).with_name("clusters.toml.bak1")
    assert backup.read_text() == before
    assert clusters(home).read_text().startswith(before + "\n")
    assert f"Added 6 node types to {clusters(home)}; {backup} is as it was before." in done.err


@pytest.mark.slurm
def test_what_is_there_is_never_replaced(home: Path, doctor: Doctor, login: LoginNode) -> None:
    own = '[[cluster.node_type]]\nname = "mine"\ncpus = 1\nmemory = "1G"\n'
    clusters(home).write_text(reached(login) + own)

    shown, written = doctor("alpha"), doctor("alpha", "--write", "--yes")

    assert "these may replace them" in shown.err
    assert written.code == 1
    assert "has node types already, so nothing was written" in written.err
    assert [kind.name for kind in types(home, "alpha")] == ["mine"]


@pytest.mark.slurm
def test_only_partitions_that_somebody_described_are_told_of(
    home: Path, doctor: Doctor, login: LoginNode
) -> None:
    more = 'partition = [{ name = "gpu" }, { name = "cpu" }]'
    clusters(home).write_text(reached(login, more))
    done = doctor("alpha", "--write", "--yes")
    assert [kind.name for kind in types(home, "alpha")] == KINDS[:2]
    assert "left out: highmem, shared, closed" in done.err


@pytest.mark.slurm
def test_json_has_all_of_it(home: Path, doctor: Doctor, login: LoginNode) -> None:
    clusters(home).write_text(reached(login))
    found: dict[str, Any] = json.loads(doctor("alpha", "--json").out)
    assert (found["cluster"], found["written"], found["backup"]) == ("alpha", False, None)
    assert found["node_types"][0] == {
        "name": "cpu-16c-62g",
        "partition": "cpu",
        "cpus": 16,
        "memory_mb": 64000,
        "gpus": 0,
        "disk_mb": 10000,
        "price_per_hour": None,
        "at_most": 2,
        "boot_seconds": 0,
        "longest_seconds": 86400,
        "whole_node": False,
        "source": "sinfo",
        "nodes": 2,
        "down": 0,
        "asleep": 0,
        "example": found["node_types"][0]["example"],
        "closed": "",
    }
    assert found["toml"].startswith('[[cluster]]\nname = "alpha"\n\n[[cluster.node_type]]\n')


@pytest.mark.slurm
def test_a_cluster_that_cannot_be_reached_is_an_error_and_nothing_is_written(
    home: Path, doctor: Doctor, login: LoginNode
) -> None:
    login.kill()
    clusters(home).write_text(reached(login))
    done = doctor("alpha", "--write", "--yes")
    assert (done.code, done.out) == (1, "")
    assert "refused the connection" in done.err
    assert "Slurm does not answer" not in done.err
    assert clusters(home).read_text() == reached(login)


def test_this_machine_is_a_node_too(
    home: Path, doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROWTUI_LOCAL_CORES", "3")
    monkeypatch.setenv("ROWTUI_LOCAL_MEMORY_MB", "5000")
    done = doctor("local", "--write", "--yes")
    assert done.code == 0, done.err
    (kind,) = types(home, "local")
    assert (kind.cpus, kind.memory_mb, kind.at_most) == (3, 5000, 1)
    assert not clusters(home).with_name("clusters.toml.bak1").exists()


@pytest.mark.parametrize("answer", ["y", "", "n"])
def test_a_person_is_asked_and_no_is_the_default(
    answer: str, home: Path, doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{answer}\n"))
    done = doctor("local", "--write")
    assert done.code == 0
    assert f"Add this to {clusters(home)}? [y/N]: " in done.err
    assert clusters(home).exists() == (answer == "y")


def test_what_is_said_after_the_entry_is_one_line_each(home: Path, doctor: Doctor) -> None:
    done = doctor("local")
    assert done.out.startswith('[[cluster]]\nname = "local"\n')
    assert len(done.err.splitlines()) == 2
    assert "\\n" not in done.err


def test_without_anybody_to_ask_nothing_is_written(home: Path, doctor: Doctor) -> None:
    done = doctor("local", "--write")
    assert done.code == 1
    assert "add --yes" in done.err
    assert not clusters(home).exists()


def test_a_file_with_a_mistake_is_left_as_it_is(home: Path, doctor: Doctor) -> None:
    clusters(home).write_text("[[cluster]\n")
    done = doctor("local", "--write", "--yes")
    assert done.code == 1
    assert "nothing was written: in clusters.toml it would not be read: line 1" in done.err
    assert clusters(home).read_text() == "[[cluster]\n"


def test_a_link_to_a_file_elsewhere_stays_a_link_and_the_mode_stays(
    home: Path, doctor: Doctor
) -> None:
    real = home / "dotfiles" / "clusters.toml"
    real.parent.mkdir()
    real.write_text("# mine\n")
    real.chmod(0o600)
    clusters(home).symlink_to(real)
    assert doctor("local", "--write", "--yes").code == 0
    assert clusters(home).is_symlink()
    assert real.stat().st_mode & 0o777 == 0o600
    assert real.with_name("clusters.toml.bak1").read_text() == "# mine\n"
    assert len(types(home, "local")) == 1


def test_a_cluster_of_another_scheduler_is_described_by_hand(home: Path, doctor: Doctor) -> None:
    clusters(home).write_text(
        '[[cluster]]\nname = "e"\nscheduler = "grid_engine"\nidentify.always = false\n'
        'partition = [{ name = "all.q" }]\n'
    )
    done = doctor("e")
    assert (done.code, done.out) == (1, "")
    assert "describe them by hand" in done.err


def test_an_unknown_cluster_is_refused(home: Path, doctor: Doctor) -> None:
    assert "cluster 'nowhere' not found" in doctor("nowhere").err


def test_write_alone_is_refused(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--write"]) == 1
    assert "--write needs --node-types" in capsys.readouterr().err
