"""`rowtui doctor` on the clusters that are reached over SSH."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rowtui.cli.main import main
from rowtui.core.clusters.config.load import load_clusters
from rowtui.core.clusters.polling.description_cache import described_cluster

from tests.rig.login import LoginNode
from tests.schemas import fits

Doctor = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Writes our clusters.toml into a home of its own."""
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "SSH_AUTH_SOCK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ROW_HOME", str(tmp_path / "nowhere"))
    monkeypatch.setenv("ROWTUI_LOCAL_DIR", str(tmp_path / "local"))
    monkeypatch.chdir(tmp_path)

    def write(text: str) -> None:
        file = tmp_path / ".config" / "rowtui" / "clusters.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    return write


@pytest.fixture
def doctor(capsys: pytest.CaptureFixture[str]) -> Doctor:
    """The findings about SSH; the cluster that this is, is `local` unless another is named."""

    def doctor(*words: str, cluster: str = "") -> list[dict[str, Any]]:
        capsys.readouterr()
        main(["doctor", "--json", *(["--cluster", cluster] if cluster else []), *words])
        found: list[dict[str, Any]] = fits("findings", json.loads(capsys.readouterr().out))[
            "findings"
        ]
        topics = ("ssh", "login", "slurm", "partitions", "rsync", "clock", "problem")
        found = [each for each in found if each["topic"] in topics]
        return [each for each in found if not each["text"].startswith("sbatch is here, but")]

    return doctor


def reached(node: LoginNode, more: str = "", transport: str = "asyncssh") -> str:
    return (
        f'[[cluster]]\nname = "{node.name}"\n{more}\n[cluster.ssh]\nhost = "{node.name}"\n'
        f'config = ["{node.ssh_config}"]\ntransport = "{transport}"\n'
    )


def test_the_way_to_a_cluster_is_told_without_going_it(
    write: Callable[[str], None], doctor: Doctor, tmp_path: Path
) -> None:
    (tmp_path / "config").write_text(
        "Host alpha\nHostName 127.0.0.1\nPort 9\nProxyJump gate\n"
        f"IdentityFile {tmp_path}/key\nHost *\nUser me\nGlobalKnownHostsFile /dev/null\n"
    )
    (tmp_path / "key").touch()
    write(
        '[[cluster]]\nname = "alpha"\n[cluster.ssh]\nhost = "alpha"\n'
        'config = ["~/config", "~/no"]\npaths = [{ local = "/home", remote = "/nfs/home" }]\n'
    )

    unread, way = doctor()

    assert (unread["verdict"], unread["text"]) == (
        "warning",
        f"alpha: {tmp_path}/no cannot be read",
    )
    assert way["verdict"] == "warning"
    assert way["text"] == "alpha: me@127.0.0.1:9 with asyncssh, through me@gate:22"
    assert way["hint"].splitlines() == [
        "me@gate:22: no key file exists",
        "me@gate:22: no agent",
        "me@gate:22: the host key is unknown: the first login asks",
        "me@127.0.0.1:9: keys: ~/key",
        "me@127.0.0.1:9: no agent",
        "me@127.0.0.1:9: the host key is unknown: the first login asks",
        "/home is /nfs/home there",
        "projects elsewhere are copied below ~/rowtui",
    ]


