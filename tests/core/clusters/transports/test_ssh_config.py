"""What ~/.ssh/config says of a machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from rowtui.core.clusters.transports.login import LoginError, SshTarget
from rowtui.core.clusters.transports.ssh_config import SshSettings, read_settings


def read(folder: Path, text: str, host: str = "site", **target: object) -> SshSettings:
    config = folder / "config"
    config.write_text(text)
    return read_settings(
        SshTarget(host, config=(config,), **target),  # type: ignore[arg-type]
        connect_timeout=7,
    )


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SSH_AUTH_SOCK", "/the/agent")
    return tmp_path / "home"


def test_nothing_configured_means_what_ssh_would_do(tmp_path: Path, home: Path) -> None:
    found = read(tmp_path, "")

    assert (found.host, found.port, found.key_name, found.key_port) == ("site", 22, "site", 22)
    assert found.identities[-1] == home / ".ssh/id_rsa"
    assert found.user_known_hosts[0] == home / ".ssh/known_hosts"
    assert found.global_known_hosts[0] == Path("/etc/ssh/ssh_known_hosts")
    assert (found.agent, found.connect_timeout, found.jumps) == ("/the/agent", 7, ())


def test_host_match_and_include_are_read_and_the_first_value_counts(
    tmp_path: Path, home: Path
) -> None:
    (tmp_path / "more").write_text("Host s*\n  Port 2200\n  User late\n  HostKeyAlias it\n")
    found = read(
        tmp_path,
        f"""\
Host other
  User wrong
Match originalhost site
  User early
  HostName %h.example.org
Include {tmp_path}/more
Match all
  IdentityFile ~/one
  IdentityFile %d/two-%r
  IdentitiesOnly yes
  IdentityAgent ~/agent
  UserKnownHostsFile ~/a ~/b
  ConnectTimeout 3
  ServerAliveInterval 9
""",
    )

    assert (found.user, found.host, found.port) == ("early", "site.example.org", 2200)
    assert (found.key_name, found.key_port) == ("it", 22)
    assert found.identities == (home / "one", home / "two-early")
    assert found.user_known_hosts == (home / "a", home / "b")
    assert (found.identities_only, found.agent) == (True, str(home / "agent"))
    assert (found.connect_timeout, found.alive_interval) == (3, 9)


def test_what_the_target_names_wins(tmp_path: Path) -> None:
    found = read(tmp_path, "Port 1\nUser a\n", user="me", port=2)

    assert (found.user, found.port) == ("me", 2)


@pytest.mark.parametrize(
    ("text", "jumps"),
    [
        ("none", []),
        ("gate", [("gate", "", 0)]),
        ("me@gate:2222,inner", [("gate", "me", 2222), ("inner", "", 0)]),
        ("ssh://me@gate:22", [("gate", "me", 22)]),
        ("[::1]:22,fe80::1", [("::1", "", 22), ("fe80::1", "", 0)]),
    ],
)
def test_jump_hosts_are_taken_apart(
    tmp_path: Path, text: str, jumps: list[tuple[str, str, int]]
) -> None:
    found = read(tmp_path, f"ProxyJump {text}\n")

    assert [(hop.host, hop.user, hop.port) for hop in found.jumps] == jumps


@pytest.mark.parametrize("text", ["Port many\n", 'User "a\n', "ProxyJump gate:x\n"])
def test_a_configuration_that_cannot_be_used_is_explained(tmp_path: Path, text: str) -> None:
    with pytest.raises(LoginError):
        read(tmp_path, text)


def test_no_agent_where_the_configuration_says_none(tmp_path: Path) -> None:
    assert read(tmp_path, "IdentityAgent none\n").agent == ""