def test_what_is_wrong_is_an_error(
    write: Callable[[str], None], doctor: Doctor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config").write_text("Host *\nPort many\n")
    write(
        '[[cluster]]\nname = "a"\nssh.host = "-x"\n'
        '[[cluster]]\nname = "b"\n[cluster.ssh]\nhost = "b"\n'
        'transport = "openssh"\nconfig = ["~/config"]\n'
    )
    monkeypatch.setenv("PATH", "/nonexistent")

    found = doctor()

    assert [(each["topic"], each["verdict"]) for each in found] == [
        ("problem", "error"),
        ("ssh", "error"),
        ("ssh", "error"),
    ]
    assert "clusters.toml:3: -x cannot be the name of a host" in found[0]["text"]
    assert "there is no `ssh` on PATH" in found[1]["text"]
    assert "the configuration of ssh cannot be used" in found[2]["text"]


def test_why_a_cluster_is_not_known_is_told(
    write: Callable[[str], None], doctor: Doctor, tmp_path: Path
) -> None:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workflow.toml").write_text('[[action]]\nname = "a"\ncommand = "c {directory}"\n')
    write('[[cluster]]\nname = "a"\nssh.hots = "x"\n')
    assert {each["text"].rpartition(":")[2] for each in doctor(cluster="a")} == {
        " `cluster.ssh` is missing `host`",
        " unknown key `hots` in `cluster.ssh`",
    }


def test_on_the_login_node_nothing_goes_over_ssh(
    write: Callable[[str], None], doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = '[[cluster]]\nname = "a"\nidentify.by_environment = ["X_CLUSTER", "a"]\nssh.host = "a"\n'
    write(text + 'partition = [{ name = "p" }]')
    monkeypatch.setenv("X_CLUSTER", "a")
    found = doctor("--connect")
    assert [each["text"] for each in found if each["topic"] == "ssh"] == [
        "a: this is its login node, nothing goes over SSH"
    ]


def test_without_such_a_cluster_nothing_is_said_unless_asked(
    write: Callable[[str], None], doctor: Doctor
) -> None:
    assert doctor() == []
    assert doctor("--connect")[0]["text"] == "no cluster is described that is reached over SSH"


@pytest.mark.slurm
def test_two_real_clusters_are_logged_in_to_and_looked_at(
    write: Callable[[str], None],
    doctor: Doctor,
    two_logins: tuple[LoginNode, LoginNode],
    tmp_path: Path,
) -> None:
    alpha, beta = two_logins
    write(reached(alpha) + reached(beta, 'partition = [{ name = "gone" }]', "openssh"))

    ways = doctor()
    found = doctor("--connect")

    assert [(each["topic"], each["verdict"]) for each in ways] == [("ssh", "ok")] * 2
    assert f"@127.0.0.1:{alpha.port} with asyncssh" in ways[0]["text"]
    assert f"the host key is known: ssh-ed25519 in {alpha.known_hosts}:1" in ways[0]["hint"]
    of_alpha = [each for each in found if each["text"].startswith("alpha: ")]
    assert [(each["topic"], each["verdict"]) for each in of_alpha] == [
        *(("ssh", "ok"), ("login", "ok"), ("slurm", "ok"), ("partitions", "ok")),
        *(("rsync", "ok"), ("clock", "ok")),
    ]
    assert "cluster alpha, arrays of at most 1,001 tasks" in of_alpha[2]["text"]
    assert "cpu, gpu, highmem, shared, closed (by name only)" in of_alpha[3]["text"]
    assert f"@127.0.0.1:{beta.port} with openssh" in ways[1]["text"]
    assert "beta: Slurm has no partition gone" in [each["text"] for each in found]
    cluster = load_clusters({"HOME": str(tmp_path)}).named("alpha")
    assert cluster is not None
    described = described_cluster(cluster)
    assert described is not None
    assert described.partitions[0].name == "cpu"


@pytest.mark.slurm
def test_in_a_project_too_nothing_is_logged_in_to_unless_that_is_wanted(
    write: Callable[[str], None], doctor: Doctor, login: LoginNode, tmp_path: Path
) -> None:
    (tmp_path / "workflow.toml").write_text(
        '[[action]]\nname = "a"\ncommand = "true {directory}"\n'
    )
    write(reached(login))
    cluster = load_clusters({"HOME": str(tmp_path)}).named("alpha")
    assert cluster is not None

    before = doctor(cluster="alpha")
    asked = described_cluster(cluster)
    after = doctor("--connect", cluster="alpha")

    assert [(each["topic"], each["verdict"]) for each in before] == [
        ("ssh", "ok"),
        ("partitions", "warning"),
    ]
    assert "was not asked for its partitions yet" in before[1]["text"]
    assert asked is None
    assert [each["verdict"] for each in after] == ["ok"] * 6


@pytest.mark.slurm
def test_a_cluster_that_cannot_be_reached_is_an_error_and_the_other_is_still_looked_at(
    write: Callable[[str], None], doctor: Doctor, two_logins: tuple[LoginNode, LoginNode]
) -> None:
    alpha, beta = two_logins
    alpha.kill()
    alpha.known_hosts.write_text("")
    write(reached(alpha) + reached(beta))

    found = doctor("--connect")
    only_beta = doctor("--connect", cluster="beta")

    assert [(each["topic"], each["verdict"]) for each in found[:3]] == [
        ("ssh", "warning"),
        ("login", "error"),
        ("ssh", "ok"),
    ]
    assert "refused the connection" in found[1]["text"]
    assert ("login", "ok") in [(each["topic"], each["verdict"]) for each in found[3:]]
    assert all(each["text"].startswith("beta") for each in only_beta)


@pytest.mark.slurm
@pytest.mark.parametrize(
    ("mirror", "words"),
    [("/sys/kernel/copies/mine", "/sys/kernel"), ("$NOWHERE/x", "there is no $NOWHERE on alpha")],
)
def test_a_folder_for_copies_that_cannot_be_made_is_an_error(
    write: Callable[[str], None],
    login: LoginNode,
    capsys: pytest.CaptureFixture[str],
    mirror: str,
    words: str,
) -> None:
    write(reached(login) + f'mirror = "{mirror}"\n')

    code = main(["doctor", "--json", "--connect"])
    found = {each["topic"]: each for each in json.loads(capsys.readouterr().out)["findings"]}

    assert code == 1
    assert found["login"]["verdict"] == "ok"
    assert found["copies"]["verdict"] == "error"
    assert words in found["copies"]["text"]
    assert found["copies"]["hint"]
